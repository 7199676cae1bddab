#include "kernels/inference/score_batch.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

template <typename Size>
std::vector<int64_t> starts_of(size_t sentences, Size size) {
  std::vector<int64_t> starts(1, 0);
  for (size_t s = 0; s < sentences; ++s) starts.push_back(starts.back() + static_cast<int64_t>(size(s)));
  return starts;
}

// T log Σ exp(score / T) over the clusters of a label.
double label_score(const double* values, int clusters, double temperature) {
  return clusters == 1 ? values[0] : temperature * log_sum(values, clusters, 1 / temperature);
}

}  // namespace

std::vector<int64_t> ScoreBatch::word_starts() const {
  return starts_of(size(), [&](size_t s) { return sentences_[s].n; });
}
std::vector<int64_t> ScoreBatch::arc_starts() const {
  return starts_of(size(), [&](size_t s) { return sentences_[s].arcs.size(); });
}
std::vector<int64_t> ScoreBatch::value_starts() const {
  return starts_of(size(), [&](size_t s) { return sentences_[s].values.size(); });
}
size_t ScoreBatch::words() const { return static_cast<size_t>(word_starts().back()); }

ScoreBatch ScoreBatch::dense(const double* scores, const std::vector<int32_t>& lengths, int labels) {
  ScoreBatch batch(ArcStates::all_of(labels));
  batch.resize(lengths.size());
  const int layers = std::max(labels, 1);
  for (size_t s = 0; s < lengths.size(); ++s) {
    const int n = lengths[s];
    const size_t square = static_cast<size_t>(n + 1) * (n + 1);
    ArcScores<double>& own = batch[s];
    own.start(batch.states(), n);
    own.values.reserve(square * layers);
    for (int h = 0; h <= n; ++h)
      for (int m = 1; m <= n; ++m) {
        if (h == m) continue;
        const double* first = scores + h * (n + 1) + m;
        bool possible = false;
        for (int l = 0; l < layers; ++l) possible |= first[l * square] > MINUS_INFINITY;
        if (!possible) continue;
        double* values = own.add(h, m, 0);
        for (int l = 0; l < layers; ++l) values[l] = first[l * square];
      }
    scores += square * layers;
  }
  return batch;
}

ScoreBatch ScoreBatch::constrained(const int32_t* heads, const int32_t* labels,
                                   const uint8_t* forbidden) const {
  ScoreBatch result(*this);
  const std::vector<int64_t> words = word_starts(), arcs = arc_starts();
  for (size_t s = 0; s < size(); ++s)
    constrain(result[s], {heads ? heads + words[s] - 1 : nullptr, labels ? labels + words[s] - 1 : nullptr,
                          forbidden ? forbidden + arcs[s] : nullptr});
  return result;
}

ParseResult ScoreBatch::decode(const DecodeSettings& settings, const AskedTrees& asked,
                               const BatchSpans& spans, int threads) const {
  ParseResult result;
  const std::vector<int64_t> words = word_starts();
  result.start(words.back(), size(), settings.probabilities, asked);
  std::vector<TreeDecoder<double>> decoders(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    decoders[worker].load(sentences_[s], settings, spans.of(s));
    result.keep(decoders[worker], s, words[s], settings.probabilities, asked);
  });
  return result;
}

KBestResult ScoreBatch::k_best(const DecodeSettings& settings, int k, const BatchSpans& spans,
                               int threads) const {
  std::vector<KBestResult> own(size());
  std::vector<TreeDecoder<double>> decoders(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    decoders[worker].load(sentences_[s], settings, spans.of(s));
    own[s].keep(decoders[worker], k);
  });
  return KBestResult::joined(own);
}

std::vector<double> ScoreBatch::arc_sums(double temperature, int threads) const {
  const std::vector<int64_t> starts = arc_starts();
  std::vector<double> result(starts.back());
  std::vector<std::vector<double>> arcs(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    arcs_by_sum(sentences_[s], 1 / temperature, arcs[worker]);
    std::copy(arcs[worker].begin(), arcs[worker].end(), result.begin() + starts[s]);
  });
  return result;
}

