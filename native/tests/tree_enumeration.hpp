// All non-projective trees over a few words, one by one: what the native tests compare with.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/random.hpp"

using arcwise::MINUS_INFINITY;

inline void check(bool holds, const char* what, int n, int round) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s (n = %d, round %d)\n", what, n, round);
  std::exit(1);
}

inline bool close(double a, double b) {
  return a == b || (std::isfinite(a) && std::abs(a - b) <= 1e-9 * (1 + std::abs(a)));
}

inline bool is_tree(const std::vector<int32_t>& heads, bool single_root) {
  const int n = static_cast<int>(heads.size()) - 1;
  if (single_root && std::count(heads.begin() + 1, heads.end(), 0) != 1) return false;
  for (int m = 1; m <= n; ++m) {
    int at = m;
    for (int steps = 0; at != 0 && steps <= n; ++steps) at = heads[at];
    if (at != 0) return false;
  }
  return true;
}

struct TreeEnumeration {
  std::vector<std::vector<int32_t>> trees;
  std::vector<double> values;  // best first; not in the order of trees
  std::vector<double> marginals;
  double log_partition = MINUS_INFINITY;

  TreeEnumeration(const std::vector<double>& scores, int n, bool single_root) : marginals(scores.size()) {
    const int side = n + 1;
    std::vector<int32_t> heads(side, 0);
    heads[0] = -1;
    for (int m = 1; m <= n;) {  // counts through all head vectors
      double value = 0;
      for (int w = 1; w <= n; ++w) value += heads[w] == w ? MINUS_INFINITY : scores[heads[w] * side + w];
      if (value > MINUS_INFINITY && is_tree(heads, single_root)) {
        trees.push_back(heads);
        values.push_back(value);
      }
      for (m = 1; m <= n && ++heads[m] > n; ++m) heads[m] = 0;
    }
    if (trees.empty()) return;
    const double top = *std::max_element(values.begin(), values.end());
    double total = 0;
    for (double value : values) total += std::exp(value - top);
    log_partition = top + std::log(total);
    for (size_t t = 0; t < trees.size(); ++t)
      for (int m = 1; m <= n; ++m) marginals[trees[t][m] * side + m] += std::exp(values[t] - top) / total;
    std::sort(values.rbegin(), values.rend());
  }
};

// Scores of several kinds in turn: ties, even, spread, with holes, with words that prefer each other by far.
inline std::vector<double> some_scores(arcwise::Random& random, int n, int round) {
  const int side = n + 1, kind = round % 5;
  std::vector<double> scores(static_cast<size_t>(side) * side);
  for (double& score : scores) {
    const double spread = kind == 2 ? 1000 : kind == 3 ? 4000 : 5;
    score = kind == 0 ? random.below(3) : spread * (random.uniform() - 0.5);
    if (random.uniform() < (kind == 1 ? 0.0 : 0.2)) score = MINUS_INFINITY;
  }
  if (kind == 4 && n >= 2) scores[side + 2] = scores[2 * side + 1] = 300;
  return scores;
}

// Scores of which many are a mask as large as sums of doubles can hold exactly beside quarters, so that the enumeration is exact. Every
// fourth time they are no quarters, and trees can do without masks; word 1 has no other head than the root.
inline std::vector<double> masked_scores(arcwise::Random& random, int n, int round) {
  const int side = n + 1;
  std::vector<double> scores(static_cast<size_t>(side) * side);
  const double mask = round % 2 ? -0x1p45 : -0x1p22;
  for (double& score : scores)
    score = (static_cast<double>(random.below(64)) - 32) / 4 +
            (random.uniform() < 0.25 * (1 + round % 3) ? mask : 0);
  if (round % 4 == 3)
    for (int at = 0; at < side * side; ++at) {
      const int h = at / side, m = at % side;
      scores[at] = h == m - 1 ? random.uniform() : m == 1 ? mask : scores[at] + random.uniform();
    }
  return scores;
}
