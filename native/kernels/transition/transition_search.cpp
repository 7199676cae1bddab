#include "kernels/transition/transition_search.hpp"

#include <algorithm>

#include "kernels/base/hashing.hpp"
#include "kernels/base/minus_infinity.hpp"

namespace arcwise {
namespace {

// The contribution of a move to the signature of a state.
uint64_t signature_of(const TransitionState& state, const Move& move) {
  const Transition& t = state.system().transitions[move.transition];
  const bool shifts = t.kind == MoveKind::shift || (t.is_arc() && t.arc_shift && state.input_left() > 0);
  uint64_t sum = shifts ? mix(1) : 0;
  if (t.kind == MoveKind::reduce || (t.is_arc() && t.bottom_up)) {
    const bool takes_right = t.kind == MoveKind::right_arc;
    sum += mix(2 + 4 * static_cast<uint64_t>(takes_right ? move.right : move.left));
  }
  if (t.is_arc()) {
    const bool left = t.kind == MoveKind::left_arc;
    const uint64_t head = static_cast<uint64_t>(left ? move.right : move.left);
    const uint64_t modifier = static_cast<uint64_t>(left ? move.left : move.right);
    sum += mix(mix(mix(3 + 4 * head) + modifier) + static_cast<uint64_t>(move.label));
  }
  return sum;
}

}  // namespace

double transition_greedy(MoveScorer& move_scorer, TransitionState& state, std::vector<ScoredMove>& moves) {
  double total = 0;
  // With capacity 2 states do not recur, so caching their scores does not pay.
  const bool nothing_comes_back = state.system().capacity == 2;
  while (!state.is_settled()) {
    if (nothing_comes_back) move_scorer.forget();
    move_scorer.score(state, false, moves);
    if (moves.empty()) break;
    const auto best =
        std::max_element(moves.begin(), moves.end(),
                         [](const ScoredMove& x, const ScoredMove& y) { return x.score < y.score; });
    total += best->score;
    state.apply(best->move);
  }
  return total;
}

bool EasyFirst::fits(const TransitionSystem& system) {
  if (system.capacity != TransitionSystem::UNBOUNDED || system.start != TransitionSystem::UNBOUNDED)
    return false;
  return std::all_of(system.transitions.begin(), system.transitions.end(), [](const Transition& t) {
    return t.is_arc() && t.bottom_up && !t.arc_shift && t.periphery == Periphery::none;
  });
}

// Rescores all pairs whose left end is `left`; older queue entries become obsolete.
void EasyFirst::visit(MoveScorer& move_scorer, const TransitionState& state, int32_t left) {
  const uint32_t version = ++version_[left];
  moves_.clear();
  int distance = 1;
  for (int32_t right = state.after(left); right != NO_TOKEN && distance <= state.system().max_distance;
       right = state.after(right), ++distance)
    move_scorer.score_pair(state, left, right, distance, moves_);
  for (const ScoredMove& m : moves_) {
    heap_.push_back({m.score, version, m.move});
    std::push_heap(heap_.begin(), heap_.end());
  }
}

double EasyFirst::parse(MoveScorer& move_scorer, TransitionState& state) {
  // Features look two places to the left of a pair and three to the right of it. A removed token was at most
  // D places from its head, so the pairs that can see a change begin within this distance of the head:
  const int D = std::min(state.system().max_distance, state.words());
  const int ahead = std::max(2, D + 1), behind = 2 + 2 * D;
  heap_.clear();
  version_.assign(state.words() + 1, 0);
  for (int32_t t = state.top(); t != NO_TOKEN; t = state.before(t)) visit(move_scorer, state, t);
  double total = 0;
  while (!state.is_final() && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Waiting best = heap_.back();
    heap_.pop_back();
    if (best.version != version_[best.move.left] || state.is_removed(best.move.left)) continue;
    total += best.score;
    const bool leftwards = state.system().transitions[best.move.transition].kind == MoveKind::left_arc;
    const int32_t head = leftwards ? best.move.right : best.move.left;
    state.apply(best.move);
    // (Single root: the last two tokens may become joinable; they are among these.)
    int32_t from = head;
    int steps = behind;
    for (int k = 0; k < ahead && state.after(from) != NO_TOKEN; ++k, ++steps) from = state.after(from);
    for (; steps >= 0 && from != NO_TOKEN; --steps, from = state.before(from))
      visit(move_scorer, state, from);
  }
  return total;
}

std::vector<Move> Derivations::moves(int32_t derivation) const {
  std::vector<Move> moves;
  for (int32_t at = derivation; at >= 0; at = nodes_[at].before) moves.push_back(nodes_[at].move);
  return {moves.rbegin(), moves.rend()};
}

void Beam::start(const TransitionSystem& system, int words, bool single_root, Derivations& derivations) {
  derivations_ = &derivations;
  items_.clear();
  items_.emplace_back();
  items_[0].state.start(system, words, single_root);
}

bool Beam::has_correct() const {
  return std::any_of(items_.begin(), items_.end(), [](const BeamItem& i) { return i.correct; });
}

bool Beam::follow_correct(const Beam& other) {
  if (!other.has_correct()) return false;
  size_t count = 0;
  for (const BeamItem& item : other.items_) {
    if (!item.correct) continue;
    if (count == items_.size()) items_.emplace_back();
    items_[count++] = item;
  }
  items_.resize(count);
  return true;
}

void Beam::push(Candidate candidate, size_t width) {
  if (candidates_.size() >= width && candidate.score < threshold_) return;
  candidate.number = static_cast<int32_t>(candidates_.size());
  const BeamItem& item = items_[candidate.item];
  candidate.signature = item.signature + (candidate.stays ? 0 : signature_of(item.state, candidate.move));
  candidates_.push_back(candidate);
  if (candidates_.size() >= 4 * width + 64) keep_best(width);
}

// Truncates the candidates to the best ones, sorted.
void Beam::keep_best(size_t width) {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& x, const Candidate& y) { return x.score > y.score; });
  merge_same_states(width);
  if (candidates_.size() > width) candidates_.resize(width);
  threshold_ = candidates_.size() < width ? MINUS_INFINITY : candidates_.back().score;
}

