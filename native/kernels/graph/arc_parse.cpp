#include "kernels/graph/arc_parse.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// One thread's memory: scores of one sentence after the other, and the decoder over them.
class SentenceParser {
 public:
  void load(const WeightedTable& weighted, const ArcData& data, size_t sentence, const int32_t* required) {
    weighted_ = &weighted;
    sentence_.set(weighted.table, data, sentence, {});
    required_.clear();
    if (required) {
      required_.assign(1, -1);
      const int32_t* own = required + data.first(sentence);
      required_.insert(required_.end(), own, own + sentence_.n());
    }
    scorer_.occupied = weighted.occupied;
  }

  // Scores, then `find`; once more with all arcs if that finds nothing.
  template <typename Find>
  void find(const DecodeSettings& settings, Find find) {
    for (bool filtered : {true, false}) {
      ArcMask mask{required_.empty() ? nullptr : required_.data(), filtered};
      scorer_.score(weighted_->table, weighted_->weights, sentence_, mask, scores_);
      decoder_.load(scores_, settings);
      if (find(decoder_)) return;
    }
  }
  const ArcScores<float>& scores() const { return scores_; }

 private:
  const WeightedTable* weighted_ = nullptr;
  ArcSentence sentence_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  TreeDecoder<float> decoder_;
  std::vector<int32_t> required_;
};

// One parser per worker; work(parser, sentence) for every sentence.
template <typename Work>
void for_each_sentence(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                       int threads, Work work) {
  std::vector<SentenceParser> parsers(std::max(threads, 1));
  parallel_for(data.sentences(), threads, [&](size_t s, size_t worker) {
    parsers[worker].load(weighted, data, s, required);
    work(parsers[worker], s);
  });
}

}  // namespace

ParseResult arc_parse(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                      const DecodeSettings& settings, const AskedTrees& asked, int threads) {
  ParseResult result;
  result.start(data.tags.size(), data.sentences(), settings.probabilities, asked);
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    parser.find(settings, [&](TreeDecoder<float>& decoder) {
      return result.keep(decoder, s, data.first(s), settings.probabilities, asked);
    });
  });
  return result;
}

KBestResult arc_k_best(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                       const DecodeSettings& settings, int k, int threads) {
  std::vector<KBestResult> own(data.sentences());
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    parser.find(settings,
                [&](TreeDecoder<float>& decoder) { return own[s].keep(decoder, k, settings.probabilities); });
  });
  return KBestResult::joined(own);
}

ScoreBatch score_treebank(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                          TreeClass trees, int threads) {
  std::vector<int32_t> lengths;
  for (size_t s = 0; s < data.sentences(); ++s) lengths.push_back(data.length(s));
  ScoreBatch batch = ScoreBatch::kept(weighted.table.states, std::move(lengths));
  DecodeSettings settings;
  settings.trees = trees;
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    parser.find(settings, [](TreeDecoder<float>& decoder) { return decoder.has_tree(); });
    const ArcScores<float>& found = parser.scores();
    ArcScores<double>& own = batch[s];
    for (size_t at = 0; at < found.arcs.size(); ++at)
      own.arcs[at] = {found.arcs[at].start, found.arcs[at].set};
    own.values.assign(found.values.begin(), found.values.end());
  });
  return batch;
}

}  // namespace arcwise
