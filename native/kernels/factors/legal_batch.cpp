#include "kernels/factors/legal_batch.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

constexpr double FULL_SEARCH_WORDS = 40;

}  // namespace

bool legal_gains(const ArcScores<double>& scores, const DecodeSettings& settings,
                 TreeDecoder<double>& decoder, const ArcStates& states, ArcScores<double>& gains) {
  const bool labelled = settings.decoder == Decoder::minimum_labelled_risk;
  const bool risk = labelled || settings.decoder == Decoder::minimum_risk;
  if (risk && !decoder.find_marginals()) return false;
  const int clusters = scores.states->clusters;
  const double scale = 1 / settings.temperatures.heads, label_scale = 1 / settings.temperatures.labels;
  gains.start(states, scores.n);
  for_each_arc(scores, [&](int h, int m, int set, const double* values, int count) {
    double* out = gains.add(h, m, set);
    const int labels = count / clusters;
    double top = MINUS_INFINITY, total = 0, highest = 0;
    for (int l = 0; l < labels; ++l) {
      const double* own = values + l * clusters;
      if (clusters == 1)
        out[l] = own[0];
      else if (settings.decoder == Decoder::max_z)
        out[l] = *std::max_element(own, own + clusters);
      else
        out[l] = log_sum(own, clusters, scale) / scale;
      top = std::max(top, out[l]);
    }
    if (!risk) return;
    const double marginal = decoder.marginal(h, m);
    for (int l = 0; l < labels; ++l) total += std::exp(label_scale * (out[l] - top));
    highest = 1 / total;
    for (int l = 0; l < labels; ++l) {
      if (out[l] == MINUS_INFINITY) continue;
      const double share = std::exp(label_scale * (out[l] - top)) / total;
      out[l] = labelled ? marginal * share : marginal * (1 + share - highest);
    }
  });
  return true;
}

void LegalBatch::Worker::keep(LegalBatch& batch, size_t s, size_t first, const DecodeSettings& settings) {
  ParseResult& parses = batch.parses;
  for (int m = 1, n = decoder.n(); m <= n; ++m) {
    const size_t word = first + m - 1;
    parses.heads[word] = heads[m];
    parses.labels[word] = labels[m];
    if (!settings.probabilities) continue;
    const double head = decoder.marginal(heads[m], m);
    parses.head_probability[word] = static_cast<float>(head);
    parses.label_probability[word] =
        static_cast<float>(head * decoder.label_given_arc(heads[m], m, labels[m]));
  }
  parses.parsed[s] = 1;
  if (!settings.probabilities) return;
  parses.log_probability[s] = decoder.log_probability(heads.data());
  parses.head_entropy[s] = decoder.head_entropy();
}

LegalBatch legal_decode(const ScoreBatch& scores, const DecodeSettings& settings, const LegalRules& rules,
                        const BatchSpans& spans, int max_decodes, int threads) {
  LegalBatch batch;
  const std::vector<int64_t> words = scores.word_starts();
  const std::vector<double>& highest = scores.known_highest();
  ArcStates states = scores.states();
  states.clusters = 1;  // gains are by label
  batch.parses.start(words.back(), scores.size(), settings.probabilities, {});
  batch.values.assign(scores.size(), MINUS_INFINITY);
  batch.bounds.assign(scores.size(), MINUS_INFINITY);
  batch.decodes.assign(scores.size(), 0);
  std::vector<LegalBatch::Worker> workers(std::max(threads, 1));
  parallel_for(scores.size(), threads, [&](size_t s, size_t number) {
    LegalBatch::Worker& worker = workers[number];
    const ArcScores<double>& sentence = scores.scores(s, worker.memory);
    const EisnerSpans subtrees = spans.of(s);
    worker.decoder.load(sentence, settings, subtrees, highest.empty() ? nullptr : &highest[words[s]] - 1);
    if (!legal_gains(sentence, settings, worker.decoder, states, worker.gains)) return;
    worker.heads.assign(sentence.n + 1, -1);
    worker.labels.assign(sentence.n + 1, -1);
    // A decode of a long sentence takes long.
    const double share = std::min(1.0, std::pow(FULL_SEARCH_WORDS / sentence.n, 2));
    const int most = std::max(static_cast<int>(max_decodes * share), std::min(max_decodes, 100));
    const LegalTree tree = worker.legal.decode(worker.gains, rules, settings.trees, subtrees, most,
                                               worker.heads.data(), worker.labels.data());
    batch.values[s] = tree.value;
    batch.bounds[s] = tree.bound;
    batch.decodes[s] = tree.decodes;
    if (!tree.found || (settings.probabilities && !worker.decoder.find_marginals())) return;
    worker.keep(batch, s, words[s], settings);
  });
  return batch;
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
