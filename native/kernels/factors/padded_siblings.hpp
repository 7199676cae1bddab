// Projective trees with sibling scores over a padded batch: scores (B, N+1, N+1) and siblings (B, N+1, N+1, N+1) of floats or doubles, of
// which sentence b has the first n+1 along each side, n = lengths[b]. Results are padded as in padded_batch.hpp. O(n³) a sentence.
//
// log Z and scores of trees are doubles. The sums are those of the GPU's source, eisner_siblings_sums.cuh, by blocks of one thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace arcwise {

struct PaddedSiblings {
  bool is_double = false;
  const void *scores = nullptr, *siblings = nullptr;
  const int32_t* lengths = nullptr;  // 0..words
  size_t sentences = 0;
  int words = 0;  // N
  bool single_root = false;
  int threads = 1;
};

// Directions of derivatives, shaped as scores and siblings.
struct SiblingDirections {
  const void *first = nullptr, *first_siblings = nullptr, *second = nullptr, *second_siblings = nullptr;
};

void padded_siblings_log_partition(const PaddedSiblings& batch, double* log_partitions);

// arcs (B, N+1, N+1), pairs (B, N+1, N+1, N+1).
void padded_siblings_marginals(const PaddedSiblings& batch, double* log_partitions, void* arcs, void* pairs);

// The derivative of the marginals along one direction, or along two.
void padded_siblings_derivatives(const PaddedSiblings& batch, const SiblingDirections& directions, void* arcs,
                                 void* pairs);

// heads (B, N+1) of the best trees, and their scores.
void padded_siblings_decode(const PaddedSiblings& batch, int64_t* heads, double* values);

}  // namespace arcwise
