// What the bindings of tokenizer and tagger share: parts of their models as arrays, checked on the way back.
#pragma once
#include <nanobind/ndarray.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/linear_arrays.hpp"
#include "kernels/base/key_table.hpp"
#include "kernels/learning/softmax.hpp"
#include "kernels/learning/sparse_linear.hpp"

namespace arcwise::bindings {

// A damaged model file must not lead outside an array.
template <typename Values>
void check_below(const Values& values, size_t limit, const char* what) {
  for (auto value : values)
    if (value >= limit) throw nanobind::value_error((std::string(what) + " out of range").c_str());
}

inline SparseLinear linear_of(Array<uint32_t> keys, Array<uint32_t> starts, Array<uint16_t> outputs,
                              Array<float> weights, size_t output_count) {
  SparseLinear model(vector_of(keys), vector_of(starts), vector_of(outputs), vector_of(weights));
  check_below(model.outputs(), output_count, "an output");
  return model;
}

inline auto table_arrays(const KeyTable& table) {
  std::vector<uint32_t> keys, values;
  for (const auto& [key, value] : table.pairs()) {
    keys.push_back(key);
    values.push_back(value);
  }
  return std::make_tuple(moved(std::move(keys)), moved(std::move(values)));
}

inline KeyTable table_of(const ListArrays& arrays, size_t limit) {
  if (arrays.first.shape(0) != arrays.second.shape(0)) throw nanobind::value_error("as many keys as values");
  for (size_t i = 0; i < arrays.second.shape(0); ++i)
    if (arrays.second.data()[i] >= limit) throw nanobind::value_error("a value out of range");
  return {arrays.first.data(), arrays.second.data(), arrays.first.shape(0)};
}

// One output per candidate, the same number.
inline SoftmaxTask plain_task(size_t candidates, Lists sets) {
  SoftmaxTask task;
  task.output_count = candidates;
  for (uint32_t c = 0; c < candidates; ++c) {
    task.outputs_of_candidate.add(c);
    task.outputs_of_candidate.close();
  }
  task.candidates_of_set = std::move(sets);
  return task;
}

}  // namespace arcwise::bindings
