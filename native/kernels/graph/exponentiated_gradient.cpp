#include "kernels/graph/exponentiated_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace arcwise {

namespace {
constexpr double NEGLIGIBLE = 1e-10;  // smaller changes of C times a marginal are not applied to w
constexpr int ATTEMPTS = 30;  // maximum number of attempts to find a step that does not lower the dual
constexpr double SHORTEN = 0.1, LENGTHEN = 2;  // factors between successive values of η
constexpr double LONGEST = 16;                 // maximum of η C; a log-linear step of 1 ends at θ = w·f
constexpr double LEAST = 1e-12;                // gains that differ by less count as equal
constexpr double ENOUGH = 0.1;     // stop balancing trees when their difference has shrunk to this fraction
constexpr int MOVES = 10;          // of probability, per violator
constexpr double SMALLEST = 1e-8;  // a smaller smooth part is dropped
constexpr size_t SMOOTH = std::numeric_limits<size_t>::max();

// Position on [0, 1] of the maximum of a parabola with this slope at 0 and this curvature.
double top_of_the_way(double slope, double curvature) { return curvature > slope ? slope / curvature : 1; }
}  // namespace

ExponentiatedGradientTrainer::ExponentiatedGradientTrainer(const ArcTable& table, const ArcData& data,
                                                           const ExponentiatedGradientOptions& options)
    : table_(table),
      data_(data),
      options_(options),
      longest_(options.log_linear ? 1 : LONGEST),
      weights_(table.cells(), 0),
      mixtures_(data.sentences()) {
  if (options.log_linear && options.violators != 0)
    throw std::invalid_argument("log-linear exponentiated gradient has no violators");
  for (size_t s = 0; s < data.sentences(); ++s) start(s);
}

// θ = β on gold arcs, 0 elsewhere; w = C Σ_i (gold - μ_i) f.
void ExponentiatedGradientTrainer::start(size_t s) {
  prepare(s);
  Mixture& mixture = mixtures_[s];
  mixture.first = theta_.size();
  if (!has_gold_tree()) {
    ++skipped_;
    mixture.smooth = 0;
    return;
  }
  theta_.resize(theta_.size() + costs_.size(), 0);
  mu_.resize(theta_.size(), 0);
  for_each_arc(scores_, [&](int h, int m, int, const double* own, int count) {
    const size_t first = own - scores_.values.data();
    for (size_t i = first; h == gold_.heads[m] && i < first + count; ++i)
      if (costs_[i] == 0) {
        theta_[mixture.first + i] = options_.beta;
        mu_[mixture.first + i] = 1;
      }
  });
  marginals(mixture);
  find_change(&mu_[mixture.first]);
  add_features(-options_.C);
  take_change(mixture);
}

// Prepares the sentence, its scores under the current weights, and the costs of its states.
void ExponentiatedGradientTrainer::prepare(size_t s) {
  sentence_.set(table_, data_, s, {});
  data_.known_tree(s, gold_);
  for (int m = 1; m <= sentence_.n(); ++m)
    if (gold_.heads[m] < 0 || (table_.states.labels > 0 && gold_.labels[m] < 0))
      throw std::invalid_argument("exponentiated gradient needs every head and label");
  score();
}

// Computes the cost of every state and its gain, cost + w·f.
void ExponentiatedGradientTrainer::score() {
  scorer_.score(table_, weights_.data(), sentence_, {}, scores_);
  costs_.resize(scores_.values.size());
  gains_.resize(scores_.values.size());
  for_each_arc(scores_, [&](int h, int m, int set, const double* own, int count) {
    const size_t first = own - scores_.values.data();
    for (int state = 0; state < count; ++state) {
      costs_[first + state] = gold_.cost(h, table_.states.label_of(set, state), m);
      gains_[first + state] = costs_[first + state] + own[state];
    }
  });
}

