// Eisner's chart (1996) with factors over the dependents of a head, as a grammar of forest.hpp.
#pragma once
#include <cstdint>

#include "kernels/factors/forest.hpp"
#include "kernels/inference/eisner_chart.hpp"

namespace arcwise {

// Labelled arc scores (labels, n+1, n+1), one root or several, spans that must be subtrees.
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

// Two factors at once, each of which may be left out.
//
// Adjacent siblings (McDonald & Pereira 2006): siblings[h, s, m] scores dependent m of h next to s, the dependent read before it on the
// same side, or s = h for the first one.
//
// A deterministic automaton reads the labels of a head's dependents on each side, outward from the head. Where the sides end in the
// states p (the one towards the head of the head) and q, ends[p, q] is added. Without joint ends a side is weighed on its own: P is 1, and
// p is no state. Otherwise P = Q.
//
//   C(h,e,q)      h with dependents up to e, the automaton in q    ⊕_{m,p} I(h,m,q,p) ⊗ G(m,e,p)
//   G(h,e,p)      the outer side of h, which is done               ⊕_q C(h,e,q) ⊗ ends(p,q)
//   N(h,e,p)      the inner side of h, which is done               G if P is 1, else C
//   B(s,m,p,r)    two siblings and what is between them            ⊕_k G(s,k,p) ⊗ N(m,k±1,r)
//   J(h,m,q,r)    all before the arc to m   without siblings       ⊕_k C(h,k,q) ⊗ N(m,k±1,r)
//                                           with siblings          N(m,h±1,r) ⊗ sib(h,h,m)  ⊕  ⊕_{s,p} I(h,s,q,p) ⊗ B(s,m,p,r) ⊗ sib(h,s,m)
//   I(h,m,q',r)   with the arc                                     ⊕_{label, q → q'} J(h,m,q,r) ⊗ score(label,h,m) ⊗ weight(q,label)
//
// O(n³ Q P²) with siblings and O(n³ Q P) without, and n² Q² P L.
struct HeadGrammar : FactorSentence {
  const double* siblings = nullptr;  // null: none
  int states = 1, start = 0;
  bool joint = false;
  const int32_t* next = nullptr;      // (Q, labels)
  const double* weights = nullptr;    // (Q, labels); -inf: no transition
  const double* ends = nullptr;       // (P, Q); -inf: the sides may not end so
  const double* root_ends = nullptr;  // (Q,): the root has one side

  enum Kind { COMPLETE, OUTER, BETWEEN, JOINED, INCOMPLETE, KINDS };
  int words() const { return n; }
  int64_t P() const { return joint ? states : 1; }
  int64_t Q() const { return states; }
  // The parts of the factors are counted from here: siblings, transitions, ends, ends of the root.
  int64_t transition_parts() const { return siblings ? side() * side() * side() : 0; }
  int64_t end_parts() const { return transition_parts() + Q() * labels; }
  int64_t root_end_parts() const { return end_parts() + P() * Q(); }
  int64_t parts() const { return root_end_parts() + Q(); }

  int64_t variants(Kind kind) const {
    const int64_t counts[] = {Q(), P(), siblings ? P() * P() : 0, Q() * P(), Q() * P()};
    return counts[kind];
  }
  // Where the items of each kind begin. To be called when all fields have their values.
  HeadGrammar& number_items() {
    for (int kind = 0; kind < KINDS; ++kind) {
      variants_[kind] = variants(static_cast<Kind>(kind));
      first_[kind + 1] = first_[kind] + variants_[kind] * side() * side();
    }
    return *this;
  }
  int64_t items() const { return first_[KINDS]; }
  int64_t item(Kind kind, int a, int b, int64_t variant) const {
    return first_[kind] + cell(a, b) * variants_[kind] + variant;
  }
  // What is between two siblings is the same from both ends, unless their sides have states.
  int64_t between(int s, int m, int64_t variant) const {
    return joint ? item(BETWEEN, s, m, variant) : item(BETWEEN, std::min(s, m), std::max(s, m), variant);
  }
  int64_t inner(int h, int e, int64_t p) const { return item(joint ? COMPLETE : OUTER, h, e, p); }
  int64_t top() const { return item(OUTER, 0, n, 0); }

