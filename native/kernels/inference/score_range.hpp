// Scores of any finite size: which arcs can be dropped, which number type suffices, and compensated sums.
//
// Machine-learning code forbids arcs with -1e9, -1e30 or the lowest double. Every word has one head, so
// subtracting a constant from a column subtracts it from every tree. Subtract the highest score of each
// column: all scores are then at most 0, and a tree with an arc below -DEPTH scores below -DEPTH itself. Drop
// such arcs, and let log Z' be the log sum over the remaining trees. If
//     log Z' >= -DEPTH + UNDERFLOW + log(number of trees),
// all dropped trees together have less than exp(-UNDERFLOW) of the probability, which is 0 as a double.
// Otherwise trees that matter need such arcs, and TallNumber represents them exactly.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/wide_number.hpp"

namespace arcwise {

// Larger scores are rejected: the sum of a sentence would overflow a double.
constexpr double LARGEST_SCORE = 1e300;

constexpr double SCORE_UNDERFLOW = 800;  // exp(-800) is 0 as a double

// Whether a sum over trees without arcs below -depth equals the sum over all trees, to double precision.
// There are at most (n+1)^n.
inline bool is_deep_enough(double log_partition, int n, double depth) {
  return log_partition >= SCORE_UNDERFLOW + n * std::log(n + 1.0) - depth;
}

// A sum with compensation of rounding errors (Neumaier 1974).
struct CarefulSum {
  double total = 0, lost = 0;

  void add(double x) {
    const double sum = total + x;
    lost += std::fabs(total) >= std::fabs(x) ? (total - sum) + x : (x - sum) + total;
    total = sum;
  }
  // x + the sum, or -inf if that overflows a double.
  double plus(double x) const { return std::isfinite(total) ? x + lost + total : MINUS_INFINITY; }
};

// The largest absolute score, over those that are read and not -inf.
inline double largest_size(const double* scores, int n) {
  double largest = 0;
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      const double score = scores[static_cast<size_t>(h) * (n + 1) + m];
      if (h != m && score != MINUS_INFINITY) largest = std::max(largest, std::fabs(score));
    }
  return largest;
}

// Scores minus the highest of each column, and -inf where the result is below -depth; and the sum of these
// shifts.
struct ReducedScores {
  std::vector<double> scores;
  CarefulSum taken;

  // Returns false if some word can have no head.
  bool reduce(const double* from, int n, double depth) {
    const size_t side = static_cast<size_t>(n) + 1;
    scores.assign(side * side, MINUS_INFINITY);
    taken = {};
    for (size_t m = 1; m < side; ++m) {
      double highest = MINUS_INFINITY;
      for (size_t h = 0; h < side; ++h)
        if (h != m) highest = std::max(highest, from[h * side + m]);
      if (highest == MINUS_INFINITY) return false;
      taken.add(highest);
      for (size_t h = 0; h < side; ++h) {
        const double left = from[h * side + m] - highest;
        if (h != m && left >= -depth) scores[h * side + m] = left;
      }
    }
    return true;
  }
};

// The weights exp(score) of all arcs, (n+1)²; column 0 and the diagonal are 0.
template <typename Number>
std::vector<Number> weights_as(const double* scores, int n) {
  const size_t side = static_cast<size_t>(n) + 1;
  std::vector<Number> weights(side * side);
  for (size_t h = 0; h < side; ++h)
    for (size_t m = 1; m < side; ++m)
      if (h != m) weights[h * side + m] = Number::exp(scores[h * side + m]);
  return weights;
}

}  // namespace arcwise
