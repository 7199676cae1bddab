// The chart of projective trees with adjacent siblings over any semiring, its outside pass, and the walk from the top down.
//
//   C(h,e)  h with all its modifiers on one side, covering the words from h to e    ⊕_m I(h,m) ⊗ C(m,e)
//   S(i,j)  what is between the adjacent siblings i and j                           ⊕_{i≤k<j} C(i,k) ⊗ C(j,k+1)
//   I(h,m)  an arc and everything between                                           arc(h,m) ⊗ inner(h,m)
//           inner(h,m) = first(h,m) ⊗ C(m,h±1)  ⊕  ⊕_s I(h,s) ⊗ S(s,m) ⊗ sibling(h,s,m)
//
// Layout: as eisner_chart.hpp, and `between` holds S(i,j) at both [i][j] and [j][i]. So the sum over s is a product of three contiguous
// rows, of which the siblings' is padded with zeros.
#pragma once
#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/inference/eisner_chart.hpp"

namespace arcwise {

// The semirings of eisner_chart.hpp with products of three rows. dot3_back<true> replaces each weight c_k by the probability of its term.
struct SiblingMaxPlus : MaxPlus {
  static constexpr double nothing =
      zero;  // the adjoint of a cell that no tree uses; here an adjoint is the best score around a cell
  static double plus(double a, double b) { return a > b ? a : b; }
  static double join(double a, double b) { return plus(a, b); }
  static double top_adjoint(double) { return one; }
  static double posterior(double cell, double adjoint) { return cell + adjoint; }
  static double part_adjoint(double adjoint, double weight) { return adjoint + weight; }
  static double span_of(double, double) { return zero; }
  static void dot_back(double adjoint, double, const double* a, const double* b, double* da, double* db,
                       int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes left = load(a + k), right = load(b + k);
      store(da + k, larger(load(da + k), d + right));
      store(db + k, larger(load(db + k), d + left));
    }
  }
  static double term_back(double adjoint, double, double weight, double cell, double& cell_adjoint) {
    cell_adjoint = plus(cell_adjoint, adjoint + weight);
    return adjoint + weight + cell;
  }
  template <bool keep_terms>
  static void dot3_back(double adjoint, double, const double* a, const double* b, double* c, double* da,
                        double* db, int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes left = load(a + k), right = load(b + k), weight = d + load(c + k);
      store(da + k, larger(load(da + k), weight + right));
      store(db + k, larger(load(db + k), weight + left));
      if constexpr (keep_terms) store(c + k, weight + left + right);
    }
  }
  static double dot3(const double* a, const double* b, const double* c, int length) {
    Lanes best = spread(zero);
    for (int k = 0; k < length; k += LANES) best = larger(load(a + k) + load(b + k) + load(c + k), best);
    return largest_of(best);
  }
};

struct SiblingSumProduct : SumProduct {
  static constexpr double nothing = 0;
  static double join(double a, double b) { return a + b; }
  static double plus(double a, double b) { return a + b; }
  static double dot3(const double* a, const double* b, const double* c, int length) {
    Lanes total = spread(zero);
    for (int k = 0; k < length; k += LANES) total += load(a + k) * load(b + k) * load(c + k);
    return sum_of(total);
  }
  // The probability of the term weight · cell of a sum, and its part of the cell's adjoint.
  static double term_back(double adjoint, double, double weight, double cell, double& cell_adjoint) {
    cell_adjoint += adjoint * weight;
    return adjoint * weight * cell;
  }
  template <bool keep_terms>
  static void dot3_back(double adjoint, double, const double* a, const double* b, double* c, double* da,
                        double* db, int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes left = load(a + k), right = load(b + k), weight = d * load(c + k);
      store(da + k, load(da + k) + weight * right);
      store(db + k, load(db + k) + weight * left);
      if constexpr (keep_terms) store(c + k, weight * left * right);
    }
  }
};

