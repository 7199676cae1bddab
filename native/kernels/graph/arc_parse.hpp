// Parsing a treebank with a table of weights: scoring and decoding of whole batches in one go, sentence by sentence, so that scores
// need not be kept. The same trees and probabilities as score_treebank and then ScoreBatch::decode.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/score_batch.hpp"
#include "kernels/inference/tree_decoder.hpp"

namespace arcwise {

// A table with its weights: the scorer of the graph-based parser. What training never saw has scores too, so that nothing has the
// probability 0.
struct WeightedTable {
  const ArcTable& table;
  const float* weights;
  const UnseenScores& unseen;
  const KnownZeros* zeros = nullptr;  // see ArcScorer
};

// required: a head per word that must be kept, -1 for free ones; or null.
ParseResult arc_parse(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                      const DecodeSettings& settings, const AskedTrees& asked, int threads);
KBestResult arc_k_best(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                       const DecodeSettings& settings, int k, int threads);

// The scores that these decode.
ScoreBatch score_treebank(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                          int threads);

}  // namespace arcwise
