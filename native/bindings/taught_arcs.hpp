// A teacher's targets, as passed from Python and checked here, once.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/inference/taught_tree.hpp"

namespace arcwise::bindings {

// Checks that arcs join two tokens of their sentence and that shares and weights are positive.
inline TaughtArcs taught_arcs(const std::vector<uint32_t>& sentence_words, const Array<int64_t>& starts,
                              const Array<int32_t>& heads, const Array<int32_t>& labels,
                              const Array<double>& shares, const Array<double>& weights) {
  const size_t words = sentence_words.back(), arcs = heads.shape(0);
  auto positive = [](const Array<double>& values) {
    return std::all_of(values.data(), values.data() + values.shape(0),
                       [](double value) { return std::isfinite(value) && value > 0; });
  };
  if (starts.shape(0) != words + 1 || starts.data()[0] != 0 ||
      !std::is_sorted(starts.data(), starts.data() + words + 1) ||
      starts.data()[words] != static_cast<int64_t>(arcs) || labels.shape(0) != arcs ||
      shares.shape(0) != arcs)
    throw nanobind::value_error("starts: one for each word and the end are needed, in order");
  if (weights.shape(0) + 1 != sentence_words.size())
    throw nanobind::value_error("weights: one for each sentence is needed");
  if (!positive(shares) || !positive(weights))
    throw nanobind::value_error("shares, weights: numbers above 0 are needed");
  for (size_t s = 0; s + 1 < sentence_words.size(); ++s) {
    const int n = static_cast<int>(sentence_words[s + 1] - sentence_words[s]);
    for (int m = 1; m <= n; ++m) {
      const size_t word = sentence_words[s] + m - 1;
      for (int64_t at = starts.data()[word]; at < starts.data()[word + 1]; ++at)
        if (heads.data()[at] < 0 || heads.data()[at] > n || heads.data()[at] == m)
          throw nanobind::value_error("heads: an arc leaves its sentence");
    }
  }
  return {vector_of(starts), vector_of(heads), vector_of(labels), vector_of(shares), vector_of(weights)};
}

}  // namespace arcwise::bindings
