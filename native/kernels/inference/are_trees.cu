// Checks which rows of heads are trees of the class: is_tree of tree_inference.hpp, one block of threads per
// row.
#include "kernels/base/cuda_platform.cuh"

namespace arcwise {

struct AreTreesArguments {
  const int64_t* heads;    // rows of side
  const int32_t* lengths;  // one per rows_a_sentence rows
  uint8_t* found;          // per row: 1 or 0
  int32_t rows, rows_a_sentence, side, projective, single_root;
};

// All threads run this together. Several may write `wrong` or `root` at the same time; any of the writes may
// win.
struct GivenHeads {
  int *heads, *above, *next, *wrong, *root;
  int n;

  DEVICE GivenHeads(int side, int n) : n(n) {
    heads = reinterpret_cast<int*>(shared_memory());
    above = heads + side;
    next = above + side;
    wrong = next + side;
    root = wrong + 1;
  }

  // Replaces heads that are out of range by 0.
  DEVICE void load(const int64_t* given) {
    if (thread_index() == 0) *wrong = *root = heads[0] = above[0] = next[0] = 0;
    sync_block();
    for (int m = 1 + thread_index(); m <= n; m += thread_count()) {
      const int64_t head = given[m];
      const bool is_word = head >= 0 && head <= n;
      if (!is_word) *wrong = 1;
      if (head == 0) *root = m;
      heads[m] = above[m] = is_word ? static_cast<int>(head) : 0;
    }
    sync_block();
  }

  DEVICE void check_roots() {
    for (int m = 1 + thread_index(); m <= n; m += thread_count())
      if (heads[m] == 0 && m != *root) *wrong = 1;
  }

  // Checks that every word leads up to the root: after k doublings, above[m] is the head 2ᵏ steps up.
  DEVICE void check_ways() {
    for (int steps = 1; steps < n; steps *= 2) {
      for (int m = 1 + thread_index(); m <= n; m += thread_count()) next[m] = above[above[m]];
      sync_block();
      int* before = above;
      above = next;
      next = before;
    }
    for (int m = 1 + thread_index(); m <= n; m += thread_count())
      if (above[m] != 0) *wrong = 1;
  }

  // With the root at the left end, a tree is projective if and only if no arcs cross: left < left' < right <
  // right'.
  DEVICE void check_crossing() {
    for (int m = 1 + thread_index(); m <= n; m += thread_count()) {
      const int left = heads[m] < m ? heads[m] : m, right = heads[m] < m ? m : heads[m];
      for (int w = 1; w <= n; ++w) {
        const int other_left = heads[w] < w ? heads[w] : w, other_right = heads[w] < w ? w : heads[w];
        if (left < other_left && other_left < right && right < other_right) *wrong = 1;
      }
    }
  }
};

}  // namespace arcwise

KERNEL are_trees(arcwise::AreTreesArguments arguments) {
  using namespace arcwise;
  for (int row = block_index(); row < arguments.rows; row += block_count()) {
    const int given = arguments.lengths[row / arguments.rows_a_sentence];
    GivenHeads tree(arguments.side, given < arguments.side ? given : arguments.side - 1);
    tree.load(arguments.heads + static_cast<int64_t>(row) * arguments.side);
    if (arguments.single_root) tree.check_roots();
    tree.check_ways();
    if (arguments.projective) tree.check_crossing();
    sync_block();
    if (thread_index() == 0) arguments.found[row] = *tree.wrong == 0;
    sync_block();
  }
}
