#include "kernels/graph/arc_margin.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/inference/tree_loss.hpp"
#include "kernels/learning/batched_changes.hpp"

namespace arcwise {

namespace {
constexpr int HILDRETH_PASSES = 10'000;  // upper limit
// Stop after a pass that moves w by less than this fraction of the longest move.
constexpr double SETTLED = 1e-9;
constexpr double NEGLIGIBLE = 1e-5;  // drop batch changes below this fraction of the sentence's largest one
}  // namespace

// Completes the target: the gold tree, with unknown heads filled in from the best tree that contains the
// known arcs (under the current weights). Returns false if there is no such tree.
bool MarginStep::complete_gold() {
  target_ = gold_.heads;
  if (!gold_.complete) {
    ArcScores<float> scores;
    scorer_.score(table_, weights_, sentence_, {gold_.heads.data(), false}, scores);
    arcs_by_maximum(scores, arcs_, best_);
    if (inference_.decode(arcs_.data(), sentence_.n(), options_.trees, target_.data()) == MINUS_INFINITY)
      return false;
  }
  target_states_.assign(1, 0);
  for (int m = 1; m <= sentence_.n(); ++m) target_states_.push_back(target_state(m));
  return true;
}

// The best state of the target arc of word m among those with its gold label.
int MarginStep::target_state(int m) const {
  int h = target_[m], found = -1;
  const float* values = scores_.of(h, m);
  for (int s = 0; s < scores_.count(h, m); ++s)
    if (gold_.agrees(scores_.label_of(h, m, s), m) && (found < 0 || values[s] > values[found])) found = s;
  return std::max(found, 0);
}

void MarginStep::add_arc(SparseVector& vector, int h, int m, int state, double value) const {
  state_places(table_, sentence_, h, m, state, [&](uint32_t place) { vector.add(place, value); });
}

MarginStep::Constraint& MarginStep::next_constraint() {
  if (constraint_count_ == constraints_.size()) constraints_.emplace_back();
  Constraint& constraint = constraints_[constraint_count_++];
  constraint.difference.clear();
  constraint.loss = constraint.multiplier = 0;
  return constraint;
}

// Adds the constraint score(gold) - score(tree) >= loss(tree); returns the loss.
double MarginStep::add_tree(const int32_t* heads) {
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

// Adds a constraint for every wrong head of every word (in its best state), and for the best wrong label of
// the right head, wherever it is violated: score(gold arc) - score(arc) >= cost(arc).
void MarginStep::add_factored() {
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

// Hildreth's algorithm: finds the smallest change of w that satisfies the constraints by projecting on one
// after the other until convergence; multipliers stay between 0 and C. Returns whether anything changed.
bool MarginStep::hildreth() {
  start_hildreth();
  double longest = 0;
  bool idle_too = true;
  for (int pass = 0; pass < HILDRETH_PASSES; ++pass) {
    const double moved = hildreth_pass(idle_too);
    longest = std::max(longest, moved);
    if (constraint_count_ == 1) break;
    const bool settled = moved <= SETTLED * longest;
    if (settled && idle_too) break;
    idle_too = settled || pass % 10 == 9;  // include idle constraints every ten passes and at the end
  }
  double most = 0;
  for (size_t i = 0; i < constraint_count_; ++i) most = std::max(most, constraints_[i].multiplier);
  return most > 1e-7;
}

// Renumbers the cells that the constraints touch, so that passes do not access the weights.
void MarginStep::start_hildreth() {
  touched_.clear();
  for (size_t i = 0; i < constraint_count_; ++i) {
    Constraint& constraint = constraints_[i];
    constraint.norm = constraint.difference.squared_norm();
    constraint.wanted = constraint.loss - constraint.difference.dot(weights_);
    constraint.idle = false;
    constraint.local.clear();
    for (const auto& [place, value] : constraint.difference.entries())
      constraint.local.push_back({touched_.add(place, 0), value});
  }
  change_.assign(touched_.entries().size(), 0);
}

// Projects on each constraint once; returns the length of the longest change of w.
double MarginStep::hildreth_pass(bool idle_too) {
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

// w += f(gold) - f(best), for the best tree.
bool MarginStep::perceptron() {
  touched_.clear();
  change_.clear();
  for (const auto& [place, value] : constraints_[0].difference.entries()) {
    touched_.add(place, 0);
    change_.push_back(value);
  }
  return !change_.empty();
}

// Replaces arc scores by arc probabilities, so that the best tree maximises the expected number of correct
// heads (Smith & Smith 2007, end of section 4).
void MarginStep::take_marginals() {
  arcs_by_sum(scores_, 1.0, sums_);
  inference_.marginals(sums_.data(), sentence_.n(), options_.trees, arcs_.data());
  for (size_t i = 0; i < sums_.size(); ++i)
    if (sums_[i] == MINUS_INFINITY) arcs_[i] = MINUS_INFINITY;
}

// Adds constraints for the best tree or the k best trees; returns the loss of the first.
double MarginStep::add_found_trees() {
  int n = sentence_.n();
  // Probabilities use the current weights unless the options ask for costs: cost-augmented marginals belong
  // to a different model, and their minimum-risk tree is one that the parser never proposes.
  const bool costs = options_.minimum_risk ? options_.risk_augmented : options_.loss_augmented;
  if (options_.update == MarginUpdate::mira && costs) add_costs(scores_, gold_);
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

MarginReport MarginStep::learn(const float* weights, size_t sentence, uint64_t epoch) {
  MarginReport report;
  weights_ = weights;
  touched_.clear();
  change_.clear();
  options_.dropout.draw(table_, data_, sentence, epoch, keep_);
  sentence_.set(table_, data_, sentence, keep_);
  data_.known_tree(sentence, gold_);
  scorer_.score(table_, weights_, sentence_, {nullptr, gold_.complete}, scores_);
  if (!complete_gold()) {
    ++report.skipped;
    return report;
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
  return report;
}

MarginReport MarginTrainer::run(const int64_t* sentences, size_t count, uint64_t epoch, size_t batch,
                                int threads) {
  if (batch > 1) return run_batches(sentences, count, epoch, batch, threads);
  MarginReport report;
  for (size_t i = 0; i < count; ++i) {
    const MarginReport own =
        steps_[0].learn(weights_.weights.data(), static_cast<size_t>(sentences[i]), epoch);
    steps_[0].for_each_change([&](uint32_t place, double change) { weights_.add(place, change); });
    report += own;
    if (!own.skipped) ++weights_.steps;
  }
  return report;
}

// A batch makes as many steps as it has sentences; all weight changes belong to the last step.
MarginReport MarginTrainer::run_batches(const int64_t* sentences, size_t count, uint64_t epoch, size_t batch,
                                        int threads) {
  while (static_cast<int>(steps_.size()) < threads) steps_.emplace_back(table_, data_, options_);
  const auto order = arranged_batches(
      count, batch, [&](size_t i) { return data_.length(static_cast<size_t>(sentences[i])); });
  std::vector<MarginReport> reports(count);
  BatchedChanges changes(batch);
  std::vector<BatchedChanges::Workspace> own(steps_.size());
  auto learn = [&](size_t i, size_t worker) {
    reports[i] =
        steps_[worker].learn(weights_.weights.data(), static_cast<size_t>(sentences[order[i]]), epoch);
    changes.clear(i % batch);
    double most = 0;
    steps_[worker].for_each_change([&](uint32_t, double change) { most = std::max(most, std::abs(change)); });
    steps_[worker].for_each_change([&](uint32_t place, double change) {
      if (std::abs(change) > NEGLIGIBLE * most) changes.add(i % batch, place, change);
    });
  };
  auto steps_before = [&](size_t last) {  // step number after these sentences
    auto learned = [](const MarginReport& one) { return !one.skipped; };
    return weights_.steps + static_cast<double>(std::count_if(&reports[0], &reports[0] + last, learned));
  };
  auto put = [&](size_t group, size_t first, size_t last, size_t worker) {
    const double step = steps_before(last) - 1;
    changes.put_together(group, last - first, own[worker],
                         [&](uint32_t place, double change) { weights_.add(place, change, step); });
  };
  batched_steps(count, batch, threads, learn, put);
  MarginReport report;
  for (const MarginReport& one : reports) report += one;
  weights_.steps += static_cast<double>(static_cast<int64_t>(count) - report.skipped);
  return report;
}

}  // namespace arcwise
