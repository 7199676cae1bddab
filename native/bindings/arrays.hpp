// Conversion between numpy arrays and C++ vectors.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace arcwise::bindings {

// Function arguments: flat, contiguous, read-only.
template <typename T>
using Array = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Function results.
template <typename T, int Dimensions = 1>
using NewArray = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<Dimensions>>;

// A new numpy array of the given shape; its memory is not initialised.
template <typename T, int Dimensions>
NewArray<T, Dimensions> new_array(const size_t (&shape)[Dimensions]) {
  size_t size = 1;
  for (size_t side : shape) size *= side;
  T* data = new T[size];
  nanobind::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return NewArray<T, Dimensions>(data, Dimensions, shape, owner);
}

// Moves a vector into a numpy array, without copying.
template <typename T, typename Allocator, int Dimensions>
NewArray<T, Dimensions> moved(std::vector<T, Allocator> values, const size_t (&shape)[Dimensions]) {
  auto* kept = new std::vector<T, Allocator>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, Allocator>*>(p); });
  return NewArray<T, Dimensions>(kept->data(), Dimensions, shape, owner);
}
template <typename T, typename Allocator>
NewArray<T> moved(std::vector<T, Allocator> values) {
  const size_t size = values.size();
  return moved(std::move(values), {size});
}

// A copy of a vector as a numpy array.
template <typename T, typename Allocator>
NewArray<T> copied(const std::vector<T, Allocator>& values) {
  return moved(values);
}

template <typename T>
std::vector<T> vector_of(const Array<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

// For a property that is a vector member: Python sees it without a copy, and the array keeps the object
// alive. Bind it with rv_policy::automatic.
template <typename Result, typename T>
auto array_of(std::vector<T> Result::* member) {
  return [member](nanobind::pointer_and_handle<Result> self) {
    std::vector<T>& values = self.p->*member;
    return NewArray<T>(values.data(), {values.size()}, self.h);
  };
}

inline std::string_view view(const nanobind::bytes& text) { return {text.c_str(), text.size()}; }

}  // namespace arcwise::bindings
