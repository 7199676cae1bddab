// The chart of Eisner (1996) over any semiring, its outside pass, and the top-down traversal.
//
//   S(i,j)          words i..j: i with its right modifiers up to some k, j with its left ones from k+1
//   I(h→m)          an arc and everything between: the score of the arc ⊗ S
//   C(h→e), C(e←h)  h with all its modifiers on one side, covering the words from h to e
//
// Layout: row h of `incomplete` holds I(h→m) for all m, row h of `complete` holds C of head h for all ends e,
// row e of `by_end` the same cells for all heads. Each sum over splits is therefore a dot product of two
// contiguous rows. Unfilled cells hold the semiring's zero and rows are longer than n+1, so sums can overrun
// in steps of LANES instead of handling a tail.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/base/interruption.hpp"
#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/number_functions.hpp"
#include "kernels/inference/eisner.hpp"

namespace arcwise {

// The max-plus semiring; picks the best split.
struct MaxPlus {
  using Value = double;
  static constexpr double zero = MINUS_INFINITY, one = 0;
  static double times(double a, double b) { return a + b; }
  static double dot(const double* a, const double* b, int length) {
    Lanes best = spread(zero);
    for (int k = 0; k < length; k += LANES) best = larger(load(a + k) + load(b + k), best);
    return largest_of(best);
  }
};

// Weights exp(score - shift); the adjoint of a cell is ∂ log Z / ∂ cell.
struct SumProduct {
  using Value = double;
  static constexpr double zero = 0, one = 1;
  static double times(double a, double b) { return a * b; }
  static double dot(const double* a, const double* b, int length) {
    Lanes total = spread(zero);
    for (int k = 0; k < length; k += LANES) total += load(a + k) * load(b + k);
    return sum_of(total);
  }
  static double top_adjoint(double partition) { return 1 / partition; }
  static double posterior(double cell, double adjoint) { return cell * adjoint; }
  static double part_adjoint(double adjoint, double weight) { return adjoint * weight; }
  static double span_of(double, double) { return zero; }  // not needed by dot_back
  // The weights of the splits, up to a common factor.
  static void split_weights(const double* a, const double* b, int length, double* weights) {
    for (int k = 0; k < length; ++k) weights[k] = a[k] * b[k];
  }
  // cell = Σ a_k·b_k, so ∂a_k += ∂·b_k and ∂b_k += ∂·a_k
  static void dot_back(double adjoint, double, const double* a, const double* b, double* da, double* db,
                       int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes left = load(a + k), right = load(b + k);
      store(da + k, load(da + k) + d * right);
      store(db + k, load(db + k) + d * left);
    }
  }
};

// Logarithms of weights, for ranges that exceed a double; the adjoint of a cell is its probability.
struct LogSum {
  using Value = double;
  static constexpr double zero = MINUS_INFINITY, one = 0;
  static double times(double a, double b) { return a + b; }
  static double dot(const double* a, const double* b, int length) {
    const double most = MaxPlus::dot(a, b, length);
    if (length == 1 || most == zero) return most;
    Lanes total = spread(0.0);
    for (int k = 0; k < length; k += LANES) total += exp_of_nonpositive(load(a + k) + load(b + k) - most);
    return most + std::log(sum_of(total));
  }
  static double top_adjoint(double) { return 1; }
  static double posterior(double, double adjoint) { return adjoint; }
  static double part_adjoint(double adjoint, double) { return adjoint; }
  static double span_of(double cell, double weight) { return cell - weight; }
  static void split_weights(const double* a, const double* b, int length, double* weights) {
    double most = zero;
    for (int k = 0; k < length; ++k) most = std::max(most, a[k] + b[k]);
    for (int k = 0; k < length; ++k) weights[k] = std::exp(a[k] + b[k] - most);
  }
  // the probability of split k is that of the cell times exp(a_k + b_k - cell)
  static void dot_back(double adjoint, double cell, const double* a, const double* b, double* da, double* db,
                       int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes share = d * exp_of_nonpositive(load(a + k) + load(b + k) - cell);
      store(da + k, load(da + k) + share);
      store(db + k, load(db + k) + share);
    }
  }
};