// Keeps the first of sorted candidates that lead to the same state.
void Beam::merge_same_states(size_t width) {
  size_t kept = 0;
  for (const Candidate& c : candidates_) {
    if (kept == width) break;
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(kept);
    const bool is_new = std::none_of(candidates_.begin(), end,
                                     [&](const Candidate& better) { return is_same_state(better, c); });
    if (is_new) candidates_[kept++] = c;
  }
  candidates_.resize(kept);
}

void Beam::expand(MoveScorer& move_scorer, int32_t number, const Correct* correct, bool only_correct,
                  bool all_labels, size_t width) {
  const BeamItem& item = items_[number];
  if (item.ended) {
    push({item.score, number, 0, {}, item.correct, true}, width);
    return;
  }
  correct_moves_.clear();
  if (correct && item.correct) (*correct)(item.state, correct_moves_);
  if (only_correct) {
    for (const Move& move : correct_moves_)
      push({item.score + move_scorer.score(item.state, move), number, 0, move, true, false}, width);
    return;
  }
  move_scorer.score(item.state, all_labels, moves_);
  if (moves_.empty()) push({item.score, number, 0, {}, false, true}, width);
  for (const ScoredMove& m : moves_) {
    const bool is_correct =
        correct && item.correct &&
        std::find(correct_moves_.begin(), correct_moves_.end(), m.move) != correct_moves_.end();
    push({item.score + m.score, number, 0, m.move, is_correct, false}, width);
  }
}

// Continuations with the best label of each arc come first; other labels fill the remaining places, so that a
// beam wide enough for all derivations misses none.
void Beam::fill_with_other_labels(MoveScorer& move_scorer, const Correct* correct, size_t width) {
  first_.swap(candidates_);
  expand_all(move_scorer, correct, false, true, width);
  keep_best(width);
  std::erase_if(candidates_, [&](const Candidate& c) {
    return std::any_of(first_.begin(), first_.end(), [&](const Candidate& f) { return is_same_state(f, c); });
  });
  candidates_.resize(std::min(candidates_.size(), width - first_.size()));
  candidates_.insert(candidates_.begin(), first_.begin(), first_.end());
}

void Beam::expand_all(MoveScorer& move_scorer, const Correct* correct, bool only_correct, bool all_labels,
                      size_t width) {
  candidates_.clear();
  threshold_ = MINUS_INFINITY;
  for (int32_t number = 0; number < static_cast<int32_t>(items_.size()); ++number)
    expand(move_scorer, number, correct, only_correct, all_labels, width);
}

bool Beam::step(MoveScorer& move_scorer, int width, const Correct* correct, bool only_correct) {
  if (std::all_of(items_.begin(), items_.end(), [](const BeamItem& i) { return i.ended; })) return false;
  expand_all(move_scorer, correct, only_correct, false, width);
  keep_best(width);
  if (!only_correct && candidates_.size() < static_cast<size_t>(width)) {
    fill_with_other_labels(move_scorer, correct, width);
    keep_best(width);
  }
  next_.resize(candidates_.size());
  last_child_.assign(items_.size(), -1);
  for (size_t k = 0; k < candidates_.size(); ++k) last_child_[candidates_[k].item] = static_cast<int32_t>(k);
  for (size_t k = 0; k < candidates_.size(); ++k) {
    const Candidate& c = candidates_[k];
    BeamItem& from = items_[c.item];
    BeamItem& to = next_[k];
    if (last_child_[c.item] == static_cast<int32_t>(k))
      std::swap(to.state, from.state);  // no longer needed
    else
      to.state = from.state;
    to.history = from.history;
    to.ended = from.ended;
    to.score = c.score;
    to.correct = c.correct;
    to.signature = c.signature;
    if (c.stays) {
      to.ended = true;
      continue;
    }
    to.state.apply(c.move);
    to.history = derivations_->add(from.history, c.move);
    to.ended = to.state.is_final();
  }
  std::swap(items_, next_);
  return true;
}

}  // namespace arcwise