struct SiblingLogSum : LogSum {
  static constexpr double nothing = 0;
  static double join(double a, double b) { return a + b; }
  static double plus(double a, double b) {
    const double most = std::max(a, b), least = std::min(a, b);
    return least == zero ? most : most + std::log1p(std::exp(least - most));
  }
  static double dot3(const double* a, const double* b, const double* c, int length) {
    const double most = SiblingMaxPlus::dot3(a, b, c, length);
    if (length == 1 || most == zero) return most;
    Lanes total = spread(0.0);
    for (int k = 0; k < length; k += LANES)
      total += exp_of_nonpositive(load(a + k) + load(b + k) + load(c + k) - most);
    return most + std::log(sum_of(total));
  }
  static double term_back(double adjoint, double sum, double weight, double cell, double& cell_adjoint) {
    const double share = adjoint * std::exp(weight + cell - sum);
    cell_adjoint += share;
    return share;
  }
  template <bool keep_terms>
  static void dot3_back(double adjoint, double sum, const double* a, const double* b, double* c, double* da,
                        double* db, int length) {
    const Lanes d = spread(adjoint);
    for (int k = 0; k < length; k += LANES) {
      const Lanes share = d * exp_of_nonpositive(load(a + k) + load(b + k) + load(c + k) - sum);
      store(da + k, load(da + k) + share);
      store(db + k, load(db + k) + share);
      if constexpr (keep_terms) store(c + k, share);
    }
  }
};

// Four square tables of rows for one sentence, in memory of the workspace: the cells, or their adjoints.
struct SiblingTables {
  SiblingTables(std::vector<double>& memory, int n, double filling)
      : stride((n + 2 * LANES) & ~(LANES - 1)), size(static_cast<size_t>(n + 1) * stride) {
    if (memory.size() < 4 * size) memory.resize(4 * size);
    std::fill_n(memory.data(), 4 * size, filling);
    rows = memory.data();
  }
  double* incomplete(int head) const { return rows + static_cast<size_t>(head) * stride; }
  double* complete(int head) const { return incomplete(head) + size; }
  double* by_end(int end) const { return incomplete(end) + 2 * size; }
  double* between(int sibling) const { return incomplete(sibling) + 3 * size; }

  void set_complete(int head, int end, double value) const {
    complete(head)[end] = by_end(end)[head] = value;
  }
  double largest() const { return *std::max_element(rows, rows + 4 * size); }
  void set_between(int i, int j, double value) const { between(i)[j] = between(j)[i] = value; }

  int stride;  // at least n + 1 + LANES: sums start at most at n and may look one further
  size_t size;
  double* rows;
};

template <typename Semiring>
class EisnerSiblingsChart {
 public:
  // `weights` are the semiring's own numbers.
  EisnerSiblingsChart(SiblingRows& weights, bool single_root, EisnerSpans spans, std::vector<double>& memory)
      : n_(weights.n),
        single_root_(single_root),
        weights_(weights),
        spans_(spans),
        cells_(memory, n_, Semiring::zero) {
    for (int i = 0; i <= n_; ++i) cells_.set_complete(i, i, Semiring::one);
    for (int j = 1; j <= n_; ++j) {
      check_work_limit(j);
      for (int i = j - 1; i > 0; --i) {
        cells_.set_between(i, j, dot(span_splits(i, j)));
        fill_arc(i, j);
        fill_arc(j, i);
        fill_complete(i, j, right_splits(i, j));
        fill_complete(j, i, left_splits(i, j));
      }
      fill_arc(0, j);
      if (!single_root_ || j == n_) fill_complete(0, j, right_splits(0, j));  // no second root can follow
    }
  }

  double total() const { return cells_.complete(0)[n_]; }
  const SiblingTables& cells() const { return cells_; }

  // Products a[k]·b[k], k < length.
  struct Splits {
    const double *a, *b;
    int length;
  };
  Splits span_splits(int i, int j) const {
    return {cells_.complete(i) + i, cells_.complete(j) + i + 1, j - i};
  }
  Splits right_splits(int i, int j) const {
    return {cells_.incomplete(i) + i + 1, cells_.by_end(j) + i + 1, j - i};
  }
  Splits left_splits(int i, int j) const { return {cells_.incomplete(j) + i, cells_.by_end(i) + i, j - i}; }
  Splits complete_splits(int head, int end) const {
    return head < end ? right_splits(head, end) : left_splits(end, head);
  }

