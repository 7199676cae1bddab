#include "kernels/neural/neural_parse.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "kernels/base/parallel.hpp"
#include "kernels/neural/network_batch.hpp"
#include "kernels/neural/sentence_scorer.hpp"

namespace arcwise {
namespace {

// More at once would take more memory, fewer more time: the rows of a batch share the reads of a matrix.
constexpr size_t WORDS_AT_ONCE = 16384, SENTENCES_AT_ONCE = 48, ROWS_AT_ONCE = 2048;
constexpr int ROWS_TAGGED_AT_ONCE = 256;

int length_of(const TreebankLayout& layout, size_t sentence) {
  return static_cast<int>(layout.sentence_words[sentence + 1] - layout.sentence_words[sentence]);
}

// One thread's memory.
struct Worker {
  explicit Worker(const NeuralNetwork& network) : batch(network), scorer(network, batch) {}
  NetworkBatch batch;
  SentenceScorer scorer;
  TreeDecoder<float> decoder;
  LegalSearch<float> search;

  // The best tree of the sentence that the scorer has loaded.
  void parse(const DecodeSettings& settings, const AskedTrees& asked, size_t sentence, size_t first, int n,
             ParseResult& result) {
    if (!SentenceScorer::can_reduce(settings)) {
      decoder.load(scorer.every_state(), settings);
      result.keep(decoder, sentence, first, settings.probabilities, asked);
      return;
    }
    decoder.load(scorer.reduced(settings), settings);
    if (!decoder.decode()) return;
    result.parsed[sentence] = 1;
    std::copy_n(decoder.heads().begin() + 1, n, result.heads.begin() + first);
    decoder.load(scorer.states_of(&result.heads[first]), settings);
    for (int m = 1; m <= n; ++m)
      result.labels[first + m - 1] = decoder.best_label(result.heads[first + m - 1], m);
  }
  // Replaces the tree if it breaks a rule.
  void make_legal(const LegalSettings& legal, const DecodeSettings& settings, size_t sentence, size_t first,
                  int n, ParseResult& result) {
    const LegalSearch<float>::Sentence place{sentence, first, {}};
    if (!search.is_illegal(result, legal, place, n)) return;
    const ArcScores<float>& scores = scorer.every_state();
    decoder.load(scores, settings);
    search.replace(result, legal, settings, place, {scores, {}}, decoder);
  }
};

// Sentences first..last-1 in batches of like length, the longest first.
std::vector<std::vector<BatchSentence>> batches_of(const TreebankLayout& layout, size_t first, size_t last,
                                                   int threads) {
  std::vector<BatchSentence> sentences;
  for (size_t s = first; s < last; ++s)
    sentences.push_back(
        {s, length_of(layout, s), layout.sentence_words[s] - size_t{layout.sentence_words[first]}});
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const BatchSentence& a, const BatchSentence& b) { return a.n > b.n; });
  const size_t share = sentences.size() / (2 * static_cast<size_t>(std::max(threads, 1))) + 1;
  const size_t most = std::min(SENTENCES_AT_ONCE, std::max<size_t>(share, 6));
  std::vector<std::vector<BatchSentence>> batches;
  size_t rows = 0;
  for (const BatchSentence& sentence : sentences) {
    rows += static_cast<size_t>(sentence.n) + 1;
    if (batches.empty() || batches.back().size() == most || rows > ROWS_AT_ONCE) {
      batches.emplace_back();
      rows = static_cast<size_t>(sentence.n) + 1;
    }
    batches.back().push_back(sentence);
  }
  return batches;
}

// work(worker, sentences of the batch) for all batches, whose states are there.
template <typename Work>
void for_each_batch(const NeuralNetwork& network, const NeuralText& text, int threads, Work work) {
  const TreebankLayout& layout = text.layout;
  std::deque<Worker> workers;  // they stay where they are
  for (int i = 0; i < std::max(threads, 1); ++i) workers.emplace_back(network);
  InputProducts products;
  for (size_t first = 0; first < layout.sentences();) {
    size_t last = first + 1;
    const size_t start = layout.sentence_words[first];
    while (last < layout.sentences() && layout.sentence_words[last + 1] - start <= WORDS_AT_ONCE) ++last;
    network.input().look_up(layout, text.data, start, layout.sentence_words[last], threads, products);
    const auto batches = batches_of(layout, first, last, threads);
    parallel_for(batches.size(), threads, [&](size_t b, size_t worker) {
      workers[worker].batch.encode(batches[b], products);
      work(workers[worker], batches[b]);
    });
    first = last;
  }
}

