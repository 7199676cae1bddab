/* The one question that must be answered before a native module is chosen: what can this processor run? */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* has_x86_64_v3(PyObject* self, PyObject* args) {
  (void)self;
  (void)args;
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  return PyBool_FromLong(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"));
#else
  Py_RETURN_FALSE;
#endif
}

static PyMethodDef methods[] = {{"has_x86_64_v3", has_x86_64_v3, METH_NOARGS,
                                 "Whether this processor runs x86-64-v3 code (AVX2, FMA, BMI)."},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_cpu", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cpu(void) {
  PyObject* created = PyModule_Create(&module);
#ifdef Py_GIL_DISABLED
  if (created != NULL) PyUnstable_Module_SetGIL(created, Py_MOD_GIL_NOT_USED);
#endif
  return created;
}
