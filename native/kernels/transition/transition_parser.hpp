// Parses a batch of sentences with a trained scorer.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/transition/transition_search.hpp"

namespace arcwise {

struct TransitionParseOptions {
  int beam = 1;
  bool single_root = true;
  int k = 1;                // number of trees of the final beam
  bool confidence = false;  // compute probabilities from the beam's mass
  double temperature = 1;   // divides scores before they become mass
};

struct TransitionParses {
  std::vector<int32_t> counts;                              // trees of each sentence, at most k
  std::vector<int32_t> heads, labels;                       // of the trees one after the other
  std::vector<double> scores;                               // of the trees
  std::vector<double> head_probability, label_probability;  // of the words of the trees
  std::vector<double> log_probability, entropy;             // of the trees, of the beams
  std::vector<std::vector<GraphArc>> graphs;                // of DAG systems: the arcs of each sentence
  int64_t dead_ends = 0;                                    // sentences completed by force
};

TransitionParses transition_parse_batch(const TransitionScorer& scorer, const TransitionData& data,
                                        const TransitionParseOptions& options, int threads);

}  // namespace arcwise