// Computes after_, the probability of every state under the mixture, and entropy_ of the smooth part.
void ExponentiatedGradientTrainer::marginals(const Mixture& mixture) {
  given_.n = scores_.n;
  given_.states = scores_.states;
  given_.arcs = scores_.arcs;
  given_.values.assign(&theta_[mixture.first], &theta_[mixture.first] + costs_.size());
  entropy_ = state_marginals(given_, options_.trees, inference_, arcs_, arc_marginals_, after_);
  entropy_ -= std::inner_product(after_.begin(), after_.end(), given_.values.begin(), 0.0);
  if (mixture.trees.empty()) return;
  for (double& p : after_) p *= mixture.smooth;
  for (const Part& tree : mixture.trees) add_tree(after_, tree, tree.share);
}

void ExponentiatedGradientTrainer::add_tree(std::vector<double>& by_state, const Part& tree, double share) {
  for (size_t m = 1; m < tree.at.size(); ++m) by_state[tree.at[m]] += share;
}

// Computes change_ = after_ - mu where it is large enough. The likeliest state of each word absorbs the
// remainder, so that the marginals of a word sum to 1 despite truncation and rounding. Returns whether
// anything changes.
bool ExponentiatedGradientTrainer::find_change(const double* mu) {
  constexpr size_t NONE = std::numeric_limits<size_t>::max();
  likeliest_.assign(scores_.n + 1, NONE);
  rest_.assign(scores_.n + 1, 0);
  change_.assign(scores_.values.size(), 0);
  for_each_arc(scores_, [&](int, int m, int, const double* own, int count) {
    const size_t first = own - scores_.values.data();
    for (size_t i = first; i < first + count; ++i)
      if (likeliest_[m] == NONE || after_[i] > after_[likeliest_[m]]) likeliest_[m] = i;
  });
  bool changes = false;
  for_each_arc(scores_, [&](int, int m, int, const double* own, int count) {
    const size_t first = own - scores_.values.data();
    for (size_t i = first; i < first + count; ++i) {
      const double change = after_[i] - mu[i];
      if (i == likeliest_[m] || options_.C * std::abs(change) < NEGLIGIBLE) continue;
      change_[i] = change;
      rest_[m] -= change;
      changes = true;
    }
  });
  for (int m = 1; m <= scores_.n; ++m) change_[likeliest_[m]] = rest_[m];
  return changes;
}

// μ += change_, which is already applied to w.
void ExponentiatedGradientTrainer::take_change(Mixture& mixture) {
  double* mu = &mu_[mixture.first];
  double cost = 0;
  for (size_t i = 0; i < change_.size(); ++i) {
    mu[i] += change_[i];
    cost += mu[i] * costs_[i];
  }
  mixture.term = options_.C * (options_.log_linear ? entropy_ : cost);
}

// w += factor Σ change_ f, over the arcs of the current sentence; returns the increase of |w|².
double ExponentiatedGradientTrainer::add_features(double factor) {
  std::array<double, 8> rises{};  // row widths are multiples of this, or 1
  auto add = [&](double& weight, double value, double& rise) {
    rise += value * (2 * weight + value);
    weight += value;
  };
  auto add_cell = [&](uint32_t place, double value) { add(weights_[place], factor * value, rises[0]); };
  auto add_row = [&](uint32_t place, const double* values, int width) {
    if (width == 1) return add_cell(place, values[0]);
    double* row = &weights_[place];
    for (int i = 0; i < width; i += 8)
      for (int k = 0; k < 8; ++k) add(row[i + k], factor * values[i + k], rises[k]);
  };
  spread_.start(table_, sentence_);
  for_each_arc(scores_, [&](int h, int m, int, const double* states, int count) {
    const double* own = &change_[states - scores_.values.data()];
    if (std::any_of(own, own + count, [](double g) { return g != 0; }))
      spread_.add_arc(table_, sentence_, h, m, own, add_cell, add_row);
  });
  spread_.finish(table_, sentence_, add_cell, add_row);
  return std::accumulate(rises.begin(), rises.end(), 0.0);
}

