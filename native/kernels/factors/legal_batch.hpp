// Legal trees of a batch of sentences under any decoder.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/factors/legal_trees.hpp"
#include "kernels/inference/score_batch.hpp"

namespace arcwise {

// The gain of each labelled arc under a decoder, so that the tree with the highest sum of gains, labels free, is that of the decoder.
// minimum risk: the probability of the head, less the probability of the label that is given up for another one.
bool legal_gains(const ArcScores<double>& scores, const DecodeSettings& settings,
                 TreeDecoder<double>& decoder, const ArcStates& states, ArcScores<double>& gains);

// The legal trees of a batch: 0 in parses.parsed where none was found. By sentence: the gain of the tree less its costs, a bound that no
// legal tree exceeds, and how many arc-factored decodes it took.
struct LegalBatch {
  ParseResult parses;
  std::vector<double> values, bounds;
  std::vector<int32_t> decodes;

  struct Worker {
    ArcScores<double> memory, gains;
    TreeDecoder<double> decoder;
    LegalDecoder legal;
    std::vector<int32_t> heads, labels;
    void keep(LegalBatch& batch, size_t sentence, size_t first, const DecodeSettings& settings);
  };
};
LegalBatch legal_decode(const ScoreBatch& scores, const DecodeSettings& settings, const LegalRules& rules,
                        const BatchSpans& spans, int max_decodes, int threads);

// Each sentence: whether its tree pays anything. starts: sentences + 1, into flat words.
std::vector<uint8_t> illegal_sentences(const LegalRules& rules, const int32_t* heads, const int32_t* labels,
                                       const int64_t* starts, size_t sentences);

}  // namespace arcwise
