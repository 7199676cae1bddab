// Eisner's chart (1996) with factors over the dependents of a head, as grammars of forest.hpp.
#pragma once
#include <cstdint>

#include "kernels/factors/forest.hpp"
#include "kernels/inference/eisner_chart.hpp"

namespace arcwise {

// What both grammars share: labelled arc scores (labels, n+1, n+1), one root or several, spans that must be subtrees.
struct FactorSentence {
  const double* scores;
  int n, labels;
  bool single_root;
  EisnerSpans spans;

  int64_t side() const { return n + 1; }
  int64_t cell(int a, int b) const { return a * side() + b; }
  int64_t arc(int label, int head, int modifier) const {
    return label * side() * side() + cell(head, modifier);
  }
  // Whether head may have read its dependents up to end and nothing beyond.
  bool may_stop(int head, int end) const {
    if (head == 0 && single_root && end > 0 && end < n) return false;  // a second root could follow
    return !span_stops(spans, head, end);
  }
  // Whether two dependents of one head lie in a span without it: then two words of the span would have their head outside.
  bool share_span(int head, int a, int b) const {
    auto in = [](int word, const int32_t* ends) { return ends[0] <= word && word <= ends[1]; };
    for (int s = 0; s < spans.count; ++s)
      if (const int32_t* ends = spans.ends + 2 * s; in(a, ends) && in(b, ends) && !in(head, ends))
        return true;
    return false;
  }
};

// Visits the spans i..j from the shortest to the longest inside each j: when (i, j) is visited, every span inside it has been.
template <typename Visit>
void each_span(int n, Visit visit) {
  for (int j = 1; j <= n; ++j)
    for (int i = j - 1; i >= 0; --i) visit(i, j);
}

// Adjacent siblings (McDonald & Pereira 2006): siblings[h, s, m] scores dependent m of h next to s, the dependent read before it on the
// same side, or s = h for the first one. O(n³).
//
//   F(h,e)   h with all its dependents on one side, up to e    ⊕_m I(h,m) ⊗ F(m,e)
//   B(i,j)   two adjacent siblings and what is between them    ⊕_k F(i,k) ⊗ F(j,k+1)
//   J(h,m)   all dependents of h before m, without the arc     F(m,h±1) ⊗ sib(h,h,m)  ⊕  ⊕_s I(h,s) ⊗ B(s,m) ⊗ sib(h,s,m)
//   I(h,m)   with the arc                                      ⊕_label J(h,m) ⊗ score(label,h,m)
struct SiblingGrammar : FactorSentence {
  const double* siblings;

  enum Kind { FULL, BETWEEN, JOINED, INCOMPLETE };
  int words() const { return n; }
  int64_t items() const { return 4 * side() * side(); }
  int64_t item(Kind kind, int a, int b) const { return kind * side() * side() + cell(a, b); }
  int64_t top() const { return item(FULL, 0, n); }

  template <typename Visit>
  void each_item(Visit visit) const {
    for (int h = 0; h <= n; ++h) visit(item(FULL, h, h));
    each_span(n, [&](int i, int j) {
      if (i > 0) visit(item(BETWEEN, i, j));
      for (Kind kind : {JOINED, INCOMPLETE, FULL}) {
        visit(item(kind, i, j));
        if (i > 0) visit(item(kind, j, i));
      }
    });
  }

  template <typename Visit>
  void edges(int64_t number, Visit visit) const {
    const Kind kind = static_cast<Kind>(number / (side() * side()));
    const int a = static_cast<int>(number / side() % side()), b = static_cast<int>(number % side());
    const int step = a < b ? 1 : -1;
    if (kind == FULL) {
      if (a == b) return visit(ForestEdge{});
      if (!may_stop(a, b)) return;
      for (int m = a + step; m != b + step; m += step)
        visit(ForestEdge{item(INCOMPLETE, a, m), item(FULL, m, b)});
    } else if (kind == BETWEEN) {
      for (int k = a; k < b; ++k) visit(ForestEdge{item(FULL, a, k), item(FULL, b, k + 1)});
    } else if (kind == JOINED) {
      const double* row = siblings + a * side() * side() + b;
      const int64_t factor = a * side() * side() + b;
      visit(ForestEdge{item(FULL, b, a + step), NO_ITEM, row[a * side()], -1, factor + a * side()});
      if (a == 0 && single_root) return;  // the root has one dependent
      for (int s = a + step; s != b; s += step) {
        if (share_span(a, s, b)) continue;
        visit(ForestEdge{item(INCOMPLETE, a, s), item(BETWEEN, std::min(s, b), std::max(s, b)),
                         row[s * side()], -1, factor + s * side()});
      }
    } else {
      for (int label = 0; label < labels; ++label)
        visit(ForestEdge{item(JOINED, a, b), NO_ITEM, scores[arc(label, a, b)], arc(label, a, b), -1});
    }
  }
};

// A deterministic automaton reads the labels of a head's dependents on each side, outward from the head. O(n³ Q + n² Q² L).
//
//   C(h,e,q)  h with dependents up to e, the automaton in q   ⊕_m I(h,m,q) ⊗ F(m,e)
//   F(h,e)    the same, h has read its last dependent         ⊕_q C(h,e,q) ⊗ final(q)
//   J(h,m,q)  all before the arc to m                         ⊕_k C(h,k,q) ⊗ F(m,k+1)
//   I(h,m,r)  with the arc                                    ⊕_{label, q → r} J(h,m,q) ⊗ score(label,h,m) ⊗ weight(q,label)
struct AutomatonGrammar : FactorSentence {
  int states, start;
  const int32_t* next;    // (states, labels)
  const double* weights;  // (states, labels); -inf: no transition
  const double* finals;   // (states,); -inf: the head may not stop here

