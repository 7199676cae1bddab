// Scores, the decoder and the losses over them against an enumeration of all trees, in plain C++ and under the sanitizers.
#include "kernels/inference/score_batch.hpp"

#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

constexpr int LABELS = 3;

// The scores of some labels; reduced to arcs by the maximum and by the log of the sum.
struct Labelled {
  std::vector<double> scores, best, sums;

  Labelled(Random& random, int n, int round) {
    const size_t square = static_cast<size_t>(n + 1) * (n + 1);
    best.assign(square, MINUS_INFINITY);
    sums.assign(square, MINUS_INFINITY);
    for (int l = 0; l < LABELS; ++l) {
      const std::vector<double> own = some_scores(random, n, round);
      scores.insert(scores.end(), own.begin(), own.end());
    }
    for (size_t at = 0; at < square; ++at) {
      for (int l = 0; l < LABELS; ++l) best[at] = std::max(best[at], scores[l * square + at]);
      double total = 0;
      for (int l = 0; l < LABELS && best[at] > MINUS_INFINITY; ++l)
        total += std::exp(scores[l * square + at] - best[at]);
      if (best[at] > MINUS_INFINITY) sums[at] = best[at] + std::log(total);
    }
  }
};

void test_decoder(const Labelled& labelled, const ScoreBatch& batch, int n, int round, bool single_root) {
  const TreeEnumeration by_best(labelled.best, n, single_root), by_sum(labelled.sums, n, single_root);
  DecodeSettings settings;
  settings.trees = {false, single_root};
  settings.probabilities = true;
  const ParseResult parsed = batch.decode(settings, {}, {}, 2);
  check((parsed.parsed[0] != 0) == !by_best.trees.empty(), "decode: there is a tree", n, round);
  if (by_best.trees.empty()) return;
  double value = 0;
  for (int m = 1; m <= n; ++m) value += labelled.best[parsed.heads[m - 1] * (n + 1) + m];
  check(close(value, by_best.values[0]), "decode: value", n, round);
  for (int m = 1; m <= n; ++m)
    check(
        std::abs(parsed.head_probability[m - 1] - by_sum.marginals[parsed.heads[m - 1] * (n + 1) + m]) < 1e-6,
        "decode: probability of a head", n, round);
  const KBestResult best = batch.k_best(settings, 5, {}, 1);
  check(best.counts[0] == std::min<size_t>(5, by_best.values.size()), "k_best: how many", n, round);
  for (size_t t = 0; t < best.counts[0]; ++t)
    check(close(best.scores[t], by_best.values[t]), "k_best: value", n, round);
  // The same around the heads that were found.
  const ParseResult again =
      batch.constrained(parsed.heads.data(), parsed.labels.data(), nullptr).decode(settings, {}, {}, 1);
  check(again.heads == parsed.heads && again.labels == parsed.labels, "constrained", n, round);
}

// Weights with smoothing, and of the batch under constraints, against the definition and against P(tree) / P(constraints).
void test_smoothing(const Labelled& labelled, const ScoreBatch& batch, int n, int round, bool single_root) {
  const Temperatures temperatures{1, 1, 0.25};
  std::vector<double> smoothed = labelled.sums, highest(n, MINUS_INFINITY);
  for (int m = 1; m <= n; ++m) {
    for (int h = 0; h <= n; ++h)
      if (h != m) highest[m - 1] = std::max(highest[m - 1], labelled.sums[h * (n + 1) + m]);
    for (int h = 0; h <= n; ++h) {
      double& weight = smoothed[h * (n + 1) + m];
      if (h == m || weight == MINUS_INFINITY) continue;
      weight = highest[m - 1] + std::log(std::exp(weight - highest[m - 1]) + temperatures.smoothing / n);
    }
  }
  const TreeEnumeration all(smoothed, n, single_root);
  if (all.trees.empty()) return;
  const std::vector<double> found = batch.arc_weights(temperatures, 2);
  for (int m = 1; m <= n; ++m)
    for (int h = 0; h <= n; ++h)
      if (const size_t at = h * (n + 1) + m; h != m && smoothed[at] > MINUS_INFINITY)
        check(close(found[at], smoothed[at]), "smoothing: weight", n, round);
  // Without the arc that the first word has in the best tree.
  DecodeSettings settings;
  settings.trees = {false, single_root};
  settings.temperatures = temperatures;
  settings.probabilities = true;
  std::vector<uint8_t> forbidden(smoothed.size(), 0);
  const size_t ruled_out = all.trees[0][1] * (n + 1) + 1;
  forbidden[ruled_out] = 1;
  smoothed[ruled_out] = MINUS_INFINITY;
  const ScoreBatch less = batch.constrained(nullptr, nullptr, forbidden.data(), batch.highest(1, 1));
  const ParseResult parsed = less.decode(settings, {}, {}, 1);
  const TreeEnumeration rest(smoothed, n, single_root);
  check((parsed.parsed[0] != 0) == !rest.trees.empty(), "smoothing: there is a tree", n, round);
  for (int m = 1; m <= n && parsed.parsed[0]; ++m)
    check(std::abs(parsed.head_probability[m - 1] - rest.marginals[parsed.heads[m - 1] * (n + 1) + m]) < 1e-6,
          "smoothing: probability of a head under constraints", n, round);
}

void test_loss(const Labelled& labelled, const ScoreBatch& batch, int n, int round, bool single_root) {
  const TreeEnumeration all(labelled.sums, n, single_root);
  if (all.trees.empty()) return;
  const std::vector<int32_t>& gold = all.trees[round % all.trees.size()];
  const std::vector<int32_t> no_labels(n, -1);
  double known = 0;
  for (int m = 1; m <= n; ++m) known += labelled.sums[gold[m] * (n + 1) + m];
  const BatchLoss loss = tree_loss_batch(TreeLoss::likelihood, batch, gold.data() + 1, no_labels.data(),
                                         {false, single_root}, 2);
  check(close(loss.values[0], all.log_partition - known), "likelihood", n, round);
  for (int m = 1; m <= n; ++m) {  // P(arc) - P(arc | known) adds up to 0 over the heads of a word
    double total = 0;
    for (int l = 0; l < LABELS; ++l)
      for (int h = 0; h <= n; ++h) total += loss.gradient[(l * (n + 1) + h) * (n + 1) + m];
    check(std::abs(total) < 1e-9, "likelihood: gradient", n, round);
  }
  const BatchLoss hinge =
      tree_loss_batch(TreeLoss::hinge, batch, gold.data() + 1, no_labels.data(), {false, single_root}, 1);
  check(hinge.values[0] > -1e-9, "hinge", n, round);
}

}  // namespace

int main() {
  for (int n = 1; n <= 5; ++n)
    for (int round = 0; round < 40; ++round)
      for (bool single_root : {true, false}) {
        Random random(17, n * 100 + round);
        const Labelled labelled(random, n, round);
        const ScoreBatch batch = ScoreBatch::dense({labelled.scores.data()}, {n}, LABELS, nullptr);
        test_decoder(labelled, batch, n, round, single_root);
        test_smoothing(labelled, batch, n, round, single_root);
        test_loss(labelled, batch, n, round, single_root);
      }
}
