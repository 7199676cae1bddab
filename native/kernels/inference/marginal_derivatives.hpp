// Derivatives of the marginals: the second and third derivatives of log Z, along one and two directions.
//
// Marginals are made of sums, products and quotients of weights. The same charts and eliminations over numbers that carry derivatives
// (derivative_number.hpp) give the derivatives, with as many operations, times a constant, and as little cancellation: slopes are means
// over trees, and nothing is subtracted but one mean from another. O(n³).
#pragma once
#include <vector>

#include "kernels/base/number_functions.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// Changes of the scores, (n+1)×(n+1) like these; where second is null, one derivative is asked for.
struct ScoreDirections {
  const double* first = nullptr;
  const double* second = nullptr;
};

// What sums in one type of number need.
template <typename Number>
struct DerivativeMemory {
  std::vector<Number> weights, cells, adjoints;
  EliminationLevels<Number> levels;
};

// One per thread.
struct DerivativeWorkspace {
  EisnerWorkspace eisner;
  MatrixTreeWorkspace matrix_tree;
  std::vector<double> first, second, weights;
  DerivativeMemory<Tangent<double>> slopes;
  DerivativeMemory<Tangent<Tangent<double>>> bends;
};

// ∂ marginals(scores + ε·first) / ∂ε, or ∂² marginals(scores + ε·first + δ·second) / ∂ε∂δ, at 0, into out, (n+1)×(n+1). What has
// probability 0 has derivative 0; without a tree all are 0. False, and nothing written, if a direction is not finite where there are arcs.
bool marginal_derivatives(const double* scores, int n, TreeClass trees, ScoreDirections directions,
                          double* out, DerivativeWorkspace& workspace, EisnerSpans spans = {});

}  // namespace arcwise
