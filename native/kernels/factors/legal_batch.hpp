// Legal trees of a batch of sentences under any decoder.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/factors/legal_search.hpp"
#include "kernels/inference/score_batch.hpp"

namespace arcwise {

// The legal trees of a batch: 0 in parses.parsed where none was found. By sentence: the gain of the tree less its costs, a bound that no
// legal tree exceeds, and how many arc-factored decodes it took.
struct LegalBatch {
  ParseResult parses;
  std::vector<double> values, bounds;
  std::vector<int32_t> decodes;
};
LegalBatch legal_decode(const ScoreBatch& scores, const DecodeSettings& settings, const LegalRules& rules,
                        const BatchSpans& spans, int max_decodes, int threads);

// Replaces the illegal trees of a parse of these scores, as LegalSearch::replace.
void legal_replace(ParseResult& parses, const ScoreBatch& scores, const DecodeSettings& settings,
                   const LegalSettings& legal, const BatchSpans& spans, int threads);

// Each sentence: whether its tree pays anything. starts: sentences + 1, into flat words.
std::vector<uint8_t> illegal_sentences(const LegalRules& rules, const int32_t* heads, const int32_t* labels,
                                       const int64_t* starts, size_t sentences);

}  // namespace arcwise
