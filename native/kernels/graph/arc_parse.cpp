#include "kernels/graph/arc_parse.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/graph/arc_gold.hpp"
#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// One thread's memory, and the steps of parsing one sentence.
class SentenceParser {
 public:
  void load(const ArcSpace& space, const float* weights, const ArcData& data, size_t sentence,
            const int32_t* required, const ParseSettings& settings) {
    space_ = &space;
    settings_ = &settings;
    sentence_.set(space, data, sentence, {});
    required_.clear();
    if (required) {
      required_.assign(1, -1);
      const int32_t* own = required + data.first(sentence);
      required_.insert(required_.end(), own, own + n());
    }
    weights_ = weights;
    scorer_.occupied = settings.occupied;
  }

  int n() const { return sentence_.n(); }
  const std::vector<int32_t>& heads() const { return heads_; }

  void score(bool filtered) {
    scorer_.score(*space_, weights_, sentence_, {required_.empty() ? nullptr : required_.data(), filtered},
                  scores_);
  }

  // The tree asked for, in heads(); false if there is none.
  bool decode() {
    heads_.assign(n() + 1, -1);
    switch (settings_->decoder) {
      case ArcDecoder::map:
      case ArcDecoder::max_z:
        maximise();
        return inference_.decode(arcs_.data(), n(), settings_->trees, heads_.data()) != IMPOSSIBLE;
      case ArcDecoder::mbr:
        if (!find_marginals()) return false;
        return decode_marginals();
      case ArcDecoder::greedy:
        maximise();
        return best_heads();
    }
    return false;
  }

  // The trees of k_best, in heads[k*(n+1)] and values; how many there are.
  int k_best(int k, std::vector<int32_t>& heads, std::vector<double>& values) {
    heads.resize(k * (n() + 1));
    values.resize(k);
    maximise();
    return inference_.k_best(arcs_.data(), n(), settings_->trees, k, heads.data(), values.data());
  }

  // Log partition and the probability of every arc.
  bool find_marginals() {
    arcs_by_sum(scores_, *space_, sentence_, settings_->scale, arcs_);
    marginals_.resize((n() + 1) * (n() + 1));
    log_partition_ = inference_.marginals(arcs_.data(), n(), settings_->trees, marginals_.data());
    return log_partition_ != IMPOSSIBLE;
  }
  double log_partition() const { return log_partition_; }
  double marginal(int h, int m) const { return marginals_[h * (n() + 1) + m]; }

  // H = log Z - sum of probability times score.
  double entropy_of_trees() const {
    double expected = 0;
    for (size_t i = 0; i < marginals_.size(); ++i)
      if (marginals_[i] > 0) expected += marginals_[i] * arcs_[i];
    return std::max(log_partition_ - expected, 0.0);
  }

  // The best label of an arc, summed over clusters; -1 in an unlabelled model.
  int best_label(int h, int m) const {
    if (space_->labels == 0) return -1;
    int arc_class = sentence_.class_of(*space_, h, m), count = space_->states(arc_class),
        Z = space_->clusters;
    const float* states = scores_.of(h, m);
    int best = 0;
    double most = IMPOSSIBLE;
    for (int s = 0; s < count; s += Z)
      if (double score = label_score(states + s); score > most) {
        most = score;
        best = s;
      }
    return space_->label_of(arc_class, best);
  }

  // The probability of a label given the arc; -1 if the arc, or the label on it, is not considered.
  double label_given_arc(int h, int m, int label) const {
    if (space_->labels == 0) return 1.0;
    if (!scores_.has(h, m)) return -1.0;
    int arc_class = sentence_.class_of(*space_, h, m), count = space_->states(arc_class),
        Z = space_->clusters;
    const float* states = scores_.of(h, m);
    double top = IMPOSSIBLE, total = 0, wanted = -1;
    for (int s = 0; s < count; s += Z) top = std::max(top, label_score(states + s));
    for (int s = 0; s < count; s += Z) {
      double share = std::exp(settings_->label_scale * (label_score(states + s) - top));
      total += share;
      if (space_->label_of(arc_class, s) == label) wanted = share;
    }
    return wanted < 0 ? wanted : wanted / total;
  }

