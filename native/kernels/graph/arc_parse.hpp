// Parsing with a weight table: scores and decodes a batch sentence by sentence, so that the scores need not
// be kept. Gives the same trees and probabilities as score_treebank followed by ScoreBatch::decode, and by legal_replace.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/factors/legal_search.hpp"
#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/score_batch.hpp"
#include "kernels/inference/tree_decoder.hpp"

namespace arcwise {

// A table with its weights: the scorer of the graph-based parser. Unseen arcs and labels get scores too, so
// that nothing has probability 0.
struct WeightedTable {
  const ArcTable& table;
  const float* weights;
  const UnseenScores& unseen;
  const KnownZeros* zeros = nullptr;  // see ArcScorer
};

// required: one required head per word, -1 where free; may be null. legal: rules for the trees, or null.
ParseResult arc_parse(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                      const DecodeSettings& settings, const AskedTrees& asked, const LegalSettings* legal,
                      int threads);
KBestResult arc_k_best(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                       const DecodeSettings& settings, int k, int threads);

// The scores that arc_parse decodes.
ScoreBatch score_treebank(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                          int threads);

}  // namespace arcwise
