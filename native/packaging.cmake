# What is specific to installing arcwise: which variants to compile, Python's stable ABI, compile time.
# pyproject.toml has CMake include this file right after project(). It is apart from CMakeLists.txt because the flags
# in that file take part in the hash of every recorded figure (measuring/sources.py), and nothing here changes a sum.

# Versions of pre-releases are no versions to CMake: scikit-build-core has them whole under another name.
set(SKBUILD_PROJECT_VERSION "${SKBUILD_PROJECT_VERSION_FULL}")

# A clone (editable install) runs on the machine that compiles it and gets the one variant that suits this machine.
# Wheels have all variants.
if(SKBUILD_STATE STREQUAL "editable" AND NOT DEFINED ARCWISE_VARIANTS AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  include(CheckCSourceRuns)
  # The same question as in native/bindings/cpu.c, which native.py asks before it loads the variant.
  check_c_source_runs("int main(void) {
    __builtin_cpu_init();
    return !(__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") &&
             __builtin_cpu_supports(\"bmi\") && __builtin_cpu_supports(\"bmi2\")); }" ARCWISE_RUNS_V3)
  if(ARCWISE_RUNS_V3)
    set(ARCWISE_VARIANTS "v3" CACHE STRING "native modules to build")
  else()
    set(ARCWISE_VARIANTS "baseline" CACHE STRING "native modules to build")
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "MSVC")
  message(FATAL_ERROR "arcwise uses the vector types of GCC and Clang: on Windows, set CXX=clang++ and CC=clang")
endif()
if(WIN32)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/windows.hpp>")
endif()

function(arcwise_use_stable_abi)
  # nanobind's definitions are public: the bindings and the modules that link it see the limited API as well.
  target_compile_definitions(nanobind-static PUBLIC Py_LIMITED_API=0x030C0000)
  if(NOT MSVC)
    # Python.h leaves out <stdio.h> here and libc++ includes little by itself; nanobind's headers write to stderr.
    target_compile_options(nanobind-static PUBLIC $<$<COMPILE_LANGUAGE:CXX>:SHELL:-include cstdio>)
  endif()
  target_compile_definitions(_cpu PRIVATE Py_LIMITED_API=0x030C0000)
  nanobind_extension_abi3(_cpu)
  foreach(variant ${ARCWISE_VARIANTS})
    nanobind_extension_abi3(_native_${variant})
  endforeach()
endfunction()

# nanobind's definition is public, as above: modules declare that they need no GIL. Kernels keep what they write in the
# call or in the thread (tests/contracts/test_python_threads.py).
function(arcwise_use_free_threads)
  target_compile_definitions(nanobind-static PUBLIC NB_FREE_THREADED)
endfunction()

# ccache does not cache precompiled headers with its default settings, so they are used only without a launcher.
function(arcwise_precompile_headers)
  target_precompile_headers(bindings PRIVATE <nanobind/nanobind.h> <nanobind/ndarray.h> <nanobind/stl/optional.h>
    <nanobind/stl/string.h> <nanobind/stl/tuple.h> <nanobind/stl/vector.h> <algorithm>)
  foreach(variant ${ARCWISE_VARIANTS})
    target_precompile_headers(kernels_${variant} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <limits>
      <memory> <optional> <span> <string> <string_view> <unordered_map> <vector>)
  endforeach()
  # Their instruction sets differ from the header's.
  set_source_files_properties(native/kernels/neural/network_loops_avx2.cpp native/kernels/neural/network_loops_avx512.cpp
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# ARCWISE_KERNELS names the build folder of another Python for the same platform (release/build_wheels.py).
function(arcwise_link_compiled_kernels)
  file(CONFIGURE OUTPUT no_kernels.cpp CONTENT "")
  foreach(variant ${ARCWISE_VARIANTS})
    set_target_properties(kernels_${variant} PROPERTIES SOURCES ${CMAKE_CURRENT_BINARY_DIR}/no_kernels.cpp)
    target_link_libraries(kernels_${variant} INTERFACE ${ARCWISE_KERNELS}/libkernels_${variant}.a)
  endforeach()
endfunction()

# ARCWISE_CPU_MODEL: the compiler's runtime library does not say what the processor can do.
function(arcwise_ask_processor)
  target_sources(_cpu PRIVATE native/cpu_model.c)
  foreach(variant ${ARCWISE_VARIANTS})
    target_sources(_native_${variant} PRIVATE native/cpu_model.c)
  endforeach()
endfunction()

function(arcwise_package)
  if(ARCWISE_CPU_MODEL)
    arcwise_ask_processor()
  endif()
  # Inline functions of the kernels' headers are compiled with the bindings too: the same sums there on machines whose
  # baseline has fused multiply-add (aarch64).
  target_compile_options(bindings PRIVATE -ffp-contract=off)
  if(NB_FREE_THREADED)  # Python 3.14t; nanobind's CMake files set it
    arcwise_use_free_threads()
  elseif(SKBUILD_SABI_VERSION)  # wheel.py-api, from Python 3.12 on
    arcwise_use_stable_abi()
  endif()
  if(ARCWISE_KERNELS)
    arcwise_link_compiled_kernels()
  endif()
  if(ARCWISE_STUB)  # cross compilation: no Python here can import the module to describe its types
    set_target_properties(native_stub PROPERTIES EXCLUDE_FROM_ALL TRUE)
    configure_file(${ARCWISE_STUB} ${CMAKE_CURRENT_BINARY_DIR}/native_stub.pyi COPYONLY)
  endif()
  if(SKBUILD_STATE STREQUAL "editable" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    arcwise_precompile_headers()
  endif()
endfunction()
cmake_language(DEFER CALL arcwise_package)