  // Scores by label, labels × (n+1)^2, -inf where there is none.
  void labelled_scores(double* out) {
    size_t square = static_cast<size_t>(n() + 1) * (n() + 1);
    std::fill(out, out + square * std::max(space_->labels, 1), IMPOSSIBLE);
    int Z = space_->clusters;
    for_each_arc(scores_, *space_, sentence_, [&](int h, int m, int arc_class, float* states, int count) {
      for (int s = 0; s < count; s += Z) {
        double* into = out + std::max(space_->label_of(arc_class, s), 0) * square + h * (n() + 1) + m;
        *into = log_sum(states + s, Z);
      }
    });
  }

  // The log probability of the tree in heads() with its best labels summed out.
  double log_probability() const {
    double score = 0;
    for (int m = 1; m <= n(); ++m) score += arcs_[heads_[m] * (n() + 1) + m];
    return score - log_partition_;
  }

 private:
  // The score of one label, as it was before any temperature.
  double label_score(const float* states) const {
    return space_->clusters == 1 ? states[0] : log_sum(states, space_->clusters) / settings_->scale;
  }

  // log of the sum over the clusters of one label
  double log_sum(const float* states, int clusters) const {
    double top = *std::max_element(states, states + clusters), total = 0;
    for (int z = 0; z < clusters; ++z) total += std::exp(settings_->scale * (states[z] - top));
    return settings_->scale * top + std::log(total);
  }

  // Arc scores for decoding: the best label of every arc; latent clusters are summed (map) or maximised
  // (max-z).
  void maximise() {
    arcs_by_maximum(scores_, *space_, sentence_, arcs_, best_);
    if (space_->clusters == 1 || settings_->decoder == ArcDecoder::max_z) return;
    int Z = space_->clusters;
    for_each_arc(scores_, *space_, sentence_, [&](int h, int m, int, float* states, int count) {
      double best = IMPOSSIBLE;
      for (int s = 0; s < count; s += Z) best = std::max(best, log_sum(states + s, Z));
      arcs_[h * (n() + 1) + m] = best;
    });
  }

  bool decode_marginals() {
    risk_.assign(marginals_.size(), IMPOSSIBLE);
    for (size_t i = 0; i < risk_.size(); ++i)
      if (arcs_[i] != IMPOSSIBLE) risk_[i] = marginals_[i];
    return inference_.decode(risk_.data(), n(), settings_->trees, heads_.data()) != IMPOSSIBLE;
  }

  bool best_heads() {
    for (int m = 1; m <= n(); ++m) {
      int best = -1;
      for (int h = 0; h <= n(); ++h)
        if (scores_.has(h, m) && (best < 0 || arcs_[h * (n() + 1) + m] > arcs_[best * (n() + 1) + m]))
          best = h;
      if (best < 0) return false;
      heads_[m] = best;
    }
    return true;
  }

  const ArcSpace* space_ = nullptr;
  const ParseSettings* settings_ = nullptr;
  const float* weights_ = nullptr;
  ArcSentence sentence_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  TreeInference inference_;
  std::vector<int32_t> required_, best_, heads_;
  std::vector<double> arcs_, marginals_, risk_;
  double log_partition_ = 0;
};

// Scores, then `find`; once more without the filter if that finds nothing.
template <typename Find>
bool with_fallback(SentenceParser& parser, bool filtered, Find find) {
  parser.score(filtered);
  if (find()) return true;
  if (!filtered) return false;
  parser.score(false);
  return find();
}