double ExponentiatedGradientTrainer::run(const int64_t* sentences, size_t count) {
  double terms = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t s = static_cast<size_t>(sentences[i]);
    prepare(s);
    if (has_gold_tree()) visit(mixtures_[s]);
    terms += mixtures_[s].term;
  }
  return terms;
}

// Takes a step of the smooth part, then moves probability to some violators, each with up-to-date scores.
void ExponentiatedGradientTrainer::visit(Mixture& mixture) {
  if (mixture.smooth > 0) raise_smooth_part(mixture);
  for (int found = 0; found < options_.violators; ++found) {
    score();
    move_shares(mixture);
  }
}

// θ' = θ + η C gain, w' = w + C Σ (μ - μ') f, where the gain of a state is cost + w·f, or w·f - θ if
// log-linear.
//
// Along the line from w to w' the max-margin dual is a parabola. Its slope at w and its curvature give its
// maximum, and the next η is scaled accordingly. A step that would lower the dual is undone and retried. The
// log-linear dual rises by slope - ½|w' - w|² - C KL(P' || P). This divergence and its reverse sum to Σ (μ' -
// μ)(θ' - θ) = η slope, so a parabola with curvature |w' - w|² + 2 η C slope is a lower bound at w', and it
// avoids the cancellation of two large entropies.
void ExponentiatedGradientTrainer::raise_smooth_part(Mixture& mixture) {
  double* theta = &theta_[mixture.first];
  old_theta_.assign(theta, theta + gains_.size());
  for (size_t i = 0; options_.log_linear && i < gains_.size(); ++i) gains_[i] = scores_.values[i] - theta[i];
  for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
    for (size_t i = 0; i < gains_.size(); ++i) theta[i] = old_theta_[i] + mixture.step * gains_[i];
    marginals(mixture);
    if (!find_change(&mu_[mixture.first])) {
      mixture.step = std::min(mixture.step * LENGTHEN, longest_);
      return take_change(mixture);
    }
    double slope = 0, along = 0;
    for (size_t i = 0; i < gains_.size(); ++i) {
      slope += options_.C * change_[i] * gains_[i];
      along += options_.C * change_[i] * scores_.values[i];
    }
    double curvature = add_features(-options_.C) + 2 * along;
    if (options_.log_linear) curvature += 2 * mixture.step * slope;
    const double top = curvature > 0 ? slope / curvature : LENGTHEN;
    if (top >= 0.5) {
      mixture.step = std::min(mixture.step * std::min(top, LENGTHEN), longest_);
      return take_change(mixture);
    }
    mixture.step *= std::max(top, SHORTEN);
    add_features(options_.C);
  }
  std::copy(old_theta_.begin(), old_theta_.end(), theta);
}

// Moves probability from the part with the lowest gain to the worst violator, then balances the trees of the
// mixture.
void ExponentiatedGradientTrainer::move_shares(Mixture& mixture) {
  const size_t violator = add_violator(mixture);
  double lowest = smooth_gain(mixture);
  size_t giver = SMOOTH;
  for (size_t t = 0; t < mixture.trees.size(); ++t)
    if (const Part& tree = mixture.trees[t]; tree.share > 0 && tree.gain < lowest) {
      lowest = tree.gain;
      giver = t;
    }
  const double difference = mixture.trees[violator].gain - lowest;
  if (difference > LEAST && giver == SMOOTH)
    move_from_smooth_part(mixture, mixture.trees[violator], difference);
  else if (difference > LEAST)
    move_between_trees(mixture, mixture.trees[giver], mixture.trees[violator]);
  balance_trees(mixture, ENOUGH * difference);
}

