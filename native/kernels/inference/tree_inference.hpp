// The four tree classes behind one face: projective or not, single root or not.
#pragma once
#include <cstdint>

#include "kernels/inference/eisner.hpp"
#include "kernels/inference/matrix_tree.hpp"
#include "kernels/inference/spanning_tree.hpp"

namespace arcwise {

struct TreeClass {
  bool projective = false, single_root = true;
};

// One per thread; see eisner.hpp, spanning_tree.hpp and matrix_tree.hpp for what each operation promises. spans: words that
// must be subtrees (projective trees alone).
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
  double marginals(const double* scores, int n, TreeClass kind, double* marginals, EisnerSpans spans = {}) {
    return kind.projective ? eisner_marginals(scores, n, kind.single_root, marginals, eisner_, spans)
                           : matrix_tree_marginals(scores, n, kind.single_root, marginals, matrix_tree_);
  }

 private:
  EisnerWorkspace eisner_;
  SpanningTreeWorkspace spanning_tree_;
  MatrixTreeWorkspace matrix_tree_;
};

}  // namespace arcwise
