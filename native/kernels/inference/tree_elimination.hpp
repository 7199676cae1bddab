// The random walk from words to candidate heads behind matrix_tree (which says what it is for), and the
// elimination of its states, derived in docs/explanation/single-root-elimination.md.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/base/interruption.hpp"
#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/number_functions.hpp"
#include "kernels/inference/matrix_product.hpp"
#include "kernels/inference/matrix_tree.hpp"

namespace arcwise {

constexpr int PANEL = 8;  // states eliminated together

// to[i] = exp(scores[i] - shifts[i] - shared), at most 1.
inline void exp_of(const double* scores, const double* shifts, double shared, int count, double* to) {
  int i = 0;
  for (; i + LANES <= count; i += LANES)
    store(to + i, exp_of_nonpositive(load(scores + i) - load(shifts + i) - shared));
  for (; i < count; ++i) to[i] = exp_of_nonpositive(spread(scores[i] - shifts[i] - shared))[0];
}

// Four running sums, which the compiler can keep in vector registers.
template <typename Number>
Number sum_of(const Number* values, int count) {
  Number lane[4] = {};
  int i = 0;
  for (; i + 4 <= count; i += 4)
    for (int j = 0; j < 4; ++j) lane[j] += values[i + j];
  for (; i < count; ++i) lane[0] += values[i];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

template <typename Number>
void add_multiple(Number* __restrict to, Number factor, const Number* __restrict from, int count) {
  for (int i = 0; i < count; ++i) to[i] += factor * from[i];
}

// One sentence, one number type, one root policy. Doubles are computed from scores, shifted; other number
// types receive weights. A system is a matrix with a row for each state (word): first its exits to the root,
// then its exits to the other states, not normalised; the entry of a state for itself is ignored. SINGLE: the
// weights of exits to the root are infinitesimal. Column 0 is mass of order 1 that goes to the root, column 1
// such mass of order 0.
template <typename Number, bool SINGLE>
class TreeElimination {
 public:
  // The input: scores, or the weights themselves; (n+1)².
  static constexpr bool SHIFTED = std::is_same_v<Number, double>;

  TreeElimination(const Number* scores, int n, EliminationLevels<Number>& levels)
      : scores_(scores), n_(n), width_(n + 1), shift_(levels.shift), levels_(levels) {
    stride_ = (static_cast<size_t>(n) + ROOT_COLUMNS + 3) / 4 * 4 + 4;
  }

  double log_partition() {
    if (!fill()) return MINUS_INFINITY;
    for (int states = n_, kept; states > 1; states = kept) {
      kept = (states + 1) / 2;
      eliminate(system(0), states, kept, true);
    }
    record_last(system(0));
    return log_partition_;
  }

  double marginals(double* out) {
    if (!fill()) return MINUS_INFINITY;
    solve(0, n_, true);
    if (log_partition_ != MINUS_INFINITY) write(out);
    return log_partition_;
  }

  // Z itself, except with doubles, which may not hold it.
  const Number& partition() const { return partition_; }

  // The weights computed from the scores, (n+1)², after either of the two above; the shifts change no
  // marginal.
  void shifted_weights(double* to) const {
    for (int h = 0; h <= n_; ++h) {
      double* row = to + static_cast<size_t>(h) * width_;
      exp_of(scores_ + static_cast<size_t>(h) * width_ + 1, &shift_[1], h == 0 ? root_shift_ : 0, n_,
             row + 1);
      row[0] = row[h] = 0;
    }
  }

  // Whether neither underflow nor rounding can have changed the result. Underflow loses less than 1e-307 of
  // the largest weight of a row, and each pivot s magnifies that by at most 1/s. log Z is a sum that includes
  // the shifts, and has their rounding errors.
  bool is_safe() const {
    constexpr double MOST_MAGNIFIED = 300, LOWEST = 700, LARGEST_SHIFT = 1e4;
    return in_range_ && magnified_ < MOST_MAGNIFIED && largest_shift_ < LARGEST_SHIFT &&
           (zero_pivots_ == 0 || n_ * spread() < LOWEST);
  }

 protected:
  static constexpr int ROOT_COLUMNS = SINGLE ? 2 : 1;
  // Escapes of order 0, and with a single root of order 1 as well.
  static constexpr int ORDERS = ROOT_COLUMNS;

  Block<Number> system(int level) { return {levels_.levels[level].system.data(), stride_}; }
  Block<Number> escapes(int level, int order) {
    return {levels_.levels[level].escapes[order].data(), stride_};
  }

  bool fill();
  bool find_shifts();
  void solve(int level, int states, bool record);
  void copy_halves(int level, int kept_from, int kept, int other_from, int other);
  void eliminate(Block<Number> system, int states, int kept, bool record);
  void eliminate_panel(Block<Number> system, int begin, int end, bool record);
  void normalise(Number* row, int state, bool record);
  void see_pivot(Number pivot) {
    constexpr double SMALLEST = 1e-280;
    if constexpr (std::is_same_v<Number, double>)
      in_range_ = in_range_ && pivot > SMALLEST && pivot < 1 / SMALLEST;
  }
  void record_pivot(Number pivot);
  void record_last(Block<Number> system);
  void write(double* out);
  double spread() const;

  const Number* scores_;
  int n_, width_;
  size_t stride_;
  std::vector<double>& shift_;
  EliminationLevels<Number>& levels_;
  bool has_holes_ = false;  // an arc between words is forbidden: with a single root, order 0 may occur
  double root_shift_ = 0;
  double log_partition_ = 0;
  Number partition_ = unit<Number>();
  double magnified_ = 0, largest_shift_ = 0;
  bool in_range_ = true;
  int zero_pivots_ = 0, recorded_zeros_ = 0;
};

// Finds column shifts that make the largest weight of each row of the system 1 (single root: of the exits to
// words; the root's weights, infinitesimal anyway, share a separate shift). Returns false if some word has no
// possible head.
template <typename Number, bool SINGLE>
bool TreeElimination<Number, SINGLE>::find_shifts() {
  shift_.assign(width_, MINUS_INFINITY);
  for (int h = SINGLE ? 1 : 0; h <= n_; ++h) {
    const double* row = scores_ + static_cast<size_t>(h) * width_;
    const double own = shift_[h];
    for (int m = 0; m <= n_; ++m) shift_[m] = row[m] > shift_[m] ? row[m] : shift_[m];
    shift_[h] = own;
  }
  if (SINGLE) {
    root_shift_ = MINUS_INFINITY;
    for (int m = 1; m <= n_; ++m) {
      if (shift_[m] == MINUS_INFINITY) shift_[m] = scores_[m];
      if (shift_[m] != MINUS_INFINITY) root_shift_ = std::max(root_shift_, scores_[m] - shift_[m]);
    }
    if (root_shift_ == MINUS_INFINITY) return false;
  }
  log_partition_ = root_shift_;
  largest_shift_ = std::fabs(root_shift_);
  for (int m = 1; m <= n_; ++m) {
    log_partition_ += shift_[m];
    largest_shift_ = std::max(largest_shift_, std::fabs(shift_[m]));
  }
  return log_partition_ != MINUS_INFINITY;
}

// Fills in the weights and, transposed, the system of all words.
template <typename Number, bool SINGLE>
bool TreeElimination<Number, SINGLE>::fill() {
  if constexpr (SHIFTED)
    if (!find_shifts()) return false;
  levels_.grow(n_, stride_);
  const Block<Number> weights{levels_.weights.data(), stride_}, all = system(0);
  for (int h = 0; h <= n_; ++h) {
    const Number* row = scores_ + static_cast<size_t>(h) * width_;
    if constexpr (SHIFTED)
      exp_of(row + 1, &shift_[1], h == 0 ? root_shift_ : 0, n_, weights.row(h) + 1);
    else
      std::copy_n(row + 1, n_, weights.row(h) + 1);
    weights.row(h)[h] = Number();
  }
  for (int m = 1; m <= n_; ++m) {
    Number* to = all.row(m - 1);
    to[0] = weights.row(0)[m];
    if (SINGLE) to[1] = Number();
    for (int h = 1; h <= n_; ++h) to[ROOT_COLUMNS + h - 1] = weights.row(h)[m];
    if (SINGLE)
      has_holes_ = has_holes_ || std::count(to + ROOT_COLUMNS, to + ROOT_COLUMNS + n_, Number()) > 1;
  }
  return true;
}

// escapes(level, .)[h][m] for all states of the level: eliminates one half, recurses on the other, and
// substitutes back.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::solve(int level, int states, bool record) {
  if (states == 1) {
    for (int order = 0; order < ORDERS; ++order) escapes(level, order).row(0)[0] = Number();
    if (record) record_last(system(level));
    return;
  }
  const int first = (states + 1) / 2, second = states - first;
  for (bool second_half : {false, true}) {
    const int kept_from = second_half ? first : 0, kept = second_half ? second : first;
    const int other_from = second_half ? 0 : first, other = states - kept;
    copy_halves(level, kept_from, kept, other_from, other);
    const Block<Number> reduced = system(level + 1);
    eliminate(reduced, states, kept, record && !second_half);
    solve(level + 1, kept, record && !second_half);
    for (int order = SINGLE && !has_holes_ ? 1 : 0; order < ORDERS; ++order) {
      const Block<Number> inner = escapes(level + 1, order), outer = escapes(level, order);
      for (int i = 0; i < kept; ++i) std::copy_n(inner.row(i), kept, outer.row(kept_from + i) + kept_from);
      // u_e = root_e + sum over kept states a of row_e[a] u_a
      const int column = ROOT_COLUMNS - 1 - order;
      for (int i = 0; i < other; ++i)
        std::fill_n(outer.row(other_from + i) + kept_from, kept, reduced.row(kept + i)[column]);
      add_product(outer.at(other_from, kept_from), reduced.at(kept, ROOT_COLUMNS), inner, other, kept, kept);
    }
  }
}

// Builds the system of a level, with the half to keep in front.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::copy_halves(int level, int kept_from, int kept, int other_from,
                                                  int other) {
  const Block<Number> from = system(level), to = system(level + 1);
  for (int i = 0; i < kept + other; ++i) {
    const Number* source = from.row(i < kept ? kept_from + i : other_from + i - kept);
    Number* target = std::copy_n(source, ROOT_COLUMNS, to.row(i));
    target = std::copy_n(source + ROOT_COLUMNS + kept_from, kept, target);
    std::copy_n(source + ROOT_COLUMNS + other_from, other, target);
  }
}

