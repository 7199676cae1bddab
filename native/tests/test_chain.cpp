// Chains against an enumeration of all paths, and sparse linear models, under the sanitizers.
#include "kernels/text/chain.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/random.hpp"
#include "kernels/learning/sparse_linear.hpp"

using namespace arcwise;

namespace {

void check(bool holds, const char* what, int round) {
  if (holds) return;
  std::fprintf(stderr, "test_chain: %s (round %d)\n", what, round);
  std::exit(1);
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(a)); }

Chain random_chain(Random& random, int states) {
  Chain chain;
  size_t length = 1 + random.below(4);
  for (size_t i = 0; i < length; ++i) {
    for (int s = 0; s < states; ++s)
      if (s == static_cast<int>(i) % states || random.uniform() < 0.6) {
        chain.states.push_back(static_cast<uint16_t>(s));
        chain.emissions.push_back(static_cast<float>(4 * random.uniform() - 2));
      }
    chain.close();
  }
  return chain;
}

struct Enumeration {
  double z = 0, best = -1e9;
  std::vector<double> sums;

  void visit(const Chain& chain, const Transitions& t, size_t i, int before, double score,
             std::vector<uint32_t>& path) {
    if (i == chain.size()) {
      score += t.score(before, t.boundary());
      z += std::exp(score);
      best = std::max(best, score);
      for (uint32_t place : path) sums[place] += std::exp(score);
      return;
    }
    for (uint32_t c = chain.starts[i]; c < chain.starts[i + 1]; ++c) {
      path.push_back(c);
      visit(chain, t, i + 1, chain.states[c], score + chain.emissions[c] + t.score(before, chain.states[c]),
            path);
      path.pop_back();
    }
  }
};

void test_chains() {
  for (int round = 0; round < 200; ++round) {
    Random random(7, static_cast<uint64_t>(round));
    Transitions transitions(3);
    for (size_t at = 0; at < transitions.scores().size(); ++at)
      transitions.set(at, static_cast<float>(2 * random.uniform() - 1));
    Chain chain = random_chain(random, 3);
    Enumeration all;
    all.sums.assign(chain.states.size(), 0.0);
    std::vector<uint32_t> path;
    all.visit(chain, transitions, 0, transitions.boundary(), 0.0, path);
    ChainWorkspace workspace;
    check(close(chain_marginals(chain, transitions, workspace), std::log(all.z)), "log partition", round);
    for (size_t c = 0; c < chain.states.size(); ++c)
      check(close(workspace.marginals[c], all.sums[c] / all.z), "marginals", round);
    double pairs = 0;
    chain_pair_marginals(chain, transitions, workspace, [&](int, int, double p) { pairs += p; });
    check(close(pairs, static_cast<double>(chain.size()) + 1), "marginals of pairs sum to 1 each", round);
    check(close(chain_decode(chain, transitions, workspace), all.best), "best path", round);
  }
}

void test_sparse_linear() {
  Lists features, outputs;
  for (uint32_t item = 0; item < 4; ++item) {
    features.add(10);
    features.add(20 + item);
    features.close();
    outputs.add(item % 2);
    outputs.close();
  }
  SparseLinear model = SparseLinear::supported(features, outputs, 2);
  check(model.rows() == 1 && model.entries() == 2, "pairs seen once are left out", 0);
  check(features.values.size() == 4 && model.row(10) == 0 && model.row(21) < 0, "rows of features", 0);
  model.weights() = {0.5f, -2.0f};
  float scores[2] = {0, 0};
  model.pruned(1.0f).add(10, scores);
  check(scores[0] == 0.0f && scores[1] == -2.0f, "small weights go", 0);
}

}  // namespace

int main() {
  test_chains();
  test_sparse_linear();
  return 0;
}
