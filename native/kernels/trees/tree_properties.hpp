// Measures of non-projectivity: non-projective and crossing arcs, gap degree, edge degree, well-nestedness
// (Kuhlmann and Nivre 2006, "Mildly non-projective dependency structures").
//
// A sentence is given by the heads of its words 1..n; 0 is the root, -1 an unknown head, which makes the word
// the top of a separate fragment. The root dominates every word, so its arcs are never non-projective; it is
// at position 0, so its arcs can cross others.
#pragma once
#include <cstdint>
#include <vector>

namespace arcwise {

struct TreeProperties {
  int32_t roots = 0;        // words whose head is the root
  int32_t depth = 0;        // words on the longest path down from the root or from a word with unknown head
  int32_t gap_degree = 0;   // maximum number of gaps in the words dominated by one word
  int32_t edge_degree = 0;  // maximum number of components under an arc that its head does not dominate
  int32_t crossings = 0;    // pairs of arcs that cross, arcs from the root included
  int32_t root_crossings = 0;  // those that involve an arc from the root
  bool well_nested = true;     // no two disjoint subtrees interleave
};

struct TreePropertiesWorkspace {
  std::vector<int32_t> first_child, next_sibling;  // of 0..n; 0 is none
  std::vector<int32_t> enter, leave;  // word v dominates k (or is k) iff enter[v] <= enter[k] < leave[v]
  std::vector<int32_t> order;         // the word with a given enter number
  std::vector<int32_t> depth, pairs, side, arcs;
  std::vector<uint8_t> state;
};

// heads[0..n-1] are the heads of words 1..n. Writes one byte per word to non_projective and to crossing
// (whether the arc to that word is). Returns false, without computing anything, if the heads do not form a
// forest: out of range or on a cycle. O(n^2) time, O(n) memory.
bool tree_properties(const int32_t* heads, int n, TreeProperties& properties, uint8_t* non_projective,
                     uint8_t* crossing, TreePropertiesWorkspace& work);

}  // namespace arcwise