  // Products a[k]·b[k]·c[k], k < length: the inner siblings from the left. None under a single root.
  struct Siblings {
    const double *a, *b;
    double* c;
    int length, from;
  };
  Siblings sibling_splits(int head, int modifier) const {
    const int from = std::min(head, modifier) + 1, to = std::max(head, modifier);
    const int length = single_root_ && head == 0 ? 0 : to - from;
    return {cells_.incomplete(head) + from, cells_.between(modifier) + from, weights_.row(head, modifier),
            length, from};
  }
  double weight(int head, int modifier) const { return weights_.arcs[weights_.cell(head, modifier)]; }
  double first_weight(int head, int modifier) const { return weights_.first[weights_.cell(head, modifier)]; }
  static int next_to(int head, int modifier) { return head < modifier ? head + 1 : head - 1; }

  // The probability of every arc; with siblings_too, those of siblings replace the weights.
  template <bool siblings_too>
  void outside(double* arcs, std::vector<double>& memory);
  void walk(std::vector<int32_t>& pending, int32_t* heads) const;

 private:
  static double dot(Splits s) { return Semiring::dot(s.a, s.b, s.length); }

  void fill_arc(int head, int modifier) {
    const Siblings s = sibling_splits(head, modifier);
    const double first =
        Semiring::times(first_weight(head, modifier), cells_.complete(modifier)[next_to(head, modifier)]);
    const double inner = Semiring::plus(first, Semiring::dot3(s.a, s.b, s.c, s.length));
    cells_.incomplete(head)[modifier] = Semiring::times(weight(head, modifier), inner);
  }
  void fill_complete(int head, int end, Splits splits) {
    cells_.set_complete(head, end, span_stops(spans_, head, end) ? Semiring::zero : dot(splits));
  }

  int n_;
  bool single_root_;
  SiblingRows& weights_;
  EisnerSpans spans_;
  SiblingTables cells_;
};

// From the last column to the first, from the root inwards: when a cell is read, everything that uses it has been.
template <typename Semiring, bool siblings_too>
class EisnerSiblingsOutside {
 public:
  // arcs: (n+1)².
  EisnerSiblingsOutside(const EisnerSiblingsChart<Semiring>& chart, SiblingRows& weights, double* arcs,
                        std::vector<double>& memory)
      : chart_(chart), weights_(weights), arcs_(arcs), adjoints_(memory, weights.n, Semiring::nothing) {
    const int n = weights.n;
    std::fill_n(arcs, static_cast<size_t>(n + 1) * (n + 1), Semiring::nothing);
    adjoints_.complete(0)[n] = Semiring::top_adjoint(chart.total());
    for (int j = n; j > 0; --j) {
      check_work_limit(j);
      complete_back(0, j);
      arc_back(0, j);
      for (int i = 1; i < j; ++i) {
        complete_back(i, j);
        complete_back(j, i);
        between_back(i, j);
        arc_back(i, j);
        arc_back(j, i);
      }
    }
  }

 private:
  using Splits = typename EisnerSiblingsChart<Semiring>::Splits;

  [[gnu::always_inline]] void between_back(int i, int j) {
    const double adjoint = Semiring::join(adjoints_.between(i)[j], adjoints_.between(j)[i]);
    back(adjoint, chart_.cells().between(i)[j], chart_.span_splits(i, j));
  }
  [[gnu::always_inline]] void complete_back(int head, int end) {
    const double adjoint = Semiring::join(adjoints_.complete(head)[end], adjoints_.by_end(end)[head]);
    back(adjoint, chart_.cells().complete(head)[end], chart_.complete_splits(head, end));
  }
  // Adjoints stand at the same places as the cells that the splits point to.
  double* adjoint_of(const double* cell) const { return adjoints_.rows + (cell - chart_.cells().rows); }

