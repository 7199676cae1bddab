// Legal trees against all labelled trees over a few words, in plain C++ and under the sanitizers.
#include "kernels/factors/legal_trees.hpp"
#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

constexpr int LABELS = 2;

// Gains that are all known, read arc by arc.
struct KnownGains : LegalGains {
  explicit KnownGains(const ArcScores<double>& known) : all(known) {}
  void start(ArcScores<double>& gains, std::vector<double>& arcs, std::vector<int32_t>& labels) override {
    gains.start(*all.states, all.n);
    arcs_by_maximum(all, arcs, labels);
    for_each_arc(all, [&](int h, int m, int, const double*, int) {
      int32_t& label = labels[h * (all.n + 1) + m];
      label = all.label_of(h, m, label);
    });
  }
  void add(int h, int m, ArcScores<double>& gains) override {
    std::copy_n(all.of(h, m), all.count(h, m), gains.add(h, m, all.arc(h, m).set));
  }
  const ArcScores<double>& all;
};

// The highest gain less penalty of all labelled trees that the enumeration has.
double best_of(const TreeEnumeration& all, const LegalRules& rules, const ArcScores<double>& gains, int n) {
  double best = MINUS_INFINITY;
  for (const std::vector<int32_t>& heads : all.trees)
    for (int code = 0; code < 1 << n; ++code) {
      std::vector<int32_t> labels(n + 1, -1);
      double gain = 0;
      for (int m = 1; m <= n; ++m) {
        labels[m] = code >> (m - 1) & 1;
        gain += gains.of(heads[m], m)[labels[m]];
      }
      best = std::max(best, gain - rules.penalty(heads.data(), labels.data(), n));
    }
  return best;
}

}  // namespace

int main() {
  Random random(1);
  const ArcStates states = ArcStates::all_of(LABELS);
  LegalDecoder decoder;
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + static_cast<int>(random.below(4));
    const double cost = round % 2 ? 0.5 : std::numeric_limits<double>::infinity();
    // The first label at most once, and nothing but it below a word with the second one.
    const LegalRules rules{{1, 0}, {0, 1}, {0, 1}, {cost}, {cost}};
    ArcScores<double> gains;
    gains.start(states, n);
    for (int h = 0; h <= n; ++h)
      for (int m = 1; m <= n; ++m)
        if (h != m) {
          double* values = gains.add(h, m, 0);
          for (int label = 0; label < LABELS; ++label) values[label] = random.uniform();
        }
    KnownGains known(gains);
    const std::vector<double> zeros((n + 1) * (n + 1), 0.0);
    for (bool single_root : {false, true}) {
      const TreeEnumeration all(zeros, n, single_root);
      std::vector<int32_t> heads(n + 1, -1), labels(n + 1, -1);
      const LegalTree tree =
          decoder.decode(known, rules, {false, single_root}, {}, 10'000, heads.data(), labels.data());
      check(close(tree.value, best_of(all, rules, gains, n)), "the best legal tree", n, round);
      check(tree.bound <= tree.value + 1e-9 || !tree.found, "the certificate", n, round);
      if (tree.found)
        check(rules.penalty(heads.data(), labels.data(), n) < std::numeric_limits<double>::infinity(),
              "the tree is legal", n, round);
    }
  }
  return 0;
}
