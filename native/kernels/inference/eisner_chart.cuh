// The chart of Eisner (1996), filled by one block of threads: all cells of a width at the same time, with one
// barrier per width. eisner_chart.hpp explains the names of the cells. Row h of a table holds the cells of
// head h: C(h→e) right of the diagonal, C(e←h) left of it.
//
// A cell of width d is a sum over narrower cells, except for one term, the arc across its whole width:
//   S(i,j)   =          Σ_{i<m<j}  C(i→m-1) · C(m←j)   + C(i→j-1)
//   C(i→j)   = I(i→j) + Σ_{i<m<j}  I(i→m) · C(m→j)          I(i→j) = w(i→j) · S(i,j)
//   C(i←j)   = I(i←j) + Σ_{i<m<j}  I(m←j) · C(i←m)          I(i←j) = w(i←j) · S(i,j)
// So the group of lanes that computes S(i,j) computes the other four at once. The adjoints likewise, starting
// from the widest: d x = ∂ log Z / ∂ x,
//   dC(i→j) =           Σ_{x>j}  dS(i,x) · C(j+1←x)  +  Σ_{x<i}  dC(x→j) · I(x→i)
//   dC(i←j) =           Σ_{x>j}  dC(i←x) · I(j←x)    +  Σ_{x<i}  dS(x,j) · C(x→i-1)
//   dI(i→j) = dC(i→j) + Σ_{x>j}  dC(i→x) · C(j→x)
//   dI(i←j) = dC(i←j) + Σ_{x<i}  dC(x←j) · C(x←i)
//   dS(i,j) = w(i→j) · dI(i→j) + w(i←j) · dI(i←j)
// and the probability of an arc is I · dI.
#pragma once
#include "kernels/inference/eisner_sentence.cuh"

namespace arcwise {

// Assigns the cells of a width to groups in order; groups of 8 lanes swap the middle two of each four, to
// avoid bank conflicts.
template <typename Group>
DEVICE int eisner_turn(int group) {
  return Group::COUNT == 8 ? (group & ~3) | (group & 1) << 1 | (group >> 1 & 1) : group;
}

// Calls work(Lanes<…>) with enough lanes per cell to keep every thread busy; with few lanes if there are more
// cells than threads. Number types other than double always get 8 lanes, which reduces the kernel to a third
// of its size.
template <typename Number, typename Work>
DEVICE void with_lanes(int cells, Work work) {
  if (sizeof(Number) != sizeof(double))
    work(Lanes<8>());
  else if (cells * 16 <= thread_count())
    work(Lanes<16>());
  else if (cells * 8 <= thread_count())
    work(Lanes<8>());
  else
    work(Lanes<4>());
}

// The tables of one sentence. Some are in shared memory and the rest in the block's workspace, in this order:
// C, I, dS, dC. S shares its memory with dS: each entry of S is read for the last time just before its dS is
// written. SHARED is the number of tables in shared memory, known to the compiler; -1: known only at run
// time.
template <typename Number, int SHARED>
struct EisnerTables {
  EisnerTable<Number> complete, incomplete;
  EisnerTriangle<Number> span;
  EisnerTable<Number> complete_adjoint;

  DEVICE EisnerTables(int n, int counted, char* memory, char* workspace)
      : complete{nullptr, eisner_stride(n)},
        incomplete{nullptr, eisner_stride(n)},
        span(nullptr, n),
        complete_adjoint{nullptr, eisner_stride(n)} {
    const int shared = SHARED < 0 ? counted : SHARED;
    const int64_t square = bytes(n, 1, 0), triangle = bytes(n, 0, 1);
    const auto take = [&](bool is_shared, int64_t size) {
      char* start = is_shared ? memory : workspace;
      (is_shared ? memory : workspace) += size;
      return reinterpret_cast<Number*>(start);
    };
    complete.cells = take(shared >= 1, square);
    incomplete.cells = take(shared >= 2, square);
    span.cells = take(shared >= 3, triangle);
    complete_adjoint.cells = take(shared >= 4, square);
  }

  static DEVICE int64_t bytes(int n, int squares, int triangles) {
    const int64_t rows =
        static_cast<int64_t>(squares) * (n + 1) + static_cast<int64_t>(triangles) * (n / 2 + 1);
    return rows * eisner_stride(n) * sizeof(Number);
  }
};

// The number of tables that fit into shared memory.
template <typename Number>
DEVICE int eisner_shared_tables(int n, int64_t room) {
  const int64_t square = EisnerTables<Number, 0>::bytes(n, 1, 0),
                triangle = EisnerTables<Number, 0>::bytes(n, 0, 1);
  return room < square                  ? 0
         : room < 2 * square            ? 1
         : room < 2 * square + triangle ? 2
         : room < 3 * square + triangle ? 3
                                        : 4;
}

template <typename Number, typename Scalar, int SHARED>
class EisnerChart {
 public:
  DEVICE EisnerChart(const EisnerSentence<Scalar>& sentence, const EisnerScratch& scratch, int shared,
                     char* workspace)
      : sentence_(sentence),
        scratch_(scratch),
        n_(sentence.n),
        tables_(sentence.n, shared, scratch.tables, workspace) {}

  // Initialises I with the arc weights weight(head, modifier). C(h→h) = 1; nothing ends at the root. Ends
  // with a barrier.
  template <typename Weight>
  DEVICE void start(Weight weight) {
    const int side = n_ + 1;
    for (int at = thread_index(); at < side * side; at += thread_count()) {
      const int h = at / side, m = at % side;
      if (h == m)
        set_one(tables_.complete(h, h));
      else if (m > 0)
        tables_.incomplete(h, m) = weight(h, m);
      else
        tables_.complete(h, 0) = Number{};
    }
    sync_block();
  }

