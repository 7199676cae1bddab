// The split-head chart of the DMV over any number type with + and *: MaxPlus gives the best tree, double and
// LogNumber the sum over trees. Private to dmv.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/induction/dmv.hpp"

namespace arcwise {

struct MaxPlus {  // + is max, * is +
  double value = MINUS_INFINITY;
  friend MaxPlus operator+(MaxPlus a, MaxPlus b) { return {std::max(a.value, b.value)}; }
  friend MaxPlus operator*(MaxPlus a, MaxPlus b) { return {a.value + b.value}; }
};

struct LogNumber {  // a non-negative number, stored as its logarithm
  double value = MINUS_INFINITY;
  friend LogNumber operator*(LogNumber a, LogNumber b) { return {a.value + b.value}; }
  friend LogNumber operator+(LogNumber a, LogNumber b) {
    const double high = std::max(a.value, b.value), low = std::min(a.value, b.value);
    return {low == MINUS_INFINITY ? high : high + std::log1p(std::exp(low - high))};
  }
};

template <typename W>
W from_log(double x) {
  if constexpr (std::is_same_v<W, double>)
    return std::exp(x);
  else
    return W{x};
}
inline double to_log(double x) { return std::log(x); }
inline double to_log(MaxPlus x) { return x.value; }
inline double to_log(LogNumber x) { return x.value; }

// Weights of the steps that can build a tree of one sentence.
template <typename W>
struct DmvSteps {
  int n = 0;
  std::vector<W> arc;       // (n+1)*(n+1): arc[h*(n+1)+m]; row 0 holds the roots
  std::vector<W> decision;  // (n+1)*8: [word][side][later][stop, continue]
  W& at_arc(int h, int m) { return arc[h * (n + 1) + m]; }
  W& at(int word, int side, int later, int what) {
    return decision[((word * 2 + side) * 2 + later) * 2 + what];
  }
  void resize(int words) {
    n = words;
    arc.assign((n + 1) * (n + 1), W{});
    decision.assign((n + 1) * 8, W{});
  }
};

// right(i, j): word i with all of its right children, which cover i+1..j, and its stop; left(j, i) mirrors
// it. *_open: at least one child and no stop yet. *_arc: the last child is j (or i) without its outer half.
// The first index of every table is the head: left(j, i) is in row j.
template <typename W>
struct DmvChart {
  int n = 0;
  std::vector<W> right, left, right_open, left_open, right_arc, left_arc;
  W total{};
  int at(int head, int end) const { return head * (n + 2) + end; }
  void clear(int words) {
    n = words;
    for (auto* table : {&right, &left, &right_open, &left_open, &right_arc, &left_arc})
      table->assign((n + 2) * (n + 2), W{});
    total = W{};
  }
};

// Calls visit(k, weight) for each way to build an item from a pair of smaller items.
template <typename W, typename Visit>
void right_arc_ways(DmvSteps<W>& steps, const DmvChart<W>& chart, int i, int j, Visit visit) {
  visit(i, steps.at(i, RIGHT_SIDE, 0, CONTINUE) * chart.left[chart.at(j, i + 1)]);
  const W more = steps.at(i, RIGHT_SIDE, 1, CONTINUE);
  for (int k = i + 1; k < j; ++k)
    visit(k, more * (chart.right_open[chart.at(i, k)] * chart.left[chart.at(j, k + 1)]));
}
template <typename W, typename Visit>
void left_arc_ways(DmvSteps<W>& steps, const DmvChart<W>& chart, int i, int j, Visit visit) {
  visit(j, steps.at(j, LEFT_SIDE, 0, CONTINUE) * chart.right[chart.at(i, j - 1)]);
  const W more = steps.at(j, LEFT_SIDE, 1, CONTINUE);
  for (int k = i + 1; k < j; ++k)
    visit(k, more * (chart.left_open[chart.at(j, k)] * chart.right[chart.at(i, k - 1)]));
}
template <typename W, typename Visit>
void right_open_ways(const DmvChart<W>& chart, int i, int j, Visit visit) {
  for (int k = i + 1; k <= j; ++k) visit(k, chart.right_arc[chart.at(i, k)] * chart.right[chart.at(k, j)]);
}
template <typename W, typename Visit>
void left_open_ways(const DmvChart<W>& chart, int i, int j, Visit visit) {
  for (int k = i; k < j; ++k) visit(k, chart.left_arc[chart.at(j, k)] * chart.left[chart.at(k, i)]);
}

template <typename W>
void dmv_inside(DmvSteps<W>& steps, DmvChart<W>& chart) {
  const int n = steps.n;
  chart.clear(n);
  for (int i = 1; i <= n; ++i) {
    chart.right[chart.at(i, i)] = steps.at(i, RIGHT_SIDE, 0, STOP);
    chart.left[chart.at(i, i)] = steps.at(i, LEFT_SIDE, 0, STOP);
  }
  for (int width = 1; width < n; ++width) {
    for (int i = 1, j = 1 + width; j <= n; ++i, ++j) {
      W sum{};
      const auto add = [&sum](int, W way) { sum = sum + way; };
      // right_arc(i,j) = arc(i,j) * (continue_adj * left(j,i+1) + continue * sum_k right_open(i,k) *
      // left(j,k+1))
      right_arc_ways(steps, chart, i, j, add);
      chart.right_arc[chart.at(i, j)] = steps.at_arc(i, j) * sum;
      sum = W{};
      left_arc_ways(steps, chart, i, j, add);
      chart.left_arc[chart.at(j, i)] = steps.at_arc(j, i) * sum;
      // right_open(i,j) = sum_k right_arc(i,k) * right(k,j);   right(i,j) = stop * right_open(i,j)
      sum = W{};
      right_open_ways(chart, i, j, add);
      chart.right_open[chart.at(i, j)] = sum;
      chart.right[chart.at(i, j)] = steps.at(i, RIGHT_SIDE, 1, STOP) * sum;
      sum = W{};
      left_open_ways(chart, i, j, add);
      chart.left_open[chart.at(j, i)] = sum;
      chart.left[chart.at(j, i)] = steps.at(j, LEFT_SIDE, 1, STOP) * sum;
    }
  }
  for (int r = 1; r <= n; ++r)
    chart.total =
        chart.total + steps.at_arc(0, r) * (chart.left[chart.at(r, 1)] * chart.right[chart.at(r, n)]);
}

// Traces the chart back from the whole sentence; `choose(ways)` picks one k among the given ways.
template <typename W, typename Choose>
class DmvTreeBuilder {
 public:
  DmvTreeBuilder(DmvSteps<W>& steps, const DmvChart<W>& chart, Choose& choose, int32_t* heads)
      : steps_(steps), chart_(chart), choose_(choose), heads_(heads) {}

