#include <nanobind/ndarray.h>

#include "bindings/rooms.hpp"
#include "kernels/column_codes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A numpy array that owns its values.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

nb::typed<nb::tuple, nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>, nb::typed<nb::list, nb::str>> column_codes(
    const arcwise::TreebankLayout& layout, nb::bytes text, Input<uint32_t> rows, int column) {
  if (column < 0 || column >= arcwise::COLUMNS) throw nb::index_error("column out of range");
  for (size_t i = 0; i < rows.shape(0); ++i)
    if (rows.data()[i] >= layout.rows()) throw nb::index_error("row out of range");
  arcwise::ColumnCodes found;
  {
    nb::gil_scoped_release release;
    found = arcwise::column_codes(text.c_str(), layout, rows.data(), rows.shape(0), column);
  }
  nb::list strings;
  for (std::string_view s : found.strings) {
    PyObject* value = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
    if (!value) throw nb::python_error();
    strings.append(nb::steal<nb::str>(value));
  }
  return nb::make_tuple(owned(std::move(found.codes)), strings);
}

}  // namespace

void bind_evaluation(nb::module_& m) {
  m.def("column_codes", &column_codes, "layout"_a, "text"_a, "rows"_a, "column"_a,
        "One column of the given rows as (codes, distinct strings in order of first appearance).");
}
