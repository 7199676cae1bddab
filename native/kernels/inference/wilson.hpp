// Exact samples from the distribution over non-projective trees, p(tree) ∝ exp(score).
//
// Wilson (1996): from every word not yet in the tree walk to random heads, erasing loops, until the tree is
// reached. Single root: the word under the root is drawn first, from its marginal, and the walk is rooted
// there.
//
// Where some words strongly prefer each other, the walk loops almost forever. Its number of steps is
// independent of the resulting tree (Propp & Wilson 1998: the cycles popped and the tree are independent), so
// a walk that takes too many can be replaced by another exact method without changing the distribution: the
// heads of the words are drawn one at a time given the previous ones, by the elimination that also yields the
// marginals. That takes O(n³) per tree, whatever the spread of the weights.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/inference/matrix_tree.hpp"

namespace arcwise {

struct WilsonWorkspace {
  MatrixTreeWorkspace matrix_tree;
  std::vector<double> cumulative;  // row m: prefix sums of the weights of word m's heads 0..n
  std::vector<double> marginals;
  std::vector<double> inner_scores;  // of the words below a single root, which replaces word 0
  std::vector<int32_t> inner_heads;
  std::vector<uint8_t> in_tree;
};

// Draws `count` independent trees into heads[count*(n+1)]; returns log Z. Does not write heads if there is no
// tree.
double wilson_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     WilsonWorkspace& workspace);

}  // namespace arcwise