void parse_one(SentenceParser& parser, const ArcData& data, size_t s, const ParseSettings& settings,
               ParseResult& result) {
  size_t first = data.first(s);
  if (!with_fallback(parser, settings.filtered, [&] { return parser.decode(); })) return;
  result.parsed[s] = 1;
  bool probabilities = settings.confidence && parser.find_marginals();
  for (int m = 1; m <= parser.n(); ++m) {
    int h = parser.heads()[m];
    size_t word = first + m - 1;
    result.heads[word] = h;
    result.labels[word] = parser.best_label(h, m);
    if (!probabilities) continue;
    double head = parser.marginal(h, m);
    result.head_probability[word] = static_cast<float>(head);
    result.label_probability[word] =
        static_cast<float>(head * parser.label_given_arc(h, m, result.labels[word]));
    int gold = data.heads[word], gold_label = data.labels[word];
    if (gold < 0) continue;
    result.gold_probability[word] = static_cast<float>(parser.marginal(gold, m));
    if (gold_label >= 0)
      result.gold_label_probability[word] = static_cast<float>(parser.label_given_arc(gold, m, gold_label));
  }
  if (probabilities) {
    result.log_probability[s] = parser.log_probability();
    result.entropy[s] = parser.entropy_of_trees();
  }
}

// One parser per worker; work(parser, sentence) for every sentence.
template <typename Work>
void for_each_sentence(const ArcSpace& space, const float* weights, const ArcData& data,
                       const int32_t* required, const ParseSettings& settings, int threads, Work work) {
  std::vector<SentenceParser> parsers(std::max(threads, 1));
  parallel_for(data.sentences(), threads, [&](size_t s, size_t worker) {
    parsers[worker].load(space, weights, data, s, required, settings);
    work(parsers[worker], s);
  });
}

}  // namespace

ParseResult arc_parse(const ArcSpace& space, const float* weights, const ArcData& data,
                      const int32_t* required, const ParseSettings& settings, int threads) {
  ParseResult result;
  size_t words = data.tags.size(), sentences = data.sentences();
  result.heads.assign(words, -1);
  result.labels.assign(words, -1);
  result.parsed.assign(sentences, 0);
  if (settings.confidence) {
    result.head_probability.assign(words, 0);
    result.label_probability.assign(words, 0);
    result.gold_probability.assign(words, 0);
    result.gold_label_probability.assign(words, -1);
    result.log_probability.assign(sentences, 0);
    result.entropy.assign(sentences, 0);
  }
  for_each_sentence(space, weights, data, required, settings, threads,
                    [&](SentenceParser& parser, size_t s) { parse_one(parser, data, s, settings, result); });
  return result;
}

KBestResult arc_k_best(const ArcSpace& space, const float* weights, const ArcData& data,
                       const int32_t* required, const ParseSettings& settings, int k, int threads) {
  std::vector<KBestResult> own(data.sentences());
  for_each_sentence(space, weights, data, required, settings, threads, [&](SentenceParser& parser, size_t s) {
    std::vector<int32_t> heads;
    std::vector<double> values;
    int found = 0;
    with_fallback(parser, settings.filtered, [&] { return (found = parser.k_best(k, heads, values)) > 0; });
    for (int t = 0; t < found; ++t) {
      for (int m = 1; m <= parser.n(); ++m) {
        int h = heads[t * (parser.n() + 1) + m];
        own[s].heads.push_back(h);
        own[s].labels.push_back(parser.best_label(h, m));
      }
      own[s].scores.push_back(values[t]);
    }
  });
  KBestResult result;
  for (const KBestResult& one : own) {
    result.counts.push_back(static_cast<uint32_t>(one.scores.size()));
    result.heads.insert(result.heads.end(), one.heads.begin(), one.heads.end());
    result.labels.insert(result.labels.end(), one.labels.begin(), one.labels.end());
    result.scores.insert(result.scores.end(), one.scores.begin(), one.scores.end());
  }
  return result;
}

ArcMatrices arc_matrices(const ArcSpace& space, const float* weights, const ArcData& data,
                         const ParseSettings& settings, int threads) {
  ArcMatrices result;
  result.starts.push_back(0);
  for (size_t s = 0; s < data.sentences(); ++s) {
    int64_t square = int64_t{data.length(s) + 1} * (data.length(s) + 1);
    result.starts.push_back(result.starts.back() + square * std::max(space.labels, 1));
  }
  result.scores.resize(result.starts.back());
  for_each_sentence(space, weights, data, nullptr, settings, threads, [&](SentenceParser& parser, size_t s) {
    with_fallback(parser, settings.filtered, [&] { return parser.find_marginals(); });
    parser.labelled_scores(&result.scores[result.starts[s]]);
  });
  return result;
}

}  // namespace arcwise
