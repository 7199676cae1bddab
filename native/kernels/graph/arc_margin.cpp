#include "kernels/graph/arc_margin.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/inference/tree_loss.hpp"

namespace arcwise {

namespace {
constexpr int HILDRETH_PASSES = 10'000;  // at most
constexpr double SETTLED = 1e-9;         // a pass that moves w by this part of the longest move is the last
}  // namespace

// The tree to learn: the gold tree, its unknown heads those of the best tree around the known ones (with the
// present weights). False if there is no such tree.
bool MarginTrainer::complete_gold() {
  target_ = gold_.heads;
  if (!gold_.complete) {
    ArcScores<float> scores;
    scorer_.score(table_, weights_.weights.data(), sentence_, {gold_.heads.data(), false}, scores);
    arcs_by_maximum(scores, arcs_, best_);
    if (inference_.decode(arcs_.data(), sentence_.n(), options_.trees, target_.data()) == MINUS_INFINITY)
      return false;
  }
  target_states_.assign(1, 0);
  for (int m = 1; m <= sentence_.n(); ++m) target_states_.push_back(target_state(m));
  return true;
}

// The best state of the target arc of word m among those with its gold label.
int MarginTrainer::target_state(int m) const {
  int h = target_[m], found = -1;
  const float* values = scores_.of(h, m);
  for (int s = 0; s < scores_.count(h, m); ++s)
    if (gold_.agrees(scores_.label_of(h, m, s), m) && (found < 0 || values[s] > values[found])) found = s;
  return std::max(found, 0);
}

void MarginTrainer::add_arc(SparseVector& vector, int h, int m, int state, double value) const {
  state_places(table_, sentence_, h, m, state, [&](uint32_t place) { vector.add(place, value); });
}

MarginTrainer::Constraint& MarginTrainer::next_constraint() {
  if (constraint_count_ == constraints_.size()) constraints_.emplace_back();
  Constraint& constraint = constraints_[constraint_count_++];
  constraint.difference.clear();
  constraint.loss = constraint.multiplier = 0;
  return constraint;
}

// The constraint score(gold) - score(tree) >= loss(tree); the loss is returned.
double MarginTrainer::add_tree(const int32_t* heads) {
  Constraint& constraint = next_constraint();
  int n = sentence_.n();
  for (int m = 1; m <= n; ++m) {
    int h = heads[m], state = best_[h * (n + 1) + m];
    if (h == target_[m] && state == target_states_[m]) continue;
    constraint.loss += gold_.cost(h, scores_.label_of(h, m, state), m);
    add_arc(constraint.difference, target_[m], m, target_states_[m], 1);
    add_arc(constraint.difference, h, m, state, -1);
  }
  return constraint.loss;
}

// A constraint for every wrong head of every word (in its best state), and for the best wrong label of the
// right head, wherever it is violated: score(gold arc) - score(arc) >= cost(arc).
void MarginTrainer::add_factored() {
  for_each_arc(scores_, [&](int h, int m, int set, const float* values, int count) {
    float gold = scores_.of(target_[m], m)[target_states_[m]];
    int worst = -1;
    double most = 0;
    for (int s = 0; s < count; ++s) {
      double cost = gold_.cost(h, scores_.states->label_of(set, s), m), violation = cost - (gold - values[s]);
      if (cost > 0 && violation > most) {
        worst = s;
        most = violation;
      }
    }
    if (worst < 0) return;
    Constraint& constraint = next_constraint();
    constraint.loss = gold_.cost(h, scores_.states->label_of(set, worst), m);
    add_arc(constraint.difference, target_[m], m, target_states_[m], 1);
    add_arc(constraint.difference, h, m, worst, -1);
  });
}

// Hildreth's algorithm: the smallest change of w that satisfies the constraints, by projecting on one after
// the other until nothing moves; a multiplier stays between 0 and C. Whether anything changed.
bool MarginTrainer::hildreth() {
  start_hildreth();
  double longest = 0;
  bool idle_too = true;
  for (int pass = 0; pass < HILDRETH_PASSES; ++pass) {
    const double moved = hildreth_pass(idle_too);
    longest = std::max(longest, moved);
    if (constraint_count_ == 1) break;
    const bool settled = moved <= SETTLED * longest;
    if (settled && idle_too) break;
    idle_too =
        settled || pass % 10 == 9;  // those that want nothing are asked again now and then, and at the end
  }
  double most = 0;
  for (size_t i = 0; i < constraint_count_; ++i) most = std::max(most, constraints_[i].multiplier);
  for (size_t i = 0; i < change_.size(); ++i)
    if (change_[i] != 0) weights_.add(touched_.entries()[i].place, change_[i]);
  return most > 1e-7;
}

// The cells that the constraints touch are numbered, so that passes need no weights.
void MarginTrainer::start_hildreth() {
  touched_.clear();
  for (size_t i = 0; i < constraint_count_; ++i) {
    Constraint& constraint = constraints_[i];
    constraint.norm = constraint.difference.squared_norm();
    constraint.wanted = constraint.loss - constraint.difference.dot(weights_.weights.data());
    constraint.idle = false;
    constraint.local.clear();
    for (const auto& [place, value] : constraint.difference.entries())
      constraint.local.push_back({touched_.add(place, 0), value});
  }
  change_.assign(touched_.entries().size(), 0);
}

// One projection on each constraint; the length of the longest change of w.
double MarginTrainer::hildreth_pass(bool idle_too) {
  double longest = 0;
  for (size_t i = 0; i < constraint_count_; ++i) {
    Constraint& constraint = constraints_[i];
    if (constraint.norm == 0 || (constraint.idle && !idle_too)) continue;
    double violation = constraint.wanted;
    for (const auto& [number, value] : constraint.local) violation -= value * change_[number];
    const double step =
        std::clamp(violation / constraint.norm, -constraint.multiplier, options_.C - constraint.multiplier);
    constraint.multiplier += step;
    constraint.idle = constraint.multiplier == 0;
    if (step == 0) continue;
    longest = std::max(longest, std::abs(step) * std::sqrt(constraint.norm));
    for (const auto& [number, value] : constraint.local) change_[number] += step * value;
  }
  return longest;
}

// w += f(gold) - f(found), for the best tree found.
bool MarginTrainer::perceptron() {
  for (const auto& [place, value] : constraints_[0].difference.entries()) weights_.add(place, value);
  return !constraints_[0].difference.entries().empty();
}

// The arcs' scores become their probabilities under the present weights, so that the best tree is the one
// with the most expected right heads (Smith & Smith 2007, end of section 4).
void MarginTrainer::take_marginals() {
  arcs_by_sum(scores_, 1.0, sums_);
  inference_.marginals(sums_.data(), sentence_.n(), options_.trees, arcs_.data());
  for (size_t i = 0; i < sums_.size(); ++i)
    if (sums_[i] == MINUS_INFINITY) arcs_[i] = MINUS_INFINITY;
}

// Constraints for the best tree or the k best ones; the loss of the first is returned.
double MarginTrainer::add_found_trees() {
  int n = sentence_.n();
  if (options_.update == MarginUpdate::mira && options_.loss_augmented) add_costs(scores_, gold_);
  arcs_by_maximum(scores_, arcs_, best_);
  if (options_.minimum_risk) take_marginals();
  int k = options_.update == MarginUpdate::perceptron ? 1 : options_.k, found = 1;
  trees_.resize(k * (n + 1));
  values_.resize(k);
  if (k == 1)
    inference_.decode(arcs_.data(), n, options_.trees, trees_.data());
  else
    found = inference_.k_best(arcs_.data(), n, options_.trees, k, trees_.data(), values_.data());
  double loss = 0;
  for (int t = 0; t < found; ++t) {
    double own = add_tree(&trees_[t * (n + 1)]);
    if (t == 0) loss = own;
  }
  return loss;
}

MarginReport MarginTrainer::run(const int64_t* sentences, size_t count, uint64_t epoch) {
  MarginReport report;
  for (size_t i = 0; i < count; ++i) {
    size_t s = static_cast<size_t>(sentences[i]);
    options_.dropout.draw(table_, data_, s, epoch, keep_);
    sentence_.set(table_, data_, s, keep_);
    data_.known_tree(s, gold_);
    scorer_.score(table_, weights_.weights.data(), sentence_, {nullptr, gold_.complete}, scores_);
    if (!complete_gold()) {
      ++report.skipped;
      continue;
    }
    constraint_count_ = 0;
    if (options_.update == MarginUpdate::mira_factored) {
      add_factored();
      report.loss += static_cast<double>(constraint_count_);
    } else {
      report.loss += add_found_trees();
    }
    if (constraint_count_ > 0)
      report.updates += options_.update == MarginUpdate::perceptron ? perceptron() : hildreth();
    ++weights_.steps;
  }
  return report;
}

}  // namespace arcwise
