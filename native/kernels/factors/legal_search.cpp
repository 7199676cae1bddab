#include "kernels/factors/legal_search.hpp"

#include <algorithm>
#include <cmath>

namespace arcwise {
namespace {

constexpr double FULL_SEARCH_WORDS = 40;

// A decode of a long sentence takes long.
int decodes_of(int max_decodes, int n) {
  const double share = std::min(1.0, std::pow(FULL_SEARCH_WORDS / n, 2));
  return std::max(static_cast<int>(max_decodes * share), std::min(max_decodes, 100));
}

}  // namespace

// The gain of each labelled arc under the decoder, so that the tree with the highest sum of gains, labels free, is that of the decoder.
// minimum risk: the probability of the head, less the probability of the label that is given up for another one.
template <typename Real>
class LegalSearch<Real>::Gains final : public LegalGains {
 public:
  // arc: memory.
  Gains(const LegalScores<Real>& source, const ArcStates& states, const DecodeSettings& settings,
        const TreeDecoder<Real>& decoder, ArcScores<Real>& arc)
      : source_(source),
        states_(states),
        settings_(settings),
        decoder_(decoder),
        arc_(arc),
        clusters_(source.scores.states->clusters),
        is_labelled_(settings.decoder == Decoder::minimum_labelled_risk),
        is_risk_(is_labelled_ || settings.decoder == Decoder::minimum_risk) {}

  void start(ArcScores<double>& gains, std::vector<double>& arcs, std::vector<int32_t>& labels) override {
    const ArcScores<Real>& scores = source_.scores;
    gains.start(states_, scores.n);
    if (const std::vector<double>* best = is_risk_ ? nullptr : decoder_.best_arcs()) {
      arcs = *best;
      labels.assign(arcs.size(), -1);
      for_each_arc(scores, [&](int h, int m, int set, const Real*, int) {
        const size_t at = h * (scores.n + 1) + m;
        labels[at] = scores.states->label_of(set, decoder_.best_states()[at]);
      });
      return;
    }
    arcs.assign(scores.arcs.size(), MINUS_INFINITY);
    labels.assign(scores.arcs.size(), -1);
    for_each_arc(scores, [&](int h, int m, int set, const Real* values, int count) {
      const size_t at = h * (scores.n + 1) + m;
      int best = 0;
      if (is_risk_) {
        const double* gain = add(h, m, set, values, count, gains);
        best = static_cast<int>(std::max_element(gain, gain + count / clusters_) - gain);
        arcs[at] = gain[best];
      } else {
        for (int l = 0; l < (count - scores.arcs[at].tied) / clusters_; ++l)
          if (const double gain = score_of(values + l * clusters_); gain > arcs[at]) {
            arcs[at] = gain;
            best = l;
          }
      }
      labels[at] = states_.label_of(set, best);
    });
  }

  void add(int h, int m, ArcScores<double>& gains) override {
    const ArcScores<Real>* scores = &source_.scores;
    if (source_.add_arc) {
      arc_.start(*source_.scores.states, source_.scores.n);
      source_.add_arc(h, m, arc_);
      scores = &arc_;
    }
    add(h, m, scores->arc(h, m).set, scores->of(h, m), scores->count(h, m), gains);
  }

 private:
  // Of a label, from the scores of its clusters.
  double score_of(const Real* values) const {
    if (clusters_ == 1) return values[0];
    if (settings_.decoder == Decoder::max_z) return *std::max_element(values, values + clusters_);
    const double scale = 1 / settings_.temperatures.heads;
    return log_sum(values, clusters_, scale) / scale;
  }

  const double* add(int h, int m, int set, const Real* values, int count, ArcScores<double>& gains) const {
    const double label_scale = 1 / settings_.temperatures.labels;
    double* out = gains.add(h, m, set);
    const int labels = count / clusters_;
    double top = MINUS_INFINITY, total = 0;
    for (int l = 0; l < labels; ++l) {
      out[l] = score_of(values + l * clusters_);
      top = std::max(top, out[l]);
    }
    if (!is_risk_) return out;
    const double marginal = decoder_.marginal(h, m);
    for (int l = 0; l < labels; ++l) total += std::exp(label_scale * (out[l] - top));
    const double highest = 1 / total;
    for (int l = 0; l < labels; ++l) {
      if (out[l] == MINUS_INFINITY) continue;
      const double share = std::exp(label_scale * (out[l] - top)) / total;
      out[l] = is_labelled_ ? marginal * share : marginal * (1 + share - highest);
    }
    return out;
  }

