// The chart with siblings against the generic engine (test_factors.cpp holds that to all trees), in plain C++ and under the sanitizers.
#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/factors/grammars.hpp"
#include "tree_enumeration.hpp"

using namespace arcwise;

namespace {

const int32_t STAY[] = {0};
const double ZERO[] = {0};

HeadGrammar grammar_of(const SiblingSentence& sentence) {
  HeadGrammar grammar;
  static_cast<FactorSentence&>(grammar) = {sentence.arcs, sentence.n, 1, sentence.single_root,
                                           sentence.spans};
  grammar.siblings = sentence.siblings;
  grammar.next = STAY;
  grammar.weights = grammar.ends = grammar.root_ends = ZERO;
  return grammar.number_items();
}

// Scores of one size, with holes in every third round; siblings no tree uses are NaN.
std::vector<double> some_siblings(Random& random, int n, int round, double size) {
  const int side = n + 1;
  std::vector<double> siblings(side * side * side, std::nan(""));
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      if (m == h) continue;
      for (int s = h; s != m; s += h < m ? 1 : -1)
        siblings[(h * side + s) * side + m] =
            round % 3 == 0 && random.uniform() < 0.1 ? MINUS_INFINITY : size * (random.uniform() - 0.5);
    }
  return siblings;
}

void compare(const SiblingSentence& sentence, EisnerSiblingsWorkspace& workspace, int round) {
  const int n = sentence.n, side = n + 1;
  const HeadGrammar grammar = grammar_of(sentence);
  ForestWorkspace forest_workspace;
  Forest forest(grammar, forest_workspace);
  std::vector<int32_t> heads(side), labels(side), expected_heads(side);
  const double best = forest.decode(expected_heads.data(), labels.data());
  check(close(eisner_siblings_decode(sentence, heads.data(), workspace), best), "decode", n, round);
  if (best > MINUS_INFINITY) check(heads == expected_heads, "the best tree", n, round);
  std::vector<double> expected_arcs(side * side), expected_parts(grammar.parts());
  const double log_partition = forest.marginals(expected_arcs.data(), expected_parts.data());
  check(close(eisner_siblings_log_partition(sentence, workspace), log_partition), "log partition", n, round);
  std::vector<double> arcs(side * side, -1), siblings(side * side * side, -1);
  const double total = eisner_siblings_marginals(sentence, arcs.data(), siblings.data(), workspace);
  check(close(total, log_partition), "log partition with marginals", n, round);
  for (int at = 0; at < side * side; ++at)
    check(std::abs(arcs[at] - expected_arcs[at]) < 1e-9, "marginals of arcs", n, round);
  for (int at = 0; at < side * side * side; ++at)
    check(std::abs(siblings[at] - expected_parts[at]) < 1e-9, "marginals of siblings", n, round);
}

}  // namespace

int main() {
  Random random(1);
  EisnerSiblingsWorkspace workspace;
  for (int round = 0; round < 400; ++round) {
    const int n = round % 40 == 39 ? 40 : 1 + static_cast<int>(random.below(12)), side = n + 1;
    const double size = round % 4 == 0 ? 2000 : 4;
    std::vector<double> scores(side * side);
    for (double& score : scores)
      score = round % 5 == 0 && random.uniform() < 0.2 ? MINUS_INFINITY : size * (random.uniform() - 0.5);
    const std::vector<double> siblings = some_siblings(random, n, round, size);
    const int32_t first = 1 + static_cast<int32_t>(random.below(n)),
                  last = first + static_cast<int32_t>(random.below(n + 1 - first));
    const int32_t span[] = {first, last};
    for (bool single_root : {false, true})
      for (EisnerSpans spans : {EisnerSpans{}, EisnerSpans{span, 1}})
        compare({scores.data(), siblings.data(), n, single_root, spans}, workspace, round);
  }
  return 0;
}
