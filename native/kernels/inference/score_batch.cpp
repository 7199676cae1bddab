#include "kernels/inference/score_batch.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/interruption.hpp"
#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

template <typename Size>
std::vector<int64_t> starts_of(size_t sentences, Size size) {
  std::vector<int64_t> starts(1, 0);
  for (size_t s = 0; s < sentences; ++s) starts.push_back(starts.back() + static_cast<int64_t>(size(s)));
  return starts;
}

// The workspace of one thread.
struct Decoding {
  ArcScores<double> memory;
  TreeDecoder<double> decoder;
};

// T log Σ exp(score / T) over the clusters of a label.
double label_score(const double* values, int clusters, double temperature) {
  return clusters == 1 ? values[0] : temperature * log_sum(values, clusters, 1 / temperature);
}

// The scores of all labels of an arc.
void label_scores(const double* values, int count, int clusters, double temperature,
                  std::vector<double>& out) {
  if (clusters == 1) return out.assign(values, values + count);
  out.clear();
  for (int s = 0; s < count; s += clusters) out.push_back(label_score(values + s, clusters, temperature));
}

// Replaces each score by exp(scale · (score - the highest)); returns their sum.
double shares(std::vector<double>& scores, double scale) {
  const double top = *std::max_element(scores.begin(), scores.end());
  const int count = static_cast<int>(scores.size());
  scores.resize((count + LANES - 1) / LANES * LANES, MINUS_INFINITY);
  Lanes total = spread(0);
  for (size_t s = 0; s < scores.size(); s += LANES) {
    const Lanes four = exp_of_nonpositive(scale * (load(&scores[s]) - top));
    store(&scores[s], four);
    total += four;
  }
  scores.resize(count);
  return sum_of(total);
}

// Reads the scores of a sentence from labels × (n+1)² numbers.
void read_dense(const double* from, int n, int layers, const ArcStates& states, std::vector<double>& row,
                ArcScores<double>& out) {
  const size_t square = static_cast<size_t>(n + 1) * (n + 1);
  out.start(states, n);
  out.values.reserve(square * layers);
  row.resize(static_cast<size_t>(n + 1) * layers);
  for (int h = 0; h <= n; ++h) {
    // The scores of all arcs from h: stored by label, needed by word.
    for (int l = 0; l < layers; ++l)
      for (int m = 0; m <= n; ++m) row[m * layers + l] = from[l * square + h * (n + 1) + m];
    for (int m = 1; m <= n; ++m) {
      const double* values = &row[m * layers];
      auto possible = [](double value) { return value > MINUS_INFINITY; };
      if (h != m && std::any_of(values, values + layers, possible))
        std::copy(values, values + layers, out.add(h, m, 0));
    }
  }
}

}  // namespace

std::vector<int64_t> ScoreBatch::word_starts() const {
  return starts_of(size(), [&](size_t s) { return lengths_[s]; });
}
std::vector<int64_t> ScoreBatch::arc_starts() const {
  return starts_of(size(), [&](size_t s) { return int64_t{lengths_[s] + 1} * (lengths_[s] + 1); });
}
size_t ScoreBatch::words() const { return static_cast<size_t>(word_starts().back()); }

const ArcScores<double>& ScoreBatch::scores(size_t sentence, ArcScores<double>& memory) const {
  if (arrays_.empty()) return sentences_[sentence];
  std::vector<double> row;
  read_dense(arrays_[sentence], lengths_[sentence], std::max(states().labels, 1), states(), row, memory);
  return memory;
}

ScoreBatch ScoreBatch::kept(ArcStates states, std::vector<int32_t> lengths) {
  ScoreBatch batch(std::move(states));
  batch.sentences_.resize(lengths.size());
  for (size_t s = 0; s < lengths.size(); ++s) batch.sentences_[s].start(batch.states(), lengths[s]);
  batch.lengths_ = std::move(lengths);
  return batch;
}

ScoreBatch ScoreBatch::dense(std::vector<const double*> arrays, std::vector<int32_t> lengths, int labels,
                             std::shared_ptr<const void> owner) {
  ScoreBatch batch(ArcStates::all_of(labels));
  batch.arrays_ = std::move(arrays);
  batch.lengths_ = std::move(lengths);
  batch.owner_ = std::move(owner);
  return batch;
}