// Weights of any number type with addition, multiplication and division; TallNumber covers any range. With
// derivative-carrying numbers the outside pass yields the derivatives of the probabilities.
template <typename Number>
struct SumOf {
  using Value = Number;
  static constexpr Number zero{};
  static inline const Number one = unit<Number>();
  static Number times(const Number& a, const Number& b) { return a * b; }
  static Number dot(const Number* a, const Number* b, int length) {
    Number total;
    for (int k = 0; k < length; ++k)
      if (!is_zero(a[k]) && !is_zero(b[k])) total += a[k] * b[k];
    return total;
  }
  static Number top_adjoint(const Number& partition) { return one / partition; }
  static double posterior(const Number& cell, const Number& adjoint) { return answer_of(cell * adjoint); }
  static Number part_adjoint(const Number& adjoint, const Number& weight) { return adjoint * weight; }
  static Number span_of(const Number&, const Number&) { return zero; }
  static void split_weights(const Number* a, const Number* b, int length, double* weights) {
    const Number scale = one / dot(a, b, length);
    for (int k = 0; k < length; ++k) weights[k] = as_double(a[k] * b[k] * scale);
  }
  static void dot_back(const Number& adjoint, const Number&, const Number* a, const Number* b, Number* da,
                       Number* db, int length) {
    for (int k = 0; k < length; ++k) {
      if (is_zero(a[k]) || is_zero(b[k])) continue;
      da[k] += adjoint * b[k];
      db[k] += adjoint * a[k];
    }
  }
};

// Three square tables of rows for one sentence, in workspace memory: the cells or their adjoints.
template <typename Value>
struct EisnerTables {
  EisnerTables(std::vector<Value>& memory, int n, const Value& filling)
      : stride((n + 2 * LANES) & ~(LANES - 1)), size(static_cast<size_t>(n + 1) * stride) {
    if (memory.size() < 3 * size) memory.resize(3 * size);
    std::fill_n(memory.data(), 3 * size, filling);
    rows = memory.data();
  }
  Value* incomplete(int head) const { return rows + static_cast<size_t>(head) * stride; }
  Value* complete(int head) const { return incomplete(head) + size; }
  Value* by_end(int end) const { return incomplete(end) + 2 * size; }

  void set_complete(int head, int end, const Value& value) const {
    complete(head)[end] = by_end(end)[head] = value;
  }

  int stride;  // at least n + 1 + LANES: sums start at n or before and may read one step further
  size_t size;
  Value* rows;
};

// A head outside a span must not stop in the middle of it: more than one word of the span would then have its
// head outside. (The scores forbid arcs from the span to words outside.)
inline bool span_stops(EisnerSpans spans, int head, int end) {
  for (int s = 0; s < spans.count; ++s) {
    const int first = spans.ends[2 * s], last = spans.ends[2 * s + 1];
    if (head < first && first <= end && end < last) return true;
    if (head > last && first < end && end <= last) return true;
  }
  return false;
}

template <typename Semiring>
class EisnerChart {
 public:
  using Value = typename Semiring::Value;

  // weights is (n+1)×(n+1), in the semiring's number type.
  EisnerChart(const Value* weights, int n, bool single_root, EisnerSpans spans, std::vector<Value>& memory)
      : n_(n),
        single_root_(single_root),
        weights_(weights),
        spans_(spans),
        cells_(memory, n, Semiring::zero) {
    for (int i = 0; i <= n; ++i) cells_.set_complete(i, i, Semiring::one);
    for (int j = 1; j <= n; ++j) {
      check_work_limit(j);
      for (int i = j - 1; i > 0; --i) fill_words(i, j);
      fill_root(j);
    }
  }

  const Value& total() const { return cells_.complete(0)[n_]; }
  const EisnerTables<Value>& cells() const { return cells_; }
  const Value& weight(int head, int modifier) const {
    return weights_[static_cast<size_t>(head) * (n_ + 1) + modifier];
  }
  int words() const { return n_; }

  // The splits of a cell: the products a[k]·b[k], k < length.
  struct Splits {
    const Value *a, *b;
    int length;
  };
  // S(i,j) = ⊕_{i≤k<j} C(i→k) ⊗ C(k+1←j)
  Splits span_splits(int i, int j) const {
    return {cells_.complete(i) + i, cells_.complete(j) + i + 1, j - i};
  }
  // C(i→j) = ⊕_{i<k≤j} I(i→k) ⊗ C(k→j)
  Splits right_splits(int i, int j) const {
    return {cells_.incomplete(i) + i + 1, cells_.by_end(j) + i + 1, j - i};
  }
  // C(i←j) = ⊕_{i≤k<j} I(k←j) ⊗ C(i←k)
  Splits left_splits(int i, int j) const { return {cells_.incomplete(j) + i, cells_.by_end(i) + i, j - i}; }

  void outside(double* marginals, std::vector<Value>& memory) const;
  template <typename Choose>
  void walk(Choose choose, std::vector<int32_t>& pending, int32_t* heads) const;

 private:
  static Value dot(Splits s) { return Semiring::dot(s.a, s.b, s.length); }

  void fill_words(int i, int j) {
    const Value span = dot(span_splits(i, j));
    cells_.incomplete(i)[j] = Semiring::times(weight(i, j), span);
    cells_.incomplete(j)[i] = Semiring::times(weight(j, i), span);
    const Value right = dot(right_splits(i, j)), left = dot(left_splits(i, j));
    cells_.set_complete(i, j, span_stops(spans_, i, j) ? Semiring::zero : right);
    cells_.set_complete(j, i, span_stops(spans_, j, i) ? Semiring::zero : left);
  }
  void fill_root(int j) {
    cells_.incomplete(0)[j] = Semiring::times(weight(0, j), dot(span_splits(0, j)));
    if (single_root_ && j < n_) return;  // C(0→j) stays zero: no second root can follow
    cells_.set_complete(0, j, span_stops(spans_, 0, j) ? Semiring::zero : dot(right_splits(0, j)));
  }