  template <typename Visit>
  void each_item(Visit visit) const {
    auto each = [&](Kind kind, int a, int b) {
      for (int64_t v = 0; v < variants(kind); ++v) visit(item(kind, a, b, v));
    };
    for (int h = 0; h <= n; ++h) {
      each(COMPLETE, h, h);
      each(OUTER, h, h);
    }
    each_span(n, [&](int i, int j) {
      for (Kind kind : {BETWEEN, JOINED, INCOMPLETE, COMPLETE, OUTER}) {
        each(kind, i, j);
        if (i > 0) each(kind, j, i);
      }
    });
  }

  template <typename Visit>
  void edges(int64_t number, Visit visit) const {
    Kind kind = COMPLETE;
    while (number >= first_[kind + 1]) kind = static_cast<Kind>(kind + 1);
    const int64_t rest = number - first_[kind], variant = rest % variants_[kind],
                  place = rest / variants_[kind];
    const int a = static_cast<int>(place / side()), b = static_cast<int>(place % side());
    switch (kind) {
      case COMPLETE:
        return complete_edges(a, b, variant, visit);
      case OUTER:
        return outer_edges(a, b, variant, visit);
      case BETWEEN:
        return between_edges(a, b, variant / P(), variant % P(), visit);
      case JOINED:
        return joined_edges(a, b, variant / P(), variant % P(), visit);
      default:
        return incomplete_edges(a, b, variant / P(), variant % P(), visit);
    }
  }

 private:
  int64_t variants_[KINDS] = {}, first_[KINDS + 1] = {};

  template <typename Visit>
  void complete_edges(int h, int e, int64_t q, Visit visit) const {
    if (h == e) {
      if (q == start) visit(ForestEdge{});
      return;
    }
    if (!may_stop(h, e)) return;
    const int step = h < e ? 1 : -1;
    for (int m = h + step; m != e + step; m += step)
      for (int64_t p = 0; p < P(); ++p)
        visit(ForestEdge{item(INCOMPLETE, h, m, q * P() + p), item(OUTER, m, e, p)});
  }
  template <typename Visit>
  void outer_edges(int h, int e, int64_t p, Visit visit) const {
    for (int64_t q = 0; q < Q(); ++q) {
      const double weight = h == 0 ? root_ends[q] : ends[p * Q() + q];
      if (weight == MINUS_INFINITY) continue;
      const int64_t part = h == 0 ? root_end_parts() + q : end_parts() + p * Q() + q;
      visit(ForestEdge{item(COMPLETE, h, e, q), NO_ITEM, weight, -1, part});
    }
  }
  template <typename Visit>
  void between_edges(int s, int m, int64_t p, int64_t r, Visit visit) const {
    if (!joint && s > m) return;
    const int step = s < m ? 1 : -1;
    for (int k = s; k != m; k += step) visit(ForestEdge{item(OUTER, s, k, p), inner(m, k + step, r)});
  }
  template <typename Visit>
  void joined_edges(int h, int m, int64_t q, int64_t r, Visit visit) const {
    const int step = h < m ? 1 : -1;
    if (!siblings) {
      for (int k = h; k != m; k += step) visit(ForestEdge{item(COMPLETE, h, k, q), inner(m, k + step, r)});
      return;
    }
    const int64_t row = h * side() * side() + m;
    if (q == start)
      visit(ForestEdge{inner(m, h + step, r), NO_ITEM, siblings[row + h * side()], -1, row + h * side()});
    if (h == 0 && single_root) return;  // the root has one dependent
    for (int s = h + step; s != m; s += step) {
      if (share_span(h, s, m)) continue;
      const int64_t part = row + s * side();
      for (int64_t p = 0; p < P(); ++p)
        visit(ForestEdge{item(INCOMPLETE, h, s, q * P() + p), between(s, m, p * P() + r), siblings[part], -1,
                         part});
    }
  }
  template <typename Visit>
  void incomplete_edges(int h, int m, int64_t to, int64_t r, Visit visit) const {
    for (int64_t q = 0; q < Q(); ++q)
      for (int label = 0; label < labels; ++label) {
        const int64_t transition = q * labels + label;
        if (next[transition] != to || weights[transition] == MINUS_INFINITY) continue;
        const int64_t number = arc(label, h, m);
        visit(ForestEdge{item(JOINED, h, m, q * P() + r), NO_ITEM, scores[number] + weights[transition],
                         number, transition_parts() + transition});
      }
  }
};

// Compiled once, in forest.cpp, with the flags of kernels.
extern template class Forest<HeadGrammar>;

}  // namespace arcwise
