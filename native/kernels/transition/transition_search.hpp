// Parsing: greedy, easy-first with a heap, and beam search.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/transition/transition_scorer.hpp"

namespace arcwise {

// Makes the best move until the end. O(n) moves; each looks at the active pairs alone.
double transition_greedy(MoveScorer& move_scorer, TransitionState& state, std::vector<ScoredMove>& moves);

// The same for systems in which every token is active from the start (easy-first): scores wait in a heap, and
// a move changes only those around it. O(n log n) for fixed D.
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

// Derivations that share their beginnings: each move knows the one before it.
class Derivations {
 public:
  void clear() { nodes_.clear(); }
  // The derivation that ends with `move` after the derivation `before` (-1: none); its number.
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
  uint64_t signature = 0;  // a sum of hashes of its arcs, shifts and reductions, whatever their order
  int32_t history = -1;    // its derivation
  bool ended = false;      // final, or a dead end
  bool correct = true;
};

// Beam search, one step at a time, so that training can look at every step. Derivations that lead to the same
// state are one item, the best of them: all that follows is the same for each, and systems in which the order
// of moves is free (easy-first) would fill the beam with orders of the same arcs.
class Beam {
 public:
  // Chooses the moves of a correct item that are correct: see TransitionOracle::correct_moves.
  using Correct = std::function<void(const TransitionState&, std::vector<Move>&)>;

  // Several beams may write into the same derivations, which outlive them.
  void start(const TransitionSystem& system, int words, bool single_root, Derivations& derivations);
  // Goes on from the correct items of another beam; false, and nothing happens, if it has none.
  bool follow_correct(const Beam& other);
  // Keeps the best `width` continuations; false if all items have ended. With `correct`, items know whether
  // they are; with `only_correct` nothing else is kept.
  bool step(MoveScorer& move_scorer, int width, const Correct* correct = nullptr, bool only_correct = false);

  const std::vector<BeamItem>& items() const { return items_; }  // best first
  bool has_correct() const;

 private:
  struct Candidate {
    double score;
    int32_t item;
    int32_t number;  // order of generation: ties go to the first
    Move move;
    bool correct, stays;
    uint64_t signature = 0;  // of the state after the move; set by push
  };
  // With a static oracle one derivation is correct and another one of the same state is not: they stay apart.
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
  std::vector<int32_t> last_child_;  // of each item: its last continuation
  std::vector<ScoredMove> moves_;
  std::vector<Move> correct_moves_;
  double threshold_ = 0;
};

}  // namespace arcwise
