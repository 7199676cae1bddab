// From scores to trees: the one decoder, whatever made the scores. docs/reference/inference.md says what each word means.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/arc_weights.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// map: the tree with the highest score, latent clusters summed out; max-z: the highest score with its best clusters;
// minimum risk: the tree with the most expected right heads (Smith & Smith 2007, section 4), or with the most
// expected right heads and labels; greedy: the best head of each word, tree or not. Labels are the best ones of
// their arcs in all of them.
enum class Decoder { map, minimum_risk, minimum_labelled_risk, max_z, greedy };

struct DecodeSettings {
  Decoder decoder = Decoder::map;
  TreeClass trees;
  Temperatures temperatures;
  bool probabilities = false;

  // Whether all labels of an arc count, not its best one alone.
  bool needs_marginals() const {
    return probabilities || decoder == Decoder::minimum_risk || decoder == Decoder::minimum_labelled_risk;
  }
};

// Decodes one sentence after the other; one per thread.
template <typename Real>
class TreeDecoder {
 public:
  // The scores must live as long as they are asked about. highest: see ArcWeights.
  void load(const ArcScores<Real>& scores, const DecodeSettings& settings, EisnerSpans spans = {},
            const double* highest = nullptr);

  int n() const { return scores_->n; }
  // Whether there is a tree of the class.
  bool has_tree();
  // The tree asked for, in heads(); false if there is none.
  bool decode();
  const std::vector<int32_t>& heads() const { return heads_; }
  // The k trees of the highest scores, all with other heads, into heads[k*(n+1)] and values[k]; how many there are.
  int k_best(int k, std::vector<int32_t>& heads, std::vector<double>& values);

  // The best label of an arc, clusters summed out (max-z: that of the best state); -1 where arcs have none.
  int best_label(int h, int m) const;

  // ---- probabilities, after find_marginals() (false: there is no tree)
  bool find_marginals();
  double marginal(int h, int m) const { return std::clamp(marginals_[h * (n() + 1) + m], 0.0, 1.0); }
  // The probability of a label given its arc; -1 if the arc, or the label on it, is not there.
  double label_given_arc(int h, int m, int label) const;
  // Of heads[0..n], labels left open: at most 0, and -inf if they are no tree of the class, as greedy ones may be.
  double log_probability(const int32_t* heads) const;
  // Of the distribution over trees, labels left open, in nats.
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
};

// Heads and labels whose probabilities are wanted beside those of the tree found: flat over all words, or null.
struct AskedTrees {
  const int32_t* heads = nullptr;
  const int32_t* labels = nullptr;
};

// Trees of a batch, flat over all words or over sentences.
struct ParseResult {
  std::vector<int32_t> heads, labels;  // labels are -1 where arcs have none
  std::vector<uint8_t> parsed;         // 0 where there is no tree
  // With probabilities: of the head; of head and label together; of the tree, labels left open; its entropy (nats).
  std::vector<float> head_probability, label_probability;
  std::vector<double> log_probability, head_entropy;
  // Of the trees asked about: of the head, 0 where it is unknown; of the label given that head, -1 where it has none.
  std::vector<float> asked_head_probability, asked_label_probability;

  void start(size_t words, size_t sentences, bool probabilities, const AskedTrees& asked);
  // Decodes the sentence whose words start at `first`, and keeps what was found; false if there is no tree.
  template <typename Real>
  bool keep(TreeDecoder<Real>& decoder, size_t sentence, size_t first, bool probabilities,
            const AskedTrees& asked);
};

// The k best trees of every sentence, best first, one after the other.
struct KBestResult {
  std::vector<uint32_t> counts;  // trees of each sentence
  std::vector<int32_t> heads, labels;
  std::vector<double> scores;
  // With probabilities: of each word's head, and of head and label together; of each tree, labels left open.
  std::vector<float> head_probability, label_probability;
  std::vector<double> log_probability;

  // The k best trees of one sentence; false if there is none.
  template <typename Real>
  bool keep(TreeDecoder<Real>& decoder, int k, bool probabilities);
  static KBestResult joined(const std::vector<KBestResult>& sentences);
};

}  // namespace arcwise