  [[gnu::always_inline]] void back(double adjoint, double cell, Splits s) {
    if (cell == Semiring::zero || adjoint == Semiring::nothing) return;
    Semiring::dot_back(adjoint, cell, s.a, s.b, adjoint_of(s.a), adjoint_of(s.b), s.length);
  }
  [[gnu::always_inline]] void arc_back(int head, int modifier) {
    const int64_t at = weights_.cell(head, modifier);
    const double cell = chart_.cells().incomplete(head)[modifier];
    const double adjoint = adjoints_.incomplete(head)[modifier];
    const auto s = chart_.sibling_splits(head, modifier);
    if (cell == Semiring::zero || adjoint == Semiring::nothing) {
      if constexpr (siblings_too) {
        std::fill_n(s.c, s.length, Semiring::nothing);
        weights_.first[at] = Semiring::nothing;
      }
      return;
    }
    const double inner_adjoint = Semiring::part_adjoint(adjoint, weights_.arcs[at]);
    const double inner = Semiring::span_of(cell, weights_.arcs[at]);
    const int next = chart_.next_to(head, modifier);
    arcs_[at] = Semiring::posterior(cell, adjoint);
    const double first_term =
        Semiring::term_back(inner_adjoint, inner, weights_.first[at], chart_.cells().complete(modifier)[next],
                            adjoints_.complete(modifier)[next]);
    if constexpr (siblings_too) weights_.first[at] = first_term;
    Semiring::template dot3_back<siblings_too>(inner_adjoint, inner, s.a, s.b, s.c, adjoint_of(s.a),
                                               adjoint_of(s.b), s.length);
  }

  const EisnerSiblingsChart<Semiring>& chart_;
  SiblingRows& weights_;
  double* arcs_;
  SiblingTables adjoints_;
};

template <typename Semiring>
template <bool siblings_too>
void EisnerSiblingsChart<Semiring>::outside(double* arcs, std::vector<double>& memory) {
  EisnerSiblingsOutside<Semiring, siblings_too>(*this, weights_, arcs, memory);
}

// The best tree, from the top down. What waits is (kind, a, b): C(a,b) or S(a,b).
template <typename Semiring>
void EisnerSiblingsChart<Semiring>::walk(std::vector<int32_t>& pending, int32_t* heads) const {
  constexpr int32_t COMPLETE = 0, BETWEEN = 1;
  heads[0] = -1;
  pending.assign({COMPLETE, 0, n_});
  auto push = [&](int32_t kind, int a, int b) {
    if (a != b) pending.insert(pending.end(), {kind, a, b});
  };
  auto best_of = [](int length, auto value) {
    int best = 0;
    for (int k = 1; k < length; ++k)
      if (value(k) > value(best)) best = k;
    return best;
  };
  while (!pending.empty()) {
    const int b = pending.back(), a = pending[pending.size() - 2], kind = pending[pending.size() - 3];
    pending.resize(pending.size() - 3);
    const Splits splits = kind == BETWEEN ? span_splits(a, b) : complete_splits(a, b);
    const int k = best_of(splits.length, [&](int at) { return splits.a[at] + splits.b[at]; });
    if (kind == BETWEEN) {
      push(COMPLETE, a, a + k);
      push(COMPLETE, b, a + k + 1);
      continue;
    }
    int modifier = a < b ? a + 1 + k : b + k;
    push(COMPLETE, modifier, b);
    // The dependents of a from here inwards.
    for (;;) {
      heads[modifier] = a;
      const Siblings s = sibling_splits(a, modifier);
      const double first = first_weight(a, modifier) + cells_.complete(modifier)[next_to(a, modifier)];
      auto value = [&](int at) { return s.a[at] + s.b[at] + s.c[at]; };
      const int sibling = best_of(s.length, value);
      if (s.length == 0 || first >= value(sibling)) break;
      const int inner = s.from + sibling;
      push(BETWEEN, std::min(inner, modifier), std::max(inner, modifier));
      modifier = inner;
    }
    push(COMPLETE, modifier, next_to(a, modifier));
  }
}

}  // namespace arcwise
