// Oracles: which moves keep the gold tree (or graph) reachable, and what a wrong move costs.
//
// A system's parameters determine its oracle; n words, K active tokens, arcs over up to D places.
//
//   system                               oracle                                   exact? cost
//   ---------------------------------------------------------------------------------------------------------
//   derive: a derivation of gold from a state (and so coverage)
//   arc-eager                            any gold move that loses no gold arc     yes    O(n²)
//   arc-standard, hybrid, attardi,       attach a complete token whenever one     yes    O(n K D)
//     bounded, bounded-non-projective      is in reach of its head, else shift
//   easy-first, non-projective           the same                                 yes    O(n² D), since K = n
//   dag, all others                      depth first, remembers hopeless states   yes    exponential at worst
//
//   correct_moves: the moves after which gold can still be reached
//   arc-eager, hybrid, easy-first        gold moves that lose no gold arc         yes    O(n) a move
//   the other bottom-up ones above       gold arcs; a SHIFT if derive goes on     yes    O(n K D)
//   dag, all others                      gold moves after which derive goes on    yes    exponential at worst
//
//   cost, arcs_lost: how many gold arcs a move loses, also after wrong moves (training with exploration)
//   arc-eager, hybrid, easy-first        counted one by one: arc-decomposable;    yes    O(n) a move
//                                          a single root may cost one or two more
//   other bottom-up ones with K > 2      arcs_lost: as if all tokens were active  no     O(n); SHIFT: O((n+K) D)
//   arc-standard, dag, all others        none: training stays on correct paths
//
//   nearest: a tree near gold that the system can build
//   bottom-up systems                    greedy, lifts what is left behind        no     O(n K D + n²)
//
// "easy-first" means easy-first with D = 1 or unbounded; non-projective(D=inf) counts as one.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/transition/transition_state.hpp"

namespace arcwise {

// The arcs to build, as lists of heads per modifier; a tree has one head each.
class GoldArcs {
 public:
  GoldArcs() = default;
  GoldArcs(const int32_t* heads, const int16_t* labels,
           int words);                                     // a tree: heads[1..n], labels may be null
  GoldArcs(const std::vector<GraphArc>& arcs, int words);  // a graph

  int words() const { return words_; }
  size_t size() const { return heads_.size(); }
  int degree(int32_t token) const { return degree_[token]; }  // number of arcs incident to the token
  int32_t head(int32_t modifier) const { return heads_[first_[modifier]]; }
  int32_t root() const { return root_; }  // the last word with head 0, NO_TOKEN if there is none
  bool has(int32_t head, int32_t modifier) const { return find(head, modifier) >= 0; }
  int16_t label(int32_t head, int32_t modifier) const {
    const int at = find(head, modifier);
    return at < 0 ? 0 : labels_[at];
  }

 private:
  int find(int32_t head, int32_t modifier) const {
    for (int at = first_[modifier]; at < first_[modifier + 1]; ++at)
      if (heads_[at] == head) return at;
    return -1;
  }

  int words_ = 0;
  int32_t root_ = NO_TOKEN;
  std::vector<int32_t> first_, heads_, degree_;
  std::vector<int16_t> labels_;
};

// Systems in which gold arcs that are reachable one by one are reachable together (Goldberg & Nivre 2012,
// 2013), so that the cost of a move is a count of arcs.
enum class Decomposable : uint8_t { no, arc_eager, hybrid, easy_first };
Decomposable decomposable_as(const TransitionSystem& system);

// Whether the state has an arc that is not gold, which makes `gold` unreachable.
bool has_wrong_arc(const TransitionState& state, const GoldArcs& gold);

class TransitionOracle {
 public:
  // Appends to `moves`, unless null, a derivation of `gold` from `state`, which has no wrong arc; returns
  // false if there is none. Exact for every system. O(n K D) for bottom-up systems, O(n^2) for arc-eager;
  // others search with memory of visited states.
  bool derive(const TransitionState& state, const GoldArcs& gold, std::vector<Move>* moves);

  // The legal moves after which `gold` is still reachable, given that it is reachable now; with gold labels.
  void correct_moves(const TransitionState& state, const GoldArcs& gold, std::vector<Move>& moves);

  // The number of gold arcs that are reachable now but not after `move` (a legal one). Requires a
  // decomposable system and a gold tree that it can derive, with a single root if the state demands one.
  // Exact.
  static int cost(Decomposable system, const TransitionState& state, const GoldArcs& gold, const Move& move);

  // The same for any bottom-up system, as if every token were active: a lower bound on the true cost, since
  // it ignores K and D. A SHIFT costs 1 if the token that it pushes out of reach has an arc that loses
  // nothing; postponing other arcs is free.
  static int arcs_lost(const TransitionState& state, const GoldArcs& gold, const Move& move);

  // The tree nearest to `heads` that a bottom-up system can build, found greedily: where no correct move is
  // left, it makes the arc that breaks the fewest gold arcs and lifts the remaining children to their
  // grandparent. Changes `heads` (1..n); returns false at a dead end.
  bool nearest(const TransitionSystem& system, bool single_root, int32_t* heads, int words);

 private:
  static int arcs_out_of_reach(Decomposable system, const TransitionState& state, const GoldArcs& gold,
                               const Move& move);
  bool keeps_gold(const TransitionState& state, const GoldArcs& gold, const Move& move) const;
  bool derive_bottom_up(TransitionState& state, const GoldArcs& gold, std::vector<Move>* moves);
  bool derive_without_cost(TransitionState& state, const GoldArcs& gold, std::vector<Move>* moves);
  bool search(const TransitionState& state, const GoldArcs& gold, std::vector<Move>& path);
  void count_missing(const TransitionState& state, const GoldArcs& gold);
  static std::string key(const TransitionState& state);

  std::vector<int32_t> missing_;  // by token: gold arcs not built yet
  std::unordered_set<std::string> failed_;
  TransitionState scratch_;
};

}  // namespace arcwise