// work(worker, sentence, its place in the batch) for all sentences, whose spaces are there.
template <typename Work>
void for_each_sentence(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                       bool single_root, int threads, Work work) {
  for_each_batch(network, text, threads, [&](Worker& worker, const std::vector<BatchSentence>& batch) {
    worker.batch.project();
    for (size_t place = 0; place < batch.size(); ++place) {
      const size_t first = text.layout.sentence_words[batch[place].sentence];
      worker.scorer.load(static_cast<int>(place), batch[place].n, required ? required + first : nullptr,
                         single_root);
      work(worker, batch[place].sentence, first);
    }
  });
}

std::vector<TagResult> no_tags(const NeuralNetwork& network, size_t words) {
  return std::vector<TagResult>(network.tags().size(),
                                {std::vector<int32_t>(words), std::vector<float>(words)});
}

void keep_tags(const NeuralNetwork& network, const NeuralText& text, NetworkBatch& encoded,
               const std::vector<BatchSentence>& batch, std::vector<TagResult>& out) {
  for (size_t first = 0, last = 0; first < batch.size(); first = last) {
    int rows = 0;  // of whole sentences, at least one
    for (; last < batch.size() && (last == first || rows + batch[last].n < ROWS_TAGGED_AT_ONCE); ++last)
      rows += batch[last].n + 1;
    for (size_t t = 0; t < out.size(); ++t) {
      const int classes = network.tags()[t].columns();
      encoded.classify(static_cast<int>(t), encoded.first_row(static_cast<int>(first)), rows);
      for (size_t place = first; place < last; ++place)
        for (int m = 1; m <= batch[place].n; ++m) {
          const float* scores = encoded.classes(encoded.first_row(static_cast<int>(place)) + m);
          const float* best = std::max_element(scores, scores + classes);
          const size_t word = text.layout.sentence_words[batch[place].sentence] + size_t(m) - 1;
          out[t].codes[word] = static_cast<int32_t>(best - scores);
          out[t].probabilities[word] =
              std::min(std::exp(*best - network.loops().log_sum(scores, classes, 1.0f)), 1.0f);
        }
    }
  }
}

}  // namespace

ScoreBatch neural_scores(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                         bool single_root, int threads) {
  std::vector<int32_t> lengths;
  for (size_t s = 0; s < text.layout.sentences(); ++s) lengths.push_back(length_of(text.layout, s));
  ScoreBatch result = ScoreBatch::kept(network.states(), std::move(lengths));
  for_each_sentence(network, text, required, single_root, threads, [&](Worker& worker, size_t s, size_t) {
    const ArcScores<float>& found = worker.scorer.every_state();
    ArcScores<double>& own = result[s];
    for (size_t at = 0; at < found.arcs.size(); ++at)
      own.arcs[at] = {found.arcs[at].start, found.arcs[at].set, found.arcs[at].tied};
    own.values.assign(found.values.begin(), found.values.end());
  });
  return result;
}

ParseResult neural_parse(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                         const DecodeSettings& settings, const AskedTrees& asked, int threads,
                         std::vector<TagResult>* tags, const LegalSettings* legal) {
  ParseResult result;
  result.start(text.layout.words(), text.layout.sentences(), settings.probabilities, asked);
  if (legal) result.gaps.assign(text.layout.sentences(), 0);
  if (tags) *tags = no_tags(network, text.layout.words());
  for_each_batch(network, text, threads, [&](Worker& worker, const std::vector<BatchSentence>& batch) {
    if (tags) keep_tags(network, text, worker.batch, batch, *tags);
    worker.batch.project();
    for (size_t place = 0; place < batch.size(); ++place) {
      const size_t sentence = batch[place].sentence, first = text.layout.sentence_words[sentence];
      worker.scorer.load(static_cast<int>(place), batch[place].n, required ? required + first : nullptr,
                         settings.trees.single_root);
      worker.parse(settings, asked, sentence, first, batch[place].n, result);
      if (legal) worker.make_legal(*legal, settings, sentence, first, batch[place].n, result);
    }
  });
  return result;
}

KBestResult neural_k_best(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                          const DecodeSettings& settings, int k, int threads) {
  std::vector<KBestResult> own(text.layout.sentences());
  const bool single_root = settings.trees.single_root;
  for_each_sentence(network, text, required, single_root, threads, [&](Worker& worker, size_t s, size_t) {
    worker.decoder.load(worker.scorer.every_state(), settings);
    own[s].keep(worker.decoder, k, settings.probabilities);
  });
  return KBestResult::joined(own);
}

std::vector<TagResult> neural_tags(const NeuralNetwork& network, const NeuralText& text, int threads) {
  std::vector<TagResult> result = no_tags(network, text.layout.words());
  for_each_batch(network, text, threads, [&](Worker& worker, const std::vector<BatchSentence>& batch) {
    keep_tags(network, text, worker.batch, batch, result);
  });
  return result;
}

}  // namespace arcwise