// Eliminates the states kept..states-1: afterwards their rows and those of the kept states lead only to kept
// states and the root. Panels of states are eliminated among themselves; their effect on other rows is a
// matrix product.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::eliminate(Block<Number> system, int states, int kept, bool record) {
  for (int end = states, begin; end > kept; end = begin) {
    if (states >= WORDS_PER_CHECK) check_work_limit();
    begin = std::max(kept, end - PANEL);
    eliminate_panel(system, begin, end, record);
    const int into = ROOT_COLUMNS + begin;  // first column of the panel
    const Block<Number> panel = system.at(begin, 0);
    add_product(system.at(kept, 0), system.at(kept, into), panel, begin - kept, end - begin, into);
    add_product(system.at(end, 0), system.at(end, into), panel, states - end, end - begin, into);
  }
  add_product(system, system.at(0, ROOT_COLUMNS + kept), system.at(kept, 0), kept, states - kept,
              ROOT_COLUMNS + kept);
}

// row_e /= s, then row_i += row_i[e] row_e for the other rows of the panel.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::eliminate_panel(Block<Number> system, int begin, int end, bool record) {
  for (int e = end - 1; e >= begin; --e) {
    Number* row = system.row(e);
    normalise(row, e, record);
    for (int i = begin; i < end; ++i)
      if (i != e) add_multiple(system.row(i), system.row(i)[ROOT_COLUMNS + e], row, ROOT_COLUMNS + e);
  }
}