  void build() {
    const int n = chart_.n;
    const int root = choose_([&](auto visit) {
      for (int r = 1; r <= n; ++r)
        visit(r, steps_.at_arc(0, r) * (chart_.left[chart_.at(r, 1)] * chart_.right[chart_.at(r, n)]));
    });
    heads_[0] = -1;
    heads_[root] = 0;
    left(root, 1);
    right(root, n);
  }

 private:
  void right(int i, int j) {  // both right(i,j) and right_open(i,j)
    if (i == j) return;
    const int child = choose_([&](auto visit) { right_open_ways(chart_, i, j, visit); });
    heads_[child] = i;
    right(child, j);
    const int k = choose_([&](auto visit) { right_arc_ways(steps_, chart_, i, child, visit); });
    left(child, k + 1);
    right(i, k);
  }
  void left(int j, int i) {
    if (i == j) return;
    const int child = choose_([&](auto visit) { left_open_ways(chart_, i, j, visit); });
    heads_[child] = j;
    left(child, i);
    const int k = choose_([&](auto visit) { left_arc_ways(steps_, chart_, child, j, visit); });
    right(child, k - 1);
    left(j, k);
  }

  DmvSteps<W>& steps_;
  const DmvChart<W>& chart_;
  Choose& choose_;
  int32_t* heads_;
};

// Expected counts of all steps: the outside pass, as the chain rule applied backwards to dmv_inside.
// `outside` and `expected` receive d total / d item and step * (d total / d step); divide by total to get
// expectations.
template <typename W>
void dmv_outside(DmvSteps<W>& steps, const DmvChart<W>& chart, DmvChart<W>& outside, DmvSteps<W>& expected) {
  const int n = steps.n;
  outside.clear(n);
  expected.resize(n);
  const auto add = [](W& to, W what) { to = to + what; };
  for (int r = 1; r <= n; ++r) {
    const W l = chart.left[chart.at(r, 1)], h = chart.right[chart.at(r, n)], root = steps.at_arc(0, r);
    add(outside.left[chart.at(r, 1)], root * h);
    add(outside.right[chart.at(r, n)], root * l);
    expected.at_arc(0, r) = root * (l * h);
  }
  // One side at a time: `mine` and `other` are the halves on the head's side and on the child's inner side.
  const auto arc_back = [&](int head, int child, int side, const std::vector<W>& open,
                            const std::vector<W>& inner, const std::vector<W>& arcs, DmvChart<W>& out,
                            std::vector<W>& out_open, std::vector<W>& out_inner,
                            const std::vector<W>& out_arcs) {
    const int step = head < child ? 1 : -1;
    const W above = out_arcs[out.at(head, child)];
    add(expected.at_arc(head, child), above * arcs[chart.at(head, child)]);
    const W here = above * steps.at_arc(head, child);
    const W first = steps.at(head, side, 0, CONTINUE), more = steps.at(head, side, 1, CONTINUE);
    const W adjacent = inner[chart.at(child, head + step)];
    add(out_inner[chart.at(child, head + step)], here * first);
    add(expected.at(head, side, 0, CONTINUE), here * (first * adjacent));
    for (int k = head + step; k != child; k += step) {
      const W o = open[chart.at(head, k)], in = inner[chart.at(child, k + step)];
      add(out_open[chart.at(head, k)], here * (more * in));
      add(out_inner[chart.at(child, k + step)], here * (more * o));
      add(expected.at(head, side, 1, CONTINUE), here * (more * (o * in)));
    }
  };
  for (int width = n - 1; width >= 1; --width) {
    for (int i = 1, j = 1 + width; j <= n; ++i, ++j) {
      const int ij = chart.at(i, j), ji = chart.at(j, i);
      add(expected.at(i, RIGHT_SIDE, 1, STOP), outside.right[ij] * chart.right[ij]);
      add(outside.right_open[ij], outside.right[ij] * steps.at(i, RIGHT_SIDE, 1, STOP));
      add(expected.at(j, LEFT_SIDE, 1, STOP), outside.left[ji] * chart.left[ji]);
      add(outside.left_open[ji], outside.left[ji] * steps.at(j, LEFT_SIDE, 1, STOP));
      for (int k = i + 1; k <= j; ++k) {
        add(outside.right_arc[chart.at(i, k)], outside.right_open[ij] * chart.right[chart.at(k, j)]);
        add(outside.right[chart.at(k, j)], outside.right_open[ij] * chart.right_arc[chart.at(i, k)]);
      }
      for (int k = i; k < j; ++k) {
        add(outside.left_arc[chart.at(j, k)], outside.left_open[ji] * chart.left[chart.at(k, i)]);
        add(outside.left[chart.at(k, i)], outside.left_open[ji] * chart.left_arc[chart.at(j, k)]);
      }
      arc_back(i, j, RIGHT_SIDE, chart.right_open, chart.left, chart.right_arc, outside, outside.right_open,
               outside.left, outside.right_arc);
      arc_back(j, i, LEFT_SIDE, chart.left_open, chart.right, chart.left_arc, outside, outside.left_open,
               outside.right, outside.left_arc);
    }
  }
  for (int i = 1; i <= n; ++i) {
    const int ii = chart.at(i, i);
    add(expected.at(i, RIGHT_SIDE, 0, STOP), outside.right[ii] * chart.right[ii]);
    add(expected.at(i, LEFT_SIDE, 0, STOP), outside.left[ii] * chart.left[ii]);
  }
}

}  // namespace arcwise
