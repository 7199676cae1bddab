// Native vectors handed to Python as numpy arrays that own their memory.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <utility>
#include <vector>

template <typename T, typename Allocator>
nanobind::ndarray<nanobind::numpy, T> owned_array(std::vector<T, Allocator> values,
                                                  std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T, Allocator>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, Allocator>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T>(kept->data(), shape, owner);
}
