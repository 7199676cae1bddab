// The decoder of every scorer: from scores to trees. docs/reference/inference.md defines the terms.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/arc_weights.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// map: the tree with the highest score, latent clusters summed out; max-z: the highest score over trees and
// clusters jointly; minimum risk: the tree with the highest expected number of correct heads (Smith & Smith
// 2007, section 4), or of correct heads and labels; greedy: the best head of each word, whether or not they
// form a tree. All of them give each arc its best label.
enum class Decoder { map, minimum_risk, minimum_labelled_risk, max_z, greedy };

struct DecodeSettings {
  Decoder decoder = Decoder::map;
  TreeClass trees;
  Temperatures temperatures;
  bool probabilities = false;

  // Whether all labels of an arc matter rather than only its best one.
  bool needs_marginals() const {
    return probabilities || decoder == Decoder::minimum_risk || decoder == Decoder::minimum_labelled_risk;
  }
};

// Decodes one sentence at a time; one per thread.
template <typename Real>
class TreeDecoder {
 public:
  // The scores must outlive all queries. highest: see ArcWeights.
  void load(const ArcScores<Real>& scores, const DecodeSettings& settings, EisnerSpans spans = {},
            const double* highest = nullptr);

  int n() const { return scores_->n; }
  // Whether a tree of the class exists.
  bool has_tree();
  // Finds the requested tree, see heads(); returns false if there is none.
  bool decode();
  const std::vector<int32_t>& heads() const { return heads_; }
  // Writes the k best trees, distinct in their heads, to heads[k*(n+1)] and values[k]; returns their number.
  int k_best(int k, std::vector<int32_t>& heads, std::vector<double>& values);

  // The best label of an arc, clusters summed out (max-z: that of the best state); -1 if arcs have no labels.
  int best_label(int h, int m) const;

  // The scores of arcs by which the last tree was found, (n+1)², and the best state of each; null unless these are those of the best states.
  const std::vector<double>* best_arcs() const { return has_best_arcs_ ? &arcs_ : nullptr; }
  const std::vector<int32_t>& best_states() const { return best_; }

  // ---- probabilities, after find_marginals() (false if there is no tree)
  bool find_marginals();
  double marginal(int h, int m) const { return std::clamp(marginals_[h * (n() + 1) + m], 0.0, 1.0); }
  // The probability of a label given its arc; -1 if the arc, or the label on it, does not exist.
  double label_given_arc(int h, int m, int label) const;
  // The log-probability of heads[0..n], labels left open; -inf if they are not a tree of the class, as with
  // greedy.
  double log_probability(const int32_t* heads) const;
  // The entropy of the distribution over trees, labels left open, in nats.
  double head_entropy() const;

 private:
  double label_score(const Real* values) const;
  double best_label_probability(int h, int m) const;
  void maximise();
  bool decode_marginals(bool labelled);
  bool best_heads();

  const ArcScores<Real>* scores_ = nullptr;
  DecodeSettings settings_;
  EisnerSpans spans_;
  const double* highest_ = nullptr;
  ArcWeights<Real> weights_;
  TreeInference inference_;
  std::vector<int32_t> best_, heads_;
  std::vector<double> arcs_, marginals_, risk_;
  double log_partition_ = 0;
  bool has_marginals_ = false, has_best_arcs_ = false;  // of the scores at hand
};

// Heads and labels whose probabilities are requested in addition to those of the decoded tree: flat over all
// words, or null.
struct AskedTrees {
  const int32_t* heads = nullptr;
  const int32_t* labels = nullptr;
};

// The trees of a batch, flat over all words or over sentences.
struct ParseResult {
  std::vector<int32_t> heads, labels;  // labels are -1 where arcs have none
  std::vector<uint8_t> parsed;         // 0 where there is no tree
  // If requested, probabilities: of the head; of head and label together; of the tree, labels left open; its
  // entropy (nats).
  std::vector<float> head_probability, label_probability;
  std::vector<double> log_probability, head_entropy;
  // For the requested trees: of the head, 0 where it is unknown; of the label given that head, -1 where it
  // has none.
  std::vector<float> asked_head_probability, asked_label_probability;
  // If trees must be legal (legal_batch.hpp), by sentence: no legal tree is better by more than this; infinite where none was found and
  // the tree breaks a rule.
  std::vector<double> gaps;

  void start(size_t words, size_t sentences, bool probabilities, const AskedTrees& asked);
  // Decodes the sentence whose words start at `first` and stores the result; returns false if there is no
  // tree.
  template <typename Real>
  bool keep(TreeDecoder<Real>& decoder, size_t sentence, size_t first, bool probabilities,
            const AskedTrees& asked);
};

// The k best trees of every sentence, best first, concatenated.
struct KBestResult {
  std::vector<uint32_t> counts;  // trees of each sentence
  std::vector<int32_t> heads, labels;
  std::vector<double> scores;
  // If requested, probabilities: of each word's head, and of head and label together; of each tree, labels
  // left open.
  std::vector<float> head_probability, label_probability;
  std::vector<double> log_probability;

  // Stores the k best trees of one sentence; returns false if there is none.
  template <typename Real>
  bool keep(TreeDecoder<Real>& decoder, int k, bool probabilities);
  static KBestResult joined(const std::vector<KBestResult>& sentences);
};

}  // namespace arcwise
