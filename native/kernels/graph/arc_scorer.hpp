// From a table of weights to the scores of all arcs of a sentence, in all their states.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_table.hpp"
#include "kernels/inference/arc_scores.hpp"

namespace arcwise {

// Which arcs are scored at all. required[m] >= 0: word m has that head and no other. filtered: arcs of a
// class or length that training never saw are left out (the required ones are not).
struct ArcMask {
  const int32_t* required = nullptr;  // 0..n, or null
  bool filtered = true;
};

// Memory that scoring reuses from sentence to sentence.
template <typename Real>
struct ArcScorer {
  std::vector<Real> side_rows[ROLES];   // [word][direction][side_width, padded]
  std::vector<Real> side_cells[ROLES];  // [word][direction]
  std::vector<Real> sum;

  // A bit for every 8 cells of rows, 0 where all are zero: such rows are not even fetched. Null: no such
  // knowledge.
  const uint64_t* occupied = nullptr;

  void score(const ArcTable& table, const Real* weights, const ArcSentence& sentence, const ArcMask& mask,
             ArcScores<Real>& out);

 private:
  void sum_sides(const ArcTable& table, const Real* weights, const ArcSentence& sentence);
  void score_arc(const ArcTable& table, const Real* weights, const ArcSentence& sentence, int h, int m,
                 int arc_class, const BetweenTags& between, Real* values);
};

// The bits that ArcScorer::occupied wants.
std::vector<uint64_t> occupied_rows(const ArcTable& table, const float* weights);

}  // namespace arcwise
