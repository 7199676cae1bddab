// Conversion of sparse linear models, lists of numbers and training options to and from Python.
#pragma once
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/learning/sparse_linear.hpp"

namespace arcwise::bindings {

inline auto linear_arrays(const SparseLinear& model) {
  return std::make_tuple(copied(model.keys()), copied(model.starts()), copied(model.outputs()),
                         copied(model.weights()));
}

inline Lists lists_of(Array<uint32_t> starts, Array<uint32_t> values) {
  Lists lists;
  lists.starts.assign(starts.data(), starts.data() + starts.shape(0));
  lists.values = vector_of(values);
  if (lists.starts.empty() || lists.starts.back() != lists.values.size() ||
      !std::is_sorted(lists.starts.begin(), lists.starts.end()))
    throw nanobind::value_error("the starts of the lists do not fit their values");
  return lists;
}

using ListArrays = std::pair<Array<uint32_t>, Array<uint32_t>>;
inline Lists lists_of(const ListArrays& arrays) { return lists_of(arrays.first, arrays.second); }

inline auto list_arrays(const Lists& lists) {
  std::vector<uint32_t> starts(lists.starts.begin(), lists.starts.end());
  return std::make_tuple(moved(std::move(starts)), copied(lists.values));
}

// (epochs, rate, damping, l2, min_count, prune, dropout, seed)
using OptionTuple = std::tuple<int, float, float, float, uint32_t, float, float, uint64_t>;
inline TrainingOptions options_of(const OptionTuple& options) {
  return std::apply([](auto... values) { return TrainingOptions{values...}; }, options);
}

}  // namespace arcwise::bindings
