// Parsing a treebank with an arc-factored model: scores, inference and labels of whole batches.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_scores.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// map: the best tree, arcs summed over latent clusters; max-z: the best tree with its best clusters; mbr: the
// tree with the most expected right heads (Smith & Smith 2007, section 4); greedy: the best head of each
// word, no tree.
enum class ArcDecoder { map, mbr, max_z, greedy };

struct ParseSettings {
  ArcDecoder decoder = ArcDecoder::map;
  TreeClass trees;
  double scale = 1;        // scores are multiplied by this before they become probabilities (1 / temperature)
  double label_scale = 1;  // the same for labels given their arc
  bool confidence = false;             // also find probabilities
  bool filtered = true;                // leave out arcs of a class or length that training never saw
  const uint64_t* occupied = nullptr;  // see ArcScorer
};

// Flat over all words (heads, labels, probabilities) or over sentences.
struct ParseResult {
  std::vector<int32_t> heads, labels;  // labels are -1 in an unlabelled model
  // With confidence: probability of the head; of head and label; log probability of the tree, entropy (nats).
  std::vector<float> head_probability, label_probability;
  std::vector<float> gold_probability;        // of the head that the data have, 0 where that is unknown
  std::vector<float> gold_label_probability;  // of their label given that head, -1 where it has none
  std::vector<double> log_probability, entropy;
  std::vector<uint8_t> parsed;  // 0 where no tree fits the required heads
};

// required: a head per word that must be kept, -1 for free ones; or null.
ParseResult arc_parse(const ArcSpace& space, const float* weights, const ArcData& data,
                      const int32_t* required, const ParseSettings& settings, int threads);

// The k best trees of every sentence, best first. Tree t of the batch (sentence by sentence) has the words
// starts[t] .. starts[t+1]-1 of heads and labels.
struct KBestResult {
  std::vector<uint32_t> counts;  // trees of each sentence
  std::vector<int32_t> heads, labels;
  std::vector<double> scores;
};
KBestResult arc_k_best(const ArcSpace& space, const float* weights, const ArcData& data,
                       const int32_t* required, const ParseSettings& settings, int k, int threads);

// Scores of labelled arcs, labels × (n+1)^2 of every sentence (one matrix in an unlabelled model), one after
// the other: summed over clusters and multiplied by scale, -inf where training never saw such an arc or
// label.
struct ArcMatrices {
  std::vector<double> scores;
  std::vector<int64_t> starts;  // S+1
};
ArcMatrices arc_matrices(const ArcSpace& space, const float* weights, const ArcData& data,
                         const ParseSettings& settings, int threads);

}  // namespace arcwise
