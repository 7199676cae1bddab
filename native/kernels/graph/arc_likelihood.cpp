#include "kernels/graph/arc_likelihood.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// A number from the standard normal distribution that depends on `key` alone (Box & Muller).
double gaussian(uint64_t key) {
  double u = (static_cast<double>(mix(2 * key + 1) >> 11) + 1) * 0x1.0p-53;
  double v = static_cast<double>(mix(2 * key + 2) >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

}  // namespace

// Log Z and the marginals of the trees that agree with what is known of the gold tree.
template <typename Real>
double SentenceLikelihood<Real>::known_marginals(const ArcSpace& space, const ArcSentence& sentence,
                                                 const ArcGold& gold, TreeClass trees,
                                                 ArcScores<Real>& scores) {
  int n = scores.n;
  known_arcs_.assign((n + 1) * (n + 1), IMPOSSIBLE);
  known_marginals_.assign((n + 1) * (n + 1), 0);
  double log_z = 0;
  for_each_arc(scores, space, sentence, [&](int h, int m, int arc_class, Real* states, int count) {
    if (gold.heads[m] >= 0 && gold.heads[m] != h) return;
    double top = IMPOSSIBLE, total = 0;
    auto agrees = [&](int s) { return gold.agrees(space.label_of(arc_class, s), m); };
    for (int s = 0; s < count; ++s)
      if (agrees(s)) top = std::max<double>(top, states[s]);
    if (top == IMPOSSIBLE) return;
    for (int s = 0; s < count; ++s)
      if (agrees(s)) total += std::exp(states[s] - top);
    double arc = top + std::log(total);
    known_arcs_[h * (n + 1) + m] = arc;
    known_marginals_[h * (n + 1) + m] = 1;
    log_z += arc;
  });
  if (!gold.complete) return inference_.marginals(known_arcs_.data(), n, trees, known_marginals_.data());
  for (int m = 1; m <= n; ++m)
    if (known_arcs_[gold.heads[m] * (n + 1) + m] == IMPOSSIBLE) return IMPOSSIBLE;
  return log_z;
}

template <typename Real>
double SentenceLikelihood<Real>::compute(const ArcSpace& space, const ArcSentence& sentence,
                                         const ArcGold& gold, TreeClass trees, ArcScores<Real>& scores) {
  int n = scores.n;
  arcs_by_sum(scores, space, sentence, 1.0, arcs_);
  marginals_.resize((n + 1) * (n + 1));
  double log_z = inference_.marginals(arcs_.data(), n, trees, marginals_.data());
  double known_log_z = known_marginals(space, sentence, gold, trees, scores);
  gradient_.assign(scores.states.size(), 0);
  if (log_z == IMPOSSIBLE || known_log_z == IMPOSSIBLE) return IMPOSSIBLE;
  for_each_arc(scores, space, sentence, [&](int h, int m, int arc_class, Real* states, int count) {
    size_t at = h * (n + 1) + m;
    Real* into = &gradient_[scores.starts[at]];
    // P(state | known) - P(state), where P(state) = P(arc) exp(score of state - score of arc)
    for (int s = 0; s < count; ++s) {
      double p = marginals_[at] * std::exp(states[s] - arcs_[at]), known = 0;
      if (known_marginals_[at] > 0 && gold.agrees(space.label_of(arc_class, s), m))
        known = known_marginals_[at] * std::exp(states[s] - known_arcs_[at]);
      into[s] = static_cast<Real>(known - p);
    }
  });
  return known_log_z - log_z;
}

template class SentenceLikelihood<float>;
template class SentenceLikelihood<double>;

LikelihoodTrainer::LikelihoodTrainer(const ArcSpace& space, const ArcData& data,
                                     const LikelihoodOptions& options)
    : space_(space), data_(data), options_(options), weights_(space.cells()) {
  if (options_.adagrad) squares_.assign(space.cells(), 0);
  if (options_.noise > 0) start_with_noise();
}

// Small random weights for the features of gold arcs, so that clusters differ from the start.
void LikelihoodTrainer::start_with_noise() {
  for (size_t s = 0; s < data_.sentences(); ++s) {
    sentence_.set(space_, data_, s, {});
    gold_.set(data_, s);
    for (int m = 1; m <= sentence_.n(); ++m) {
      if (gold_.heads[m] < 0) continue;
      int states = space_.states(sentence_.class_of(space_, gold_.heads[m], m));
      for (int state = 0; state < states; ++state)
        state_places(space_, sentence_, gold_.heads[m], m, state, [&](uint32_t place) {
          weights_.weights[place] =
              static_cast<float>(options_.noise * gaussian(hash_pair(options_.dropout.seed, place)));
        });
    }
  }
}

// The gradient of the sentence by cells; arcs that hardly matter are left out.
template <typename AddCell, typename AddRow>
void LikelihoodTrainer::spread(AddCell add_cell, AddRow add_row) {
  const std::vector<float>& gradient = likelihood_.gradient();
  spread_.start(space_, sentence_);
  for_each_arc(scores_, space_, sentence_, [&](int h, int m, int, float* states, int count) {
    const float* own = &gradient[states - scores_.states.data()];
    bool large = std::any_of(own, own + count, [&](float g) { return std::abs(g) > options_.floor; });
    if (large) spread_.add_arc(space_, sentence_, h, m, own, add_cell, add_row);
  });
  spread_.finish(space_, sentence_, add_cell, add_row);
}

void LikelihoodTrainer::step(double rate) {
  if (!options_.adagrad)
    return spread([&](uint32_t place, float value) { weights_.add(place, rate * value); },
                  [&](uint32_t place, const float* values, int width) {
                    weights_.add_row(place, static_cast<float>(rate), values, width);
                  });
  gradient_.clear();
  spread([&](uint32_t place, float value) { gradient_.add(place, value); },
         [&](uint32_t place, const float* values, int width) {
           for (int i = 0; i < width; ++i)
             if (values[i] != 0) gradient_.add(place + i, values[i]);
         });
  for (const auto& [place, value] : gradient_.entries()) {
    squares_[place] += static_cast<float>(value * value);
    if (value != 0) weights_.add(place, rate * value / (std::sqrt(squares_[place]) + 1e-6));
  }
}

void LikelihoodTrainer::shrink(double factor) {
  for (size_t i = 0; i < weights_.weights.size(); ++i)
    if (weights_.weights[i] != 0) weights_.add(static_cast<uint32_t>(i), (factor - 1) * weights_.weights[i]);
}

LikelihoodReport LikelihoodTrainer::run(const int64_t* sentences, size_t count, uint64_t epoch, double rate) {
  LikelihoodReport report;
  for (size_t i = 0; i < count; ++i) {
    size_t s = static_cast<size_t>(sentences[i]);
    options_.dropout.draw(space_, data_, s, epoch, keep_);
    sentence_.set(space_, data_, s, keep_);
    gold_.set(data_, s);
    scorer_.score(space_, weights_.weights.data(), sentence_, {nullptr, gold_.complete}, scores_);
    double value = likelihood_.compute(space_, sentence_, gold_, options_.trees, scores_);
    if (value == IMPOSSIBLE) {
      ++report.skipped;
      continue;
    }
    report.log_likelihood += value;
    step(rate);
    ++weights_.steps;
  }
  if (options_.prior > 0) shrink(std::exp(-rate * options_.prior * static_cast<double>(count)));
  return report;
}

double likelihood_objective(const ArcSpace& space, const ArcData& data, TreeClass trees,
                            const double* weights, double* gradient, int threads) {
  // Sentences in blocks: their gradients by states in parallel, then spread over the cells in order, so that
  // the sums are the same at any number of threads.
  constexpr size_t BLOCK = 256;
  struct Own {
    SentenceLikelihood<double> likelihood;
    ArcScorer<double> scorer;
    ArcGold gold;
  };
  std::vector<Own> own(std::max(threads, 1));
  std::vector<ArcSentence> prepared(BLOCK);
  std::vector<ArcScores<double>> scores(BLOCK);
  std::vector<std::vector<double>> by_state(BLOCK);
  std::vector<double> values(BLOCK);
  ArcGradient<double> spread;
  auto add_cell = [&](uint32_t place, double value) { gradient[place] -= value; };
  auto add_row = [&](uint32_t place, const double* by_cell, int width) {
    for (int i = 0; i < width; ++i) gradient[place + i] -= by_cell[i];
  };
  double total = 0;
  for (size_t start = 0; start < data.sentences(); start += BLOCK) {
    size_t count = std::min(BLOCK, data.sentences() - start);
    parallel_for(count, threads, [&](size_t i, size_t worker) {
      Own& mine = own[worker];
      prepared[i].set(space, data, start + i, {});
      mine.gold.set(data, start + i);
      mine.scorer.score(space, weights, prepared[i], {nullptr, mine.gold.complete}, scores[i]);
      values[i] = mine.likelihood.compute(space, prepared[i], mine.gold, trees, scores[i]);
      by_state[i] = mine.likelihood.gradient();
    });
    for (size_t i = 0; i < count; ++i) {
      if (values[i] == IMPOSSIBLE) continue;
      total -= values[i];
      spread.start(space, prepared[i]);
      for_each_arc(scores[i], space, prepared[i], [&](int h, int m, int, double* states, int) {
        const double* own_states = &by_state[i][states - scores[i].states.data()];
        spread.add_arc(space, prepared[i], h, m, own_states, add_cell, add_row);
      });
      spread.finish(space, prepared[i], add_cell, add_row);
    }
  }
  return total;
}

}  // namespace arcwise
