// The best tree by the chart of eisner_siblings_chart.hpp, from scores as they stand in the caller's memory: columns are filled LANES at a
// time, so that every long maximum runs over contiguous rows and none has to be taken across lanes.
//
// For the block of columns J = first.. and each i, from the last column down, over i < k < first:
//   S(i,J) = max C(i,k) + C(J,k+1)      inner(i,J) = max I(i,k) + S(k,J) + sibling(i,k,J)
//   C(i,J) = max I(i,k) + C(k,J)        C(J,i)     = max I(J,k) + C(k,i)
// then the few terms within the block, column by column. An arc j→i is a term of all arcs j→m, m < i, and is added to them at once.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/base/interruption.hpp"
#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/factors/eisner_siblings.hpp"

namespace arcwise {

class EisnerSiblingsBlocks {
 public:
  // `limit`: no score that a tree can use should be above it, or NaN.
  EisnerSiblingsBlocks(const SiblingSentence& sentence, double limit, std::vector<double>& memory)
      : sentence_(sentence), n_(sentence.n), stride_((n_ + 2 * LANES) & ~(LANES - 1)), limit_(limit) {
    const size_t table = static_cast<size_t>(n_ + 2) * stride_, size = 5 * table + LANES * stride_;
    if (memory.size() < size) memory.resize(size);
    double* next = memory.data();
    for (double** rows : {&right_, &left_, &arcs_right_, &arcs_left_, &between_, &inner_left_}) {
      *rows = next;
      next += table;
    }
    for (int i = 0; i <= n_; ++i) right(i)[i] = left(i)[i] = 0;
    std::fill_n(right(0) + 1, n_, MINUS_INFINITY);
    for (int first = 1; first <= n_; first += LANES) {
      check_work_limit(first);
      fill_block(first, std::min(first + LANES - 1, n_));
    }
  }

  double total() const { return right(0)[n_]; }
  // Whether a score that was read is above the limit; true too for some that no tree can use.
  bool is_suspicious() const { return suspicious_; }

  // From the top down. What waits is (kind, a, b): C(a,b) or S(a,b).
  void walk(std::vector<int32_t>& pending, int32_t* heads) const;

 private:
  // C(h,e), I(h,m) and S(i,j): right(h)[e], left(e)[h], arcs_right(h)[m], arcs_left(m)[h]; between(i)[j] is between(j)[i].
  double* right(int head) const { return right_ + static_cast<size_t>(head) * stride_; }
  double* left(int end) const { return left_ + static_cast<size_t>(end) * stride_; }
  double* arcs_right(int head) const { return arcs_right_ + static_cast<size_t>(head) * stride_; }
  double* arcs_left(int modifier) const { return arcs_left_ + static_cast<size_t>(modifier) * stride_; }
  double* between(int i) const { return between_ + static_cast<size_t>(i) * stride_; }
  // What stands between a head of the block and each modifier on its left, by the siblings from before the block.
  double* inner_left(int column) const { return inner_left_ + static_cast<size_t>(column) * stride_; }

  const double* pairs(int head, int sibling) const {
    return sentence_.siblings + (static_cast<size_t>(head) * (n_ + 1) + sibling) * (n_ + 1);
  }
  double arc(int head, int modifier) const { return sentence_.arcs[head * (n_ + 1) + modifier]; }

  // Scores on their way into a sum; remembers whether one was above the limit. A local of each loop, so that it stays in registers.
  struct Watch {
    double limit;
    LaneBits lanes{};
    bool single = false;

    Lanes operator()(Lanes values) {
      lanes |= (LaneBits)(values <= limit) ^ ~uint64_t{0};
      return values;
    }
    double operator()(double value) {
      single |= !(value <= limit);
      return value;
    }
    bool found() const { return single | ((lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0); }
  };

  void fill_block(int first, int last) {
    std::fill_n(inner_left_, LANES * stride_, MINUS_INFINITY);
    Watch watch{limit_};
    for (int i = last - 1; i > 0; --i) {
      const Lanes none = spread(MINUS_INFINITY);
      Lanes span = i < first ? load(left(i + 1) + first) : none, inner = none, to_right = none,
            to_left = none;
      for (int k = i + 1; k < first; ++k) {
        __builtin_prefetch(pairs(i - 1, k) + first);
        const Lanes arc = spread(arcs_right(i)[k]), pair = watch(load(pairs(i, k) + first));
        span = larger(spread(right(i)[k]) + load(left(k + 1) + first), span);
        inner = larger(arc + load(between(k) + first) + pair, inner);
        to_right = larger(arc + load(right(k) + first), to_right);
        to_left = larger(spread(left(i)[k]) + load(arcs_left(k) + first), to_left);
      }
      if (i < first) {
        // A constant number of terms each, so that the compiler unrolls their loops.
        auto fill = [&](auto column) {
          constexpr int c = column;
          if (first + c > last) return;
          fill_words(i, first + c, c, c, {span[c], to_right[c], to_left[c], inner[c], inner_left(c)[i]});
        };
        fill(std::integral_constant<int, 0>());
        fill(std::integral_constant<int, 1>());
        fill(std::integral_constant<int, 2>());
        fill(std::integral_constant<int, 3>());
        push_left(i, first, last);
      } else {
        for (int j = i + 1; j <= last; ++j) fill_words(i, j, j - i, j - i - 1, {});
      }
    }
    suspicious_ |= watch.found();
    for (int j = first; j <= last; ++j) fill_root(j);
  }

  // The best of the terms from before the block.
  struct Begun {
    double span = MINUS_INFINITY, to_right = MINUS_INFINITY, to_left = MINUS_INFINITY;
    double inner_right = MINUS_INFINITY, inner_left = MINUS_INFINITY;
  };

