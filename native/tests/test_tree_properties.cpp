// Tree properties of every head vector of up to five words, against their definitions; under the sanitizers.
#include "kernels/trees/tree_properties.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace arcwise;

namespace {

void check(bool holds, const char* what, int n) {
  if (holds) return;
  std::fprintf(stderr, "test_tree_properties: %s (n = %d)\n", what, n);
  std::exit(1);
}

// Whether a path leads from `above` down to `below`; words are counted from 1, heads[m - 1] is the head of m.
bool dominates(const int32_t* heads, int above, int below) {
  while (below > 0 && below != above) below = heads[below - 1];
  return below == above;
}

bool is_forest(const int32_t* heads, int n) {
  for (int m = 1; m <= n; ++m) {
    int at = m;
    for (int steps = 0; at > 0; ++steps, at = heads[at - 1])
      if (steps == n) return false;
  }
  return true;
}

int gap_degree(const int32_t* heads, int n) {
  int most = 0;
  for (int v = 1; v <= n; ++v) {
    int gaps = -1;
    for (int k = 1; k <= n; ++k) gaps += dominates(heads, v, k) && (k == 1 || !dominates(heads, v, k - 1));
    most = std::max(most, gaps);
  }
  return most;
}

void check_heads(const int32_t* heads, int n, TreePropertiesWorkspace& work) {
  TreeProperties found;
  uint8_t non_projective[8], crossing[8];
  bool measured = tree_properties(heads, n, found, non_projective, crossing, work);
  check(measured == is_forest(heads, n), "takes exactly the forests", n);
  if (!measured) return;
  check(found.gap_degree == gap_degree(heads, n), "gap degree", n);
  bool any = std::any_of(non_projective, non_projective + n, [](uint8_t arc) { return arc != 0; });
  check(any == (found.gap_degree > 0) && any == (found.edge_degree > 0), "three ways to be projective", n);
  check(found.roots == std::count(heads, heads + n, 0), "roots", n);
}

}  // namespace

int main() {
  TreePropertiesWorkspace work;
  for (int n = 0; n <= 5; ++n) {
    int32_t heads[8];
    std::fill(heads, heads + n, -1);
    for (;;) {
      check_heads(heads, n, work);
      int at = 0;
      while (at < n && heads[at] == n) heads[at++] = -1;
      if (at == n) break;
      ++heads[at];
    }
  }
  int32_t outside[] = {-2, 3};
  TreeProperties found;
  uint8_t arcs[2], crossing[2];
  check(!tree_properties(outside, 1, found, arcs, crossing, work), "head below -1", 1);
  check(!tree_properties(outside + 1, 1, found, arcs, crossing, work), "head beyond the end", 1);
}
