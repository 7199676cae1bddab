// The subtraction-free Matrix-Tree theorem: log partition and arc marginals over all non-projective trees.
//
// Koo et al. (2007), Smith & Smith (2007) and McDonald & Satta (2007) invert a Laplacian, which suffers from
// cancellation: with scores spread by 60 no digit of the marginals is correct. Here the marginals come from a
// random walk from words to candidate heads, absorbed by the root. With w(h->m) = exp(score) and esc_m(h) the
// probability that the walk from h reaches the root before m,
//     mu(h->m) ∝ w(h->m) esc_m(h) for words h,    mu(0->m) ∝ w(0->m),    each column normalised,
// and esc is computed by eliminating states as in Grassmann, Taksar & Heyman (1985): only additions,
// multiplications and divisions of non-negative numbers, so every result keeps full relative accuracy.
//
// Doubles are used as long as the elimination shows that nothing significant can have underflowed; otherwise
// the same template runs on WideNumber, and where scores exceed that too (score_range.hpp) on TallNumber.
// O(n³), as much work as one inverse.
//
// docs/explanation/single-root-elimination.md derives all of it, including the single-root case.
#pragma once
#include <vector>

#include "kernels/base/wide_number.hpp"
#include "kernels/inference/score_range.hpp"

namespace arcwise {

// The systems and escape probabilities of each level of the recursion, for one number type.
template <typename Number>
struct EliminationLevels {
  struct Level {
    std::vector<Number> system, escapes[2];
  };
  std::vector<Level> levels;
  std::vector<Number> weights;  // w(h->m), each column shifted
  std::vector<Number> column_sum;
  std::vector<double> shift;

  void grow(int n, size_t stride) {
    if (levels.empty() || levels[0].system.size() < n * stride) {
      levels.clear();
      for (size_t states = n; levels.empty() || states > 0; states = states > 1 ? (states + 1) / 2 : 0) {
        // Before its elimination, a level's system has the rows of the level above.
        const size_t rows = levels.empty() ? states : 2 * states;
        levels.push_back(
            {std::vector<Number>(rows * stride + 4),
             {std::vector<Number>(states * stride + 4), std::vector<Number>(states * stride + 4)}});
      }
    }
    if (weights.size() < (n + 1) * stride) weights.resize((n + 1) * stride);
  }
};

struct MatrixTreeWorkspace {
  EliminationLevels<double> plain;
  EliminationLevels<WideNumber> wide;
  EliminationLevels<TallNumber> tall;
  ReducedScores reduced;
};

// Where scores are too large for WideNumber, those this far below the highest of their column are dropped.
constexpr double MATRIX_TREE_DEPTH = 5e5;
static_assert(MATRIX_TREE_DEPTH < WideNumber::LARGEST_LOG);

// log of the sum of exp(score) over all trees; -inf if there is none.
double matrix_tree_log_partition(const double* scores, int n, bool single_root,
                                 MatrixTreeWorkspace& workspace);

// Also computes the probability of every arc: marginals is (n+1)², with 0 in column 0 and on the diagonal. If
// there is no tree, marginals are undefined.
double matrix_tree_marginals(const double* scores, int n, bool single_root, double* marginals,
                             MatrixTreeWorkspace& workspace);

}  // namespace arcwise
