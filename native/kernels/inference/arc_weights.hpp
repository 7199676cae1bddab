// Converts the scores of a sentence into arc weights, whose products are the probabilities of trees up to Z.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/inference/arc_scores.hpp"

namespace arcwise {

// How scores become probabilities:
//   P(tree, labels) = P(tree) Π P(label | arc),  P(label | arc) ∝ exp(score / labels),
//   P(tree) ∝ Π_arcs weight(arc) + smoothing / n · the highest weight of an arc into the same word,
//   weight(arc) = Σ_labels exp(score / heads).
// Smoothing reserves some probability for heads with very low scores; a temperature can only do so by
// flattening the whole distribution. None of this affects decoding by score.
struct Temperatures {
  double heads = 1, labels = 1, smoothing = 0;
};

// highest[m] = the highest value over word m's arcs, for words 1..n; -inf if it has none.
inline void highest_of_words(const double* arcs, int n, std::vector<double>& highest) {
  highest.assign(n + 1, MINUS_INFINITY);
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) highest[m] = std::max(highest[m], arcs[h * (n + 1) + m]);
}

// log(exp(a) + exp(b)), for a and b above -inf.
inline double log_of_both(double a, double b) {
  constexpr double NOTHING = -40;  // below this, exp vanishes when added to 1
  const double top = std::max(a, b), apart = std::min(a, b) - top;
  return apart < NOTHING ? top : top + std::log1p(std::exp(apart));
}

// The log weights of all arcs, (n+1)², -inf where there is none. highest[1..n]: the result of
// highest_of_words for the sentence before constraints removed arcs, which makes constrained probabilities
// conditional; null: no arcs were removed.
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
