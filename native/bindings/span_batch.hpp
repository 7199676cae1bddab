// Spans of a batch of sentences, as passed from Python.
#pragma once
#include "bindings/score_batch.hpp"
#include "kernels/inference/eisner.hpp"

namespace arcwise {

// Spans that must be subtrees: those of sentence s are the pairs from 2·starts[s] to 2·starts[s+1].
struct SpanBatch {
  SpanBatch(const bindings::Array<int32_t>& ends, const bindings::Array<int64_t>& starts,
            const ArcMatrices& batch)
      : ends(ends.data()), starts(starts.shape(0) ? starts.data() : nullptr) {
    if (!this->starts) return;
    if (starts.shape(0) != batch.sentences + 1)
      throw nanobind::value_error("one more span start than sentences is needed");
    for (size_t s = 0; s < batch.sentences; ++s)
      if (this->starts[s] < 0 || this->starts[s] > this->starts[s + 1] ||
          2 * this->starts[s + 1] > static_cast<int64_t>(ends.shape(0)))
        throw nanobind::value_error("a span lies outside the ends");
  }
  EisnerSpans of(size_t sentence) const {
    if (!starts) return {};
    return {ends + 2 * starts[sentence], static_cast<int>(starts[sentence + 1] - starts[sentence])};
  }
  const int32_t* ends;
  const int64_t* starts;
};

}  // namespace arcwise
