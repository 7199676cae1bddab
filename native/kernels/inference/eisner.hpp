// Projective trees (Eisner 1996). One chart (eisner_chart.hpp), filled in different semirings.
//
// scores is row-major (n+1)×(n+1): scores[h*(n+1)+m] is the score of the arc h→m; -inf forbids it; column 0
// and the diagonal are never read. heads is int32[n+1], heads[0] = -1. single_root: exactly one arc leaves
// the root. If no tree exists, the value is -inf. Every operation is O(n³) unless stated otherwise.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/base/random.hpp"

namespace arcwise {

// Spans of words that must be subtrees: count pairs (first, last).
struct EisnerSpans {
  const int32_t* ends = nullptr;
  int count = 0;
};

// One entry of a k-best list: the split and the ranks of its two parts.
struct EisnerDerivation {
  double value;
  int split;
  int left_rank, right_rank;
};

// A node of the chart with its best derivations so far and the candidates for the next one (a heap).
struct EisnerNode {
  std::vector<EisnerDerivation> best, candidates;
};

// Workspace that calls reuse; grows on demand. One per thread.
struct EisnerWorkspace {
  std::vector<double> shifts, weights, exponentials, chart, adjoints, split_weights;
  std::vector<int32_t> pending;
  std::vector<int32_t> node_numbers;
  std::deque<EisnerNode> nodes;
};

// The best tree and its score.
double eisner_decode(const double* scores, int n, bool single_root, int32_t* heads,
                     EisnerWorkspace& workspace, EisnerSpans spans = {});

// Writes the k best distinct trees, best first, to heads[k*(n+1)] and values[k]; returns their number, at
// most k. Lazy (Huang & Chiang 2005, algorithm 3): O(n³ + k n log(k n)).
int eisner_k_best(const double* scores, int n, bool single_root, int k, int32_t* heads, double* values,
                  EisnerWorkspace& workspace, EisnerSpans spans = {});

// log Z = log Σ_trees exp(score).
double eisner_log_partition(const double* scores, int n, bool single_root, EisnerWorkspace& workspace,
                            EisnerSpans spans = {});

// Computes the probability of every arc, (n+1)×(n+1) like the scores (inside-outside, Paskin 2001); returns
// log Z. All are 0 if there is no tree.
double eisner_marginals(const double* scores, int n, bool single_root, double* marginals,
                        EisnerWorkspace& workspace, EisnerSpans spans = {});

// Draws `count` independent trees from p(tree) = exp(score) / Z into heads[count*(n+1)]; returns log Z. O(n²)
// per draw after the chart. Does not write heads if there is no tree.
double eisner_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     EisnerWorkspace& workspace, EisnerSpans spans = {});

// The number of trees with a score above -inf. Exact below 2^53, then rounded to a double.
double eisner_count(const double* scores, int n, bool single_root, EisnerWorkspace& workspace,
                    EisnerSpans spans = {});

}  // namespace arcwise
