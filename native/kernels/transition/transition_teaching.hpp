// What a state is worth to one who learns from a teacher's probabilities: how many right heads and labels a teacher expects of the
// best that can still be built. A dynamic oracle (Goldberg & Nivre 2013) whose tree is a distribution.
#pragma once
#include "kernels/inference/taught_tree.hpp"
#include "kernels/transition/transition_oracle.hpp"

namespace arcwise {

// Whether an arc into a word without a head can still be built, by itself. Systems that are decomposable alone.
bool is_reachable(Decomposable system, const TransitionState& state, int32_t head, int32_t modifier);

// Σ over words of the probability of the head and label that the word has, or else of the most probable one that is still reachable. No
// less than what the best tree gets: arcs that are reachable one by one may together be no tree. Where the teacher is sure of one tree
// that can be derived, the difference of two states is the number of its arcs that are lost between them.
double taught_value(Decomposable system, const TransitionState& state, const TaughtTree& taught);

// The most probable label of an arc and its probability; {0, 0} for an arc that the teacher does not have.
struct TaughtLabel {
  int16_t label = 0;
  double share = 0;
};
TaughtLabel best_label(const TaughtTree& taught, int32_t head, int32_t modifier);
// The probability of an arc with this label.
double share_of(const TaughtTree& taught, int32_t head, int32_t modifier, int16_t label);

}  // namespace arcwise
