#include "kernels/transition/transition_coverage.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "kernels/base/parallel.hpp"
#include "kernels/transition/transition_oracle.hpp"

namespace arcwise {
namespace {

std::string state_key(const TransitionState& state) {
  std::string out;
  for (int t = 0; t <= state.words(); ++t) {
    out.push_back(static_cast<char>(state.head(t)));
    out.push_back(state.is_operative(t) ? 1 : 0);
  }
  return out;
}

void collect_trees(const TransitionState& state, std::unordered_set<std::string>& seen,
                   std::set<std::vector<int32_t>>& trees) {
  if (!seen.insert(state_key(state)).second) return;
  if (state.is_final()) {
    std::vector<int32_t> heads;
    for (int m = 1; m <= state.words(); ++m) heads.push_back(state.head(m));
    trees.insert(heads);
    return;
  }
  state.for_each_move([&](const Move& move, int) {
    TransitionState next = state;
    next.apply(move);
    collect_trees(next, seen, trees);
  });
}

// Easy-first with the same arc distance: it sees the whole sentence at once, so its nearest trees are nearer.
TransitionSystem easy_first_like(const TransitionSystem& like) {
  TransitionSystem system;
  system.capacity = system.start = TransitionSystem::UNBOUNDED;
  system.max_distance = std::min(like.max_distance, std::max(like.capacity, 2) - 1);
  system.transitions = {{MoveKind::left_arc}, {MoveKind::right_arc}};
  return system;
}

}  // namespace

std::vector<int32_t> transition_trees(const TransitionSystem& system, int words, bool single_root) {
  TransitionState state;
  state.start(system, words, single_root);
  std::unordered_set<std::string> seen;
  std::set<std::vector<int32_t>> trees;
  collect_trees(state, seen, trees);
  std::vector<int32_t> out;
  for (const auto& heads : trees) out.insert(out.end(), heads.begin(), heads.end());
  return out;
}

void transition_coverage_batch(const TransitionSystem& system, bool single_root, const int32_t* heads,
                               const uint32_t* sentence_words, size_t sentences, int threads,
                               uint8_t* derivable, uint8_t* found, int32_t* nearest) {
  const bool bottom_up = system.bottom_up() && !system.arc_shifts();
  const TransitionSystem easy_first = easy_first_like(system);
  std::vector<TransitionOracle> oracles(std::max(threads, 1));
  parallel_for(sentences, threads, [&](size_t s, size_t worker) {
    const int words = static_cast<int>(sentence_words[s + 1] - sentence_words[s]);
    std::vector<int32_t> tree(words + 1, NO_TOKEN);
    std::copy_n(heads + sentence_words[s], words, tree.begin() + 1);
    TransitionState state;
    state.start(system, words, single_root);
    TransitionOracle& oracle = oracles[worker];
    derivable[s] = found[s] = oracle.derive(state, GoldArcs(tree.data(), nullptr, words), nullptr);
    if (!derivable[s]) {
      const std::vector<int32_t> gold = tree;
      found[s] = oracle.nearest(easy_first, single_root, tree.data(), words) &&
                 oracle.derive(state, GoldArcs(tree.data(), nullptr, words), nullptr);
      if (!found[s] && bottom_up) {
        tree = gold;
        found[s] = oracle.nearest(system, single_root, tree.data(), words);
      }
    }
    std::copy_n(tree.begin() + 1, words, nearest + sentence_words[s]);
  });
}

std::vector<uint8_t> transition_graph_coverage(const TransitionSystem& system,
                                               const std::vector<std::vector<GraphArc>>& graphs,
                                               const std::vector<int>& words) {
  TransitionOracle oracle;
  std::vector<uint8_t> derivable;
  for (size_t s = 0; s < graphs.size(); ++s) {
    TransitionState state;
    state.start(system, words[s], false);
    const GoldArcs gold(graphs[s], words[s]);
    bool rooted = true;  // every word needs a head
    for (int m = 1; m <= words[s]; ++m)
      rooted &=
          std::any_of(graphs[s].begin(), graphs[s].end(), [&](const GraphArc& a) { return a.modifier == m; });
    derivable.push_back(rooted && oracle.derive(state, gold, nullptr));
  }
  return derivable;
}

}  // namespace arcwise
