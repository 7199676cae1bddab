// A common interface to the four classes of trees: projective or not, single root or not.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/inference/eisner.hpp"
#include "kernels/inference/matrix_tree.hpp"
#include "kernels/inference/spanning_tree.hpp"
#include "kernels/inference/wilson.hpp"

namespace arcwise {

struct TreeClass {
  bool projective = false, single_root = true;
};

// Whether heads[1..n], all of them known, form a tree of the class.
inline bool is_tree(const int32_t* heads, int n, TreeClass trees) {
  int roots = 0;
  for (int m = 1; m <= n; ++m) {
    roots += heads[m] == 0;
    int steps = 0;
    for (int word = m; word > 0; word = heads[word])
      if (++steps > n) return false;
    if (!trees.projective) continue;
    const int low = std::min(m, heads[m]), high = std::max(m, heads[m]);
    for (int between = low + 1; between < high; ++between)
      if (heads[between] < low || heads[between] > high) return false;
  }
  return !trees.single_root || roots == 1;
}

// One per thread; eisner.hpp, spanning_tree.hpp, matrix_tree.hpp and wilson.hpp document the operations.
// spans: words that must be subtrees (projective trees only).
class TreeInference {
 public:
  double decode(const double* scores, int n, TreeClass kind, int32_t* heads, EisnerSpans spans = {}) {
    return kind.projective ? eisner_decode(scores, n, kind.single_root, heads, eisner_, spans)
                           : spanning_tree_decode(scores, n, kind.single_root, heads, spanning_tree_);
  }
  int k_best(const double* scores, int n, TreeClass kind, int k, int32_t* heads, double* values,
             EisnerSpans spans = {}) {
    return kind.projective
               ? eisner_k_best(scores, n, kind.single_root, k, heads, values, eisner_, spans)
               : spanning_tree_k_best(scores, n, kind.single_root, k, heads, values, spanning_tree_);
  }
  double log_partition(const double* scores, int n, TreeClass kind, EisnerSpans spans = {}) {
    return kind.projective ? eisner_log_partition(scores, n, kind.single_root, eisner_, spans)
                           : matrix_tree_log_partition(scores, n, kind.single_root, wilson_.matrix_tree);
  }
  double marginals(const double* scores, int n, TreeClass kind, double* marginals, EisnerSpans spans = {}) {
    return kind.projective
               ? eisner_marginals(scores, n, kind.single_root, marginals, eisner_, spans)
               : matrix_tree_marginals(scores, n, kind.single_root, marginals, wilson_.matrix_tree);
  }
  double sample(const double* scores, int n, TreeClass kind, int count, Random& random, int32_t* heads,
                EisnerSpans spans = {}) {
    return kind.projective ? eisner_sample(scores, n, kind.single_root, count, random, heads, eisner_, spans)
                           : wilson_sample(scores, n, kind.single_root, count, random, heads, wilson_);
  }

 private:
  EisnerWorkspace eisner_;
  SpanningTreeWorkspace spanning_tree_;
  WilsonWorkspace wilson_;
};

}  // namespace arcwise
