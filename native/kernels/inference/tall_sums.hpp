// Log-probabilities, entropies and divergences for scores so large that subtracting one sum from another
// would leave no digits. Weights are WideNumbers or TallNumbers, and the only subtraction is in logarithms of
// ratios. O(n³), ten to a thousand times slower than doubles, and used only for sentences where doubles fail
// (cancels(), magnifies()).
#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// Whether a difference of sums of this size loses any of its first nine decimals.
inline bool cancels(double size) { return !(size < 3e6); }

// Whether an expectation Σ probability · value, whose values differ by this much from those of the most
// probable arcs, loses any of them: probabilities are accurate to at least twelve digits.
inline bool magnifies(double size) { return !(size < 1e3); }

// One sentence: scores (n+1)² and its class of trees.
struct TallSentence {
  const double* scores;
  int n;
  TreeClass trees;
  EisnerSpans spans = {};
};

// log p(tree) of a tree of the class, given as heads[n+1]; -inf if it has a forbidden arc or there is no
// tree.
double tall_log_probability(const TallSentence& sentence, const int32_t* heads);

// log Z of the first minus log Z of the second, which must have a tree.
double tall_log_ratio(const TallSentence& first, const TallSentence& second);

// The entropy of the distribution, in nats. own: the entropy within each arc (over its labels), (n+1)², or
// null for none.
double tall_entropy(const TallSentence& sentence, const double* own);

// KL(p ‖ q) over the trees of p's class, both distributions restricted to it; p and q must forbid the same
// arcs. own: the divergence within each arc, (n+1)², or null for none.
double tall_divergence(const TallSentence& p, const double* q, const double* own);

}  // namespace arcwise
