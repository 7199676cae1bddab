#include "kernels/transition/transition_trainer.hpp"

#include <algorithm>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/learning/word_dropout.hpp"

namespace arcwise {
namespace {

constexpr double AS_GOOD = 1e-6;  // moves whose values differ by less count as equally good
constexpr int GOLD_BEAM = 8;      // limit on the number of correct prefixes kept (Ma et al. 2013)

// ‖f(good) − f(bad)‖² from the places of their weights, +1 for each place of good and -1 for each of bad, in
// any order; weights that both use equally often cancel.
double squared_norm(std::vector<std::pair<size_t, int>>& difference) {
  std::sort(difference.begin(), difference.end());
  double norm = 0;
  for (size_t k = 0; k < difference.size();) {
    const size_t place = difference[k].first;
    double count = 0;
    for (; k < difference.size() && difference[k].first == place; ++k) count += difference[k].second;
    norm += count * count;
  }
  return norm;
}

}  // namespace

TransitionTrainer::TransitionTrainer(TransitionScorer& scorer, const TransitionData& data,
                                     const TransitionTraining& options)
    : scorer_(scorer),
      data_(data),
      options_(options),
      decomposable_(decomposable_as(scorer.system)),
      may_explore_(!options.static_oracle &&
                   (decomposable_ != Decomposable::no ||
                    (scorer.system.bottom_up() && !scorer.system.many_heads && scorer.system.capacity > 2))),
      move_scorer_(scorer),
      random_(options.seed),
      move_weights_(scorer.moves),
      label_weights_(scorer.label_rows) {}

GoldArcs TransitionTrainer::gold_of(size_t s) const {
  if (scorer_.system.many_heads) return GoldArcs(data_.graphs[s], data_.words(s));
  // The arrays are flat over words 1..n, so entry 0 belongs to the previous word and is never read.
  return GoldArcs(data_.heads.data() + data_.starts[s] - 1, data_.labels.data() + data_.starts[s] - 1,
                  data_.words(s));
}

size_t TransitionTrainer::learn(int epoch, const int64_t* sentences, size_t count, bool explore) {
  updates_ = 0;
  const bool warm = options_.rule != UpdateRule::local && epoch <= options_.warm_epochs;
  if (was_warm_ && !warm) {  // restart averaging when beam training begins
    move_weights_.restart();
    label_weights_.restart();
  }
  was_warm_ = warm;
  for (size_t k = 0; k < count; ++k) {
    const size_t s = static_cast<size_t>(sentences[k]);
    random_ = Random(options_.seed + static_cast<uint64_t>(epoch) * 1000003, s);
    drop_words(s);
    move_scorer_.begin(data_, s, dropped_.data());
    weight_ = data_.taught.weight(s);
    if (options_.rule == UpdateRule::local || warm)
      learn_locally(s, explore);
    else
      learn_with_beam(s);
  }
  return updates_;
}

void TransitionTrainer::drop_words(size_t s) {
  dropped_.assign(data_.words(s), 0);
  if (options_.dropout <= 0) return;
  for (size_t w = 0; w < dropped_.size(); ++w) {
    const uint64_t word = data_.atoms[(data_.starts[s] + w) * data_.atom_count + scorer_.word_atom];
    dropped_[w] = drops_word(random_.uniform(), options_.dropout, scorer_.vocabulary.count(word));
  }
}

void TransitionTrainer::next_step() {
  ++move_weights_.steps;
  ++label_weights_.steps;
}

// The derivation that a static oracle follows: attach as soon as possible, shift last.
void TransitionTrainer::derive_gold(size_t s, const GoldArcs& gold) {
  derivation_.clear();
  made_ = 0;
  if (!options_.static_oracle) return;
  scratch_.start(scorer_.system, data_.words(s), options_.single_root);
  oracle_.derive(scratch_, gold, &derivation_);
}

// Collects the moves of minimal cost (0 on a correct path). The label of an arc matters only if the arc is
// gold.
void TransitionTrainer::collect_correct(const TransitionState& state, const GoldArcs& gold) {
  if (is_taught_) return collect_taught(state);
  any_label_.clear();
  if (options_.static_oracle) {
    correct_.assign(made_ < derivation_.size() ? 1 : 0, {});
    if (!correct_.empty()) correct_[0] = derivation_[made_++];
    any_label_.assign(correct_.size(), 0);
    return;
  }
  if (decomposable_ == Decomposable::no && !off_path_) {
    oracle_.correct_moves(state, gold, correct_);
    any_label_.assign(correct_.size(), 0);
    return;
  }
  correct_.clear();
  int least = 1 << 30;
  state.for_each_move([&](Move move, int) {
    const int cost = decomposable_ == Decomposable::no
                         ? TransitionOracle::arcs_lost(state, gold, move)
                         : TransitionOracle::cost(decomposable_, state, gold, move);
    if (cost > least) return;
    if (cost < least) {
      correct_.clear();
      any_label_.clear();
    }
    least = cost;
    const Transition& t = scorer_.system.transitions[move.transition];
    bool is_gold = false;
    if (t.is_arc()) {
      const int32_t head = t.kind == MoveKind::left_arc ? move.right : move.left;
      const int32_t modifier = t.kind == MoveKind::left_arc ? move.left : move.right;
      is_gold = gold.has(head, modifier);
      move.label = gold.label(head, modifier);
    }
    correct_.push_back(move);
    any_label_.push_back(t.is_arc() && !is_gold);
  });
}

// Collects, under a teacher's probabilities, the moves after which the expected number of correct heads and
// labels is highest.
void TransitionTrainer::collect_taught(const TransitionState& state) {
  taught_moves_.clear();
  double best = MINUS_INFINITY;
  state.for_each_move([&](Move move, int) {
    const Transition& t = scorer_.system.transitions[move.transition];
    if (t.is_arc()) {
      const bool left = t.kind == MoveKind::left_arc;
      move.label = best_label(taught_, left ? move.right : move.left, left ? move.left : move.right).label;
    }
    scratch_ = state;
    scratch_.apply(move);
    taught_moves_.push_back({move, taught_value(decomposable_, scratch_, taught_)});
    best = std::max(best, taught_moves_.back().value);
  });
  correct_.clear();
  any_label_.clear();
  for (const TaughtMove& own : taught_moves_) {
    if (own.value < best - AS_GOOD) continue;
    correct_.push_back(own.move);
    any_label_.push_back(is_arc(own.move) && taught_share(own.move) == 0);
  }
}

// The value of the state after a legal move, whatever its label.
double TransitionTrainer::value_after(const Move& move) const {
  for (const TaughtMove& own : taught_moves_)
    if (own.move.transition == move.transition && own.move.left == move.left && own.move.right == move.right)
      return own.value - taught_share(own.move) + taught_share(move);
  return 0;
}

bool TransitionTrainer::is_arc(const Move& move) const {
  return scorer_.system.transitions[move.transition].is_arc();
}

// The teacher's probability of the arc that a move builds, with its label; 0 if it builds none.
double TransitionTrainer::taught_share(const Move& move) const {
  if (!is_arc(move)) return 0;
  const bool left = scorer_.system.transitions[move.transition].kind == MoveKind::left_arc;
  return share_of(taught_, left ? move.right : move.left, left ? move.left : move.right, move.label);
}

void TransitionTrainer::learn_locally(size_t s, bool explore) {
  const GoldArcs gold = gold_of(s);
  derive_gold(s, gold);
  is_taught_ = !data_.taught.empty() && decomposable_ != Decomposable::no && !options_.static_oracle;
  if (is_taught_) taught_ = data_.taught.of(data_.starts[s], data_.words(s));
  is_taught_ = is_taught_ && !taught_.empty();
  TransitionState state;
  state.start(scorer_.system, data_.words(s), options_.single_root);
  off_path_ = false;
  while (!state.is_settled()) {
    const size_t before = updates_;
    move_on(state, gold, explore && may_explore_);
    next_step();
    if (updates_ != before) move_scorer_.forget();
    if (correct_.empty()) return;  // a dead end
  }
}

// Makes one move: updates if the best-scoring move is wrong, then continues with a correct move or with the
// parser's own.
void TransitionTrainer::move_on(TransitionState& state, const GoldArcs& gold, bool explore) {
  collect_correct(state, gold);
  if (correct_.empty()) return;
  move_scorer_.score(state, options_.step_bound > 0, moves_);
  auto is_correct = [&](const Move& move) {
    for (size_t k = 0; k < correct_.size(); ++k) {
      const Move& c = correct_[k];
      if (c.transition == move.transition && c.left == move.left && c.right == move.right &&
          (any_label_[k] || c.label == move.label))
        return true;
    }
    return false;
  };
  const ScoredMove *wrong = nullptr, *best = nullptr;
  ScoredMove right{{}, 0};
  bool has_right = false;
  for (const ScoredMove& m : moves_) {
    if (!best || m.score > best->score) best = &m;
    if (is_correct(m.move)) {
      if (!has_right || m.score > right.score) right = m, has_right = true;
    } else if (!wrong || m.score > wrong->score) {
      wrong = &m;
    }
  }
  for (const Move& move : correct_) {  // only the best label of an arc may have been scored
    const float score = move_scorer_.score(state, move);
    if (!has_right || score > right.score) right = {move, score}, has_right = true;
  }
  const double margin = options_.step_bound > 0 ? 1 : 0;
  if (wrong && wrong->score + margin >= right.score) {
    // The weight of a wrong move is its loss.
    const double lost = is_taught_ ? std::min(value_after(right.move) - value_after(wrong->move), 1.0) : 1;
    update(state, {right.move}, {wrong->move}, wrong->score + margin - right.score, lost * weight_);
  }
  const bool follow = explore && !is_correct(best->move) && random_.uniform() < options_.explore;
  off_path_ |= follow;
  state.apply(follow || (explore && is_correct(best->move)) ? best->move : right.move);
}

// Both sides of an update continue what the beam held: correct prefixes are the correct continuations of the
// beam's items and, after the last of those drops out, of the ones that dropped out with it. The beam's best
// item is therefore no worse than the best correct prefix as long as a correct item exists, and at the step
// where none is left: the update is valid. (A correct prefix that left the beam long before might overtake
// both.)
void TransitionTrainer::learn_with_beam(size_t s) {
  const GoldArcs gold = gold_of(s);
  const TransitionSystem& system = scorer_.system;
  const int words = data_.words(s);
  derive_gold(s, gold);
  Beam::Correct correct = [&](const TransitionState& state, std::vector<Move>& moves) {
    if (!options_.static_oracle)
      oracle_.correct_moves(state, gold, moves);
    else if (made_ < derivation_.size())
      moves = {derivation_[made_]};  // every correct item has made one move per beam step
  };
  derivations_.clear();
  beam_.start(system, words, options_.single_root, derivations_);
  gold_beam_.start(system, words, options_.single_root, derivations_);
  std::vector<Move> good, bad;
  double violation = 0;
  for (;;) {
    gold_beam_.follow_correct(beam_);
    const bool more = beam_.step(move_scorer_, options_.beam, &correct);
    const bool more_gold = gold_beam_.step(move_scorer_, std::min(GOLD_BEAM, options_.beam), &correct, true);
    ++made_;
    if ((!more && !more_gold) || gold_beam_.items().empty()) break;
    const BeamItem &top = beam_.items()[0], &right = gold_beam_.items()[0];
    const bool lost = !beam_.has_correct();
    const bool at_end =
        std::all_of(beam_.items().begin(), beam_.items().end(), [](const BeamItem& i) { return i.ended; });
    const double found = top.score - right.score;
    const bool wrong = !top.correct && (lost || options_.rule == UpdateRule::max_violation || at_end);
    if (wrong && (good.empty() || found > violation)) {
      violation = found;
      good = derivations_.moves(right.history);
      bad = derivations_.moves(top.history);
    }
    if (lost && options_.rule == UpdateRule::early) break;
  }
  if (!good.empty()) {
    TransitionState start;
    start.start(system, words, options_.single_root);
    update(start, good, bad, violation + 1, weight_);
    last_ = {s, std::move(good), std::move(bad)};
  }
  next_step();
}

// Moves the weights from the features of `bad` towards those of `good`; their common prefix cancels out.
void TransitionTrainer::update(const TransitionState& start, const std::vector<Move>& good,
                               const std::vector<Move>& bad, double violation, double weight) {
  size_t common = 0;
  TransitionState fork = start;
  while (common < good.size() && common < bad.size() && good[common] == bad[common])
    fork.apply(good[common++]);
  auto walk = [&](const std::vector<Move>& moves, auto visit) {
    TransitionState state = fork;
    for (size_t k = common; k < moves.size(); ++k) {
      visit(state, moves[k]);
      state.apply(moves[k]);
    }
  };
  double step = 1;
  if (options_.step_bound > 0) {
    difference_.clear();
    auto count = [this](int sign) {
      return [this, sign](const TransitionState& state, const Move& move) {
        const auto [moves, labels] = move_scorer_.weight_places(state, move);
        for (size_t at : moves) difference_.emplace_back(at, sign);
        for (size_t at : labels) difference_.emplace_back(scorer_.moves.size() + at, sign);
      };
    };
    walk(good, count(1));
    walk(bad, count(-1));
    step = std::min(options_.step_bound, violation / std::max(squared_norm(difference_), 1.0));
  }
  auto change = [&](float by) {
    return [this, by](const TransitionState& state, const Move& move) {
      move_scorer_.update(state, move, by, move_weights_, label_weights_);
    };
  };
  walk(good, change(static_cast<float>(weight * step)));
  walk(bad, change(static_cast<float>(-weight * step)));
  ++updates_;
}

void TransitionTrainer::average(float* moves, float* labels) const {
  const float by = static_cast<float>(1 / move_weights_.steps);
  auto mean = [by](float sum) { return by * sum; };
  move_weights_.average(moves, mean);
  label_weights_.average(labels, mean);
}

}  // namespace arcwise
