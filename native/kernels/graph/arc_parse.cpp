#include "kernels/graph/arc_parse.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// Per-thread workspace: the scores of one sentence at a time and the decoder.
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
    scorer_.zeros = weighted.zeros;
  }

  // Scores the sentence. every_label: also labels that are not the best label of their arc.
  const ArcScores<float>& score(bool every_label) {
    const ArcMask mask{required_.empty() ? nullptr : required_.data(), true, &weighted_->unseen, every_label};
    scorer_.score(weighted_->table, weighted_->weights, sentence_, mask, scores_);
    return scores_;
  }
  TreeDecoder<float>& decoder(const DecodeSettings& settings) {
    decoder_.load(score(settings.needs_marginals()), settings);
    return decoder_;
  }
  // Decodes the sentence; the tree must obey the rules if there are any.
  void parse(const DecodeSettings& settings, const AskedTrees& asked, const LegalSettings* legal,
             size_t number, size_t first_word, ParseResult& result) {
    result.keep(decoder(settings), number, first_word, settings.probabilities, asked);
    const LegalSearch<float>::Sentence sentence{number, first_word, {}};
    if (!legal || !search_.is_illegal(result, *legal, sentence, scores_.n)) return;
    LegalScores<float> scores{scores_, {}};
    if (!settings.needs_marginals())
      scores.add_arc = [this](int h, int m, ArcScores<float>& out) {
        scorer_.add_every_label(weighted_->table, weighted_->unseen, scores_, h, m, out);
      };
    search_.replace(result, *legal, settings, sentence, scores, decoder_);
  }

 private:
  const WeightedTable* weighted_ = nullptr;
  ArcSentence sentence_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  TreeDecoder<float> decoder_;
  LegalSearch<float> search_;
  std::vector<int32_t> required_;
};

// Calls work(parser, sentence) for every sentence, with one parser per worker.
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
                      const DecodeSettings& settings, const AskedTrees& asked, const LegalSettings* legal,
                      int threads) {
  ParseResult result;
  result.start(data.tags.size(), data.sentences(), settings.probabilities, asked);
  if (legal) result.gaps.assign(data.sentences(), 0);
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    parser.parse(settings, asked, legal, s, data.first(s), result);
  });
  return result;
}

KBestResult arc_k_best(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                       const DecodeSettings& settings, int k, int threads) {
  std::vector<KBestResult> own(data.sentences());
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    own[s].keep(parser.decoder(settings), k, settings.probabilities);
  });
  return KBestResult::joined(own);
}

ScoreBatch score_treebank(const WeightedTable& weighted, const ArcData& data, const int32_t* required,
                          int threads) {
  std::vector<int32_t> lengths;
  for (size_t s = 0; s < data.sentences(); ++s) lengths.push_back(data.length(s));
  ScoreBatch batch = ScoreBatch::kept(weighted.table.states, std::move(lengths));
  for_each_sentence(weighted, data, required, threads, [&](SentenceParser& parser, size_t s) {
    const ArcScores<float>& found = parser.score(true);
    ArcScores<double>& own = batch[s];
    for (size_t at = 0; at < found.arcs.size(); ++at) {
      const auto& arc = found.arcs[at];
      own.arcs[at] = {arc.start, arc.set, arc.tied};
    }
    own.values.assign(found.values.begin(), found.values.end());
  });
  return batch;
}

}  // namespace arcwise
