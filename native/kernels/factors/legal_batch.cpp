#include "kernels/factors/legal_batch.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// One thread's memory.
struct LegalWorker {
  ArcScores<double> memory;
  TreeDecoder<double> decoder;
  LegalSearch<double> search;
};

}  // namespace

LegalBatch legal_decode(const ScoreBatch& scores, const DecodeSettings& settings, const LegalRules& rules,
                        const BatchSpans& spans, int max_decodes, int threads) {
  LegalBatch batch;
  const std::vector<int64_t> words = scores.word_starts();
  batch.parses.start(words.back(), scores.size(), settings.probabilities, {});
  batch.values.assign(scores.size(), MINUS_INFINITY);
  batch.bounds.assign(scores.size(), MINUS_INFINITY);
  batch.decodes.assign(scores.size(), 0);
  std::vector<LegalWorker> workers(std::max(threads, 1));
  parallel_for(scores.size(), threads, [&](size_t s, size_t number) {
    LegalWorker& worker = workers[number];
    const ArcScores<double>& sentence = scores.scores(s, worker.memory);
    worker.decoder.load(sentence, settings, spans.of(s), scores.highest_of(words[s]));
    const LegalTree tree =
        worker.search.find({sentence, {}}, settings, rules, spans.of(s), max_decodes, worker.decoder);
    batch.values[s] = tree.value;
    batch.bounds[s] = tree.bound;
    batch.decodes[s] = tree.decodes;
    if (!tree.found) return;
    worker.search.keep(batch.parses, s, words[s], settings.probabilities, worker.decoder);
    if (settings.probabilities) batch.parses.head_entropy[s] = worker.decoder.head_entropy();
  });
  return batch;
}

void legal_replace(ParseResult& parses, const ScoreBatch& scores, const DecodeSettings& settings,
                   const LegalSettings& legal, const BatchSpans& spans, int threads) {
  const std::vector<int64_t> words = scores.word_starts();
  parses.gaps.assign(scores.size(), 0);
  std::vector<LegalWorker> workers(std::max(threads, 1));
  parallel_for(scores.size(), threads, [&](size_t s, size_t number) {
    LegalWorker& worker = workers[number];
    const LegalSearch<double>::Sentence sentence{s, static_cast<size_t>(words[s]), spans.of(s),
                                                 scores.highest_of(words[s])};
    if (!worker.search.is_illegal(parses, legal, sentence, scores.length(s))) return;
    const ArcScores<double>& own = scores.scores(s, worker.memory);
    worker.decoder.load(own, settings, sentence.spans, sentence.highest);
    worker.search.replace(parses, legal, settings, sentence, {own, {}}, worker.decoder);
  });
}

std::vector<uint8_t> illegal_sentences(const LegalRules& rules, const int32_t* heads, const int32_t* labels,
                                       const int64_t* starts, size_t sentences) {
  std::vector<uint8_t> illegal(sentences, 0);
  for (size_t s = 0; s < sentences; ++s) {
    const int n = static_cast<int>(starts[s + 1] - starts[s]);
    illegal[s] = rules.penalty(heads + starts[s] - 1, labels + starts[s] - 1, n) > 0;
  }
  return illegal;
}

}  // namespace arcwise
