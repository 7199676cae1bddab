#include "kernels/transition/transition_oracle.hpp"

#include <algorithm>

namespace arcwise {
namespace {

struct Arc {
  int32_t head, modifier;
};

Arc arc_of(const TransitionState& state, const Move& move) {
  if (state.system().transitions[move.transition].kind == MoveKind::left_arc) return {move.right, move.left};
  return {move.left, move.right};
}

bool matches(const Transition& t, MoveKind kind, bool bottom_up, bool arc_shift, Periphery periphery) {
  return t.kind == kind && t.bottom_up == bottom_up && t.arc_shift == arc_shift && t.periphery == periphery;
}

bool one_each(const TransitionSystem& system, std::initializer_list<Transition> wanted) {
  if (system.transitions.size() != wanted.size()) return false;
  return std::all_of(wanted.begin(), wanted.end(), [&](const Transition& w) {
    return std::any_of(system.transitions.begin(), system.transitions.end(), [&](const Transition& t) {
      return w.is_arc() ? matches(t, w.kind, w.bottom_up, w.arc_shift, w.periphery)
                        : t.kind == w.kind && t.periphery == w.periphery;
    });
  });
}

bool has_bottom_up(const TransitionSystem& system, MoveKind kind) {
  return std::any_of(system.transitions.begin(), system.transitions.end(),
                     [&](const Transition& t) { return t.kind == kind && t.bottom_up; });
}

// Removing a complete token brings the others closer together and never makes an arc unreachable, unless a
// move must involve the leftmost active token, or must not involve the rightmost one, because removal changes
// which token that is.
bool removing_never_hurts(const TransitionSystem& system) {
  if (system.capacity == 2 || decomposable_as(system) == Decomposable::hybrid) return true;
  return std::none_of(system.transitions.begin(), system.transitions.end(), [](const Transition& t) {
    return t.periphery == Periphery::left || t.periphery == Periphery::not_right;
  });
}

// Whether the greedy oracle is exact: reduce a complete token whenever there is one, else shift.
bool is_plainly_bottom_up(const TransitionSystem& system) {
  return system.bottom_up() && !system.arc_shifts() && !system.many_heads && removing_never_hurts(system);
}

// The positions of tokens after a move of an arc-eager or hybrid state, without copying the state.
class AfterMove {
 public:
  explicit AfterMove(const TransitionState& state) : state_(state), front_(state.top()) {}
  AfterMove(const TransitionState& state, const Move& move) : AfterMove(state) {
    const MoveKind kind = state.system().transitions[move.transition].kind;
    if (kind == MoveKind::shift) {
      front_ = state.input(0);
    } else if (kind == MoveKind::reduce) {
      gone_ = move.left;
    } else {
      const Arc arc = arc_of(state, move);
      attached_ = arc.modifier, head_ = arc.head;
      if (state.system().transitions[move.transition].arc_shift)
        front_ = state.input(0);
      else
        gone_ = arc.modifier;
    }
  }

  int words() const { return state_.words(); }
  int32_t head(int32_t token) const { return token == attached_ ? head_ : state_.head(token); }
  bool is_stacked(int32_t token) const {
    return token != front_ && token != gone_ && state_.is_operative(token);
  }
  // At the front of the buffer (O[1]) or behind it (U); the root is last.
  bool in_input(int32_t token) const {
    return token == front_ || (!state_.is_operative(token) && head(token) == NO_TOKEN);
  }
  // Only the top leaves the stack, so a token above another one stays there until it gets a head.
  bool lies_on_another(int32_t token) const { return is_stacked(token) && state_.before(token) != NO_TOKEN; }