  enum Kind { COMPLETE, JOINED, INCOMPLETE };
  int words() const { return n; }
  int64_t full(int h, int e) const { return cell(h, e); }
  int64_t item(Kind kind, int a, int b, int q) const {
    return side() * side() * (1 + static_cast<int64_t>(kind) * states) + cell(a, b) * states + q;
  }
  int64_t items() const { return side() * side() * (1 + 3 * static_cast<int64_t>(states)); }
  int64_t top() const { return full(0, n); }

  template <typename Visit>
  void each_item(Visit visit) const {
    for (int h = 0; h <= n; ++h) {
      visit(item(COMPLETE, h, h, start));
      visit(full(h, h));
    }
    each_span(n, [&](int i, int j) {
      for (Kind kind : {JOINED, INCOMPLETE, COMPLETE})
        for (int q = 0; q < states; ++q) {
          visit(item(kind, i, j, q));
          if (i > 0) visit(item(kind, j, i, q));
        }
      visit(full(i, j));
      if (i > 0) visit(full(j, i));
    });
  }

  template <typename Visit>
  void edges(int64_t number, Visit visit) const {
    const int64_t square = side() * side();
    if (number < square)
      return full_edges(static_cast<int>(number / side()), static_cast<int>(number % side()), visit);
    const int64_t rest = number - square, place = rest % (square * states) / states;
    const Kind kind = static_cast<Kind>(rest / (square * states));
    const int q = static_cast<int>(rest % states);
    const int a = static_cast<int>(place / side()), b = static_cast<int>(place % side());
    if (kind == COMPLETE) complete_edges(a, b, q, visit);
    if (kind == JOINED) joined_edges(a, b, q, visit);
    if (kind == INCOMPLETE) incomplete_edges(a, b, q, visit);
  }

 private:
  template <typename Visit>
  void full_edges(int h, int e, Visit visit) const {
    for (int q = 0; q < states; ++q)
      if (finals[q] != MINUS_INFINITY) visit(ForestEdge{item(COMPLETE, h, e, q), NO_ITEM, finals[q]});
  }
  template <typename Visit>
  void complete_edges(int h, int e, int q, Visit visit) const {
    if (h == e) {
      if (q == start) visit(ForestEdge{});
      return;
    }
    if (!may_stop(h, e)) return;
    const int step = h < e ? 1 : -1;
    for (int m = h + step; m != e + step; m += step) visit(ForestEdge{item(INCOMPLETE, h, m, q), full(m, e)});
  }
  template <typename Visit>
  void joined_edges(int h, int m, int q, Visit visit) const {
    const int step = h < m ? 1 : -1;
    for (int k = h; k != m; k += step) visit(ForestEdge{item(COMPLETE, h, k, q), full(m, k + step)});
  }
  template <typename Visit>
  void incomplete_edges(int h, int m, int r, Visit visit) const {
    for (int q = 0; q < states; ++q)
      for (int label = 0; label < labels; ++label) {
        const int64_t transition = static_cast<int64_t>(q) * labels + label;
        if (next[transition] != r || weights[transition] == MINUS_INFINITY) continue;
        const int64_t number = arc(label, h, m);
        visit(ForestEdge{item(JOINED, h, m, q), NO_ITEM, scores[number] + weights[transition], number,
                         transition});
      }
  }
};

// Compiled once, in forest.cpp, with the flags of kernels.
extern template class Forest<SiblingGrammar>;
extern template class Forest<AutomatonGrammar>;

}  // namespace arcwise
