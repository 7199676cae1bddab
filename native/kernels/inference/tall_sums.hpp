// Log-probabilities, entropies and divergences where scores are so large that to subtract one sum from another would leave no digit.
// Weights are WideNumbers or TallNumbers and nothing is subtracted but logarithms of ratios. O(n³), ten to a thousand times slower than
// doubles: for the sentences where doubles do not do (cancels(), magnifies()).
#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// Whether a difference of sums of this size has lost digits that matter: the first nine after the point.
inline bool cancels(double size) { return !(size < 3e6); }

// Whether an expectation Σ probability · value, of values so far from those of the most probable arcs, has lost such digits: the
// probabilities are right to twelve digits or more.
inline bool magnifies(double size) { return !(size < 1e3); }

// One sentence: scores (n+1)² and which trees it may have.
struct TallSentence {
  const double* scores;
  int n;
  TreeClass trees;
  EisnerSpans spans = {};
};

// log p(tree) of a tree of the class, given as heads[n+1]; -inf where it has a forbidden arc or there is no tree at all.
double tall_log_probability(const TallSentence& sentence, const int32_t* heads);

// log Z of the first minus log Z of the second, which must have a tree.
double tall_log_ratio(const TallSentence& first, const TallSentence& second);

// The entropy of the distribution, in nats. own: the entropy within each arc (of its labels), (n+1)², or null for none.
double tall_entropy(const TallSentence& sentence, const double* own);

// KL(p ‖ q) over the trees of p's class, both distributions restricted to it. The arcs that are forbidden must be the same ones. own: the
// divergence within each arc, (n+1)², or null for none.
double tall_divergence(const TallSentence& p, const double* q, const double* own);

}  // namespace arcwise
