// From a table of weights to the scores of all arcs of a sentence, in all their states.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_table.hpp"
#include "kernels/inference/arc_scores.hpp"

namespace arcwise {

// What arcs and labels get that training never saw the like of (see ArcTable): the arcs of a word that are beyond reach share
// the probability ArcTable::unseen of its best arc, the labels that are not in the set of an arc's class ArcTable::novelty of the
// arc's best label, but no more than MOST, so that heads stay as they are. These are differences of scores, which
// the temperatures make such probabilities, or lower ones of labels whose temperature is not that of heads, and of arcs at temperatures
// below 1. Arcs of a class that was
// never seen, or beyond reach, have weights for no label in particular: were their labels' scores left alike, they would have
// the mass of an arc many times. Likelihood knows that; where training looked at best labels alone (margins), all but the best
// label share MOST there too, and an arc beyond reach, which training never set against others, is at least as far below the best
// one as any arc of the sentence is below the best of its word: scores made by margins have a scale that no temperature tells.
struct UnseenScores {
  static constexpr double LEAST = 1e-6, MOST = 0.05;
  double temperature, arc;     // arc: of one that is its word's only one beyond reach
  std::vector<double> labels;  // of each class: of one of its unseen labels, in one of its clusters

  bool margins;

  UnseenScores(const ArcTable& table, double heads_temperature, double labels_temperature,
               bool trained_by_margins);
  // By how much the labels of an arc that has weights for none in particular are lowered, but for the best one.
  double lowered(int labels_of_arc) const { return temperature * std::log(MOST / labels_of_arc); }
  double one_arc_of(int count) const { return arc - temperature * std::log(static_cast<double>(count)); }
};

// Which arcs are scored. required[m] >= 0: word m has that head and no other. filtered: arcs beyond reach are not scored by their
// features (the required ones are): they get the scores of `unseen`, or are left out if that is null. every_label: arcs have all
// labels, those never seen with their class by `unseen`; otherwise those of their class, among which the best one always is.
struct ArcMask {
  const int32_t* required = nullptr;  // 0..n, or null
  bool filtered = true;
  const UnseenScores* unseen = nullptr;
  bool every_label = false;
};

// What is known of weights that stay as they are: where they are zero, memory that is far need not be asked.
struct KnownZeros {
  std::vector<uint64_t> groups;  // a bit for every 8 cells of rows, 0 where all are zero; empty where few are
  std::vector<uint64_t> cells;  // a bit for every cell of arcs alone, 0 where it is zero; empty where few are
  uint32_t zero_cell;           // one of these

  KnownZeros(const ArcTable& table, const float* weights);
};

// Memory that scoring reuses from sentence to sentence.
template <typename Real>
struct ArcScorer {
  std::vector<Real> side_rows[ROLES];   // [word][direction][side_width, padded]
  std::vector<Real> side_cells[ROLES];  // [word][direction]
  std::vector<Real> sum;
  std::vector<Real> best;  // of each word, over the states of the arcs that were scored by their features
  struct Beyond {
    int head, modifier, arc_class;
  };
  std::vector<Beyond> beyond;     // arcs that were not
  std::vector<int> beyond_count;  // of each word
  std::vector<Real> below;        // the score of each word's arcs that were not

  const KnownZeros* zeros = nullptr;  // null: nothing is known

  void score(const ArcTable& table, const Real* weights, const ArcSentence& sentence, const ArcMask& mask,
             ArcScores<Real>& out);

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
  Real widest_choice(const ArcScores<Real>& scored) const;
  void lower_labels(const ArcTable& table, int arc_class, const UnseenScores& unseen, Real* values) const;
};

}  // namespace arcwise