  // KEEPS_SPANS: also stores S. Ends with a barrier.
  template <bool KEEPS_SPANS>
  DEVICE void fill() {
    for (int width = 1; width <= n_; ++width) {
      with_lanes<Number>(n_ + 1 - width, [&](auto group) { fill_width<KEEPS_SPANS>(group, width); });
      sync_block();
    }
  }

  DEVICE Number total() const { return tables_.complete(0, n_); }
  DEVICE const EisnerTables<Number, SHARED>& tables() const { return tables_; }

  // Calls answer(head, modifier, I · dI) for every arc and check(x) for every adjoint.
  template <typename Answer, typename Check>
  DEVICE void outside(Answer answer, Check check) {
    for (int h = thread_index() + 1; h <= n_; h += thread_count()) tables_.complete_adjoint(h, 0) = Number{};
    for (int width = n_; width > 0; --width) {
      sync_block();
      with_lanes<Number>(n_ + 1 - width, [&](auto group) { outside_width(group, width, answer, check); });
    }
    sync_block();
  }

 private:
  static constexpr int UNROLLED = sizeof(Number) == sizeof(double) ? 2 : 1;

  template <bool KEEPS_SPANS, typename Group>
  DEVICE void fill_width(Group, int width) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const int cells = n_ + 1 - width;
    for (int begin = 0; begin < cells; begin += Group::groups()) {
      const int i = begin + eisner_turn<Group>(Group::group()), j = i + width;
      Number span{}, right{}, left{};
      if (i < cells) {
        UNROLL
        for (int m = i + 1 + Group::lane(); m < j; m += Group::COUNT) {
          span += C(i, m - 1) * C(j, m);
          right += I(i, m) * C(m, j);
          left += I(j, m) * C(m, i);
        }
      }
      span = Group::sum(span), right = Group::sum(right), left = Group::sum(left);
      if (i >= cells) continue;
      span += C(i, j - 1);
      if (Group::lane() == 0) {
        const Number arc = I(i, j) * span;
        I(i, j) = arc;
        C(i, j) = sentence_.stops(i, j) ? Number{} : right + arc;
        if (KEEPS_SPANS) tables_.span(i, j) = span;
      }
      if (Group::lane() == Group::COUNT - 1 && i > 0) {
        const Number arc = I(j, i) * span;
        I(j, i) = arc;
        C(j, i) = sentence_.stops(j, i) ? Number{} : left + arc;
      }
    }
  }

  template <typename Group, typename Answer, typename Check>
  DEVICE void outside_width(Group, int width, Answer answer, Check check) {
    const auto &C = tables_.complete, &I = tables_.incomplete, &dC = tables_.complete_adjoint;
    const auto& dS = tables_.span;
    const int cells = n_ + 1 - width;
    for (int begin = 0; begin < cells; begin += Group::groups()) {
      const int i = begin + eisner_turn<Group>(Group::group()), j = i + width;
      Number right{}, left{}, right_arc{}, left_arc{};
      if (i < cells) {
        UNROLL
        for (int x = j + 1 + Group::lane(); x <= n_; x += Group::COUNT) {
          right += dS(i, x) * C(x, j + 1);
          left += dC(x, i) * I(x, j);
          right_arc += dC(i, x) * C(j, x);
        }
        UNROLL
        for (int x = Group::lane(); x < i; x += Group::COUNT) {
          right += dC(x, j) * I(x, i);
          left += dS(x, j) * C(x, i - 1);
          left_arc += dC(j, x) * C(i, x);
        }
      }
      right = Group::sum(right), left = Group::sum(left);
      right_arc = Group::sum(right_arc), left_arc = Group::sum(left_arc);
      if (i >= cells) continue;
      if (width == n_) set_one(right), right = right / total();
      if (sentence_.stops(i, j)) right = Number{};
      if (i == 0 || sentence_.stops(j, i)) left = Number{};
      right_arc += right;
      if (i > 0) left_arc += left;
      const Number right_share = I(i, j) * right_arc;
      const Number left_share = i > 0 ? I(j, i) * left_arc : Number{};
      if (Group::lane() == 0) {
        const Number adjoint = span_adjoint(i, j, right_arc, left_arc, right_share + left_share);
        dS(i, j) = adjoint;
        dC(i, j) = right;
        answer(i, j, right_share);
        check(right_arc), check(adjoint);
      }
      if (Group::lane() == Group::COUNT - 1 && i > 0) {
        dC(j, i) = left;
        answer(j, i, left_share);
        check(left_arc);
      }
    }
  }

  // w = I / S, so dS = Σ w · dI = Σ (I · dI) / S. Where S is zero, recomputes the weights.
  DEVICE Number span_adjoint(int i, int j, const Number& right_arc, const Number& left_arc,
                             const Number& shares) const {
    const Number span = tables_.span(i, j);
    if (!is_zero(span)) return shares / span;
    const Number right = right_arc * eisner_weight<Number>(sentence_, scratch_.shifts, i, j);
    return i > 0 ? right + left_arc * eisner_weight<Number>(sentence_, scratch_.shifts, j, i) : right;
  }

  const EisnerSentence<Scalar>& sentence_;
  const EisnerScratch& scratch_;
  int n_;
  EisnerTables<Number, SHARED> tables_;
};

}  // namespace arcwise