// Moves probability between the trees of a mixture, from the lowest gain to the highest, until their gains
// differ by at most `enough`.
void ExponentiatedGradientTrainer::balance_trees(Mixture& mixture, double enough) {
  for (int move = 1;; ++move) {
    std::erase_if(mixture.trees, [](const Part& tree) { return tree.share == 0; });
    if (move >= MOVES || mixture.trees.size() < 2) return;
    for (Part& tree : mixture.trees) find_gain(tree);
    auto [giver, taker] = std::minmax_element(mixture.trees.begin(), mixture.trees.end(),
                                              [](const Part& a, const Part& b) { return a.gain < b.gain; });
    if (taker->gain - giver->gain <= std::max(enough, LEAST)) return;
    move_between_trees(mixture, *giver, *taker);
  }
}

// w += factor (f(of) - f(instead)); returns the increase of |w|².
double ExponentiatedGradientTrainer::add_difference(const Part& of, const Part& instead, double factor) {
  double rise = 0;
  for (int m = 1; m <= sentence_.n(); ++m) {
    if (of.at[m] == instead.at[m]) continue;
    for (auto [tree, value] : {std::pair{&of, factor}, std::pair{&instead, -factor}})
      state_places(table_, sentence_, tree->heads[m], m, tree->states[m], [&](uint32_t place) {
        rise += value * (2 * weights_[place] + value);
        weights_[place] += value;
      });
  }
  return rise;
}

void ExponentiatedGradientTrainer::move_between_trees(Mixture& mixture, Part& giver, Part& taker) {
  const double C = options_.C, most = giver.share, cost = C * most * (taker.cost - giver.cost);
  const double slope = C * most * (taker.gain - giver.gain);
  const double curvature = add_difference(taker, giver, -C * most) + 2 * (slope - cost);
  const double part = top_of_the_way(slope, curvature);
  if (part < 1) add_difference(taker, giver, C * most * (1 - part));
  double* mu = &mu_[mixture.first];
  for (int m = 1; m <= sentence_.n(); ++m) {
    mu[giver.at[m]] -= part * most;
    mu[taker.at[m]] += part * most;
  }
  giver.share = part < 1 ? most * (1 - part) : 0;
  taker.share += part * most;
  mixture.term += part * cost;
}

void ExponentiatedGradientTrainer::move_from_smooth_part(Mixture& mixture, Part& taker, double difference) {
  const double C = options_.C, most = mixture.smooth, *mu = &mu_[mixture.first];
  change_.assign(gains_.size(), 0);
  for (size_t i = 0; i < change_.size(); ++i) change_[i] = -mu[i];
  for (const Part& tree : mixture.trees) add_tree(change_, tree, tree.share);
  add_tree(change_, taker, most);
  const double cost = std::inner_product(change_.begin(), change_.end(), costs_.begin(), 0.0);
  const double slope = C * most * difference;
  const double curvature = add_features(-C) + 2 * (slope - C * cost);
  double part = top_of_the_way(slope, curvature);
  if (most * (1 - part) < SMALLEST) part = 1;
  if (part < 1) {
    for (double& change : change_) change *= 1 - part;
    add_features(C);
    for (double& change : change_) change *= part / (1 - part);
  }
  take_change(mixture);
  mixture.smooth = part < 1 ? most * (1 - part) : 0;
  taker.share += part * most;
}

// Finds the tree with the highest gain, adds it to the mixture if needed, and returns its index.
size_t ExponentiatedGradientTrainer::add_violator(Mixture& mixture) {
  Part found = worst_violator();
  for (Part& tree : mixture.trees) tree.gain = sum_of(gains_, tree);
  for (size_t t = 0; t < mixture.trees.size(); ++t)
    if (mixture.trees[t].at == found.at) return t;
  mixture.trees.push_back(std::move(found));
  return mixture.trees.size() - 1;
}