// place(sentence, at, values, count, write): for every arc, at its place `at` in the (n+1)² of its sentence; write(state, number).
template <typename Place>
std::vector<double> ScoreBatch::dense_numbers(double empty, Place place) const {
  const int layers = std::max(states().labels, 1);
  std::vector<double> result(arc_starts().back() * layers, empty);
  double* out = result.data();
  for (size_t s = 0; s < size(); ++s) {
    const ArcScores<double>& own = sentences_[s];
    const size_t square = own.arcs.size();
    for_each_arc(own, [&](int h, int m, int set, const double* values, int count) {
      const size_t at = h * (own.n + 1) + m;
      place(s, at, values, count, [&](int state) -> double& {
        return out[std::max(states().label_of(set, state), 0) * square + at];
      });
    });
    out += square * layers;
  }
  return result;
}

std::vector<double> ScoreBatch::by_label(double temperature) const {
  const int Z = states().clusters;
  return dense_numbers(MINUS_INFINITY, [&](size_t, size_t, const double* values, int count, auto number) {
    for (int s = 0; s < count; s += Z) number(s) = label_score(values + s, Z, temperature);
  });
}

std::vector<double> ScoreBatch::log_weights(const Temperatures& temperatures) const {
  const int Z = states().clusters;
  const double scale = 1 / temperatures.labels;
  std::vector<double> scores;
  return dense_numbers(MINUS_INFINITY, [&](size_t, size_t, const double* values, int count, auto number) {
    scores.clear();
    for (int s = 0; s < count; s += Z) scores.push_back(label_score(values + s, Z, temperatures.heads));
    const double arc = log_sum(values, count, 1 / temperatures.heads),
                 labels = log_sum(scores.data(), static_cast<int>(scores.size()), scale);
    for (int s = 0; s < count; s += Z) number(s) = arc + (scale * scores[s / Z] - labels);
  });
}

std::vector<double> ScoreBatch::label_marginals(const double* marginals,
                                                const Temperatures& temperatures) const {
  const int Z = states().clusters;
  const double scale = 1 / temperatures.labels;
  const std::vector<int64_t> starts = arc_starts();
  std::vector<double> scores;
  return dense_numbers(0, [&](size_t sentence, size_t at, const double* values, int count, auto number) {
    const double marginal = marginals[starts[sentence] + at];
    if (marginal == 0) return;
    scores.clear();
    for (int s = 0; s < count; s += Z) scores.push_back(label_score(values + s, Z, temperatures.heads));
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(scale * (score - top));
    for (int s = 0; s < count; s += Z) number(s) = marginal * scores[s / Z] / total;
  });
}

std::vector<double> ScoreBatch::placed(const double* by_state) const {
  const std::vector<int64_t> starts = value_starts();
  return dense_numbers(0, [&](size_t sentence, size_t, const double* values, int count, auto number) {
    const double* own = by_state + starts[sentence] + (values - sentences_[sentence].values.data());
    for (int s = 0; s < count; ++s) number(s) += own[s];
  });
}

BatchLoss tree_loss_batch(TreeLoss loss, const ScoreBatch& scores, const int32_t* heads,
                          const int32_t* labels, TreeClass trees, int threads) {
  struct Own {
    SentenceLoss<double> loss;
    KnownTree gold;
  };
  std::vector<Own> own(std::max(threads, 1));
  const std::vector<int64_t> words = scores.word_starts(), values = scores.value_starts();
  BatchLoss result{std::vector<double>(scores.size()), std::vector<double>(values.back())};
  parallel_for(scores.size(), threads, [&](size_t s, size_t worker) {
    Own& mine = own[worker];
    mine.gold.set(heads + words[s], labels + words[s], scores[s].n);
    result.values[s] = mine.loss.compute(loss, scores[s], mine.gold, trees);
    const std::vector<double>& gradient = mine.loss.gradient();
    std::copy(gradient.begin(), gradient.end(), result.gradient.begin() + values[s]);
  });
  return result;
}

}  // namespace arcwise
