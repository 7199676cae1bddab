// Enumeration of a sentence for the global search: the distinct count vectors that its trees can have.
//
// The likelihood of parses depends on their counts alone, and the counts of the DMV follow from fewer
// numbers, here called coordinates: for each tag, how often it is the root; for each side and head tag h, how
// often each tag is a child (g), and how many words have a child there at all (A). Then
//   continue adjacent = A,  stop adjacent = (words of tag h) - A,  stop later = A,  continue later = K - A,
// where K is the sum of the g. K is also stored as a coordinate (boxes bound it), and so is Q, the number of
// arcs that a posterior constraint counts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/induction/dmv.hpp"

namespace arcwise {

struct CountLayout {
  int tags;
  int root(int t) const { return t; }
  int block(int side, int head) const { return side * tags + head; }  // 0 .. 2T-1
  int child(int block, int t) const { return tags + block * (tags + 1) + t; }
  int some(int block) const { return child(block, tags); }     // A
  int priced() const { return tags + 2 * tags * (tags + 1); }  // coordinates before K and Q
  int children(int block) const { return priced() + block; }   // K
  int constrained() const { return priced() + 2 * tags; }      // Q
  int coordinates() const { return constrained() + 1; }
};

// Adds the coordinates of one tree to `counts`; `marked` has a 1 for each priced coordinate that Q counts.
void tree_coordinates(CountLayout layout, const int32_t* tags, int n, const int32_t* heads,
                      const std::vector<uint8_t>& marked, int32_t* counts);

// The distinct count vectors of the trees of a sentence. `names` are the coordinates that occur in it; vector
// p has value values[p*width + l] in coordinate names[l]. steps[p*length ..] stores the same vector as
// positions l with repetition, priced coordinates only, padded with position `names.size()`.
struct CountVectors {
  std::vector<int32_t> names;
  size_t width = 0, length = 0, count = 0;
  std::vector<uint8_t> values;
  std::vector<uint8_t> steps;
  std::vector<uint8_t> heads;  // count*n: one tree with each vector
};
CountVectors count_vectors(CountLayout layout, const int32_t* tags, int n,
                           const std::vector<uint8_t>& marked);

}  // namespace arcwise
