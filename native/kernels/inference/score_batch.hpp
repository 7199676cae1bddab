// The scores of a batch of sentences over one set of states, for calls from Python.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/tree_decoder.hpp"
#include "kernels/inference/tree_loss.hpp"

namespace arcwise {

// Required subtrees by sentence: word pairs starts[s]..starts[s+1] of ends. Empty: none.
struct BatchSpans {
  const int32_t* ends = nullptr;
  const int64_t* starts = nullptr;

  EisnerSpans of(size_t sentence) const {
    if (!starts) return {};
    return {ends + 2 * starts[sentence], static_cast<int>(starts[sentence + 1] - starts[sentence])};
  }
};

// Sentences are stored as ArcScores, or as external arrays that are converted to ArcScores one sentence at a
// time.
class ScoreBatch {
 public:
  explicit ScoreBatch(ArcStates states) : states_(std::make_shared<const ArcStates>(std::move(states))) {}

  const ArcStates& states() const { return *states_; }
  size_t size() const { return lengths_.size(); }
  int length(size_t sentence) const { return lengths_[sentence]; }
  size_t words() const;
  // Start of the words and of the (n+1)² arcs of each sentence in flat arrays; one more than sentences.
  std::vector<int64_t> word_starts() const, arc_starts() const;

  // The scores of a sentence: the stored ones, or converted into `memory`.
  const ArcScores<double>& scores(size_t sentence, ArcScores<double>& memory) const;

  // Empty scores for sentences of these lengths, to be filled in.
  static ScoreBatch kept(ArcStates states, std::vector<int32_t> lengths);
  ArcScores<double>& operator[](size_t sentence) { return sentences_[sentence]; }

  // Scores from one array per sentence: labels × (n+1)² numbers, or one matrix without labels; an arc whose
  // labels are all -inf does not exist. Column 0 and the diagonal are ignored. `owner` keeps the arrays
  // alive.
  static ScoreBatch dense(std::vector<const double*> arrays, std::vector<int32_t> lengths, int labels,
                          std::shared_ptr<const void> owner);

  // Applies constraints: heads and labels flat over words, forbidden flat over arcs; each may be null. Keeps
  // the highest weights from before the constraints, if they are passed or already stored.
  ScoreBatch constrained(const int32_t* heads, const int32_t* labels, const uint8_t* forbidden,
                         std::vector<double> highest = {}) const;

  // Flat over words: the highest log weight of an arc into the word, before constraints removed arcs.
  std::vector<double> highest(double temperature, int threads) const;
  void set_highest(std::vector<double> by_word) { highest_ = std::move(by_word); }
  const std::vector<double>& known_highest() const { return highest_; }
  // For ArcWeights: values of words 1..n of a sentence whose words start at `first`, or null.
  const double* highest_of(int64_t first) const { return highest_.empty() ? nullptr : &highest_[first] - 1; }

  ParseResult decode(const DecodeSettings& settings, const AskedTrees& asked, const BatchSpans& spans,
                     int threads) const;
  KBestResult k_best(const DecodeSettings& settings, int k, const BatchSpans& spans, int threads) const;

  // Flat over arcs: their log weights (arc_weights.hpp).
  std::vector<double> arc_weights(const Temperatures& temperatures, int threads) const;

  // ---- labels × (n+1)² numbers per sentence, clusters summed out

  // The scores by label, -inf where there is none.
  std::vector<double> by_label(double temperature) const;
  // The log weight of a labelled arc: that of the arc + log P(label | arc), so that the probabilities of
  // labelled trees are those of these scores at temperature 1.
  std::vector<double> log_weights(const Temperatures& temperatures) const;
  // P(arc and label), from the probabilities of arcs.
  std::vector<double> label_marginals(const double* marginals, const Temperatures& temperatures) const;

 private:
  template <typename Place>
  std::vector<double> dense_numbers(double empty, Place place) const;

  std::shared_ptr<const ArcStates> states_;
  std::vector<int32_t> lengths_;
  std::vector<ArcScores<double>> sentences_;
  std::vector<const double*> arrays_;
  std::shared_ptr<const void> owner_;
  std::vector<double> highest_;  // flat over words; empty: no arcs were removed
};

// The loss of every sentence and its gradient with respect to the scores, laid out as in by_label (summed
// over clusters, 0 where there is no arc). heads, labels: flat over words, -1 where unknown.
struct BatchLoss {
  std::vector<double> values, gradient;
};
BatchLoss tree_loss_batch(TreeLoss loss, const ScoreBatch& scores, const int32_t* heads,
                          const int32_t* labels, TreeClass trees, int threads);

}  // namespace arcwise
