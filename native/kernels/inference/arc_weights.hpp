// From the scores of a sentence to the weights of its arcs, whose products are the probabilities of trees, up to Z.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/inference/arc_scores.hpp"

namespace arcwise {

// How scores become probabilities:  P(tree, labels) = P(tree) Π P(label | arc),  P(label | arc) ∝ exp(score / labels),
//   P(tree) ∝ Π_arcs weight(arc) + smoothing / n · the highest weight of an arc into the same word,
//   weight(arc) = Σ_labels exp(score / heads).
// Smoothing keeps a little for heads that the scores all but rule out: a temperature alone can doubt them only by doubting
// everything. None of this changes what is chosen by score alone.
struct Temperatures {
  double heads = 1, labels = 1, smoothing = 0;
};

// highest[m] = the highest of the numbers of word m's arcs, for words 1..n; -inf where it has none.
inline void highest_of_words(const double* arcs, int n, std::vector<double>& highest) {
  highest.assign(n + 1, MINUS_INFINITY);
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) highest[m] = std::max(highest[m], arcs[h * (n + 1) + m]);
}

// log(exp(a) + exp(b)), neither of them -inf.
inline double log_of_both(double a, double b) {
  constexpr double NOTHING = -40;  // exp of it is less than a double adds to 1
  const double top = std::max(a, b), apart = std::min(a, b) - top;
  return apart < NOTHING ? top : top + std::log1p(std::exp(apart));
}

// The logarithms of the weights of all arcs, (n+1)², -inf where there is none. highest[1..n]: what highest_of_words tells of the
// sentence before constraints took arcs away, so that what is told under constraints is conditional on them; null: nothing was.
template <typename Real>
class ArcWeights {
 public:
  void compute(const ArcScores<Real>& scores, const Temperatures& temperatures, const double* highest,
               std::vector<double>& arcs) {
    arcs_by_sum(scores, 1 / temperatures.heads, arcs);
    if (temperatures.smoothing == 0) return;
    const int n = scores.n;
    if (!highest) {
      highest_of_words(arcs.data(), n, highest_);
      highest = highest_.data();
    }
    const double share = std::log(temperatures.smoothing / n);
    for_each_arc(scores, [&](int h, int m, int, const Real*, int) {
      double& weight = arcs[h * (n + 1) + m];
      weight = log_of_both(weight, highest[m] + share);
    });
  }

 private:
  std::vector<double> highest_;
};

}  // namespace arcwise
