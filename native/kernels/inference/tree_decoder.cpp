#include "kernels/inference/tree_decoder.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/inference/tall_sums.hpp"

namespace arcwise {

template <typename Real>
void TreeDecoder<Real>::load(const ArcScores<Real>& scores, const DecodeSettings& settings, EisnerSpans spans,
                             const double* highest) {
  scores_ = &scores;
  settings_ = settings;
  spans_ = spans;
  highest_ = highest;
  has_marginals_ = has_best_arcs_ = false;
}

// The score of one label, clusters summed out: T log Σ exp(score / T), which is the score itself if there is
// one cluster.
template <typename Real>
double TreeDecoder<Real>::label_score(const Real* values) const {
  int Z = scores_->states->clusters;
  if (Z == 1) return values[0];
  double scale = 1 / settings_.temperatures.heads;
  return log_sum(values, Z, scale) / scale;
}

// Arc scores for decoding: those of each arc's best label; latent clusters are summed (map) or maximised
// (max-z).
template <typename Real>
void TreeDecoder<Real>::maximise() {
  has_marginals_ = false;  // the arcs are no longer weights
  arcs_by_maximum(*scores_, arcs_, best_);
  int Z = scores_->states->clusters;
  has_best_arcs_ = Z == 1 || settings_.decoder == Decoder::max_z;
  if (has_best_arcs_) return;
  for_each_arc(*scores_, [&](int h, int m, int, const Real* values, int count) {
    double best = MINUS_INFINITY;
    const size_t at = h * (n() + 1) + m;
    const int others =
        std::max(scores_->arcs[at].tied - Z, 0);  // labels with the same scores as their predecessors
    for (int s = 0; s < count - others; s += Z) best = std::max(best, label_score(values + s));
    arcs_[at] = best;
  });
}

template <typename Real>
bool TreeDecoder<Real>::has_tree() {
  maximise();
  heads_.resize(n() + 1);
  return inference_.decode(arcs_.data(), n(), settings_.trees, heads_.data(), spans_) != MINUS_INFINITY;
}

template <typename Real>
bool TreeDecoder<Real>::decode() {
  heads_.assign(n() + 1, -1);
  switch (settings_.decoder) {
    case Decoder::map:
    case Decoder::max_z:
      return has_tree();
    case Decoder::minimum_risk:
      return find_marginals() && decode_marginals(false);
    case Decoder::minimum_labelled_risk:
      return find_marginals() && decode_marginals(true);
    case Decoder::greedy:
      maximise();
      return best_heads();
  }
  return false;
}

template <typename Real>
int TreeDecoder<Real>::k_best(int k, std::vector<int32_t>& heads, std::vector<double>& values) {
  heads.resize(static_cast<size_t>(k) * (n() + 1));
  values.resize(k);
  maximise();
  return inference_.k_best(arcs_.data(), n(), settings_.trees, k, heads.data(), values.data(), spans_);
}

template <typename Real>
bool TreeDecoder<Real>::find_marginals() {
  if (has_marginals_) return true;
  has_best_arcs_ = false;
  weights_.compute(*scores_, settings_.temperatures, highest_, arcs_);
  marginals_.resize(arcs_.size());
  log_partition_ = inference_.marginals(arcs_.data(), n(), settings_.trees, marginals_.data(), spans_);
  return has_marginals_ = log_partition_ != MINUS_INFINITY;
}

// The minimum-risk tree: the gain of an arc is its probability, times that of its best label if labels count.
template <typename Real>
bool TreeDecoder<Real>::decode_marginals(bool labelled) {
  risk_.assign(marginals_.size(), MINUS_INFINITY);
  for_each_arc(*scores_, [&](int h, int m, int, const Real*, int) {
    size_t at = h * (n() + 1) + m;
    if (arcs_[at] != MINUS_INFINITY)
      risk_[at] = labelled ? marginals_[at] * best_label_probability(h, m) : marginals_[at];
  });
  return inference_.decode(risk_.data(), n(), settings_.trees, heads_.data(), spans_) != MINUS_INFINITY;
}

template <typename Real>
bool TreeDecoder<Real>::best_heads() {
  for (int m = 1; m <= n(); ++m) {
    int best = -1;
    for (int h = 0; h <= n(); ++h)
      if (scores_->has(h, m) && (best < 0 || arcs_[h * (n() + 1) + m] > arcs_[best * (n() + 1) + m]))
        best = h;
    if (best < 0) return false;
    heads_[m] = best;
  }
  return true;
}

template <typename Real>
int TreeDecoder<Real>::best_label(int h, int m) const {
  if (scores_->states->labels == 0) return -1;
  int count = scores_->count(h, m), Z = scores_->states->clusters, best = 0;
  const Real* values = scores_->of(h, m);
  if (settings_.decoder == Decoder::max_z)
    return scores_->label_of(h, m, static_cast<int>(std::max_element(values, values + count) - values));
  double most = MINUS_INFINITY;
  for (int s = 0; s < count; s += Z)
    if (double score = label_score(values + s); score > most) {
      most = score;
      best = s;
    }
  return scores_->label_of(h, m, best);
}

template <typename Real>
double TreeDecoder<Real>::label_given_arc(int h, int m, int label) const {
  if (scores_->states->labels == 0) return 1.0;
  if (!scores_->has(h, m)) return -1.0;
  int count = scores_->count(h, m), Z = scores_->states->clusters;
  const Real* values = scores_->of(h, m);
  double scale = 1 / settings_.temperatures.labels, top = MINUS_INFINITY, total = 0, wanted = -1;
  for (int s = 0; s < count; s += Z) top = std::max(top, label_score(values + s));
  for (int s = 0; s < count; s += Z) {
    double share = std::exp(scale * (label_score(values + s) - top));
    total += share;
    if (scores_->label_of(h, m, s) == label) wanted = share;
  }
  return wanted < 0 ? wanted : wanted / total;
}

template <typename Real>
double TreeDecoder<Real>::best_label_probability(int h, int m) const {
  return label_given_arc(h, m, best_label(h, m));
}

// Clamped, because rounding may leave the sum slightly above log Z.
template <typename Real>
double TreeDecoder<Real>::log_probability(const int32_t* heads) const {
  if (settings_.decoder == Decoder::greedy && !is_tree(heads, n(), settings_.trees)) return MINUS_INFINITY;
  double score = 0, size = std::fabs(log_partition_);
  for (int m = 1; m <= n(); ++m) {
    const double arc = arcs_[heads[m] * (n() + 1) + m];
    score += arc;
    size += std::fabs(arc);
  }
  if (cancels(size)) return tall_log_probability({arcs_.data(), n(), settings_.trees, spans_}, heads);
  return std::min(score - log_partition_, 0.0);
}

// H = log Z - Σ probability · score. With u(m) the highest score of an arc into word m, this is log Z - Σ u
// plus the expected gap between a tree's score and Σ u.
template <typename Real>
double TreeDecoder<Real>::head_entropy() const {
  double lost = 0, size = std::fabs(log_partition_);
  CarefulSum highest;
  for (int m = 1; m <= n(); ++m) {
    double top = MINUS_INFINITY;
    for (int h = 0; h <= n(); ++h) top = std::max(top, arcs_[h * (n() + 1) + m]);
    highest.add(-top);
    size += std::fabs(top);
    for (int h = 0; h <= n(); ++h) {
      const size_t at = h * (n() + 1) + m;
      if (marginals_[at] > 0) lost += marginals_[at] * (top - arcs_[at]);
    }
  }
  if (cancels(size) || magnifies(lost))
    return tall_entropy({arcs_.data(), n(), settings_.trees, spans_}, nullptr);
  return std::max(highest.plus(log_partition_) + lost, 0.0);
}

void ParseResult::start(size_t words, size_t sentences, bool probabilities, const AskedTrees& asked) {
  heads.assign(words, -1);
  labels.assign(words, -1);
  parsed.assign(sentences, 0);
  if (!probabilities) return;
  head_probability.assign(words, 0);
  label_probability.assign(words, 0);
  log_probability.assign(sentences, 0);
  head_entropy.assign(sentences, 0);
  if (!asked.heads) return;
  asked_head_probability.assign(words, 0);
  asked_label_probability.assign(words, -1);
}

template <typename Real>
bool ParseResult::keep(TreeDecoder<Real>& decoder, size_t sentence, size_t first, bool probabilities,
                       const AskedTrees& asked) {
  if (!decoder.decode()) return false;
  parsed[sentence] = 1;
  const bool known = probabilities && decoder.find_marginals();
  for (int m = 1; m <= decoder.n(); ++m) {
    int h = decoder.heads()[m];
    size_t word = first + m - 1;
    heads[word] = h;
    labels[word] = decoder.best_label(h, m);
    if (!known) continue;
    double head = decoder.marginal(h, m);
    head_probability[word] = static_cast<float>(head);
    label_probability[word] = static_cast<float>(head * decoder.label_given_arc(h, m, labels[word]));
    int asked_head = asked.heads ? asked.heads[word] : -1,
        asked_label = asked.labels ? asked.labels[word] : -1;
    if (asked_head < 0 || asked_head > decoder.n() || asked_head == m) continue;
    asked_head_probability[word] = static_cast<float>(decoder.marginal(asked_head, m));
    if (asked_label >= 0)
      asked_label_probability[word] = static_cast<float>(decoder.label_given_arc(asked_head, m, asked_label));
  }
  if (known) {
    log_probability[sentence] = decoder.log_probability(decoder.heads().data());
    head_entropy[sentence] = decoder.head_entropy();
  }
  return true;
}

template <typename Real>
bool KBestResult::keep(TreeDecoder<Real>& decoder, int k, bool probabilities) {
  std::vector<int32_t> found;
  std::vector<double> values;
  const int count = decoder.k_best(k, found, values), n = decoder.n();
  const bool known = probabilities && count > 0 && decoder.find_marginals();
  for (int t = 0; t < count; ++t) {
    const int32_t* tree = &found[static_cast<size_t>(t) * (n + 1)];
    for (int m = 1; m <= n; ++m) {
      const int h = tree[m], label = decoder.best_label(h, m);
      heads.push_back(h);
      labels.push_back(label);
      if (!known) continue;
      head_probability.push_back(static_cast<float>(decoder.marginal(h, m)));
      label_probability.push_back(
          static_cast<float>(decoder.marginal(h, m) * decoder.label_given_arc(h, m, label)));
    }
    scores.push_back(values[t]);
    if (known) log_probability.push_back(decoder.log_probability(tree));
  }
  return count > 0;
}

KBestResult KBestResult::joined(const std::vector<KBestResult>& sentences) {
  KBestResult result;
  auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const KBestResult& one : sentences) {
    result.counts.push_back(static_cast<uint32_t>(one.scores.size()));
    append(result.heads, one.heads);
    append(result.labels, one.labels);
    append(result.scores, one.scores);
    append(result.head_probability, one.head_probability);
    append(result.label_probability, one.label_probability);
    append(result.log_probability, one.log_probability);
  }
  return result;
}

template class TreeDecoder<float>;
template class TreeDecoder<double>;
template bool ParseResult::keep(TreeDecoder<float>&, size_t, size_t, bool, const AskedTrees&);
template bool ParseResult::keep(TreeDecoder<double>&, size_t, size_t, bool, const AskedTrees&);
template bool KBestResult::keep(TreeDecoder<float>&, int, bool);
template bool KBestResult::keep(TreeDecoder<double>&, int, bool);

}  // namespace arcwise
