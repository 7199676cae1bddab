// Coverage of a transition system: the trees over n words that it can build, and its share of a treebank.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/transition/transition_state.hpp"

namespace arcwise {

// Every distinct tree over `words` words that some derivation builds, as concatenated heads[1..n].
// Exponential; for small n.
std::vector<int32_t> transition_trees(const TransitionSystem& system, int words, bool single_root);

// For each sentence s with words sentence_words[s]..sentence_words[s+1]-1 of `heads`: derivable[s] = 1 if the
// system can build its tree. Otherwise `nearest` (as long as `heads`) receives a similar tree that it can
// build, if the search finds one; then found[s] = 1.
void transition_coverage_batch(const TransitionSystem& system, bool single_root, const int32_t* heads,
                               const uint32_t* sentence_words, size_t sentences, int threads,
                               uint8_t* derivable, uint8_t* found, int32_t* nearest);

// Whether a DAG system can build each graph: graphs[s] over words[s] words.
std::vector<uint8_t> transition_graph_coverage(const TransitionSystem& system,
                                               const std::vector<std::vector<GraphArc>>& graphs,
                                               const std::vector<int>& words);

}  // namespace arcwise