  const LegalScores<Real>& source_;
  const ArcStates& states_;
  const DecodeSettings& settings_;
  const TreeDecoder<Real>& decoder_;
  ArcScores<Real>& arc_;
  int clusters_;
  bool is_labelled_, is_risk_;
};

template <typename Real>
bool LegalSearch<Real>::is_illegal(const ParseResult& parses, const LegalSettings& legal,
                                   const Sentence& sentence, int n) {
  if (!parses.parsed[sentence.number]) return false;
  const int32_t* labels = parses.labels.data() + sentence.first_word;
  if (const int32_t* kept = legal.labels_of(sentence.first_word)) {
    labels_.resize(n);
    for (int m = 0; m < n; ++m) labels_[m] = kept[m] >= 0 ? kept[m] : labels[m];
    labels = labels_.data();
  }
  return legal.rules->penalty(parses.heads.data() + sentence.first_word - 1, labels - 1, n) > 0;
}

template <typename Real>
void LegalSearch<Real>::replace(ParseResult& parses, const LegalSettings& legal,
                                const DecodeSettings& settings, const Sentence& sentence,
                                const LegalScores<Real>& scores, TreeDecoder<Real>& decoder) {
  const int n = scores.scores.n;
  const int32_t* kept = legal.labels_of(sentence.first_word);
  LegalTree tree;
  if (kept && std::any_of(kept, kept + n, [](int32_t label) { return label >= 0; })) {
    constrain_labels(scores, settings, sentence, kept, decoder);
    tree = find({constrained_, {}}, settings, *legal.rules, sentence.spans, legal.max_decodes, decoder);
  } else {
    tree = find(scores, settings, *legal.rules, sentence.spans, legal.max_decodes, decoder);
  }
  parses.gaps[sentence.number] =
      tree.found ? tree.bound - tree.value : std::numeric_limits<double>::infinity();
  if (tree.found) keep(parses, sentence.number, sentence.first_word, settings.probabilities, decoder);
}

// The decoder loads the scores without the labels that words may not have.
template <typename Real>
void LegalSearch<Real>::constrain_labels(const LegalScores<Real>& scores, const DecodeSettings& settings,
                                         const Sentence& sentence, const int32_t* kept,
                                         TreeDecoder<Real>& decoder) {
  const double* highest = sentence.highest;
  constrained_ = scores.scores;
  if (scores.add_arc) {
    constrained_.start(*scores.scores.states, scores.scores.n);
    for_each_arc(scores.scores,
                 [&](int h, int m, int, const Real*, int) { scores.add_arc(h, m, constrained_); });
  }
  // Smoothing is a share of the best arc that the model sees, allowed or not.
  if (settings.temperatures.smoothing > 0 && !highest) {
    weights_.compute(constrained_, {settings.temperatures.heads}, nullptr, arcs_);
    highest_of_words(arcs_.data(), constrained_.n, highest_);
    highest = highest_.data();
  }
  constrain(constrained_, {nullptr, kept - 1, nullptr});
  decoder.load(constrained_, settings, sentence.spans, highest);
}

template <typename Real>
LegalTree LegalSearch<Real>::find(const LegalScores<Real>& scores, const DecodeSettings& settings,
                                  const LegalRules& rules, EisnerSpans spans, int max_decodes,
                                  TreeDecoder<Real>& decoder) {
  const int n = scores.scores.n;
  const bool is_risk =
      settings.decoder == Decoder::minimum_risk || settings.decoder == Decoder::minimum_labelled_risk;
  LegalTree tree;
  tree.bound = MINUS_INFINITY;
  if (is_risk && !decoder.find_marginals()) return tree;
  if (states_with_clusters_ != scores.scores.states) {
    states_ = *(states_with_clusters_ = scores.scores.states);
    states_.clusters = 1;
  }
  heads_.assign(n + 1, -1);
  labels_.assign(n + 1, -1);
  Gains gains(scores, states_, settings, decoder, arc_);
  tree = legal_.decode(gains, rules, settings.trees, spans, decodes_of(max_decodes, n), heads_.data(),
                       labels_.data());
  tree.found = tree.found && (!settings.probabilities || decoder.find_marginals());
  return tree;
}

template <typename Real>
void LegalSearch<Real>::keep(ParseResult& parses, size_t sentence, size_t first_word, bool probabilities,
                             TreeDecoder<Real>& decoder) const {
  for (int m = 1, n = decoder.n(); m <= n; ++m) {
    const size_t word = first_word + m - 1;
    parses.heads[word] = heads_[m];
    parses.labels[word] = labels_[m];
    if (!probabilities) continue;
    const double head = decoder.marginal(heads_[m], m);
    parses.head_probability[word] = static_cast<float>(head);
    parses.label_probability[word] =
        static_cast<float>(head * decoder.label_given_arc(heads_[m], m, labels_[m]));
  }
  parses.parsed[sentence] = 1;
  if (probabilities) parses.log_probability[sentence] = decoder.log_probability(heads_.data());
}

template class LegalSearch<float>;
template class LegalSearch<double>;

}  // namespace arcwise