 private:
  const TransitionState& state_;
  int32_t front_, gone_ = NO_TOKEN, attached_ = NO_TOKEN, head_ = NO_TOKEN;
};

// The number of gold arcs that must be given up for a single root although each is reachable on its own. Gold
// is projective with one root r, so no gold arc covers r.
//   r lies on another token of the stack. That token cannot leave before r does, so it or a later word
//   becomes the root, and 0 -> r is lost.
//   Arc-eager: a word of the stack gets its head from the input only, and all but the lowest one need one.
//   Let c be the word from which reachable and built gold arcs lead to the last word. If c lies on another
//   word and has no gold head to wait for, every word that could take it is below c, or comes while c still
//   waits for others: one arc on the way from c to the last word is lost.
// Nothing else is lost: a word without a reachable gold head finds another one (test_oracle.py searches all).
int lost_to_single_root(Decomposable system, const AfterMove& state, const GoldArcs& gold) {
  const int32_t r = gold.root();
  int lost = r != NO_TOKEN && state.head(r) == NO_TOKEN && state.lies_on_another(r);
  if (system != Decomposable::arc_eager || !state.in_input(state.words())) return lost;
  int32_t c = state.words();
  for (int step = 0; step < state.words();
       ++step) {  // at most `words` steps: a gold tree with crossing arcs may have a cycle here
    int32_t above = state.head(c);
    if (above == NO_TOKEN) {
      above = gold.head(c);
      const bool in_reach = state.in_input(above) || (state.in_input(c) && state.is_stacked(above));
      if (above == 0 || !in_reach) break;
    }
    c = above;
  }
  return lost + state.lies_on_another(c);
}

}  // namespace

GoldArcs::GoldArcs(const int32_t* heads, const int16_t* labels, int words)
    : words_(words), first_(words + 2), heads_(heads + 1, heads + words + 1), degree_(words + 1, 0) {
  for (int m = 1; m <= words; ++m) {
    first_[m + 1] = m;
    ++degree_[m];
    ++degree_[heads[m]];
    if (heads[m] == 0) root_ = m;
  }
  first_[0] = first_[1] = 0;
  if (labels) labels_.assign(labels + 1, labels + words + 1);
  labels_.resize(words, 0);
}

GoldArcs::GoldArcs(const std::vector<GraphArc>& arcs, int words)
    : words_(words), first_(words + 2, 0), degree_(words + 1, 0) {
  for (int m = 1; m <= words; ++m) {
    for (const GraphArc& a : arcs)
      if (a.modifier == m) {
        heads_.push_back(a.head);
        labels_.push_back(a.label);
        ++degree_[m];
        ++degree_[a.head];
      }
    first_[m + 1] = static_cast<int32_t>(heads_.size());
  }
}

Decomposable decomposable_as(const TransitionSystem& s) {
  constexpr auto L = MoveKind::left_arc, R = MoveKind::right_arc;
  const bool two = s.capacity == 2 && s.start == 2, linear = s.max_distance == 1 && s.root_right;
  if (s.many_heads) return Decomposable::no;
  for (Periphery stack_top : {Periphery::left, Periphery::not_right})  // of two tokens: the same one
    if (two && linear &&
        one_each(s, {{L}, {R, false, true}, {MoveKind::reduce, true, false, stack_top}, {MoveKind::shift}}))
      return Decomposable::arc_eager;
  if (s.capacity == 3 && s.start <= 2 && linear &&
      one_each(
          s, {{L, true, false, Periphery::right}, {R, true, false, Periphery::not_right}, {MoveKind::shift}}))
    return Decomposable::hybrid;
  const bool all = s.capacity == TransitionSystem::UNBOUNDED && s.start == TransitionSystem::UNBOUNDED;
  const bool any_tree = s.max_distance == 1 || s.max_distance == TransitionSystem::UNBOUNDED;
  if (all && any_tree && one_each(s, {{L}, {R}})) return Decomposable::easy_first;
  return Decomposable::no;
}

void TransitionOracle::count_missing(const TransitionState& state, const GoldArcs& gold) {
  missing_.resize(gold.words() + 1);
  for (int t = 0; t <= gold.words(); ++t) missing_[t] = gold.degree(t);
  auto built = [&](int32_t head, int32_t modifier) {
    if (!gold.has(head, modifier)) return;
    --missing_[head];
    --missing_[modifier];
  };
  if (state.system().many_heads) {
    for (const GraphArc& a : state.arcs()) built(a.head, a.modifier);
  } else {
    for (int m = 1; m <= gold.words(); ++m)
      if (state.head(m) != NO_TOKEN) built(state.head(m), m);
  }
}

// Whether a move builds a gold arc, if any, and removes a token only after all its gold arcs. Needs missing_
// of `state`.
bool TransitionOracle::keeps_gold(const TransitionState& state, const GoldArcs& gold,
                                  const Move& move) const {
  const Transition& t = state.system().transitions[move.transition];
  if (t.kind == MoveKind::shift) return true;
  if (t.kind == MoveKind::reduce) return missing_[move.left] == 0;
  const Arc arc = arc_of(state, move);
  if (!gold.has(arc.head, arc.modifier)) return false;
  return !t.bottom_up || missing_[arc.modifier] == 1;
}

// Reduces a complete token whose head is within reach whenever there is one, otherwise shifts. Reducing early
// never hurts: it only brings the others closer together.
bool TransitionOracle::derive_bottom_up(TransitionState& state, const GoldArcs& gold,
                                        std::vector<Move>* moves) {
  count_missing(state, gold);
  while (!state.is_final()) {
    Move next;
    bool found = false, is_arc = false;
    state.for_each_move([&](const Move& move, int) {
      if (is_arc) return;
      const bool arc = state.system().transitions[move.transition].is_arc();
      if (!keeps_gold(state, gold, move)) return;
      next = move;
      found = true;
      is_arc = arc;
    });
    if (!found) return false;
    if (is_arc) {
      const Arc arc = arc_of(state, next);
      next.label = gold.label(arc.head, arc.modifier);
      --missing_[arc.head];
      --missing_[arc.modifier];
    }
    if (moves) moves->push_back(next);
    state.apply(next);
  }
  return true;
}

std::string TransitionOracle::key(const TransitionState& state) {
  std::string out;
  for (int t = 0; t <= state.words(); ++t)
    out.push_back(static_cast<char>((state.is_operative(t) ? 2 : 0) + (state.head(t) != NO_TOKEN ? 1 : 0)));
  for (const GraphArc& a : state.arcs()) {
    out.append(reinterpret_cast<const char*>(&a.head), 4);
    out.append(reinterpret_cast<const char*>(&a.modifier), 4);
  }
  return out;
}

// Depth-first search that remembers states from which gold is unreachable. If SHIFT is a separate move, gold
// arcs without a shift and removals of complete tokens are applied immediately, because they never make gold
// unreachable (unless the same arc could also have removed its modifier). The search only branches where a
// SHIFT is coupled to an arc or is the alternative to one.
bool TransitionOracle::search(const TransitionState& state, const GoldArcs& gold, std::vector<Move>& path) {
  count_missing(state, gold);
  if (state.is_final())
    return std::all_of(missing_.begin(), missing_.end(), [](int32_t m) { return m == 0; });
  if (failed_.contains(key(state))) return false;
  const TransitionSystem& system = state.system();
  const bool removing_is_free = removing_never_hurts(system);
  const bool shift_is_free = system.has(MoveKind::shift) || state.input_left() == 0;
  std::vector<Move> ways;
  bool forced = false;
  state.for_each_move([&](Move move, int) {
    if (forced || !keeps_gold(state, gold, move)) return;
    const Transition& t = system.transitions[move.transition];
    if (t.is_arc()) move.label = gold.label(arc_of(state, move).head, arc_of(state, move).modifier);
    const bool shifts = t.kind == MoveKind::shift || (t.is_arc() && t.arc_shift && state.input_left());
    const bool removes = !t.is_arc() || t.bottom_up;
    forced = !shifts && shift_is_free && (removes ? removing_is_free : !has_bottom_up(system, t.kind));
    if (forced) ways.clear();
    ways.push_back(move);
  });
  for (const Move& move : ways) {
    TransitionState next = state;
    next.apply(move);
    path.push_back(move);
    if (search(next, gold, path)) return true;
    path.pop_back();
  }
  failed_.insert(key(state));
  return false;
}

// In decomposable systems a derivation is any sequence of moves that loses no gold arc. Shifting is the last
// resort.
bool TransitionOracle::derive_without_cost(TransitionState& state, const GoldArcs& gold,
                                           std::vector<Move>* moves) {
  const Decomposable decomposable = decomposable_as(state.system());
  while (!state.is_final()) {
    Move next;
    bool found = false;
    state.for_each_move([&](Move move, int) {
      const Transition& t = state.system().transitions[move.transition];
      if (found || cost(decomposable, state, gold, move) > 0) return;
      if (t.is_arc()) {
        const Arc arc = arc_of(state, move);
        if (!gold.has(arc.head, arc.modifier)) return;
        move.label = gold.label(arc.head, arc.modifier);
      }
      next = move;
      found = true;
    });
    if (!found) return false;
    if (moves) moves->push_back(next);
    state.apply(next);
  }
  return true;
}

bool has_wrong_arc(const TransitionState& state, const GoldArcs& gold) {
  for (int32_t m = 1; m <= state.words(); ++m)
    if (state.head(m) != NO_TOKEN && !gold.has(state.head(m), m)) return true;
  return false;
}

bool TransitionOracle::derive(const TransitionState& state, const GoldArcs& gold, std::vector<Move>* moves) {
  const TransitionSystem& system = state.system();
  if (decomposable_as(system) == Decomposable::arc_eager) {
    scratch_ = state;
    return derive_without_cost(scratch_, gold, moves);
  }
  if (is_plainly_bottom_up(system)) {
    scratch_ = state;
    return derive_bottom_up(scratch_, gold, moves);
  }
  failed_.clear();
  std::vector<Move> path;
  if (!search(state, gold, path)) return false;
  if (moves) moves->insert(moves->end(), path.begin(), path.end());
  return true;
}

void TransitionOracle::correct_moves(const TransitionState& state, const GoldArcs& gold,
                                     std::vector<Move>& moves) {
  moves.clear();
  const TransitionSystem& system = state.system();
  const Decomposable decomposable = decomposable_as(system);
  const bool bottom_up = is_plainly_bottom_up(system);
  count_missing(state, gold);
  state.for_each_move([&](Move move, int) {
    if (!keeps_gold(state, gold, move)) return;
    const Transition& t = system.transitions[move.transition];
    if (t.is_arc()) move.label = gold.label(arc_of(state, move).head, arc_of(state, move).modifier);
    moves.push_back(move);
  });
  if (moves.size() <= 1) return;  // some move is correct, so it must be this one
  auto closes = [&](const Move& move) {
    if (decomposable != Decomposable::no) return cost(decomposable, state, gold, move) > 0;
    if (bottom_up && system.transitions[move.transition].is_arc()) return false;
    TransitionState next = state;
    next.apply(move);
    return !derive(next, gold, nullptr);
  };
  std::erase_if(moves, closes);
}

int TransitionOracle::cost(Decomposable system, const TransitionState& state, const GoldArcs& gold,
                           const Move& move) {
  const int lost = arcs_out_of_reach(system, state, gold, move);
  if (!state.single_root() || system == Decomposable::easy_first) return lost;
  return lost + lost_to_single_root(system, AfterMove(state, move), gold) -
         lost_to_single_root(system, AfterMove(state), gold);
}

// Counts the gold arcs that no derivation with any number of roots can build after `move`.
int TransitionOracle::arcs_out_of_reach(Decomposable system, const TransitionState& state,
                                        const GoldArcs& gold, const Move& move) {
  const MoveKind kind = state.system().transitions[move.transition].kind;
  const int n = state.words();
  int lost = 0;
  // Reachable from the buffer: O[1] (the front of the buffer in arc-eager and hybrid) and U.
  auto in_input = [&](int32_t t) {
    return t == state.top() || (!state.is_operative(t) && state.head(t) == NO_TOKEN && t != NO_TOKEN);
  };
  auto waits = [&](int32_t t) { return state.is_operative(t) && t != state.top(); };  // on the stack
  // Counts the gold children c of `token` that can still be attached and satisfy `where`.
  auto children_lost = [&](int32_t token, auto where) {
    for (int32_t c = 1; c <= n; ++c)
      if (gold.head(c) == token && state.head(c) == NO_TOKEN && where(c)) ++lost;
  };
  if (kind == MoveKind::shift) {  // O[1] joins the stack
    const int32_t b = state.top();
    const bool keeps_top = system == Decomposable::hybrid;
    if (b != 0 && state.head(b) == NO_TOKEN && waits(gold.head(b)))
      lost += !(keeps_top && gold.head(b) == state.before(b));
    children_lost(b, waits);
    return lost;
  }
  if (kind == MoveKind::reduce) {
    children_lost(move.left, in_input);
    return lost;
  }
  const Arc arc = arc_of(state, move);
  const int32_t gold_head = gold.head(arc.modifier);
  if (system == Decomposable::easy_first) {
    lost += gold_head != arc.head && state.is_operative(gold_head);
    children_lost(arc.modifier, [&](int32_t c) { return state.is_operative(c); });
  } else if (system == Decomposable::hybrid) {
    const int32_t s1 = state.before(arc.modifier);
    lost += gold_head != arc.head && (in_input(gold_head) || gold_head == s1);
    children_lost(arc.modifier, in_input);
  } else if (kind == MoveKind::left_arc) {  // arc-eager: s gets its head and is removed
    lost += gold_head != arc.head && in_input(gold_head);
    children_lost(arc.modifier, in_input);
  } else {  // arc-eager: b gets its head and joins the stack
    lost += gold_head != arc.head && (waits(gold_head) || in_input(gold_head));
    children_lost(arc.modifier, waits);
  }
  return lost;
}

int TransitionOracle::arcs_lost(const TransitionState& state, const GoldArcs& gold, const Move& move) {
  auto lost_by = [&](const Move& m) {
    const Arc arc = arc_of(state, m);
    const int32_t gold_head = gold.head(arc.modifier);
    int lost = gold_head != arc.head && !state.is_removed(gold_head);
    for (int32_t c = 1; c <= state.words(); ++c)
      lost += gold.head(c) == arc.modifier && state.head(c) == NO_TOKEN;
    return lost;
  };
  const auto& transitions = state.system().transitions;
  if (transitions[move.transition].is_arc()) return lost_by(move);
  int32_t edge = state.top();  // the leftmost active token
  for (int place = 1; place < std::min(state.operative(), state.system().capacity); ++place)
    edge = state.before(edge);
  bool better = false;
  state.for_each_move([&](const Move& m, int) {
    if (better || !transitions[m.transition].is_arc() || m.left != edge) return;
    const Arc arc = arc_of(state, m);
    better = gold.has(arc.head, arc.modifier) && lost_by(m) == 0;
  });
  return better;
}

bool TransitionOracle::nearest(const TransitionSystem& system, bool single_root, int32_t* heads, int words) {
  TransitionState state;
  state.start(system, words, single_root);
  for (;;) {
    GoldArcs gold(heads, nullptr, words);
    if (derive_bottom_up(state, gold, nullptr)) return true;
    Arc best{NO_TOKEN, NO_TOKEN};
    Move chosen;
    int best_cost = 0;
    state.for_each_move([&](const Move& move, int) {
      if (!system.transitions[move.transition].is_arc()) return;
      const Arc arc = arc_of(state, move);
      const int32_t gold_head = heads[arc.modifier];
      // Twice the number of changed arcs; prefers a grandparent as the new head.
      const int cost = 2 * ((gold_head != arc.head) + missing_[arc.modifier] - 1) +
                       !(gold_head > 0 && heads[gold_head] == arc.head);
      if (best.modifier != NO_TOKEN && cost >= best_cost) return;
      best = arc, chosen = move, best_cost = cost;
    });
    if (best.modifier == NO_TOKEN) return false;
    for (int32_t c = 1; c <= words; ++c)
      if (heads[c] == best.modifier && state.head(c) == NO_TOKEN) heads[c] = heads[best.modifier];
    heads[best.modifier] = best.head;
    state.apply(chosen);
  }
}

}  // namespace arcwise