double ExponentiatedGradientTrainer::sum_of(const std::vector<double>& by_state, const Part& tree) {
  double sum = 0;
  for (size_t m = 1; m < tree.at.size(); ++m) sum += by_state[tree.at[m]];
  return sum;
}

// The tree with the highest cost + score.
ExponentiatedGradientTrainer::Part ExponentiatedGradientTrainer::worst_violator() {
  given_.n = scores_.n;
  given_.states = scores_.states;
  given_.arcs = scores_.arcs;
  given_.values = gains_;
  arcs_by_maximum(given_, arcs_, best_);
  Part tree;
  tree.heads.assign(scores_.n + 1, -1);
  tree.states.assign(scores_.n + 1, 0);
  tree.at.assign(scores_.n + 1, 0);
  inference_.decode(arcs_.data(), scores_.n, options_.trees, tree.heads.data());
  for (int m = 1; m <= scores_.n; ++m) {
    tree.states[m] = best_[tree.heads[m] * (scores_.n + 1) + m];
    tree.at[m] = scores_.arc(tree.heads[m], m).start + tree.states[m];
  }
  tree.cost = sum_of(costs_, tree);
  tree.gain = sum_of(gains_, tree);
  return tree;
}

// Computes cost + w·f of a tree under the current weights.
void ExponentiatedGradientTrainer::find_gain(Part& tree) const {
  tree.gain = tree.cost;
  for (int m = 1; m <= sentence_.n(); ++m)
    state_places(table_, sentence_, tree.heads[m], m, tree.states[m],
                 [&](uint32_t place) { tree.gain += weights_[place]; });
}

// The expected gain of the smooth part, by subtracting the trees from the mixture; +inf if there is no smooth
// part.
double ExponentiatedGradientTrainer::smooth_gain(const Mixture& mixture) {
  if (mixture.smooth == 0) return std::numeric_limits<double>::infinity();
  double gain = std::inner_product(gains_.begin(), gains_.end(), &mu_[mixture.first], 0.0);
  for (const Part& tree : mixture.trees) gain -= tree.share * tree.gain;
  return gain / mixture.smooth;
}

// Whether the gold heads of the current sentence are a tree of the class.
bool ExponentiatedGradientTrainer::has_gold_tree() const {
  return is_tree(gold_.heads.data(), sentence_.n(), options_.trees);
}

double ExponentiatedGradientTrainer::mean_step() const {
  double sum = 0;
  for (const Mixture& mixture : mixtures_) sum += mixture.step;
  return sum / (options_.C * static_cast<double>(mixtures_.size()));
}

double ExponentiatedGradientTrainer::dual() const {
  double sum = 0;
  for (const Mixture& mixture : mixtures_) sum += mixture.term;
  return sum - squared_norm() / 2;
}

double ExponentiatedGradientTrainer::squared_norm() const {
  double sum = 0;
  for (double w : weights_) sum += w * w;
  return sum;
}

double ExponentiatedGradientTrainer::primal() {
  double losses = 0;
  for (size_t s = 0; s < data_.sentences(); ++s) {
    prepare(s);
    if (has_gold_tree()) losses += options_.log_linear ? surprisal() : worst_violator().gain - gold_gain();
  }
  return squared_norm() / 2 + options_.C * losses;
}

// The gain of the gold tree: its score, since its cost is 0.
double ExponentiatedGradientTrainer::gold_gain() {
  double gain = 0;
  for_each_arc(scores_, [&](int h, int m, int, const double* own, int count) {
    const size_t first = own - scores_.values.data();
    for (size_t i = first; h == gold_.heads[m] && i < first + count; ++i)
      if (costs_[i] == 0) gain += gains_[i];
  });
  return gain;
}

// -log P of the gold tree under the current weights.
double ExponentiatedGradientTrainer::surprisal() {
  arcs_by_sum(scores_, 1.0, arcs_);
  return inference_.log_partition(arcs_.data(), scores_.n, options_.trees) - gold_gain();
}

}  // namespace arcwise
