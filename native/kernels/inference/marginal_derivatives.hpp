// Derivatives of the marginals: the second and third derivatives of log Z, along one and two directions.
//
// Marginals are built from sums, products and quotients of weights. Running the same charts and eliminations
// on numbers that carry derivatives (derivative_number.hpp) gives the derivatives in a constant multiple of
// the time and with as little cancellation: slopes are means over trees, and the only subtraction is of one
// mean from another. O(n³).
#pragma once
#include <vector>

#include "kernels/base/number_functions.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// Directions in score space, (n+1)×(n+1) like the scores; if second is null, computes first derivatives.
struct ScoreDirections {
  const double* first = nullptr;
  const double* second = nullptr;
};

// The workspace of sums in one number type.
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

// Writes ∂ marginals(scores + ε·first) / ∂ε, or ∂² marginals(scores + ε·first + δ·second) / ∂ε∂δ, at 0, to
// out, (n+1)×(n+1). Entries of probability 0 have derivative 0; without a tree all are 0. Returns false,
// without writing, if a direction is not finite at an existing arc.
bool marginal_derivatives(const double* scores, int n, TreeClass trees, ScoreDirections directions,
                          double* out, DerivativeWorkspace& workspace, EisnerSpans spans = {});

}  // namespace arcwise
