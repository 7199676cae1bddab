#include "kernels/siblings/sibling_trainer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/inference/tree_loss.hpp"

namespace arcwise {
namespace {

// Trees with crossing arcs are looked for without branching: a tree that is not the best one has a margin to learn from as well.
constexpr RelaxationLimits QUICK{30, 1, 30};
constexpr double FLOOR = 1e-4;  // parts whose gradient is smaller are left alone

}  // namespace

SiblingTrainer::SiblingTrainer(const ArcTable& table, const SiblingTable& siblings, const ArcData& data,
                               const SiblingOptions& options)
    : table_(table),
      siblings_(siblings),
      data_(data),
      options_(options),
      weights_(table.cells() + siblings.cells()) {}

// Scores a sentence; false if its heads are no tree of the class.
bool SiblingTrainer::prepare(size_t sentence, uint64_t epoch, bool dropout) {
  keep_.clear();
  if (dropout) options_.dropout.draw(table_, data_, sentence, epoch, keep_);
  sentence_.set(table_, data_, sentence, keep_);
  words_.set(table_, data_, sentence, keep_);
  data_.known_tree(sentence, gold_);
  if (!gold_.complete || sentence_.n() == 0) return false;
  if (!is_tree(gold_.heads.data(), sentence_.n(), options_.trees)) return false;
  scorer_.score(table_, weights_.weights.data(), sentence_, {nullptr, true}, scores_);
  states_.assign(1, 0);
  for (int m = 1; m <= sentence_.n(); ++m) {
    if (!scores_.has(gold_.heads[m], m)) return false;
    states_.push_back(target_state(m));
  }
  return true;
}

// The best state of the gold arc of word m among those with its gold label.
int SiblingTrainer::target_state(int m) const {
  const int h = gold_.heads[m];
  const float* values = scores_.of(h, m);
  int found = -1;
  for (int s = 0; s < scores_.count(h, m); ++s)
    if (gold_.agrees(scores_.label_of(h, m, s), m) && (found < 0 || values[s] > values[found])) found = s;
  return std::max(found, 0);
}

// The scores of arcs and siblings where the chart reads them.
void SiblingTrainer::score_rows(bool by_sum) {
  if (by_sum)
    arcs_by_sum(scores_, 1.0, arcs_);
  else
    arcs_by_maximum(scores_, arcs_, best_);
  workspace_.rows.start(sentence_.n());
  workspace_.rows.arcs = arcs_;
  sibling_scorer_.score(siblings_, weights_.weights.data() + table_.cells(), words_, workspace_.rows);
}

SiblingReport SiblingTrainer::run(const int64_t* sentences, size_t count, uint64_t epoch) {
  SiblingReport report;
  const bool by_gradient =
      options_.update == SiblingUpdate::log_linear || options_.update == SiblingUpdate::softmax_margin;
  for (size_t i = 0; i < count; ++i) {
    if (!prepare(static_cast<size_t>(sentences[i]), epoch, true)) {
      ++report.skipped;
      continue;
    }
    if (by_gradient)
      step_gradient(report);
    else
      step_margin(report);
    ++weights_.steps;
  }
  return report;
}

// f(gold) - f(heads_) in change_; the cost of that tree is returned.
double SiblingTrainer::add_difference() {
  const int n = sentence_.n();
  double cost = 0;
  change_.clear();
  auto add_arc = [&](int h, int m, int state, double value) {
    state_places(table_, sentence_, h, m, state, [&](uint32_t place) { change_.add(place, value); });
  };
  for (int m = 1; m <= n; ++m) {
    const int h = heads_[m], state = best_[h * (n + 1) + m];
    if (h == gold_.heads[m] && state == states_[m]) continue;
    cost += gold_.cost(h, scores_.label_of(h, m, state), m);
    add_arc(gold_.heads[m], m, states_[m], 1);
    add_arc(h, m, state, -1);
  }
  auto add_siblings = [&](const int32_t* heads, double value) {
    each_sibling(heads, n, [&](int h, int s, int m) {
      words_.each(h, s, m, [&](uint32_t hash) {
        change_.add(static_cast<uint32_t>(table_.cells()) + (hash & siblings_.mask()), value);
      });
    });
  };
  add_siblings(gold_.heads.data(), 1);
  add_siblings(heads_.data(), -1);
  return cost;
}

// The best tree, into heads_; false if there is none.
bool SiblingTrainer::find_tree() {
  heads_.assign(sentence_.n() + 1, -1);
  const bool single_root = options_.trees.single_root;
  if (options_.trees.projective)
    return eisner_siblings_decode_rows(single_root, {}, heads_.data(), workspace_) > MINUS_INFINITY;
  write_dense(workspace_.rows, dense_);
  return relaxation_
      .decode({arcs_.data(), dense_.data(), sentence_.n(), single_root, {}}, QUICK, heads_.data())
      .found;
}

void SiblingTrainer::step_margin(SiblingReport& report) {
  if (options_.update == SiblingUpdate::mira) add_costs(scores_, gold_);
  score_rows(false);
  if (!find_tree()) {
    ++report.skipped;
    return;
  }
  const double cost = add_difference(), norm = change_.squared_norm();
  report.loss += cost;
  double step = 1;
  if (options_.update == SiblingUpdate::mira)
    step = norm == 0 ? 0 : std::clamp((cost - change_.dot(weights_.weights.data())) / norm, 0.0, options_.C);
  if (norm == 0 || step <= 0) return;
  ++report.updates;
  for (const auto& [place, value] : change_.entries())
    if (value != 0) weights_.add(place, step * value);
}

// The gradient of the loss in change_; the loss is returned.
double SiblingTrainer::add_gradient() {
  const int n = sentence_.n();
  double gold_score = 0;
  for (int m = 1; m <= n; ++m) gold_score += scores_.of(gold_.heads[m], m)[states_[m]];
  if (options_.update == SiblingUpdate::softmax_margin) add_costs(scores_, gold_);
  score_rows(true);
  SiblingRows& rows = workspace_.rows;
  each_sibling(gold_.heads.data(), n, [&](int h, int s, int m) {
    gold_score += s == h ? rows.first[rows.cell(h, m)] : rows.inner(h, m)[s];
  });
  marginals_.resize(arcs_.size());
  const double log_z =
      eisner_siblings_marginals_rows(options_.trees.single_root, {}, marginals_.data(), workspace_);
  change_.clear();
  auto add_cell = [&](uint32_t place, float value) {
    if (value != 0) change_.add(place, value);
  };
  auto add_row = [&](uint32_t place, const float* values, int width) {
    for (int i = 0; i < width; ++i)
      if (values[i] != 0) change_.add(place + i, values[i]);
  };
  spread_.start(table_, sentence_);
  for_each_arc(scores_, [&](int h, int m, int, const float* values, int count) {
    const size_t at = h * (n + 1) + m;
    const bool is_gold = gold_.heads[m] == h;
    if (!is_gold && marginals_[at] < FLOOR) return;
    by_state_.assign(count, 0);
    const StateShares<float> shares(values, count, arcs_[at], every_state);
    for (int s = 0; s < count; ++s) by_state_[s] = static_cast<float>(marginals_[at] * shares[s]);
    if (is_gold) by_state_[states_[m]] -= 1;
    spread_.add_arc(table_, sentence_, h, m, by_state_.data(), add_cell, add_row);
  });
  spread_.finish(table_, sentence_, add_cell, add_row);
  auto add_sibling = [&](int h, int s, int m, double value) {
    if (std::fabs(value) < FLOOR) return;
    words_.each(h, s, m, [&](uint32_t hash) {
      change_.add(static_cast<uint32_t>(table_.cells()) + (hash & siblings_.mask()), value);
    });
  };
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      if (m == h || marginals_[h * (n + 1) + m] < FLOOR) continue;
      add_sibling(h, h, m, rows.first[rows.cell(h, m)]);
      if (h == 0 && options_.trees.single_root) continue;  // the root has one dependent
      for (int s = std::min(h, m) + 1; s < std::max(h, m); ++s) add_sibling(h, s, m, rows.inner(h, m)[s]);
    }
  each_sibling(gold_.heads.data(), n, [&](int h, int s, int m) { add_sibling(h, s, m, -1); });
  return log_z - gold_score;
}

void SiblingTrainer::step_gradient(SiblingReport& report) {
  report.loss += add_gradient();
  ++report.updates;
  for (const auto& [place, value] : change_.entries())
    if (value != 0) weights_.add(place, -options_.rate * value);
}

double SiblingTrainer::loss(size_t sentence, SparseVector& gradient) {
  gradient.clear();
  if (!prepare(sentence, 0, false)) return -MINUS_INFINITY;
  const double value = add_gradient();
  for (const auto& [place, change] : change_.entries()) gradient.add(place, change);
  return value;
}

}  // namespace arcwise
