// The scores of a batch of sentences, of one set of states, for calls from Python.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/tree_decoder.hpp"
#include "kernels/inference/tree_loss.hpp"

namespace arcwise {

// Subtrees that are required, by sentence: pairs of words starts[s]..starts[s+1] of ends. Empty: none.
struct BatchSpans {
  const int32_t* ends = nullptr;
  const int64_t* starts = nullptr;

  EisnerSpans of(size_t sentence) const {
    if (!starts) return {};
    return {ends + 2 * starts[sentence], static_cast<int>(starts[sentence + 1] - starts[sentence])};
  }
};

class ScoreBatch {
 public:
  explicit ScoreBatch(ArcStates states) : states_(std::make_shared<const ArcStates>(std::move(states))) {}

  const ArcStates& states() const { return *states_; }
  size_t size() const { return sentences_.size(); }
  const ArcScores<double>& operator[](size_t sentence) const { return sentences_[sentence]; }
  ArcScores<double>& operator[](size_t sentence) { return sentences_[sentence]; }
  void resize(size_t sentences) { sentences_.resize(sentences); }
  size_t words() const;
  // Where the words, the arcs (n+1)², and the states of each sentence start in flat arrays; one more than sentences.
  std::vector<int64_t> word_starts() const, arc_starts() const, value_starts() const;

  // Scores given as labels × (n+1)² numbers a sentence (one matrix where there are no labels), one after the other; an arc
  // whose every label has -inf is not there. Column 0 and the diagonal are not read.
  static ScoreBatch dense(const double* scores, const std::vector<int32_t>& lengths, int labels);

  // What is known before: heads and labels flat over words, forbidden flat over arcs; each may be null.
  ScoreBatch constrained(const int32_t* heads, const int32_t* labels, const uint8_t* forbidden) const;

  ParseResult decode(const DecodeSettings& settings, const AskedTrees& asked, const BatchSpans& spans,
                     int threads) const;
  KBestResult k_best(const DecodeSettings& settings, int k, const BatchSpans& spans, int threads) const;

  // Flat over arcs: log Σ exp(score / temperature) over the states of each arc.
  std::vector<double> arc_sums(double temperature, int threads) const;

  // ---- labels × (n+1)² numbers a sentence, clusters summed out

  // The scores by label, -inf where there is none.
  std::vector<double> by_label(double temperature) const;
  // log of the weight of a labelled arc: log Σ exp(score / heads) + log P(label | arc), so that probabilities of labelled trees are
  // those of these scores at temperature 1.
  std::vector<double> log_weights(const Temperatures& temperatures) const;
  // P(arc and label), from the probabilities of arcs.
  std::vector<double> label_marginals(const double* marginals, const Temperatures& temperatures) const;
  // Any numbers by state (a gradient), placed by label and summed over clusters; 0 elsewhere.
  std::vector<double> placed(const double* by_state) const;

 private:
  template <typename Place>
  std::vector<double> dense_numbers(double empty, Place place) const;

  std::shared_ptr<const ArcStates> states_;
  std::vector<ArcScores<double>> sentences_;
};

// The loss of every sentence, and its gradient by the states of all sentences, one after the other. heads, labels: flat over
// words, -1 where unknown.
struct BatchLoss {
  std::vector<double> values, gradient;
};
BatchLoss tree_loss_batch(TreeLoss loss, const ScoreBatch& scores, const int32_t* heads,
                          const int32_t* labels, TreeClass trees, int threads);

}  // namespace arcwise