// Divides a row by s = its exits to the states before it and to the root; with a single root, s excludes
// order-1 mass unless there is nothing else: then all of it goes to the root with certainty.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::normalise(Number* row, int state, bool record) {
  constexpr int FIRST = SINGLE ? 1 : 0;
  Number pivot = sum_of(row + FIRST, ROOT_COLUMNS + state - FIRST);
  if (pivot == Number()) {
    ++zero_pivots_;
    recorded_zeros_ += record;
    if (SINGLE) {
      pivot = row[0];
      row[0] = Number();
      row[1] = pivot == Number() ? Number() : unit<Number>();
    }
  } else {
    see_pivot(pivot);
    const Number scale = unit<Number>() / pivot;
    for (int i = 0; i < ROOT_COLUMNS + state; ++i) row[i] = row[i] * scale;
  }
  if (record) record_pivot(pivot);
}

// log Z = sum of shifts + sum of log pivots of one full elimination.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::record_pivot(Number pivot) {
  if constexpr (SHIFTED) {
    const double log_pivot = std::log(pivot);
    log_partition_ += log_pivot;
    magnified_ -= std::min(log_pivot, 0.0);
  } else {
    partition_ *= pivot;
  }
}

// The last state has the root as its only exit. With a single root exactly one pivot of the whole elimination
// is of order 1: two of them mean two words that only the root can govern.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::record_last(Block<Number> system) {
  const Number* row = system.row(0);
  const bool of_order_1 = SINGLE && row[ROOT_COLUMNS - 1] == Number();
  record_pivot(of_order_1 ? row[0] : row[ROOT_COLUMNS - 1]);
  recorded_zeros_ += of_order_1;
  if (SINGLE && recorded_zeros_ > 1) {
    log_partition_ = MINUS_INFINITY;
    partition_ = Number();
  }
  if constexpr (!SHIFTED) log_partition_ = log_of(partition_);
}