  int n_;
  bool single_root_;
  const Value* weights_;
  EisnerSpans spans_;
  EisnerTables<Value> cells_;
};

// Traverses columns from last to first and from the root inwards, so that every user of a cell is processed
// before the cell. Writes of dot_back beyond its range only reach cells that have already been read.
template <typename Semiring>
class EisnerOutside {
  using Value = typename Semiring::Value;
  using Passed = std::conditional_t<std::is_arithmetic_v<Value>, const Value, const Value&>;

 public:
  [[gnu::always_inline]] EisnerOutside(const EisnerChart<Semiring>& chart, double* marginals,
                                       std::vector<Value>& memory)
      : chart_(chart), n_(chart.words()), marginals_(marginals), adjoints_(memory, n_, Value()) {
    std::fill_n(marginals, static_cast<size_t>(n_ + 1) * (n_ + 1), 0.0);
    adjoints_.complete(0)[n_] = Semiring::top_adjoint(chart.total());
    for (int j = n_; j > 0; --j) {
      check_work_limit(j);
      complete_back(0, j);
      span_back(0, j);
      for (int i = 1; i < j; ++i) {
        complete_back(i, j);
        complete_back(j, i);
        span_back(i, j);
      }
    }
  }

 private:
  using Splits = typename EisnerChart<Semiring>::Splits;

  [[gnu::always_inline]] void complete_back(int head, int end) {
    Passed cell = chart_.cells().complete(head)[end];
    const Value adjoint = adjoints_.complete(head)[end] + adjoints_.by_end(end)[head];
    if (cell == Semiring::zero || adjoint == Value()) return;
    back(adjoint, cell, head < end ? chart_.right_splits(head, end) : chart_.left_splits(end, head));
  }

  // Processes the two arcs over a span: their probabilities, and the adjoint they pass on to the span. Under
  // the root, i = 0, there is only one.
  [[gnu::always_inline]] void span_back(int i, int j) {
    Value adjoint = Value(), span = Semiring::zero;
    arc_back(i, j, adjoint, span);
    if (i > 0) arc_back(j, i, adjoint, span);
    if (!(adjoint == Value())) back(adjoint, span, chart_.span_splits(i, j));
  }

  [[gnu::always_inline]] void arc_back(int head, int modifier, Value& span_adjoint, Value& span) {
    Passed cell = chart_.cells().incomplete(head)[modifier];
    if (cell == Semiring::zero) return;
    Passed adjoint = adjoints_.incomplete(head)[modifier];
    Passed weight = chart_.weight(head, modifier);
    marginals_[static_cast<size_t>(head) * (n_ + 1) + modifier] = Semiring::posterior(cell, adjoint);
    span_adjoint += Semiring::part_adjoint(adjoint, weight);
    span = Semiring::span_of(cell, weight);
  }

  // The adjoints are at the same positions as the cells that the splits refer to.
  [[gnu::always_inline]] void back(Passed adjoint, Passed cell, Splits splits) {
    const Value* cells = chart_.cells().rows;
    Semiring::dot_back(adjoint, cell, splits.a, splits.b, adjoints_.rows + (splits.a - cells),
                       adjoints_.rows + (splits.b - cells), splits.length);
  }

  const EisnerChart<Semiring>& chart_;
  int n_;
  double* marginals_;
  EisnerTables<Value> adjoints_;
};

template <typename Semiring>
void EisnerChart<Semiring>::outside(double* marginals, std::vector<Value>& memory) const {
  EisnerOutside<Semiring>(*this, marginals, memory);
}

// Traces one tree from the top down: choose(splits) picks the split of each cell. A pending cell is (head,
// end).
template <typename Semiring>
template <typename Choose>
void EisnerChart<Semiring>::walk(Choose choose, std::vector<int32_t>& pending, int32_t* heads) const {
  heads[0] = -1;
  pending.assign({0, n_});
  auto push = [&](int head, int end) {
    if (head != end) pending.insert(pending.end(), {head, end});
  };
  while (!pending.empty()) {
    const int end = pending.back(), head = pending[pending.size() - 2];
    pending.resize(pending.size() - 2);
    const int modifier =
        head < end ? head + 1 + choose(right_splits(head, end)) : end + choose(left_splits(end, head));
    heads[modifier] = head;
    push(modifier, end);
    const int i = std::min(head, modifier), j = std::max(head, modifier);
    const int k = i + choose(span_splits(i, j));
    push(i, k);
    push(j, k + 1);
  }
}

}  // namespace arcwise
