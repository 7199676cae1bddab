// Factors over the dependents of a head against all projective trees over a few words, in plain C++ and under the sanitizers.
#include "kernels/factors/grammars.hpp"
#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

bool is_projective(const std::vector<int32_t>& heads) {
  const int n = static_cast<int>(heads.size()) - 1;
  for (int m = 1; m <= n; ++m)
    for (int k = std::min(m, heads[m]) + 1; k < std::max(m, heads[m]); ++k) {
      int at = k;
      while (at > 0 && at != heads[m]) at = heads[at];
      if (at != heads[m]) return false;
    }
  return true;
}

// The dependents of h on one side, outward.
std::vector<int> dependents(const std::vector<int32_t>& heads, int h, int step) {
  std::vector<int> out;
  for (int m = h + step; m > 0 && m < static_cast<int>(heads.size()); m += step)
    if (heads[m] == h) out.push_back(m);
  return out;
}

template <typename Grammar, typename Score>
void compare(const Grammar& grammar, const TreeEnumeration& all, Score score, ForestWorkspace& workspace,
             int round) {
  const int n = grammar.n, side = n + 1;
  std::vector<std::vector<int32_t>> trees;
  std::vector<double> values;
  for (const std::vector<int32_t>& heads : all.trees) {
    if (!is_projective(heads)) continue;
    double value = 0;
    for (int m = 1; m <= n; ++m) value += grammar.scores[heads[m] * side + m];
    for (int h = 0; h <= n; ++h)
      for (int step : {-1, 1})
        if (h > 0 || step > 0) value += score(h, dependents(heads, h, step));
    if (value == MINUS_INFINITY) continue;
    trees.push_back(heads);
    values.push_back(value);
  }
  const int count = static_cast<int>(trees.size()), k = count + 2;
  double most = MINUS_INFINITY, total = 0;
  for (double value : values) most = std::max(most, value);
  for (double value : values) total += std::exp(value - most);
  const double log_partition = count ? most + std::log(total) : MINUS_INFINITY;
  std::vector<double> expected(side * side), arcs(side * side), parts(grammar.parts()), listed(k);
  for (int t = 0; t < count; ++t)
    for (int m = 1; m <= n; ++m) expected[trees[t][m] * side + m] += std::exp(values[t] - log_partition);
  std::sort(values.rbegin(), values.rend());

  std::vector<int32_t> heads(k * side), labels(k * side);
  Forest forest(grammar, workspace);
  check(close(forest.log_partition(), log_partition), "log partition", n, round);
  check(close(forest.decode(heads.data(), labels.data()), most), "decode", n, round);
  forest.marginals(arcs.data(), parts.data());
  for (int at = 0; at < side * side; ++at)
    check(std::abs(arcs[at] - expected[at]) < 1e-9, "marginals", n, round);
  check(forest.k_best(k, heads.data(), labels.data(), listed.data()) == count, "k-best finds every tree", n,
        round);
  for (int i = 0; i < count; ++i) check(close(listed[i], values[i]), "k-best is sorted", n, round);
  Random random(round);
  if (count == 0) return;
  forest.sample(2, random, heads.data(), labels.data());
  check(std::find(trees.begin(), trees.end(), std::vector<int32_t>(heads.begin(), heads.begin() + side)) !=
            trees.end(),
        "a sample is a tree", n, round);
}

}  // namespace

int main() {
  Random random(1);
  ForestWorkspace workspace;
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + static_cast<int>(random.below(4)), side = n + 1;
    const std::vector<double> scores = some_scores(random, n, round);
    for (bool single_root : {false, true}) {
      const TreeEnumeration all(scores, n, single_root);
      const FactorSentence sentence{scores.data(), n, 1, single_root, {}};

      std::vector<double> siblings(side * side * side);
      for (double& value : siblings) value = random.uniform() < 0.1 ? MINUS_INFINITY : 4 * random.uniform();
      auto sibling_score = [&](int h, const std::vector<int>& side_of_head) {
        double value = 0;
        int before = h;
        for (int m : side_of_head) value += siblings[(h * side + before) * side + m], before = m;
        return value;
      };
      const int32_t stay[] = {0};
      const double zero[] = {0, 0, 0};
      HeadGrammar grammar;
      static_cast<FactorSentence&>(grammar) = sentence;
      grammar.siblings = siblings.data();
      grammar.next = stay;
      grammar.weights = grammar.ends = grammar.root_ends = zero;
      compare(grammar.number_items(), all, sibling_score, workspace, round);

      const int32_t next[] = {1, 2, 1};
      const double weights[] = {random.uniform(), -random.uniform(), random.uniform()};
      const double finals[] = {0.5, random.uniform() < 0.3 ? MINUS_INFINITY : 1.0, -1};
      auto automaton_score = [&](int, const std::vector<int>& side_of_head) {
        double value = 0;
        int state = 0;
        for (size_t i = 0; i < side_of_head.size(); ++i) value += weights[state], state = next[state];
        return value + finals[state];
      };
      grammar.siblings = nullptr;
      grammar.states = 3;
      grammar.next = next;
      grammar.weights = weights;
      grammar.ends = grammar.root_ends = finals;
      compare(grammar.number_items(), all, automaton_score, workspace, round);
      grammar.siblings = siblings.data();
      auto both = [&](int h, const std::vector<int>& side_of_head) {
        return sibling_score(h, side_of_head) + automaton_score(h, side_of_head);
      };
      compare(grammar.number_items(), all, both, workspace, round);
    }
  }
  return 0;
}
