// Training of transition-based parsers: averaged perceptron or passive-aggressive steps, on single moves
// (greedy) or on whole prefixes of derivations (beam).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/transition/transition_oracle.hpp"
#include "kernels/transition/transition_search.hpp"
#include "kernels/transition/transition_teaching.hpp"

namespace arcwise {

enum class UpdateRule : uint8_t {
  local,          // after every wrong move, towards the best correct one
  early,          // at the step where the beam loses the last correct item (Collins & Roark 2004)
  max_violation,  // at the step with the largest violation (Huang et al. 2012)
};

struct TransitionTraining {
  UpdateRule rule = UpdateRule::local;
  int beam = 1;
  bool single_root = true;
  // Local training with a dynamic oracle: probability of following the parser's own wrong move.
  double explore = 0;
  double dropout = 0;     // a: probability a/(a+f) of treating a word of frequency f as unknown
  double step_bound = 0;  // C of passive-aggressive steps with a margin; 0: perceptron
  int warm_epochs = 0;    // initial epochs of local training before beam training
  uint64_t seed = 1;
  bool static_oracle = false;  // a single canonical derivation per tree counts as correct
};

// A beam update from the features of `bad` towards those of `good`. It is valid: at that step `bad` scored no
// less than `good` (Huang et al. 2012), because `good` is among the continuations that the beam had, or
// follows from those that it lost.
struct BeamUpdate {
  size_t sentence = 0;
  std::vector<Move> good, bad;
};

class TransitionTrainer {
 public:
  TransitionTrainer(TransitionScorer& scorer, const TransitionData& data, const TransitionTraining& options);

  // Trains on these sentences in this order; returns the number of updates.
  size_t learn(int epoch, const int64_t* sentences, size_t count, bool explore);

  // The weights, averaged over all steps so far.
  void average(float* moves, float* labels) const;

  // The trainer's state besides the step count.
  std::vector<Table<float>*> tables() {
    return {&move_weights_.weights, &move_weights_.sums, &label_weights_.weights, &label_weights_.sums};
  }
  double steps() const { return move_weights_.steps; }
  void set_steps(double steps) { move_weights_.steps = label_weights_.steps = steps; }

  // The last update made with the beam, for inspection.
  const BeamUpdate& last_beam_update() const { return last_; }

 private:
  void next_step();
  void drop_words(size_t sentence);
  void learn_locally(size_t sentence, bool explore);
  void learn_with_beam(size_t sentence);
  void move_on(TransitionState& state, const GoldArcs& gold, bool explore);
  void derive_gold(size_t sentence, const GoldArcs& gold);
  void collect_correct(const TransitionState& state, const GoldArcs& gold);
  void collect_taught(const TransitionState& state);
  double value_after(const Move& move) const;
  bool is_arc(const Move& move) const;
  double taught_share(const Move& move) const;
  void update(const TransitionState& start, const std::vector<Move>& good, const std::vector<Move>& bad,
              double violation, double weight);
  GoldArcs gold_of(size_t sentence) const;

  TransitionScorer& scorer_;
  const TransitionData& data_;
  TransitionTraining options_;
  Decomposable decomposable_;
  bool may_explore_;
  bool off_path_ = false;  // the parser has made a move that loses gold arcs
  MoveScorer move_scorer_;
  TransitionOracle oracle_;
  Random random_;
  AveragedTable move_weights_, label_weights_;
  size_t updates_ = 0;
  bool was_warm_ = false;
  std::vector<uint8_t> dropped_;
  std::vector<ScoredMove> moves_;
  std::vector<Move> correct_;
  std::vector<uint8_t> any_label_;  // by correct_: whether any label counts as correct
  bool is_taught_ = false;          // moves of the sentence are judged by a teacher's targets
  TaughtTree taught_{};
  struct TaughtMove {
    Move move;     // arcs with their best label
    double value;  // of the resulting state
  };
  std::vector<TaughtMove> taught_moves_;  // every legal move
  double weight_ = 1;                     // of the sentence
  TransitionState scratch_;
  std::vector<Move> derivation_;  // canonical derivation of the sentence (static oracle)
  size_t made_ = 0;               // number of its moves made so far
  Beam beam_, gold_beam_;
  Derivations derivations_;  // of both
  BeamUpdate last_;
  std::vector<std::pair<size_t, int>>
      difference_;  // a weight's place, and its count in good minus its count in bad
};

}  // namespace arcwise
