#include "kernels/neural/sentence_scorer.hpp"

#include <algorithm>

namespace arcwise {

void SentenceScorer::load(int place, int n, const int32_t* required, bool single_root) {
  place_ = place;
  n_ = n;
  required_ = required;
  arcs_ = batch_->arcs(place, n);
  if (!network_->sibling_product().empty()) add_siblings(single_root);
}

// Replaces the scores of arcs by log-probabilities, of long sentences not, and divides them by the temperature. Required heads do not
// count: what is decided conditions the scores later, whoever scores.
void SentenceScorer::add_siblings(bool single_root) {
  const size_t stride = batch_->arc_stride();
  SiblingRows& rows = workspace_.rows;
  rows.start(n_);
  for (int h = 0; h <= n_; ++h)
    for (int m = 1; m <= n_; ++m)
      if (h != m) rows.arcs[rows.cell(h, m)] = arcs_[h * stride + m];
  marginals_ = rows.arcs;
  if (n_ <= MOST_SIBLING_WORDS) {
    batch_->siblings(place_, rows);
    eisner_siblings_log_marginals_rows(single_root, marginals_.data(), workspace_);
  }
  with_siblings_.resize((n_ + 1) * stride);
  for (int h = 0; h <= n_; ++h)
    for (int m = 1; m <= n_; ++m)
      with_siblings_[h * stride + m] =
          static_cast<float>(marginals_[rows.cell(h, m)]) / network_->head_temperature();
  arcs_ = with_siblings_.data();
}

// Moves the states that an arc from h may have to the front of its row, in the order of its set; how many they are. P(label | arc) is
// the softmax of these alone, so that the rule of the root changes no probability of an arc.
int SentenceScorer::legal_states(float* row, int h) const {
  const int root = network_->root_label(), states = network_->state_count(), Z = network_->states().clusters;
  if (root < 0) return states;
  if (h == 0) {
    std::copy_n(row + root * Z, Z, row);
    return Z;
  }
  std::copy(row + (root + 1) * Z, row + states, row + root * Z);
  return states - Z;
}

const ArcScores<float>& SentenceScorer::every_state() {
  const size_t stride = batch_->arc_stride();
  const int states = network_->state_count();
  every_.start(network_->states(), n_);
  if (states == 0) {
    for (int m = 1; m <= n_; ++m)
      for (int h = 0; h <= n_; ++h)
        if (is_allowed(h, m)) *every_.add(h, m, 0) = arcs_[h * stride + m];
    return every_;
  }
  for (int m = 1; m <= n_; ++m) {
    const int fixed = required_ ? required_[m - 1] : -1, first = std::max(fixed, 0);
    if (fixed > n_) continue;
    float* rows = batch_->labels(place_, m, first, fixed < 0 ? n_ + 1 : 1);
    for (int h = first; h <= (fixed < 0 ? n_ : fixed); ++h) {
      if (!is_allowed(h, m)) continue;
      float* row = rows + (h - first) * batch_->label_stride();
      const int legal = legal_states(row, h);
      network_->loops().log_softmax(row, legal, arcs_[h * stride + m]);
      std::copy_n(row, legal, every_.add(h, m, set_of(h)));
    }
  }
  return every_;
}

const ArcScores<float>& SentenceScorer::states_of(const int32_t* heads) {
  chosen_.start(network_->states(), n_);
  if (network_->state_count() == 0) return chosen_;
  for (int m = 1; m <= n_; ++m) {
    const int h = heads[m - 1];
    float* row = batch_->labels(place_, m, h, 1);
    const int legal = legal_states(row, h);
    network_->loops().log_softmax(row, legal, arcs_[h * batch_->arc_stride() + m]);
    std::copy_n(row, legal, chosen_.add(h, m, set_of(h)));
  }
  return chosen_;
}

// Of log softmax of the labels: T log Σ exp(· / T) over all states, or over the clusters of the best label.
float SentenceScorer::reduced_number(const float* labels, int states, const DecodeSettings& settings) const {
  const NetworkLoops& loops = network_->loops();
  const int Z = network_->states().clusters;
  const float T = static_cast<float>(settings.temperatures.heads);
  if (settings.decoder == Decoder::minimum_risk) return loops.power_sum(labels, states, T);
  const float total = loops.log_sum(labels, states, 1.0f);
  if (Z == 1 || settings.decoder == Decoder::max_z) return *std::max_element(labels, labels + states) - total;
  float best = -3e38f;
  for (int s = 0; s < states; s += Z) best = std::max(best, T * loops.log_sum(labels + s, Z, 1 / T));
  return best - total;
}

const ArcScores<float>& SentenceScorer::reduced(const DecodeSettings& settings) {
  const size_t stride = batch_->arc_stride();
  // At temperature 1 the states of an arc sum up to 1.
  const bool sums_to_one = settings.decoder == Decoder::minimum_risk && settings.temperatures.heads == 1;
  reduced_.start(unlabelled_, n_);
  if (network_->state_count() == 0 || sums_to_one) {
    for (int h = 0; h <= n_; ++h)
      for (int m = 1; m <= n_; ++m)
        if (is_allowed(h, m)) *reduced_.add(h, m, 0) = arcs_[h * stride + m];
    return reduced_;
  }
  for (int m = 1; m <= n_; ++m) {
    float* rows = batch_->labels(place_, m, 0, n_ + 1);
    for (int h = 0; h <= n_; ++h) {
      if (!is_allowed(h, m)) continue;
      float* row = rows + h * batch_->label_stride();
      const int legal = legal_states(row, h);
      *reduced_.add(h, m, 0) = arcs_[h * stride + m] + reduced_number(row, legal, settings);
    }
  }
  return reduced_;
}

}  // namespace arcwise
