// Parsing: greedy, easy-first with a heap, and beam search.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/transition/transition_scorer.hpp"

namespace arcwise {

// Makes the best move until the end. O(n) moves; each looks only at the active pairs.
double transition_greedy(MoveScorer& move_scorer, TransitionState& state, std::vector<ScoredMove>& moves);

// Greedy parsing for systems in which every token is active from the start (easy-first): a heap keeps the
// scores, and a move only changes those around it. O(n log n) for fixed D.
class EasyFirst {
 public:
  // Whether the system is one of these.
  static bool fits(const TransitionSystem& system);
  double parse(MoveScorer& move_scorer, TransitionState& state);

 private:
  struct Waiting {
    float score;
    uint32_t version;
    Move move;
    bool operator<(const Waiting& other) const {
      return score != other.score ? score < other.score : move.left > other.move.left;
    }
  };
  void visit(MoveScorer& move_scorer, const TransitionState& state, int32_t left);

  std::vector<Waiting> heap_;
  std::vector<uint32_t> version_;  // of the pairs whose left end is this token
  std::vector<ScoredMove> moves_;
};

// A trie of derivations with shared prefixes: each move refers to its predecessor.
class Derivations {
 public:
  void clear() { nodes_.clear(); }
  // Adds the derivation that continues `before` (-1: none) with `move`; returns its number.
  int32_t add(int32_t before, const Move& move) {
    nodes_.push_back({before, move});
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  std::vector<Move> moves(int32_t derivation) const;

 private:
  struct Node {
    int32_t before;
    Move move;
  };
  std::vector<Node> nodes_;
};

struct BeamItem {
  TransitionState state;
  double score = 0;
  uint64_t signature = 0;  // sum of the hashes of its arcs, shifts and reductions, independent of order
  int32_t history = -1;    // its derivation
  bool ended = false;      // final, or at a dead end
  bool correct = true;
};

// Beam search, one step at a time, so that training can inspect every step. Derivations that lead to the same
// state are merged into one item, the best of them: their continuations are the same, and in systems with
// free order of moves (easy-first) permutations of the same arcs would fill the beam.
class Beam {
 public:
  // Chooses the correct moves of a correct item: see TransitionOracle::correct_moves.
  using Correct = std::function<void(const TransitionState&, std::vector<Move>&)>;

  // Several beams may share the derivations, which outlive them.
  void start(const TransitionSystem& system, int words, bool single_root, Derivations& derivations);
  // Continues from the correct items of another beam; returns false, without any change, if there are none.
  bool follow_correct(const Beam& other);
  // Keeps the best `width` continuations; returns false if all items have ended. With `correct`, items record
  // whether they are correct; `only_correct` drops all others.
  bool step(MoveScorer& move_scorer, int width, const Correct* correct = nullptr, bool only_correct = false);

  const std::vector<BeamItem>& items() const { return items_; }  // best first
  bool has_correct() const;

 private:
  struct Candidate {
    double score;
    int32_t item;
    int32_t number;  // order of generation, which breaks ties
    Move move;
    bool correct, stays;
    uint64_t signature = 0;  // of the resulting state; set by push
  };
  // With a static oracle, derivations of the same state can differ in correctness; such candidates are not
  // merged.
  static bool is_same_state(const Candidate& x, const Candidate& y) {
    return x.signature == y.signature && x.correct == y.correct;
  }
  void expand(MoveScorer& move_scorer, int32_t item, const Correct* correct, bool only_correct,
              bool all_labels, size_t width);
  void expand_all(MoveScorer& move_scorer, const Correct* correct, bool only_correct, bool all_labels,
                  size_t width);
  void fill_with_other_labels(MoveScorer& move_scorer, const Correct* correct, size_t width);
  void push(Candidate candidate, size_t width);
  void keep_best(size_t width);
  void merge_same_states(size_t width);

  std::vector<BeamItem> items_, next_;
  Derivations* derivations_ = nullptr;
  std::vector<Candidate> candidates_, first_;
  std::vector<int32_t> last_child_;  // by item: its last continuation
  std::vector<ScoredMove> moves_;
  std::vector<Move> correct_moves_;
  double threshold_ = 0;
};

}  // namespace arcwise
