// Exact samples from the distribution over non-projective trees, p(tree) ∝ exp(score).
//
// Wilson (1996): from every word not yet in the tree walk to random heads, erasing loops, until the tree is
// reached. Single root: the word under the root is drawn first, from its marginal, and the walk is rooted there.
//
// Where some words prefer each other by far, the walk goes round in circles almost forever. The number of its
// steps is independent of the tree it ends in (Propp & Wilson 1998: the cycles popped and the tree are
// independent), so a walk that takes too many may be given up for another exact method without changing the
// distribution: the heads of the words are drawn one after the other given those before, by the elimination
// that also yields the marginals. That takes O(n³) a tree, however the weights are spread.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/inference/matrix_tree.hpp"

namespace arcwise {

struct WilsonWorkspace {
  MatrixTreeWorkspace matrix_tree;
  std::vector<double> cumulative;  // row m: running sums of the weights of the heads 0..n of word m
  std::vector<double> marginals;
  std::vector<double> inner_scores;  // of the words below a single root, which takes the place of word 0
  std::vector<int32_t> inner_heads;
  std::vector<uint8_t> in_tree;
};

// `count` independent draws into heads[count*(n+1)]; returns log Z. Where there is no tree, heads are not
// written.
double wilson_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     WilsonWorkspace& workspace);

}  // namespace arcwise
