// Maximum spanning arborescences against an enumeration of all trees, in plain C++ and under the sanitizers.
#include "kernels/inference/spanning_tree.hpp"

#include "tree_enumeration.hpp"

using namespace arcwise;

int main() {
  Random random(1);
  SpanningTreeWorkspace workspace;
  for (int round = 0; round < 600; ++round) {
    const int n = 1 + static_cast<int>(random.below(4)), side = n + 1;
    const std::vector<double> scores = some_scores(random, n, round);
    for (bool single_root : {false, true}) {
      const TreeEnumeration expected(scores, n, single_root);
      const int trees = static_cast<int>(expected.trees.size()), k = trees + 2;
      std::vector<int32_t> heads(side * k);
      std::vector<double> values(k);
      const double best = spanning_tree_decode(scores.data(), n, single_root, heads.data(), workspace);
      check(close(best, trees ? expected.values[0] : MINUS_INFINITY), "decode", n, round);
      const int found =
          spanning_tree_k_best(scores.data(), n, single_root, k, heads.data(), values.data(), workspace);
      check(found == trees, "k-best finds every tree", n, round);
      std::vector<std::vector<int32_t>> distinct;
      for (int i = 0; i < found; ++i) {
        check(close(values[i], expected.values[i]), "k-best is sorted", n, round);
        distinct.emplace_back(&heads[i * side], &heads[i * side] + side);
        check(is_tree(distinct.back(), single_root), "k-best finds trees", n, round);
      }
      std::sort(distinct.begin(), distinct.end());
      check(std::unique(distinct.begin(), distinct.end()) == distinct.end(), "k-best is distinct", n, round);
      for (int few = 2; few < std::min(trees, 6); ++few) {  // the best ones first, not only all of them
        spanning_tree_k_best(scores.data(), n, single_root, few, heads.data(), values.data(), workspace);
        check(close(values[few - 1], expected.values[few - 1]), "k-best finds the best", n, round);
      }
    }
  }
  for (int n : {60, 7, 130}) {  // a workspace serves any length
    const std::vector<double> scores = some_scores(random, n, 1);
    std::vector<int32_t> heads(4 * (n + 1));
    double values[4];
    for (bool single_root : {false, true}) {
      check(spanning_tree_k_best(scores.data(), n, single_root, 4, heads.data(), values, workspace) == 4,
            "four trees of a long sentence", n, 0);
      check(close(spanning_tree_decode(scores.data(), n, single_root, heads.data(), workspace), values[0]),
            "decode of a long sentence", n, 0);
    }
  }
}
