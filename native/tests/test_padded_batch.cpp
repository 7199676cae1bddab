// Padded batches and the derivatives of marginals against an enumeration of trees, in plain C++ and under the sanitizers.
#include "kernels/inference/padded_batch.hpp"

#include <limits>

#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// The trees of a class with their probabilities.
struct ClassTrees {
  std::vector<std::vector<int32_t>> trees;
  std::vector<double> probabilities;
  double log_partition = MINUS_INFINITY;

  ClassTrees(const std::vector<double>& scores, int n, TreeClass kind) {
    double top = MINUS_INFINITY, total = 0;
    for (const auto& heads : TreeEnumeration(scores, n, kind.single_root).trees)
      if (arcwise::is_tree(heads.data(), n, kind)) {
        double value = 0;
        for (int m = 1; m <= n; ++m) value += scores[heads[m] * (n + 1) + m];
        trees.push_back(heads);
        probabilities.push_back(value);
        top = std::max(top, value);
      }
    for (double& p : probabilities) total += p = std::exp(p - top);
    for (double& p : probabilities) p /= total;
    if (!trees.empty()) log_partition = top + std::log(total);
  }

  // Σ over trees of p(tree) · f(tree) at each arc of the tree.
  template <typename Of>
  std::vector<double> by_arc(int n, Of of) const {
    std::vector<double> result((n + 1) * (n + 1));
    for (size_t t = 0; t < trees.size(); ++t)
      for (int m = 1; m <= n; ++m) result[trees[t][m] * (n + 1) + m] += probabilities[t] * of(t);
    return result;
  }
  // The sum of a direction over the arcs of each tree, less its mean.
  std::vector<double> centred(const std::vector<double>& direction, int n) const {
    std::vector<double> sums;
    double mean = 0;
    for (size_t t = 0; t < trees.size(); ++t) {
      sums.push_back(0);
      for (int m = 1; m <= n; ++m) sums[t] += direction[trees[t][m] * (n + 1) + m];
      mean += probabilities[t] * sums[t];
    }
    for (double& sum : sums) sum -= mean;
    return sums;
  }
};

void check_matrix(const std::vector<double>& found, const std::vector<double>& expected, int n, int words,
                  double error, const char* what, int round) {
  for (int h = 0; h <= words; ++h)
    for (int m = 0; m <= words; ++m) {
      const double own = h <= n && m <= n ? expected[h * (n + 1) + m] : 0;
      check(std::abs(found[h * (words + 1) + m] - own) <= error, what, n, round);
    }
}

std::vector<double> padded_to(const std::vector<double>& matrix, int n, int words) {
  std::vector<double> result((words + 1) * (words + 1), NOT_A_NUMBER);
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m)
      if (h != m) result[h * (words + 1) + m] = matrix[h * (n + 1) + m];
  return result;
}

// Marginals, log Z and derivatives of one sentence in a matrix with padding, full of nan wherever nothing is to be read.
void check_sums(const std::vector<double>& scores, int n, int words, TreeClass kind, Random& random,
                int round) {
  const ClassTrees expected(scores, n, kind);
  const std::vector<double> given = padded_to(scores, n, words);
  std::vector<double> first(scores.size()), second(scores.size()), out(given.size(), NOT_A_NUMBER);
  for (double& x : first) x = random.uniform() - 0.5;
  for (double& x : second) x = random.uniform() - 0.5;
  const std::vector<double> given_first = padded_to(first, n, words),
                            given_second = padded_to(second, n, words);
  const int32_t length = n;
  const PaddedBatch<double> batch{given.data(), &length, 1, words, kind};
  double log_partition = 0, alone = 0;
  padded_log_partition(batch, &alone);
  padded_marginals(batch, &log_partition, out.data());
  check(close(alone, expected.log_partition), "log partition", n, round);
  check(close(log_partition, expected.log_partition), "log partition with marginals", n, round);
  check_matrix(out, expected.by_arc(n, [](size_t) { return 1.0; }), n, words, 1e-10, "marginals", round);

  const std::vector<double> f = expected.centred(first, n), g = expected.centred(second, n);
  double covariance = 0;
  for (size_t t = 0; t < f.size(); ++t) covariance += expected.probabilities[t] * f[t] * g[t];
  padded_marginal_derivatives<double>(batch, given_first.data(), nullptr, out.data());
  check_matrix(out, expected.by_arc(n, [&](size_t t) { return f[t]; }), n, words, 1e-10, "slope", round);
  padded_marginal_derivatives(batch, given_first.data(), given_second.data(), out.data());
  check_matrix(out, expected.by_arc(n, [&](size_t t) { return f[t] * g[t] - covariance; }), n, words, 1e-10,
               "bend", round);
}

