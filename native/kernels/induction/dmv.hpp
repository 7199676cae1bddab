// The dependency model with valence (Klein & Manning 2004) generates a projective tree with one root from the
// root downwards. A head draws its children on each side, nearest first, and decides before each one whether
// to stop; the first decision on a side ("adjacent") has its own probabilities. Dynamic programs over the
// split-head chart of Eisner & Satta (1999), O(n^3).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/random.hpp"

namespace arcwise {

enum DmvSide { LEFT_SIDE, RIGHT_SIDE };
enum DmvDecision { STOP, CONTINUE };

// The position of each feature (parameter, count) in a flat vector:
//   root[t] | child[side][head][child] |
//   decision[side][head][0 adjacent, 1 after the first child][stop, continue]
struct DmvLayout {
  int tags;
  int root(int t) const { return t; }
  int child(int side, int head, int t) const { return tags + (side * tags + head) * tags + t; }
  int decision(int side, int head, int later, int what) const {
    return tags + 2 * tags * tags + ((side * tags + head) * 2 + later) * 2 + what;
  }
  int features() const { return tags + 2 * tags * tags + 8 * tags; }
  // Calls visit(first, size) for each conditional distribution: a run of features that sums to one.
  template <typename Visit>
  void distributions(Visit visit) const {
    visit(0, tags);
    for (int run = 0; run < 2 * tags; ++run) visit(tags + run * tags, tags);
    for (int run = 0; run < 4 * tags; ++run) visit(tags + 2 * tags * tags + 2 * run, 2);
  }
};

// Sentences as tag ids. Sentence s is tags[starts[s]] .. tags[starts[s+1]-1] and counts weights[s] times.
struct TagCorpus {
  int tag_count;
  std::vector<int32_t> tags;
  std::vector<int64_t> starts;
  std::vector<double> weights;
  size_t sentences() const { return weights.size(); }
  int length(size_t s) const { return static_cast<int>(starts[s + 1] - starts[s]); }
  const int32_t* sentence(size_t s) const { return tags.data() + starts[s]; }
};

// In all functions below, `theta` are log-probabilities in the order of DmvLayout, `tags` the n tags of a
// sentence, and `heads` has n+1 elements with heads[0] = -1.

struct DmvCharts;  // dmv.cpp
class DmvWorkspace {
 public:
  DmvWorkspace();
  ~DmvWorkspace();
  DmvCharts& charts() { return *charts_; }

 private:
  DmvCharts* charts_;
};

// Finds the best tree; returns -infinity, and does not write `heads`, if every tree is impossible.
double dmv_decode(const double* theta, DmvLayout layout, const int32_t* tags, int n, int32_t* heads,
                  DmvWorkspace& workspace);

double dmv_log_partition(const double* theta, DmvLayout layout, const int32_t* tags, int n,
                         DmvWorkspace& workspace);

// Adds weight * (expected count of each feature) to counts; returns log Z (and adds nothing if it is
// -infinity).
double dmv_expected_counts(const double* theta, DmvLayout layout, const int32_t* tags, int n, double weight,
                           double* counts, DmvWorkspace& workspace);

// Draws a tree from the posterior of the sentence; returns log Z.
double dmv_sample(const double* theta, DmvLayout layout, const int32_t* tags, int n, Random& random,
                  int32_t* heads, DmvWorkspace& workspace);

// Adds weight * (count of each feature in the tree) to counts.
template <typename Count>
void dmv_count(DmvLayout layout, const int32_t* tags, int n, const int32_t* heads, Count weight,
               Count* counts) {
  for (int i = 1; i <= n; ++i) {
    const int tag = tags[i - 1];
    int children[2] = {0, 0};
    for (int m = 1; m <= n; ++m) {
      if (heads[m] != i) continue;
      const int side = m > i ? RIGHT_SIDE : LEFT_SIDE;
      counts[layout.child(side, tag, tags[m - 1])] += weight;
      counts[layout.decision(side, tag, children[side] > 0, CONTINUE)] += weight;
      ++children[side];
    }
    for (int side : {LEFT_SIDE, RIGHT_SIDE})
      counts[layout.decision(side, tag, children[side] > 0, STOP)] += weight;
    if (heads[i] == 0) counts[layout.root(tag)] += weight;
  }
}

// Draws a sentence and its tree from the model. Returns false if it grows beyond max_length words.
bool dmv_generate(const double* theta, DmvLayout layout, int max_length, Random& random,
                  std::vector<int32_t>& tags, std::vector<int32_t>& heads);

// Adds the expected counts when a head is chosen with weight 1/distance (and every decision with probability
// 1/2): the E-step of Klein & Manning's "harmonic" initialiser.
void dmv_harmonic_counts(DmvLayout layout, const int32_t* tags, int n, double weight, double* counts,
                         DmvWorkspace& workspace);

}  // namespace arcwise