  // All items over the words i..j; `spans` and `siblings` of the words before j are in the block.
  [[gnu::always_inline]] void fill_words(int i, int j, int spans, int siblings, Begun best) {
    for (int k = j - spans; k < j; ++k) best.span = std::max(best.span, right(i)[k] + left(k + 1)[j]);
    between(i)[j] = between(j)[i] = best.span;
    Watch watch{limit_};
    best.inner_right = std::max(best.inner_right, watch(pairs(i, i)[j]) + left(i + 1)[j]);
    best.inner_left = std::max(best.inner_left, watch(pairs(j, j)[i]) + right(i)[j - 1]);
    for (int s = j - siblings; s < j; ++s) {
      best.inner_right = std::max(best.inner_right, arcs_right(i)[s] + between(s)[j] + watch(pairs(i, s)[j]));
      best.inner_left = std::max(best.inner_left, arcs_left(s)[j] + between(s)[i] + watch(pairs(j, s)[i]));
    }
    const double to_j = watch(arc(i, j)) + best.inner_right, to_i = watch(arc(j, i)) + best.inner_left;
    arcs_right(i)[j] = to_j;
    arcs_left(i)[j] = to_i;
    best.to_right = std::max(best.to_right, to_j);
    best.to_left = std::max(best.to_left, to_i);
    for (int k = j - siblings; k < j; ++k) {
      best.to_right = std::max(best.to_right, arcs_right(i)[k] + right(k)[j]);
      best.to_left = std::max(best.to_left, arcs_left(k)[j] + left(i)[k]);
    }
    right(i)[j] = best.to_right;
    left(i)[j] = best.to_left;
    suspicious_ |= watch.single;
  }

  void push_left(int i, int first, int last) {
    const double* spans = between(i);
    Watch watch{limit_};
    for (int j = first; j <= last; ++j) {
      const double* from = pairs(j, i);
      double* to = inner_left(j - first);
      const Lanes arc = spread(arcs_left(i)[j]);
      for (int m = 1; m < i; m += LANES) {
        __builtin_prefetch(from + m - n_ - 1);
        const Lanes pair = watch(load(from + m));
        store(to + m, larger(arc + load(spans + m) + pair, load(to + m)));
      }
    }
    suspicious_ |= watch.found();
  }

  void fill_root(int j) {
    Watch watch{limit_};
    double inner = watch(pairs(0, 0)[j]) + left(1)[j];
    if (!sentence_.single_root)
      for (int s = 1; s < j; ++s)
        inner = std::max(inner, arcs_right(0)[s] + between(s)[j] + watch(pairs(0, s)[j]));
    arcs_right(0)[j] = watch(arc(0, j)) + inner;
    suspicious_ |= watch.single;
    if (sentence_.single_root && j < n_) return;  // no second root can follow
    for (int k = 1; k <= j; ++k) right(0)[j] = std::max(right(0)[j], arcs_right(0)[k] + right(k)[j]);
  }

  const SiblingSentence& sentence_;
  int n_, stride_;
  double limit_;
  bool suspicious_ = false;
  double *right_, *left_, *arcs_right_, *arcs_left_, *between_, *inner_left_;
};

inline void EisnerSiblingsBlocks::walk(std::vector<int32_t>& pending, int32_t* heads) const {
  constexpr int32_t COMPLETE = 0, BETWEEN = 1;
  heads[0] = -1;
  pending.assign({COMPLETE, 0, n_});
  auto push = [&](int32_t kind, int a, int b) {
    if (a != b) pending.insert(pending.end(), {kind, a, b});
  };
  auto best_of = [](int from, int to, auto value) {
    int best = from;
    double most = value(from);
    for (int k = from + 1; k < to; ++k)
      if (const double next = value(k); next > most) best = k, most = next;
    return best;
  };
  while (!pending.empty()) {
    const int b = pending.back(), a = pending[pending.size() - 2], kind = pending[pending.size() - 3];
    pending.resize(pending.size() - 3);
    if (kind == BETWEEN) {
      const int k = best_of(a, b, [&](int at) { return right(a)[at] + left(at + 1)[b]; });
      push(COMPLETE, a, k);
      push(COMPLETE, b, k + 1);
      continue;
    }
    const bool is_right = a < b;
    auto arc_of = [&](int m) { return is_right ? arcs_right(a)[m] : arcs_left(m)[a]; };
    auto rest_of = [&](int m) { return is_right ? right(m)[b] : left(b)[m]; };
    int modifier =
        best_of(is_right ? a + 1 : b, is_right ? b + 1 : a, [&](int m) { return arc_of(m) + rest_of(m); });
    push(COMPLETE, modifier, b);
    // The dependents of a from here inwards.
    for (;;) {
      heads[modifier] = a;
      const int next = is_right ? a + 1 : a - 1;
      const double first = pairs(a, a)[modifier] + (is_right ? left(next)[modifier] : right(modifier)[next]);
      const int from = std::min(a, modifier) + 1, to = std::max(a, modifier);
      auto value = [&](int s) { return arc_of(s) + between(s)[modifier] + pairs(a, s)[modifier]; };
      if (from == to || (a == 0 && sentence_.single_root)) {
        push(COMPLETE, modifier, next);
        break;
      }
      const int sibling = best_of(from, to, value);
      if (first >= value(sibling)) {
        push(COMPLETE, modifier, next);
        break;
      }
      push(BETWEEN, std::min(sibling, modifier), std::max(sibling, modifier));
      modifier = sibling;
    }
  }
}

}  // namespace arcwise
