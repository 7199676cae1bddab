#include "kernels/graph/exponentiated_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace arcwise {

namespace {
constexpr double NEGLIGIBLE = 1e-7;  // w does not follow a smaller change of a marginal
constexpr int ATTEMPTS = 4;          // to find a step that does not lower the dual
constexpr double SHORTEN = 0.1, LENGTHEN = 2, LONGEST = 16;  // factors from one η to the next; most of η C
}  // namespace

ExponentiatedGradientTrainer::ExponentiatedGradientTrainer(const ArcTable& table, const ArcData& data,
                                                           const ExponentiatedGradientOptions& options)
    : table_(table),
      data_(data),
      options_(options),
      weights_(table.cells(), 0),
      starts_(1, 0),
      steps_(data.sentences(), 1) {
  // θ = β on gold arcs, 0 elsewhere; w = C Σ_i (gold - μ_i) f.
  std::vector<double> zero(table.cells(), 0);
  for (size_t s = 0; s < data.sentences(); ++s) {
    prepare(s);
    scorer_.score(table_, zero.data(), sentence_, {}, scores_);
    size_t at = theta_.size();
    theta_.resize(at + scores_.values.size(), 0);
    starts_.push_back(theta_.size());
    std::vector<double> gold(scores_.values.size(), 0);
    for_each_arc(scores_, [&](int h, int m, int set, double* states, int count) {
      for (int state = 0; state < count; ++state)
        if (h == gold_.heads[m] && gold_.agrees(table_.states.label_of(set, state), m)) {
          theta_[at + (states - scores_.values.data()) + state] = options_.beta;
          gold[(states - scores_.values.data()) + state] = 1;
        }
    });
    marginals(&theta_[at], after_);
    mu_.insert(mu_.end(), after_.begin(), after_.end());
    for (size_t i = 0; i < gold.size(); ++i) gold[i] -= mu_[at + i];
    add_features(gold);
  }
}

void ExponentiatedGradientTrainer::prepare(size_t sentence) {
  sentence_.set(table_, data_, sentence, {});
  data_.known_tree(sentence, gold_);
}

// P(state) under the distribution over trees that theta gives.
void ExponentiatedGradientTrainer::marginals(const double* theta, std::vector<double>& by_state) {
  given_.n = scores_.n;
  given_.states = scores_.states;
  given_.arcs = scores_.arcs;
  given_.values.assign(theta, theta + scores_.values.size());
  state_marginals(given_, options_.trees, inference_, arcs_, arc_marginals_, by_state);
}

// w += C Σ by_state f, over the arcs of the present sentence; by how much |w|² rises.
double ExponentiatedGradientTrainer::add_features(const std::vector<double>& by_state) {
  std::array<double, 8> rises{};  // rows are as wide as a multiple of these, or one cell
  auto add = [&](double& weight, double value, double& rise) {
    rise += value * (2 * weight + value);
    weight += value;
  };
  auto add_cell = [&](uint32_t place, double value) { add(weights_[place], options_.C * value, rises[0]); };
  auto add_row = [&](uint32_t place, const double* values, int width) {
    if (width == 1) return add_cell(place, values[0]);
    double* row = &weights_[place];
    for (int i = 0; i < width; i += 8)
      for (int k = 0; k < 8; ++k) add(row[i + k], options_.C * values[i + k], rises[k]);
  };
  spread_.start(table_, sentence_);
  for_each_arc(scores_, [&](int h, int m, int, const double* states, int count) {
    const double* own = &by_state[states - scores_.values.data()];
    if (std::any_of(own, own + count, [](double g) { return g != 0; }))
      spread_.add_arc(table_, sentence_, h, m, own, add_cell, add_row);
  });
  spread_.finish(table_, sentence_, add_cell, add_row);
  return std::accumulate(rises.begin(), rises.end(), 0.0);
}

double ExponentiatedGradientTrainer::run(const int64_t* sentences, size_t count) {
  double expected_costs = 0;
  for (size_t i = 0; i < count; ++i) expected_costs += step(static_cast<size_t>(sentences[i]));
  return expected_costs;
}

// θ' = θ + η C (cost + w·f), w' = w + C Σ (μ - μ') f; C times the expected cost under θ'.
//
// On the straight line from w to w' the dual is a parabola. Its slope at w and its curvature tell where its
// top is: the next η is as much longer or shorter. A step that would lower the dual is taken back and tried
// again.
double ExponentiatedGradientTrainer::step(size_t s) {
  prepare(s);
  scorer_.score(table_, weights_.data(), sentence_, {}, scores_);
  const size_t states = scores_.values.size();
  costs_.resize(states);
  for_each_arc(scores_, [&](int h, int m, int set, const double* own, int count) {
    for (int state = 0; state < count; ++state)
      costs_[(own - scores_.values.data()) + state] = gold_.cost(h, table_.states.label_of(set, state), m);
  });
  double* theta = &theta_[starts_[s]];
  float* mu = &mu_[starts_[s]];
  old_theta_.assign(theta, theta + states);
  change_.resize(states);
  for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
    for (size_t i = 0; i < states; ++i)
      theta[i] = old_theta_[i] + steps_[s] * (costs_[i] + scores_.values[i]);
    marginals(theta, after_);
    double slope = 0, along = 0;
    for (size_t i = 0; i < states; ++i) {
      float now = static_cast<float>(after_[i]);
      double change = static_cast<double>(mu[i]) - now;
      if (std::abs(change) < NEGLIGIBLE) change = 0;
      change_[i] = change;
      slope -= options_.C * change * (costs_[i] + scores_.values[i]);
      along += options_.C * change * scores_.values[i];
    }
    double curvature = add_features(change_) - 2 * along;
    if (curvature > 0)
      steps_[s] = std::min(steps_[s] * std::clamp(slope / curvature, SHORTEN, LENGTHEN), LONGEST);
    if (slope >= curvature / 2) {
      for (size_t i = 0; i < states; ++i)
        if (change_[i] != 0) mu[i] = static_cast<float>(after_[i]);
      break;
    }
    for (double& value : change_) value = -value;
    add_features(change_);
    std::copy(old_theta_.begin(), old_theta_.end(), theta);
  }
  double expected_cost = 0;
  for (size_t i = 0; i < states; ++i) expected_cost += options_.C * mu[i] * costs_[i];
  return expected_cost;
}

double ExponentiatedGradientTrainer::mean_step() const {
  double sum = 0;
  for (double step : steps_) sum += step;
  return sum / (options_.C * steps_.size());
}

double ExponentiatedGradientTrainer::squared_norm() const {
  double sum = 0;
  for (double w : weights_) sum += w * w;
  return sum;
}

double ExponentiatedGradientTrainer::primal() {
  double slacks = 0;
  std::vector<int32_t> best, heads;
  for (size_t s = 0; s < data_.sentences(); ++s) {
    prepare(s);
    scorer_.score(table_, weights_.data(), sentence_, {}, scores_);
    double gold = 0;
    for_each_arc(scores_, [&](int h, int m, int set, double* states, int count) {
      for (int state = 0; state < count; ++state) {
        if (h == gold_.heads[m] && gold_.agrees(table_.states.label_of(set, state), m)) gold += states[state];
        states[state] += gold_.cost(h, table_.states.label_of(set, state), m);
      }
    });
    arcs_by_maximum(scores_, arcs_, best);
    heads.resize(scores_.n + 1);
    slacks += inference_.decode(arcs_.data(), scores_.n, options_.trees, heads.data()) - gold;
  }
  return squared_norm() / 2 + options_.C * slacks;
}

}  // namespace arcwise
