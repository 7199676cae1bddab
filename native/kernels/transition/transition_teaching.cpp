#include "kernels/transition/transition_teaching.hpp"

#include <algorithm>

namespace arcwise {

bool is_reachable(Decomposable system, const TransitionState& state, int32_t head, int32_t modifier) {
  const bool easy = system == Decomposable::easy_first;
  // Reachable from the input: O[1] (its front in arc-eager and hybrid) and U. Other operative tokens wait on
  // the stack.
  auto in_input = [&](int32_t t) {
    return t == state.top() || (!state.is_operative(t) && state.head(t) == NO_TOKEN);
  };
  auto waits = [&](int32_t t) { return state.is_operative(t) && t != state.top(); };
  if (easy) return state.is_operative(head) && state.is_operative(modifier);
  if (in_input(modifier)) return in_input(head) || waits(head);
  if (!waits(modifier)) return false;
  return in_input(head) || (system == Decomposable::hybrid && head == state.before(modifier));
}

double taught_value(Decomposable system, const TransitionState& state, const TaughtTree& taught) {
  double sum = 0;
  for (int32_t m = 1; m <= taught.n; ++m) {
    double best = 0;
    taught.for_each_arc_into(m, [&](int32_t head, int32_t label, double share) {
      const bool counts = state.head(m) == NO_TOKEN
                              ? share > best && is_reachable(system, state, head, m)
                              : head == state.head(m) && std::max(label, 0) == state.node(m).label;
      if (counts) best = share;
    });
    sum += best;
  }
  return sum;
}

TaughtLabel best_label(const TaughtTree& taught, int32_t head, int32_t modifier) {
  TaughtLabel best;
  taught.for_each_arc_into(modifier, [&](int32_t h, int32_t label, double share) {
    if (h == head && share > best.share) best = {static_cast<int16_t>(std::max(label, 0)), share};
  });
  return best;
}

double share_of(const TaughtTree& taught, int32_t head, int32_t modifier, int16_t label) {
  double found = 0;
  taught.for_each_arc_into(modifier, [&](int32_t h, int32_t l, double share) {
    if (h == head && std::max(l, 0) == label) found = share;
  });
  return found;
}

}  // namespace arcwise
