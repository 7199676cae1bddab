// Scores of all arcs of a sentence, in all their states, under a table of weights.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/graph/arc_space.hpp"

namespace arcwise {

// Which arcs are scored at all. required[m] >= 0: word m has that head and no other. filtered: arcs of a
// class or length that training never saw are left out (the required ones are not).
struct ArcMask {
  const int32_t* required = nullptr;  // 0..n, or null
  bool filtered = true;
};

template <typename Real>
struct ArcScores {
  static constexpr int32_t NONE = -1;
  int n = 0;
  std::vector<int32_t> starts;  // (n+1)^2: place of the first state of arc h*(n+1)+m in `states`, or NONE
  std::vector<Real> states;

  bool has(int h, int m) const { return starts[h * (n + 1) + m] != NONE; }
  const Real* of(int h, int m) const { return &states[starts[h * (n + 1) + m]]; }
  Real* of(int h, int m) { return &states[starts[h * (n + 1) + m]]; }
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

  void score(const ArcSpace& space, const Real* weights, const ArcSentence& sentence, const ArcMask& mask,
             ArcScores<Real>& out);

 private:
  void sum_sides(const ArcSpace& space, const Real* weights, const ArcSentence& sentence);
  void score_arc(const ArcSpace& space, const Real* weights, const ArcSentence& sentence, int h, int m,
                 int arc_class, const BetweenTags& between, Real* states);
};

// The bits that ArcScorer::occupied wants.
std::vector<uint64_t> occupied_rows(const ArcSpace& space, const float* weights);

constexpr double IMPOSSIBLE = -std::numeric_limits<double>::infinity();

// Arc scores (n+1)^2 from the scores of states. Maximising: the best state, whose number goes to best.
// Summing: the log of the sum of exponentials (Koo 3.4).
template <typename Real>
void arcs_by_maximum(const ArcScores<Real>& scores, const ArcSpace& space, const ArcSentence& sentence,
                     std::vector<double>& arcs, std::vector<int32_t>& best);
template <typename Real>
void arcs_by_sum(const ArcScores<Real>& scores, const ArcSpace& space, const ArcSentence& sentence,
                 double scale, std::vector<double>& arcs);

}  // namespace arcwise
