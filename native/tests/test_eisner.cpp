// Eisner's kernels against an enumeration of all head vectors, in plain C++ and under the sanitizers.
#include "kernels/inference/eisner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/minus_infinity.hpp"

using namespace arcwise;

namespace {

void check(bool holds, const char* what, int n, int round) {
  if (holds) return;
  std::fprintf(stderr, "test_eisner: %s (n = %d, round %d)\n", what, n, round);
  std::exit(1);
}

bool close(double a, double b) {
  return a == b || (std::isfinite(a) && std::abs(a - b) <= 1e-9 * (1 + std::abs(a)));
}

bool is_above(const int32_t* heads, int n, int head, int word) {
  for (int steps = 0; steps <= n && word >= 0; ++steps, word = heads[word])
    if (word == head) return true;
  return false;
}

bool is_tree(const int32_t* heads, int n, bool single_root, EisnerSpans spans) {
  if (single_root && std::count(heads + 1, heads + n + 1, 0) != 1) return false;
  for (int m = 1; m <= n; ++m) {
    if (!is_above(heads, n, 0, m)) return false;
    for (int w = std::min(m, heads[m]) + 1; w < std::max(m, heads[m]); ++w)
      if (!is_above(heads, n, heads[m], w)) return false;
  }
  for (int s = 0; s < spans.count; ++s) {
    const int first = spans.ends[2 * s], last = spans.ends[2 * s + 1];
    int entering = 0, leaving = 0;
    for (int m = 1; m <= n; ++m) {
      const bool inside = first <= m && m <= last, head_inside = first <= heads[m] && heads[m] <= last;
      entering += inside && !head_inside;
      leaving += !inside && head_inside;
    }
    if (entering != 1 || leaving) return false;
  }
  return true;
}

struct Enumerated {
  std::vector<double> values;     // best first
  std::vector<double> marginals;  // sums of exp(score - log Z)
  double log_partition = MINUS_INFINITY;
};

Enumerated enumerate(const std::vector<double>& scores, int n, bool single_root, EisnerSpans spans) {
  const int side = n + 1;
  Enumerated out;
  std::vector<std::vector<int32_t>> trees;
  std::vector<int32_t> heads(side, 0);
  heads[0] = -1;
  for (;;) {
    double value = 0;
    for (int m = 1; m <= n; ++m) value += m == heads[m] ? MINUS_INFINITY : scores[heads[m] * side + m];
    if (value > MINUS_INFINITY && is_tree(heads.data(), n, single_root, spans)) {
      trees.push_back(heads);
      out.values.push_back(value);
    }
    int m = 1;
    while (m <= n && ++heads[m] > n) heads[m++] = 0;
    if (m > n) break;
  }
  out.marginals.assign(side * side, 0);
  if (trees.empty()) return out;
  const double top = *std::max_element(out.values.begin(), out.values.end());
  double total = 0;
  for (double value : out.values) total += std::exp(value - top);
  out.log_partition = top + std::log(total);
  for (size_t t = 0; t < trees.size(); ++t)
    for (int m = 1; m <= n; ++m)
      out.marginals[trees[t][m] * side + m] += std::exp(out.values[t] - top) / total;
  std::sort(out.values.rbegin(), out.values.rend());
  return out;
}

void compare(const std::vector<double>& scores, int n, bool single_root, EisnerSpans spans, int round,
             EisnerWorkspace& workspace) {
  const int side = n + 1;
  const Enumerated expected = enumerate(scores, n, single_root, spans);
  const int trees = static_cast<int>(expected.values.size());
  std::vector<int32_t> heads(side * (trees + 3));
  std::vector<double> values(trees + 1), marginals(side * side);

  const double best = eisner_decode(scores.data(), n, single_root, heads.data(), workspace, spans);
  check(close(best, trees ? expected.values[0] : MINUS_INFINITY), "decode: value", n, round);
  if (trees) check(is_tree(heads.data(), n, single_root, spans), "decode: class", n, round);
  check(close(eisner_log_partition(scores.data(), n, single_root, workspace, spans), expected.log_partition),
        "log_partition", n, round);
  eisner_marginals(scores.data(), n, single_root, marginals.data(), workspace, spans);
  for (int at = 0; at < side * side; ++at)
    check(std::abs(marginals[at] - expected.marginals[at]) < 1e-9, "marginals", n, round);
  check(eisner_count(scores.data(), n, single_root, workspace, spans) == trees, "count", n, round);
  const int found =
      eisner_k_best(scores.data(), n, single_root, trees + 1, heads.data(), values.data(), workspace, spans);
  check(found == trees, "k_best: number", n, round);
  for (int t = 0; t < trees; ++t) {
    check(close(values[t], expected.values[t]), "k_best: value", n, round);
    check(is_tree(&heads[t * side], n, single_root, spans), "k_best: class", n, round);
  }
  Random draws(7, round);
  eisner_sample(scores.data(), n, single_root, trees ? 3 : 0, draws, heads.data(), workspace, spans);
  for (int t = 0; t < (trees ? 3 : 0); ++t)
    check(is_tree(&heads[t * side], n, single_root, spans), "sample: class", n, round);
}

}  // namespace

int main() {
  EisnerWorkspace workspace;
  Random random(1);
  const double spreads[] = {0, 1, 30, 500, 2000};
  for (int n = 1; n <= 5; ++n)
    for (int round = 0; round < 60; ++round) {
      std::vector<double> scores((n + 1) * (n + 1));
      for (double& score : scores)
        score = round % 3 == 1 && random.uniform() < 0.3 ? MINUS_INFINITY
                                                         : spreads[round % 5] * (random.uniform() - 0.5);
      for (bool single_root : {false, true}) {
        compare(scores, n, single_root, {}, round, workspace);
        const int32_t first = 1 + static_cast<int32_t>(random.below(n));
        const int32_t span[] = {first, first + static_cast<int32_t>(random.below(n - first + 1))};
        std::vector<double> closed = scores;
        for (int h = span[0]; h <= span[1]; ++h)
          for (int m = 1; m <= n; ++m)
            if (m < span[0] || m > span[1]) closed[h * (n + 1) + m] = MINUS_INFINITY;
        compare(closed, n, single_root, {span, 1}, round, workspace);
      }
    }
  // Two pairs of words that want each other by far: every tree is too light for a double, though no arc is.
  std::vector<double> pairs(25, 0.0);
  pairs[1 * 5 + 2] = pairs[2 * 5 + 1] = pairs[3 * 5 + 4] = pairs[4 * 5 + 3] = 600;
  for (bool single_root : {false, true}) compare(pairs, 4, single_root, {}, 60, workspace);
  // Masks as large as sums of doubles can hold exactly beside quarters; often every tree needs one.
  for (int round = 0; round < 60; ++round) {
    const int n = 1 + round % 4;
    std::vector<double> scores((n + 1) * (n + 1));
    for (double& score : scores)
      score = (static_cast<double>(random.below(64)) - 32) / 4 +
              (random.uniform() < 0.25 * (1 + round % 3) ? (round % 2 ? -0x1p45 : -0x1p22) : 0);
    for (bool single_root : {false, true}) compare(scores, n, single_root, {}, 100 + round, workspace);
  }
  std::puts("test_eisner: all right");
}
