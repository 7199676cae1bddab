// From the spaces of a sentence to what a decoder wants: the scores of its arcs in every state, or one number an arc.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/tree_decoder.hpp"
#include "kernels/neural/network_batch.hpp"

namespace arcwise {

class SentenceScorer {
 public:
  SentenceScorer(const NeuralNetwork& network, NetworkBatch& batch) : network_(&network), batch_(&batch) {}

  // A sentence of the batch. required: of words 1..n, or null. At order 2 siblings count among projective trees, with one root if
  // single_root is true.
  void load(int place, int n, const int32_t* required, bool single_root);

  // s(h, m) + log softmax, of every arc that the required heads allow.
  const ArcScores<float>& every_state();
  // Of the arcs of a tree alone: heads of words 1..n.
  const ArcScores<float>& states_of(const int32_t* heads);

  // Whether a decoder can do with one number an arc.
  static bool can_reduce(const DecodeSettings& settings) {
    return !settings.probabilities && settings.decoder != Decoder::minimum_labelled_risk;
  }
  // That number: what sums (minimum risk) or the best label (other decoders) make of the states of each arc, as scores of arcs without
  // labels.
  const ArcScores<float>& reduced(const DecodeSettings& settings);

 private:
  bool is_allowed(int h, int m) const {
    return h != m && (!required_ || required_[m - 1] < 0 || required_[m - 1] == h);
  }
  void add_siblings(bool single_root);
  int set_of(int h) const { return network_->root_label() >= 0 && h == 0 ? 1 : 0; }
  int legal_states(float* row, int h) const;
  float reduced_number(const float* labels, int states, const DecodeSettings& settings) const;

  const NeuralNetwork* network_;
  NetworkBatch* batch_;
  int place_ = 0, n_ = 0;
  const int32_t* required_ = nullptr;
  const float* arcs_ = nullptr;
  ArcScores<float> every_, chosen_, reduced_;
  ArcStates unlabelled_;
  EisnerSiblingsWorkspace workspace_;
  std::vector<double> marginals_;
  std::vector<float> with_siblings_;  // as arcs_
};

}  // namespace arcwise
