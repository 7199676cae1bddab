#include "kernels/arc_exponentiated_gradient.hpp"

#include <algorithm>
#include <cmath>

namespace arcwise {

DualTrainer::DualTrainer(const ArcSpace& space, const ArcData& data, const DualOptions& options)
    : space_(space), data_(data), options_(options), weights_(space.cells(), 0), starts_(1, 0) {
  // θ = β on gold arcs, 0 elsewhere; w = C Σ_i (gold - μ_i) f.
  std::vector<double> zero(space.cells(), 0);
  for (size_t s = 0; s < data.sentences(); ++s) {
    prepare(s);
    scorer_.score(space_, zero.data(), sentence_, {}, scores_);
    size_t at = theta_.size();
    theta_.resize(at + scores_.states.size(), 0);
    starts_.push_back(theta_.size());
    std::vector<double> gold(scores_.states.size(), 0);
    for_each_arc(scores_, space_, sentence_, [&](int h, int m, int arc_class, double* states, int count) {
      for (int state = 0; state < count; ++state)
        if (h == gold_.heads[m] && gold_.agrees(space_.label_of(arc_class, state), m)) {
          theta_[at + (states - scores_.states.data()) + state] = options_.beta;
          gold[(states - scores_.states.data()) + state] = 1;
        }
    });
    marginals(&theta_[at], before_);
    for (size_t i = 0; i < gold.size(); ++i) gold[i] -= before_[i];
    add_features(gold);
  }
}

void DualTrainer::prepare(size_t sentence) {
  sentence_.set(space_, data_, sentence, {});
  gold_.set(data_, sentence);
}

// P(state) under the distribution over trees that theta gives.
void DualTrainer::marginals(const double* theta, std::vector<double>& by_state) {
  ArcScores<double> given;
  given.n = scores_.n;
  given.starts = scores_.starts;
  given.states.assign(theta, theta + scores_.states.size());
  arcs_by_sum(given, space_, sentence_, 1.0, arcs_);
  arc_marginals_.resize(arcs_.size());
  inference_.marginals(arcs_.data(), scores_.n, options_.trees, arc_marginals_.data());
  by_state.resize(given.states.size());
  for_each_arc(given, space_, sentence_, [&](int h, int m, int, double* states, int count) {
    size_t at = h * (given.n + 1) + m, first = states - given.states.data();
    for (int s = 0; s < count; ++s)
      by_state[first + s] = arc_marginals_[at] * std::exp(states[s] - arcs_[at]);
  });
}

// w += C Σ by_state f, over the arcs of the present sentence.
void DualTrainer::add_features(const std::vector<double>& by_state) {
  auto add_cell = [&](uint32_t place, double value) { weights_[place] += options_.C * value; };
  auto add_row = [&](uint32_t place, const double* values, int width) {
    for (int i = 0; i < width; ++i) weights_[place + i] += options_.C * values[i];
  };
  spread_.start(space_, sentence_);
  for_each_arc(scores_, space_, sentence_, [&](int h, int m, int, double* states, int count) {
    const double* own = &by_state[states - scores_.states.data()];
    if (std::any_of(own, own + count, [](double g) { return g != 0; }))
      spread_.add_arc(space_, sentence_, h, m, own, add_cell, add_row);
  });
  spread_.finish(space_, sentence_, add_cell, add_row);
}

double DualTrainer::run(const int64_t* sentences, size_t count, double eta) {
  double expected_costs = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t s = static_cast<size_t>(sentences[i]);
    prepare(s);
    scorer_.score(space_, weights_.data(), sentence_, {}, scores_);
    double* theta = &theta_[starts_[s]];
    marginals(theta, before_);
    // θ' = θ + η C (cost + w·f)
    for_each_arc(
        scores_, space_, sentence_, [&](int h, int m, int arc_class, double* states, int states_count) {
          size_t first = states - scores_.states.data();
          for (int state = 0; state < states_count; ++state)
            theta[first + state] +=
                eta * options_.C * (gold_.cost(h, space_.label_of(arc_class, state), m) + states[state]);
        });
    marginals(theta, after_);
    // w += C Σ (μ - μ') f
    for_each_arc(
        scores_, space_, sentence_, [&](int h, int m, int arc_class, double* states, int states_count) {
          size_t first = states - scores_.states.data();
          for (int state = 0; state < states_count; ++state) {
            expected_costs +=
                options_.C * gold_.cost(h, space_.label_of(arc_class, state), m) * after_[first + state];
            before_[first + state] -= after_[first + state];
          }
        });
    add_features(before_);
  }
  return expected_costs;
}

double DualTrainer::squared_norm() const {
  double sum = 0;
  for (double w : weights_) sum += w * w;
  return sum;
}

double DualTrainer::primal() {
  double slacks = 0;
  std::vector<int32_t> best, heads;
  for (size_t s = 0; s < data_.sentences(); ++s) {
    prepare(s);
    scorer_.score(space_, weights_.data(), sentence_, {}, scores_);
    double gold = 0;
    for_each_arc(scores_, space_, sentence_, [&](int h, int m, int arc_class, double* states, int count) {
      for (int state = 0; state < count; ++state) {
        if (h == gold_.heads[m] && gold_.agrees(space_.label_of(arc_class, state), m)) gold += states[state];
        states[state] += gold_.cost(h, space_.label_of(arc_class, state), m);
      }
    });
    arcs_by_maximum(scores_, space_, sentence_, arcs_, best);
    heads.resize(scores_.n + 1);
    slacks += inference_.decode(arcs_.data(), scores_.n, options_.trees, heads.data()) - gold;
  }
  return squared_norm() / 2 + options_.C * slacks;
}

}  // namespace arcwise