// A batch of all lengths from 0 on, at several thread counts.
void check_trees(Random& random, TreeClass kind, int round) {
  constexpr int WORDS = 5, SENTENCES = 200, K = 40, COUNT = 3;
  constexpr size_t SIDE = WORDS + 1;
  std::vector<float> scores;
  std::vector<int32_t> lengths;
  for (int b = 0; b < SENTENCES; ++b) {
    lengths.push_back(b % (WORDS + 1));
    for (double score : padded_to(some_scores(random, lengths[b], round + b), lengths[b], WORDS))
      scores.push_back(static_cast<float>(score));
  }
  PaddedBatch<float> batch{scores.data(), lengths.data(), SENTENCES, WORDS, kind};
  std::vector<int64_t> kept[3];
  for (int threads : {1, 3}) {
    batch.threads = threads;
    std::vector<int64_t> heads(SENTENCES * SIDE, 7), several(SENTENCES * K * SIDE, 7),
        draws(COUNT * SENTENCES * SIDE, 7);
    std::vector<float> values(SENTENCES, 7), ranked(SENTENCES * K, 7);
    padded_decode(batch, heads.data(), values.data());
    padded_k_best(batch, K, several.data(), ranked.data());
    padded_sample(batch, COUNT, 3, draws.data());
    for (int b = 0; b < SENTENCES; ++b) {
      const int n = lengths[b];
      check(values[b] == ranked[b * K], "the best is the first of k", n, round);
      for (int draw = 0; draw < COUNT; ++draw)
        for (size_t m = 0; m < SIDE; ++m)
          check((draws[(draw * SENTENCES + b) * SIDE + m] >= 0) ==
                    (m > 0 && m <= static_cast<size_t>(n) && values[b] > MINUS_INFINITY),
                "draws have heads where there are words", n, round);
      if (n == 0) check(values[b] == 0 && heads[b * SIDE] == -1, "no words", n, round);
    }
    if (threads == 1)
      kept[0] = heads, kept[1] = several, kept[2] = draws;
    else
      check(kept[0] == heads && kept[1] == several && kept[2] == draws, "threads change nothing", 0, round);
  }
}

void check_unreadable(TreeClass kind) {
  for (double wrong : {NOT_A_NUMBER, std::numeric_limits<double>::infinity()}) {
    std::vector<double> scores(2 * 9, 0.0), out(2 * 9);
    scores[2] = wrong;
    const std::vector<double> direction(2 * 9, 1.0);
    const int32_t lengths[] = {2, 2};
    const PaddedBatch<double> batch{scores.data(), lengths, 2, 2, kind};
    std::vector<double> values(2);
    padded_marginals(batch, values.data(), out.data());
    check(std::isnan(values[0]) && std::isnan(out[1]) && out[0] == 0 && out[4] == 0, "nan", 2, 0);
    check(std::isfinite(values[1]) && std::isfinite(out[9 + 1]), "the others have none", 2, 0);
    padded_marginal_derivatives<double>(batch, direction.data(), nullptr, out.data());
    check(std::isnan(out[1]) && std::isfinite(out[9 + 1]), "derivatives", 2, 0);
    std::vector<int64_t> heads(2 * 3, 7);
    padded_decode(batch, heads.data(), values.data());
    check(std::isnan(values[0]) && heads[1] == -1 && heads[4] >= 0, "heads", 2, 0);
  }
}

}  // namespace

int main() {
  Random random(1);
  for (bool projective : {false, true})
    for (bool single_root : {false, true}) {
      const TreeClass kind{projective, single_root};
      for (int round = 0; round < 300; ++round) {
        const int n = 1 + static_cast<int>(random.below(4)), words = n + static_cast<int>(random.below(2));
        check_sums(some_scores(random, n, round), n, words, kind, random, round);
        if (round < 60) check_sums(masked_scores(random, n, round), n, words, kind, random, round);
      }
      for (int round = 0; round < 5; ++round) check_trees(random, kind, round);
      check_unreadable(kind);
    }
}