// mu(h->m) ∝ w(h->m) esc_m(h), using only the order-0 escapes where a column has any.
template <typename Number, bool SINGLE>
void TreeElimination<Number, SINGLE>::write(double* out) {
  const Block<Number> weights{levels_.weights.data(), stride_};
  const Block<Number> escape = escapes(0, ORDERS - 1), sure_escape = escapes(0, 0);
  std::vector<Number>& sum = levels_.column_sum;
  if (SINGLE && has_holes_) {
    sum.assign(width_, Number());
    for (int h = 1; h <= n_; ++h)
      for (int m = 1; m <= n_; ++m) sum[m] += weights.row(h)[m] * sure_escape.row(h - 1)[m - 1];
    for (int m = 1; m <= n_; ++m) {
      if (sum[m] == Number()) continue;
      weights.row(0)[m] = Number();
      for (int h = 1; h <= n_; ++h) escape.row(h - 1)[m - 1] = sure_escape.row(h - 1)[m - 1];
    }
  }
  sum.assign(weights.row(0), weights.row(0) + width_);
  for (int h = 1; h <= n_; ++h) {
    Number* weight = weights.row(h);
    const Number* esc = escape.row(h - 1) - 1;
    for (int m = 1; m <= n_; ++m) {
      weight[m] = weight[m] * esc[m];
      sum[m] += weight[m];
    }
  }
  for (int m = 1; m <= n_; ++m) {
    see_pivot(sum[m]);
    sum[m] = unit<Number>() / sum[m];
  }
  for (int h = 0; h <= n_; ++h) {
    double* to = out + static_cast<size_t>(h) * width_;
    const Number* weight = weights.row(h);
    to[0] = 0;
    for (int m = 1; m <= n_; ++m) to[m] = answer_of(weight[m] * sum[m]);
  }
}

// The maximum difference between scores of arcs into the same word.
template <typename Number, bool SINGLE>
double TreeElimination<Number, SINGLE>::spread() const {
  double widest = 0;
  for (int h = 0; h <= n_; ++h)
    for (int m = 1; m <= n_; ++m) {
      const double score = scores_[static_cast<size_t>(h) * width_ + m] - (h == 0 ? root_shift_ : 0);
      if (h != m && score != MINUS_INFINITY) widest = std::max(widest, shift_[m] - score);
    }
  return widest;
}

}  // namespace arcwise
