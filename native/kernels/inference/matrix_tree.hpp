// The Matrix-Tree theorem without subtraction: log partition and arc marginals over all non-projective trees.
//
// Koo et al. (2007), Smith & Smith (2007) and McDonald & Satta (2007) invert a Laplacian, which cancels: with
// scores spread by 60 no digit of the marginals is right. Here the marginals are read off a random walk from
// words to candidate heads, absorbed by the root. With w(h->m) = exp(score) and esc_m(h) the probability that
// the walk from h reaches the root before m,
//     mu(h->m) ∝ w(h->m) esc_m(h) for words h,    mu(0->m) ∝ w(0->m),    each column normalised,
// and esc is found by eliminating states as Grassmann, Taksar & Heyman (1985) do: nothing but additions,
// multiplications and divisions of non-negative numbers, so that every result keeps full relative accuracy.
//
// Doubles serve as long as the elimination shows that nothing of weight can have underflowed; else the same
// template runs again on WideNumber, and where scores are beyond that too (score_range.hpp) on TallNumber. O(n³), as much work as
// one inverse.
//
// docs/explanation/single-root-elimination.md derives all of it, the single root too.
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
        // A level's system has, before its elimination, the rows of the level above.
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

// Where scores are too large for WideNumber, those that lie so far below the highest of their column are left out.
constexpr double MATRIX_TREE_DEPTH = 5e5;
static_assert(MATRIX_TREE_DEPTH < WideNumber::LARGEST_LOG);

// log of the sum of exp(score) over all trees; -inf if there is none.
double matrix_tree_log_partition(const double* scores, int n, bool single_root,
                                 MatrixTreeWorkspace& workspace);

// The same, and the probability of every arc: marginals is (n+1)², its column 0 and diagonal are 0. If there
// is no tree, marginals are undefined.
double matrix_tree_marginals(const double* scores, int n, bool single_root, double* marginals,
                             MatrixTreeWorkspace& workspace);

}  // namespace arcwise
