// Sibling scores made ready for sums: read, checked, shifted so that none is above 0, and exponentiated.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/base/lanes.hpp"
#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/inference/eisner_sums.hpp"

namespace arcwise {

// What is known of the shifted scores.
struct ShiftedScores {
  CarefulSum taken;
  bool fits = true;       // all are doubles as weights, but for those far below
  bool has_deep = false;  // some are far below -EISNER_DEPTH
  bool is_valid = true;   // none of those that were read is NaN or above LARGEST_SCORE

  void look_at(double value) {
    fits &= value >= -700 || value < -EISNER_DEPTH;
    has_deep |= value < -EISNER_DEPTH && value != MINUS_INFINITY;
  }
  void look_at(const double* values, int64_t length) {
    for (int64_t k = 0; k < length; ++k) look_at(values[k]);
  }
};

inline int padded(int length) { return (length + LANES - 1) & ~(LANES - 1); }

inline bool any(LaneBits lanes) { return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0; }

// Whole LANES of numbers that are at most 0.
[[gnu::flatten]] inline void exponentiate_all(double* values, int64_t length) {
  for (int64_t k = 0; k < length; k += LANES) store(values + k, exp_of_nonpositive(load(values + k)));
}

// The squares of LANES rows and columns of a matrix, turned.
inline void transpose_square(const Lanes* rows, double* const* to) {
  const Lanes ab0 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6),
              ab1 = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const Lanes cd0 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6),
              cd1 = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  store(to[0], __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  store(to[1], __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  store(to[2], __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  store(to[3], __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

// Copies the scores of a sentence into rows, moving the best sibling score of each arc into the arc, in blocks of LANES modifiers. With
// `exponentiate`, the siblings become weights on the way.
template <bool exponentiate>
class SiblingReader {
 public:
  SiblingReader(const SiblingSentence& sentence, SiblingRows& rows, std::vector<double>& shifts,
                ShiftedScores& result)
      : sentence_(sentence), rows_(rows), shifts_(shifts), result_(result), side_(sentence.n + 1) {}

  void read_head(int h) {
    for (int first = 1; first < h; first += LANES) read_block(h, first, std::min(first + LANES, h));
    for (int first = h + 1; first <= sentence_.n; first += LANES)
      read_block(h, first, std::min(first + LANES, sentence_.n + 1));
  }

 private:
  // The modifiers first <= m < end.
  void read_block(int h, int first, int end) {
    const bool is_right = h < first, is_alone = h == 0 && sentence_.single_root;
    // The siblings that some modifier of the block can have, and those that all have.
    const int low = is_right ? h + 1 : first + 1, high = is_alone ? low : is_right ? end - 1 : h;
    const double* from = sentence_.siblings + h * side_ * side_ + first;
    const Lanes places = Lanes{0, 1, 2, 3} + first, none = spread(MINUS_INFINITY);
    const LaneBits exist = (LaneBits)(places < static_cast<double>(end));
    auto scores_of = [&](int s) {
      const Lanes values = load(from + s * side_);
      if (is_right ? s < first : s >= end) return values;
      const LaneBits farther =
          (LaneBits)(is_right ? places > static_cast<double>(s) : places < static_cast<double>(s));
      return farther ? values : none;
    };
    // One by one: the last of them stand at the end of the array.
    double padded_arcs[LANES], padded_firsts[LANES];
    for (int c = 0; c < LANES; ++c) {
      const bool exists = first + c < end;
      padded_arcs[c] = exists ? sentence_.arcs[h * side_ + first + c] : MINUS_INFINITY;
      padded_firsts[c] = exists ? from[h * side_ + c] : MINUS_INFINITY;
    }
    Lanes arcs = load(padded_arcs), firsts = load(padded_firsts), best = firsts;
    LaneBits valid = (LaneBits)(firsts <= LARGEST_SCORE);
    for (int s = low; s < high; ++s) {
      const Lanes values = scores_of(s);
      valid &= (LaneBits)(values <= LARGEST_SCORE);
      best = larger(values, best);
    }
    valid &= (LaneBits)(arcs <= LARGEST_SCORE);
    result_.is_valid &= !any(~valid & exist);
    arcs += best;
    const LaneBits is_dead = (LaneBits)(arcs == none);
    auto shifted = [&](Lanes values) { return is_dead ? none : values - best; };
    firsts = shifted(firsts);
    for (int c = 0; first + c < end; ++c) {
      const int m = first + c;
      rows_.arcs[rows_.cell(h, m)] = arcs[c];
      rows_.first[rows_.cell(h, m)] = firsts[c];
      shifts_[m] = std::max(shifts_[m], arcs[c]);
    }
    if (low >= high) return;
    double* to[LANES];
    const int64_t length = rows_.block_length(h, first);
    for (int c = 0; c < LANES; ++c) to[c] = rows_.row(h, first) + c * length;
    LaneBits is_low{};
    for (int s = low; s < high; s += LANES) {
      Lanes square[LANES];
      for (int r = 0; r < LANES; ++r) {
        square[r] = s + r < high ? shifted(scores_of(s + r)) : none;
        is_low |= (LaneBits)(square[r] < -700.0) & (LaneBits)(square[r] > MINUS_INFINITY);
      }
      double* const places_of_square[LANES] = {to[0] + (s - low), to[1] + (s - low), to[2] + (s - low),
                                               to[3] + (s - low)};
      transpose_square(square, places_of_square);
    }
    const int64_t size = LANES * length + (is_right ? 0 : LANES);
    if (!is_right) store(to[0] + LANES * length, none);
    if (exponentiate) exponentiate_all(to[0], size);
    if (any(is_low))
      for (int s = low; s < high; ++s) {
        const Lanes values = shifted(scores_of(s));
        for (int c = 0; first + c < end; ++c) result_.look_at(values[c]);
      }
  }

  const SiblingSentence& sentence_;
  SiblingRows& rows_;
  std::vector<double>& shifts_;
  ShiftedScores& result_;
  int64_t side_;
};

}  // namespace arcwise
