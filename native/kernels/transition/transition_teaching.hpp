// The value of a state under a teacher's probabilities: the expected number of correct heads and labels of
// the best outcome that is still reachable. A dynamic oracle (Goldberg & Nivre 2013) whose gold tree is a
// distribution.
#pragma once
#include "kernels/inference/taught_tree.hpp"
#include "kernels/transition/transition_oracle.hpp"

namespace arcwise {

// Whether an arc into a headless word can still be built, considered on its own. Decomposable systems only.
bool is_reachable(Decomposable system, const TransitionState& state, int32_t head, int32_t modifier);

// Σ over words of the teacher's probability of the word's head and label or, if it has no head yet, of the
// most probable reachable one. An upper bound on the best tree, because arcs that are reachable one by one
// may not form a tree. If the teacher is certain of one derivable tree, the difference between two states is
// the number of its arcs lost between them.
double taught_value(Decomposable system, const TransitionState& state, const TaughtTree& taught);

// The most probable label of an arc and its probability; {0, 0} for an arc outside the teacher's targets.
struct TaughtLabel {
  int16_t label = 0;
  double share = 0;
};
TaughtLabel best_label(const TaughtTree& taught, int32_t head, int32_t modifier);
// The probability of an arc with this label.
double share_of(const TaughtTree& taught, int32_t head, int32_t modifier, int16_t label);

}  // namespace arcwise
