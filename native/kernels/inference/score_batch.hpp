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

// Sentences are kept as ArcScores, or as arrays that somebody else owns and that become ArcScores one sentence at a time.
class ScoreBatch {
 public:
  explicit ScoreBatch(ArcStates states) : states_(std::make_shared<const ArcStates>(std::move(states))) {}

  const ArcStates& states() const { return *states_; }
  size_t size() const { return lengths_.size(); }
  int length(size_t sentence) const { return lengths_[sentence]; }
  size_t words() const;
  // Where the words and the arcs (n+1)² of each sentence start in flat arrays; one more than sentences.
  std::vector<int64_t> word_starts() const, arc_starts() const;

  // The scores of a sentence: those that are kept, or made in `memory`.
  const ArcScores<double>& scores(size_t sentence, ArcScores<double>& memory) const;

  // Scores to be filled in, of sentences of these lengths.
  static ScoreBatch kept(ArcStates states, std::vector<int32_t> lengths);
  ArcScores<double>& operator[](size_t sentence) { return sentences_[sentence]; }

  // Scores given as one array a sentence: labels × (n+1)² numbers, or one matrix where there are no labels; an arc whose every
  // label has -inf is not there. Column 0 and the diagonal are not read. `owner` keeps the arrays alive.
  static ScoreBatch dense(std::vector<const double*> arrays, std::vector<int32_t> lengths, int labels,
                          std::shared_ptr<const void> owner);

  // What is known before: heads and labels flat over words, forbidden flat over arcs; each may be null. What the weights of arcs were
  // before stays known if it is given, or was.
  ScoreBatch constrained(const int32_t* heads, const int32_t* labels, const uint8_t* forbidden,
                         std::vector<double> highest = {}) const;

  // Flat over words: the highest log weight of an arc into the word, before constraints took arcs away.
  std::vector<double> highest(double temperature, int threads) const;
  void set_highest(std::vector<double> by_word) { highest_ = std::move(by_word); }
  const std::vector<double>& known_highest() const { return highest_; }

  ParseResult decode(const DecodeSettings& settings, const AskedTrees& asked, const BatchSpans& spans,
                     int threads) const;
  KBestResult k_best(const DecodeSettings& settings, int k, const BatchSpans& spans, int threads) const;

  // Flat over arcs: the logarithms of their weights (arc_weights.hpp).
  std::vector<double> arc_weights(const Temperatures& temperatures, int threads) const;

  // ---- labels × (n+1)² numbers a sentence, clusters summed out

  // The scores by label, -inf where there is none.
  std::vector<double> by_label(double temperature) const;
  // log of the weight of a labelled arc: that of the arc + log P(label | arc), so that probabilities of labelled trees are
  // those of these scores at temperature 1.
  std::vector<double> log_weights(const Temperatures& temperatures) const;
  // P(arc and label), from the probabilities of arcs.
  std::vector<double> label_marginals(const double* marginals, const Temperatures& temperatures) const;

 private:
  // For ArcWeights: of words 1..n of a sentence whose words start at `first`, or null.
  const double* highest_of(int64_t first) const { return highest_.empty() ? nullptr : &highest_[first] - 1; }
  template <typename Place>
  std::vector<double> dense_numbers(double empty, Place place) const;

  std::shared_ptr<const ArcStates> states_;
  std::vector<int32_t> lengths_;
  std::vector<ArcScores<double>> sentences_;
  std::vector<const double*> arrays_;
  std::shared_ptr<const void> owner_;
  std::vector<double> highest_;  // flat over words; empty: nothing was taken away
};

// The loss of every sentence, and its gradient by score, placed as by_label places scores (summed over clusters, 0 where there is no
// arc). heads, labels: flat over words, -1 where unknown.
struct BatchLoss {
  std::vector<double> values, gradient;
};
BatchLoss tree_loss_batch(TreeLoss loss, const ScoreBatch& scores, const int32_t* heads,
                          const int32_t* labels, TreeClass trees, int threads);

}  // namespace arcwise
