// Sums and samples over non-projective trees against an enumeration, in plain C++ and under the sanitizers.
#include "kernels/inference/matrix_tree.hpp"

#include "kernels/inference/wilson.hpp"
#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

void check_sums(const std::vector<double>& scores, int n, bool single_root, int round,
                MatrixTreeWorkspace& workspace) {
  const TreeEnumeration expected(scores, n, single_root);
  std::vector<double> marginals(scores.size());
  const double alone = matrix_tree_log_partition(scores.data(), n, single_root, workspace);
  const double log_partition =
      matrix_tree_marginals(scores.data(), n, single_root, marginals.data(), workspace);
  check(close(alone, expected.log_partition), "log partition", n, round);
  check(close(log_partition, expected.log_partition), "log partition with marginals", n, round);
  if (log_partition == MINUS_INFINITY) return;
  for (size_t arc = 0; arc < scores.size(); ++arc)
    check(std::abs(marginals[arc] - expected.marginals[arc]) < 1e-10, "marginals", n, round);
}

void check_samples(const std::vector<double>& scores, int n, bool single_root, int round,
                   WilsonWorkspace& workspace) {
  constexpr int COUNT = 400;
  const TreeEnumeration expected(scores, n, single_root);
  Random random(7, round);
  std::vector<int32_t> heads(COUNT * (n + 1));
  const double log_partition =
      wilson_sample(scores.data(), n, single_root, COUNT, random, heads.data(), workspace);
  check(close(log_partition, expected.log_partition), "log partition of samples", n, round);
  if (log_partition == MINUS_INFINITY) return;
  std::vector<double> counts(scores.size());
  for (int i = 0; i < COUNT; ++i) {
    const std::vector<int32_t> tree(&heads[i * (n + 1)], &heads[i * (n + 1)] + n + 1);
    check(is_tree(tree, single_root), "samples are trees", n, round);
    for (int m = 1; m <= n; ++m) counts[tree[m] * (n + 1) + m] += 1;
  }
  for (size_t arc = 0; arc < scores.size(); ++arc) {
    const double p = std::min(expected.marginals[arc], 1.0);  // sums of rounded numbers may exceed it
    check(std::abs(counts[arc] / COUNT - p) < 6 * std::sqrt(p * (1 - p) / COUNT) + 4.0 / COUNT, "frequencies",
          n, round);
  }
}

}  // namespace

int main() {
  Random random(1);
  MatrixTreeWorkspace workspace;
  WilsonWorkspace sampling;
  for (int round = 0; round < 600; ++round) {
    const int n = 1 + static_cast<int>(random.below(4));
    const std::vector<double> scores = some_scores(random, n, round);
    for (bool single_root : {false, true}) {
      check_sums(scores, n, single_root, round, workspace);
      if (round < 60) check_samples(scores, n, single_root, round, sampling);
    }
  }
  for (int round = 0; round < 120; ++round) {
    const int n = 1 + static_cast<int>(random.below(4));
    const std::vector<double> scores = masked_scores(random, n, round);
    for (bool single_root : {false, true}) {
      check_sums(scores, n, single_root, round, workspace);
      if (round < 20) check_samples(scores, n, single_root, round, sampling);
    }
  }
  for (int n : {60, 7, 61}) {  // a workspace serves any length
    const std::vector<double> scores = some_scores(random, n, 1);
    std::vector<double> marginals(scores.size());
    for (bool single_root : {false, true}) {
      matrix_tree_marginals(scores.data(), n, single_root, marginals.data(), workspace);
      for (int m = 1; m <= n; ++m) {
        double sum = 0;
        for (int h = 0; h <= n; ++h) sum += marginals[h * (n + 1) + m];
        check(close(sum, 1), "columns sum to 1", n, 0);
      }
    }
  }
}