ScoreBatch ScoreBatch::constrained(const int32_t* heads, const int32_t* labels, const uint8_t* forbidden,
                                   std::vector<double> highest) const {
  ScoreBatch result = kept(states(), lengths_);
  result.highest_ = highest.empty() ? highest_ : std::move(highest);
  const std::vector<int64_t> words = word_starts(), arcs = arc_starts();
  ArcScores<double> memory;
  for (size_t s = 0; s < size(); ++s) {
    result[s] = scores(s, memory);
    result[s].states = &result.states();
    constrain(result[s], {heads ? heads + words[s] - 1 : nullptr, labels ? labels + words[s] - 1 : nullptr,
                          forbidden ? forbidden + arcs[s] : nullptr});
  }
  return result;
}

ParseResult ScoreBatch::decode(const DecodeSettings& settings, const AskedTrees& asked,
                               const BatchSpans& spans, int threads) const {
  ParseResult result;
  const std::vector<int64_t> words = word_starts();
  result.start(words.back(), size(), settings.probabilities, asked);
  std::vector<Decoding> workers(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    Decoding& mine = workers[worker];
    mine.decoder.load(scores(s, mine.memory), settings, spans.of(s), highest_of(words[s]));
    result.keep(mine.decoder, s, words[s], settings.probabilities, asked);
  });
  return result;
}

KBestResult ScoreBatch::k_best(const DecodeSettings& settings, int k, const BatchSpans& spans,
                               int threads) const {
  std::vector<KBestResult> own(size());
  const std::vector<int64_t> words = word_starts();
  std::vector<Decoding> workers(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    Decoding& mine = workers[worker];
    mine.decoder.load(scores(s, mine.memory), settings, spans.of(s), highest_of(words[s]));
    own[s].keep(mine.decoder, k, settings.probabilities);
  });
  return KBestResult::joined(own);
}

std::vector<double> ScoreBatch::arc_weights(const Temperatures& temperatures, int threads) const {
  struct Own {
    ArcScores<double> memory;
    ArcWeights<double> weights;
    std::vector<double> arcs;
  };
  const std::vector<int64_t> starts = arc_starts(), words = word_starts();
  std::vector<double> result(starts.back());
  std::vector<Own> workers(std::max(threads, 1));
  parallel_for(size(), threads, [&](size_t s, size_t worker) {
    Own& mine = workers[worker];
    mine.weights.compute(scores(s, mine.memory), temperatures, highest_of(words[s]), mine.arcs);
    std::copy(mine.arcs.begin(), mine.arcs.end(), result.begin() + starts[s]);
  });
  return result;
}

std::vector<double> ScoreBatch::highest(double temperature, int threads) const {
  if (!highest_.empty()) return highest_;
  const std::vector<double> arcs = arc_weights({temperature}, threads);
  std::vector<double> result, of_words;
  const double* own = arcs.data();
  for (int n : lengths_) {
    highest_of_words(own, n, of_words);
    result.insert(result.end(), of_words.begin() + 1, of_words.end());
    own += static_cast<size_t>(n + 1) * (n + 1);
  }
  return result;
}

// Calls place(sentence, at, values, count, tied, number) for every arc, with its index `at` in the (n+1)² of
// its sentence; number(state) is the destination of the number of the state's label.
template <typename Place>
std::vector<double> ScoreBatch::dense_numbers(double empty, Place place) const {
  const int layers = std::max(states().labels, 1);
  std::vector<double> result(arc_starts().back() * layers), row;
  double* out = result.data();
  ArcScores<double> memory;
  for (size_t s = 0; s < size(); ++s) {
    const ArcScores<double>& own = scores(s, memory);
    const size_t square = own.arcs.size();
    const int n = own.n;
    for (int h = 0; h <= n; ++h) {
      check_work_limit(h);
      // The numbers of all arcs from h, transposed from word-major to label-major.
      row.assign(static_cast<size_t>(n + 1) * layers, empty);
      for (int m = 1; m <= n; ++m) {
        const auto& arc = own.arc(h, m);
        if (arc.start == own.NONE) continue;
        place(s, static_cast<size_t>(h * (n + 1) + m), &own.values[arc.start], states().count(arc.set),
              arc.tied, [&](int state) -> double& {
                return row[m * layers + std::max(states().label_of(arc.set, state), 0)];
              });
      }
      for (int l = 0; l < layers; ++l)
        for (int m = 0; m <= n; ++m) out[l * square + h * (n + 1) + m] = row[m * layers + l];
    }
    out += square * layers;
  }
  return result;
}

