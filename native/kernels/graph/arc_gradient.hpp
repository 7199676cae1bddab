// Converts gradients with respect to state scores into gradients with respect to the cells of the weight
// table.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/graph/arc_table.hpp"

namespace arcwise {

// One sentence at a time: start, add_arc for arcs in any order, finish. Results go to add_cell(place, value)
// and add_row(place, values, width), where a row is `width` consecutive cells (zero-padded to blocks of 8).
// Rows of one-sided templates are shared by all arcs of a word, so their gradients are summed first and
// written once, in finish.
template <typename Real>
class ArcGradient {
 public:
  void start(const ArcTable& table, const ArcSentence& sentence) {
    side_width_ = width_of(table.side_width());
    for (int role = 0; role < ROLES; ++role) {
      sides_[role].assign((sentence.n() + 1) * 2 * side_width_, 0);
      totals_[role].assign((sentence.n() + 1) * 2, 0);
    }
    row_.resize(side_width_);
  }

  template <typename AddCell, typename AddRow>
  void add_arc(const ArcTable& table, const ArcSentence& sentence, int h, int m, const Real* by_state,
               AddCell add_cell, AddRow add_row) {
    int arc_class = sentence.class_of(table, h, m), count = table.states.count(arc_class);
    int width = width_of(table.row_width(arc_class)), direction = direction_of(h, m);
    Real total = 0;
    for (int s = 0; s < count; ++s) total += by_state[s];
    std::fill(row_.begin(), row_.begin() + width, Real{0});
    if (table.shared_cell()) row_[0] = total;
    for (int s = 0; s < count; ++s)
      if (int cell = table.row_cell(s); cell >= 0) row_[cell] = by_state[s];
    pair_places(
        table, sentence, h, m, [&](uint32_t place) { add_cell(place, total); },
        [&](uint32_t place) { add_row(place, row_.data(), width); });
    for (int role = 0; role < ROLES; ++role) {
      int at = (role == HEAD_ROLE ? h : m) * 2 + direction;
      totals_[role][at] += total;
      Real* side = &sides_[role][at * side_width_];
      if (table.shared_cell()) side[0] += total;
      for (int s = 0; s < count; ++s)
        if (int cell = table.side_cell(arc_class, s); cell >= 0) side[cell] += by_state[s];
    }
  }

  template <typename AddCell, typename AddRow>
  void finish(const ArcTable& table, const ArcSentence& sentence, AddCell add_cell, AddRow add_row) const {
    for (int role = 0; role < ROLES; ++role)
      for (int at = 0; at < (sentence.n() + 1) * 2; ++at) {
        const Real* side = &sides_[role][at * side_width_];
        if (totals_[role][at] == 0 && std::all_of(side, side + side_width_, [](Real g) { return g == 0; }))
          continue;
        side_places(
            table, sentence, static_cast<Role>(role), at / 2, at % 2,
            [&](uint32_t place) { add_cell(place, totals_[role][at]); },
            [&](uint32_t place) { add_row(place, side, side_width_); });
      }
  }

 private:
  static int width_of(int cells) { return cells == 1 ? 1 : static_cast<int>(ArcTable::padded(cells)); }

  int side_width_ = 1;
  std::vector<Real> sides_[ROLES], totals_[ROLES];  // by word and direction
  std::vector<Real> row_;
};

}  // namespace arcwise
