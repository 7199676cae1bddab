// Inference over a padded batch: scores (B, N+1, N+1) of floats or doubles, where sentence b occupies the
// first n+1 rows and columns, n = lengths[b]. The padding, column 0 and the diagonal are never read.
//
// Results are padded like the scores, with 0 (probabilities, derivatives) or -1 (heads). A sentence without
// words has one tree, of score 0. A sentence without a tree has log Z and score -inf, marginals 0 and heads
// -1. A sentence with nan or more than LARGEST_SCORE among its scores has nan for log Z, scores, and
// marginals and derivatives of arcs, and heads -1.
//
// Sums are computed in double. If a sentence has all N words and scores are doubles, they are read and
// written in place; otherwise each worker uses a compact copy. Results do not depend on the thread count.
// has a compact copy. Results are the same at any thread count.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

template <typename Real>
struct PaddedBatch {
  const Real* scores = nullptr;
  const int32_t* lengths = nullptr;  // 0..words
  size_t sentences = 0;
  int words = 0;  // N
  TreeClass trees;
  const int32_t* span_ends = nullptr;    // first and last word of spans that must be subtrees
  const int64_t* span_starts = nullptr;  // start of each sentence's spans, B+1; null: no spans
  int threads = 1;

  size_t side() const { return static_cast<size_t>(words) + 1; }
  size_t square() const { return side() * side(); }
  EisnerSpans spans(size_t b) const {
    if (!span_starts) return {};
    return {span_ends + 2 * span_starts[b], static_cast<int>(span_starts[b + 1] - span_starts[b])};
  }
};

// Output arrays have space for all sentences: B values for log_partitions and values, B·(N+1)² for marginals
// and derivatives, B·(N+1) for heads.
template <typename Real>
void padded_log_partition(const PaddedBatch<Real>& batch, Real* log_partitions);

template <typename Real>
void padded_marginals(const PaddedBatch<Real>& batch, Real* log_partitions, Real* marginals);

// Derivatives of the marginals (marginal_derivatives.hpp); the directions are padded like the scores. second
// may be null.
template <typename Real>
void padded_marginal_derivatives(const PaddedBatch<Real>& batch, const Real* first, const Real* second,
                                 Real* derivatives);

template <typename Real>
void padded_decode(const PaddedBatch<Real>& batch, int64_t* heads, Real* values);

// heads (B, k, N+1) and values (B, k); missing trees have heads -1 and score -inf.
template <typename Real>
void padded_k_best(const PaddedBatch<Real>& batch, int k, int64_t* heads, Real* values);

// heads (count, B, N+1); sentence b draws from stream b of the seed.
template <typename Real>
void padded_sample(const PaddedBatch<Real>& batch, int count, uint64_t seed, int64_t* heads);

}  // namespace arcwise
