// Computes the scores of all arcs of a sentence, in all their states, from a weight table.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_table.hpp"
#include "kernels/inference/arc_scores.hpp"

namespace arcwise {

// Scores of arcs and labels unlike any in the training data (see ArcTable). All arcs of a word beyond reach
// share probability ArcTable::unseen of its best arc; labels outside the set of the arc's class share
// ArcTable::novelty of the arc's best label, but at most MOST, so that heads do not change. The scores are
// differences which the temperatures turn into these probabilities, or into lower ones (labels whose
// temperature differs from that of heads; arcs at temperatures below 1).
//
// Arcs of an unseen class, or beyond reach, have no weights for particular labels; if all their labels kept
// equal scores, the arc's mass would count once per label. Likelihood training accounts for that. Margin
// training only compares best labels, so there all labels except the best share MOST, and an arc beyond
// reach, never compared in training, is placed at least as far below the best arc as any arc of the sentence
// is below the best arc of its word: scores from margin training have a scale that temperature does not
// capture.
struct UnseenScores {
  static constexpr double LEAST = 1e-6, MOST = 0.05;
  double temperature, arc;     // arc: score of a word's only arc beyond reach
  std::vector<double> labels;  // by class: score of one of its unseen labels, in one of its clusters

  bool margins;

  UnseenScores(const ArcTable& table, double heads_temperature, double labels_temperature,
               bool trained_by_margins);
  // The amount by which all labels except the best are lowered on an arc without label-specific weights.
  double lowered(int labels_of_arc) const { return temperature * std::log(MOST / labels_of_arc); }
  double one_arc_of(int count) const { return arc - temperature * std::log(static_cast<double>(count)); }
};

// Which arcs are scored. required[m] >= 0: word m has that head and no other. filtered: arcs beyond reach
// (except required ones) are not scored by their features; they get the scores of `unseen`, or are left out
// if that is null. every_label: arcs have all labels, with `unseen` scores for those never seen with their
// class; otherwise only the labels of their class, which always include the best one.
struct ArcMask {
  const int32_t* required = nullptr;  // 0..n, or null for none
  bool filtered = true;
  const UnseenScores* unseen = nullptr;
  bool every_label = false;
};

// Which fixed weights are zero, so that scoring can skip their memory accesses.
struct KnownZeros {
  std::vector<uint64_t> groups;  // one bit per 8 cells of rows, 0 if all are zero; empty if that is rare
  std::vector<uint64_t> cells;   // one bit per label-independent cell, 0 if it is zero; empty if that is rare
  uint32_t zero_cell;            // a cell that is zero

  KnownZeros(const ArcTable& table, const float* weights);
};

// Workspace reused from sentence to sentence.
template <typename Real>
struct ArcScorer {
  std::vector<Real> side_rows[ROLES];   // [word][direction][side_width, padded]
  std::vector<Real> side_cells[ROLES];  // [word][direction]
  std::vector<Real> sum;
  std::vector<Real> best;  // by word, over the states of the arcs scored by their features
  struct Beyond {
    int head, modifier, arc_class;
  };
  std::vector<Beyond> beyond;     // arcs not scored by their features
  std::vector<int> beyond_count;  // of each word
  std::vector<Real> below;        // by word, the score of its arcs beyond reach

  const KnownZeros* zeros = nullptr;  // null: unknown

  void score(const ArcTable& table, const Real* weights, const ArcSentence& sentence, const ArcMask& mask,
             ArcScores<Real>& out);

  // Adds an arc of scores without every_label to `out`, with the labels that are then missing.
  void add_every_label(const ArcTable& table, const UnseenScores& unseen, const ArcScores<Real>& scores,
                       int h, int m, ArcScores<Real>& out) const;

 private:
  void sum_sides(const ArcTable& table, const Real* weights, const ArcSentence& sentence);
  template <bool SPARSE>
  Real arc_alone(const ArcTable& table, const Real* weights, const ArcSentence& sentence, int h, int m,
                 const BetweenTags& between) const;
  void score_arc(const ArcTable& table, const Real* weights, const ArcSentence& sentence, int h, int m,
                 int arc_class, const BetweenTags& between, Real* values);
  void score_labels(const ArcTable& table, int h, int m, int arc_class, Real* values) const;
  void add_beyond(const ArcTable& table, const Real* weights, const ArcSentence& sentence,
                  const ArcMask& mask, ArcScores<Real>& out);
  template <typename Score>
  void add_arc(const ArcTable& table, int h, int m, int arc_class, const ArcMask& mask, ArcScores<Real>& out,
               Score score);
  // Adds an arc with every label of its class and gives those after the first count(arc_class) their scores; score(values) fills in these.
  template <typename Score>
  void add_every_label(const ArcTable& table, int h, int m, int arc_class, const UnseenScores& unseen,
                       ArcScores<Real>& out, Score score) const;
  Real widest_choice(const ArcScores<Real>& scored) const;
  void lower_labels(const ArcTable& table, int arc_class, const UnseenScores& unseen, Real* values) const;
};

}  // namespace arcwise
