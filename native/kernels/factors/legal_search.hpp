// The legal tree of a sentence under any decoder, while its scores are at hand.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/factors/legal_trees.hpp"
#include "kernels/inference/tree_decoder.hpp"

namespace arcwise {

// The rules that the trees of a parse must obey.
struct LegalSettings {
  const LegalRules* rules = nullptr;
  std::vector<int32_t> labels;  // flat over words: the label that a word keeps, -1 where free; empty: none
  int max_decodes = 0;

  bool fit(size_t words, int labels_of_arcs) const {
    return rules->groups.size() == static_cast<size_t>(labels_of_arcs) &&
           (labels.empty() || labels.size() == words);
  }
  const int32_t* labels_of(size_t first_word) const {
    return labels.empty() ? nullptr : labels.data() + first_word;
  }
};

// The scores of a sentence of a parse, which may leave out labels that are not the best of their arc if the decoder does not need them.
template <typename Real>
struct LegalScores {
  const ArcScores<Real>& scores;
  // Adds an arc with all its labels to other scores; empty if `scores` have all.
  std::function<void(int h, int m, ArcScores<Real>& out)> add_arc;
};

// Finds the legal tree of one sentence at a time; one per thread.
template <typename Real>
class LegalSearch {
 public:
  // A sentence of a parse: its place, its words and its required subtrees. highest: see ArcWeights.
  struct Sentence {
    size_t number, first_word;
    EisnerSpans spans;
    const double* highest = nullptr;
  };

  // Whether the tree that the parse found breaks a rule.
  bool is_illegal(const ParseResult& parses, const LegalSettings& legal, const Sentence& sentence, int n);

  // Replaces that tree by the best legal one, if there is one, and stores the gap. The decoder has loaded the scores. Probabilities are
  // those of the tree without the rules; kept labels condition them.
  void replace(ParseResult& parses, const LegalSettings& legal, const DecodeSettings& settings,
               const Sentence& sentence, const LegalScores<Real>& scores, TreeDecoder<Real>& decoder);

  // The best legal tree of scores that the decoder has loaded; found only if its probabilities, where requested, are known.
  LegalTree find(const LegalScores<Real>& scores, const DecodeSettings& settings, const LegalRules& rules,
                 EisnerSpans spans, int max_decodes, TreeDecoder<Real>& decoder);
  // Stores the tree that was found.
  void keep(ParseResult& parses, size_t sentence, size_t first_word, bool probabilities,
            TreeDecoder<Real>& decoder) const;

 private:
  class Gains;
  void constrain_labels(const LegalScores<Real>& scores, const DecodeSettings& settings,
                        const Sentence& sentence, const int32_t* kept, TreeDecoder<Real>& decoder);

  ArcStates states_;                                 // without clusters, of gains
  const ArcStates* states_with_clusters_ = nullptr;  // those that states_ was made from
  ArcScores<Real> constrained_, arc_;
  ArcWeights<Real> weights_;
  std::vector<double> arcs_, highest_;
  LegalDecoder legal_;
  std::vector<int32_t> heads_, labels_;
};

}  // namespace arcwise