std::vector<double> ScoreBatch::by_label(double temperature) const {
  const int Z = states().clusters;
  return dense_numbers(MINUS_INFINITY,
                       [&](size_t, size_t, const double* values, int count, int, auto number) {
                         for (int s = 0; s < count; s += Z)
                           number(s) = label_score(values + s, Z, temperature);
                       });
}

std::vector<double> ScoreBatch::log_weights(const Temperatures& temperatures) const {
  const int Z = states().clusters;
  const double scale = 1 / temperatures.labels;
  const std::vector<int64_t> starts = arc_starts();
  const std::vector<double> arcs = arc_weights(temperatures, 1);
  std::vector<double> scores;
  return dense_numbers(MINUS_INFINITY,
                       [&](size_t sentence, size_t at, const double* values, int count, int, auto number) {
                         label_scores(values, count, Z, temperatures.heads, scores);
                         const double arc = arcs[starts[sentence] + at];
                         const double top = *std::max_element(scores.begin(), scores.end());
                         for (double& score : scores) score -= top;
                         const double labels = log_sum(scores.data(), static_cast<int>(scores.size()), scale);
                         for (int s = 0; s < count; s += Z)
                           number(s) = arc + (scale * scores[s / Z] - labels);
                       });
}

std::vector<double> ScoreBatch::label_marginals(const double* marginals,
                                                const Temperatures& temperatures) const {
  const int Z = states().clusters;
  const double scale = 1 / temperatures.labels;
  const std::vector<int64_t> starts = arc_starts();
  std::vector<double> scores;
  return dense_numbers(
      0, [&](size_t sentence, size_t at, const double* values, int count, int tied, auto number) {
        const double marginal = marginals[starts[sentence] + at];
        if (marginal == 0) return;
        const int own = count - tied;
        label_scores(values, own, Z, temperatures.heads, scores);
        const double top = *std::max_element(scores.begin(), scores.end());
        double total = shares(scores, scale), other = 0;
        if (tied > 0) {  // labels with equal scores
          other = std::exp(scale * (label_score(values + own, Z, temperatures.heads) - top));
          total += tied / Z * other;
        }
        const double factor = marginal / total;
        for (int s = 0; s < own; s += Z) number(s) = factor * scores[s / Z];
        for (int s = own; s < count; s += Z) number(s) = factor * other;
      });
}

BatchLoss tree_loss_batch(TreeLoss loss, const ScoreBatch& scores, const int32_t* heads,
                          const int32_t* labels, TreeClass trees, int threads) {
  struct Own {
    SentenceLoss<double> loss;
    KnownTree gold;
    ArcScores<double> memory;
  };
  std::vector<Own> own(std::max(threads, 1));
  const std::vector<int64_t> words = scores.word_starts(), arcs = scores.arc_starts();
  const int layers = std::max(scores.states().labels, 1);
  BatchLoss result{std::vector<double>(scores.size()), std::vector<double>(arcs.back() * layers, 0)};
  parallel_for(scores.size(), threads, [&](size_t s, size_t worker) {
    Own& mine = own[worker];
    const ArcScores<double>& sentence = scores.scores(s, mine.memory);
    mine.gold.set(heads + words[s], labels + words[s], sentence.n);
    result.values[s] = mine.loss.compute(loss, sentence, mine.gold, trees);
    if (std::isinf(result.values[s])) return;
    double* out = &result.gradient[arcs[s] * layers];
    for_each_arc(sentence, [&](int h, int m, int set, const double* values, int count) {
      const double* by_state = &mine.loss.gradient()[values - sentence.values.data()];
      for (int state = 0; state < count; ++state)
        out[std::max(sentence.states->label_of(set, state), 0) * sentence.arcs.size() + h * (sentence.n + 1) +
            m] += by_state[state];
    });
  });
  return result;
}

}  // namespace arcwise
