// Scores of any finite size: what can be left out, what a number type can hold, and sums that keep their last digits.
//
// Machine-learning code forbids arcs with -1e9, -1e30 or the lowest double. Every word has one head, so a constant taken from a column
// is taken from every tree. Take its highest score from each column: all scores are then at most 0, and a tree that has an arc below
// -DEPTH lies below -DEPTH itself. Leave such arcs out, and let log Z' be what the other trees sum to. If
//     log Z' >= -DEPTH + UNDERFLOW + log(number of trees),
// all trees left out have, together, less than exp(-UNDERFLOW) of the probability: nothing that a double could hold. Otherwise trees
// that matter need such arcs, and TallNumber takes them as they are.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/wide_number.hpp"

namespace arcwise {

// Scores above this are not taken: the sum of a sentence would be more than a double holds.
constexpr double LARGEST_SCORE = 1e300;

constexpr double SCORE_UNDERFLOW = 800;  // exp(-800) is 0 as a double

// Whether a sum over trees, all of them without arcs below -depth, stands for the sum over all trees. There are at most (n+1)^n.
inline bool is_deep_enough(double log_partition, int n, double depth) {
  return log_partition >= SCORE_UNDERFLOW + n * std::log(n + 1.0) - depth;
}

// A sum whose rounding errors are added up as well (Neumaier 1974).
struct CarefulSum {
  double total = 0, lost = 0;

  void add(double x) {
    const double sum = total + x;
    lost += std::fabs(total) >= std::fabs(x) ? (total - sum) + x : (x - sum) + total;
    total = sum;
  }
  // x + the sum; where that is more than a double holds, -inf.
  double plus(double x) const { return std::isfinite(total) ? x + lost + total : MINUS_INFINITY; }
};

// The largest score in size, of those that are read and not -inf.
inline double largest_size(const double* scores, int n) {
  double largest = 0;
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      const double score = scores[static_cast<size_t>(h) * (n + 1) + m];
      if (h != m && score != MINUS_INFINITY) largest = std::max(largest, std::fabs(score));
    }
  return largest;
}

// Scores with the highest of each column taken from it, and -inf where that leaves less than -depth; the sum of what was taken.
struct ReducedScores {
  std::vector<double> scores;
  CarefulSum taken;

  // False if some word can have no head.
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
