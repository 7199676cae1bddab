#include "kernels/induction/count_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "kernels/induction/count_alive.hpp"

namespace arcwise {

namespace {

// x log x in multiples of 1/kScale. Long doubles are accurate to 2^-60 of the value, so one extra unit in
// either direction makes the rounding safe. Where a long double is a double (Windows, macOS on ARM), this holds
// up to 2^50.
std::vector<int64_t> scaled_phi(int64_t up_to, int direction) {
  constexpr long double kSafe = std::numeric_limits<long double>::digits >= 64 ? 0x1p62L : 0x1p50L;
  std::vector<int64_t> table(up_to + 1);
  for (int64_t x = 2; x <= up_to; ++x) {
    const long double value = static_cast<long double>(x) * std::log(static_cast<long double>(x)) * kScale;
    if (value > kSafe) throw std::invalid_argument("counts are too large for exact bounds");
    table[x] = direction > 0 ? static_cast<int64_t>(std::ceil(value)) + 1
                             : static_cast<int64_t>(std::floor(value)) - 1;
  }
  return table;
}

}  // namespace

CountProblem::CountProblem(const TagCorpus& corpus, const std::vector<uint8_t>& marked, int least,
                           int enumerate_up_to)
    : layout_{corpus.tag_count} {
  const int tags = corpus.tag_count;
  const DmvLayout features{tags};
  marked_.assign(layout_.coordinates(), 0);
  if (!marked.empty()) {
    for (int t = 0; t < tags; ++t) marked_[layout_.root(t)] = marked[features.root(t)];
    for (int side : {0, 1})
      for (int h = 0; h < tags; ++h)
        for (int t = 0; t < tags; ++t)
          marked_[layout_.child(layout_.block(side, h), t)] = marked[features.child(side, h, t)];
  }
  std::vector<int64_t> words_of(tags);
  int64_t words = 0, count = 0;
  size_t bits = 0;
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    Sentence sentence;
    sentence.tags.assign(corpus.sentence(s), corpus.sentence(s) + corpus.length(s));
    sentence.weight = static_cast<int>(corpus.weights[s]);
    sentence.is_short = corpus.length(s) <= enumerate_up_to;
    for (int32_t t : sentence.tags) words_of[t] += sentence.weight;
    words += sentence.weight * corpus.length(s);
    count += sentence.weight;
    if (sentence.is_short) {
      sentence.vectors = count_vectors(layout_, sentence.tags.data(), corpus.length(s), marked_);
      set_short_ranges(sentence);
      sentence.first_bit = bits;
      bits += (sentence.vectors.count + 63) / 64 * 64;
    } else {
      set_long_ranges(sentence);
    }
    sentences_.push_back(std::move(sentence));
  }
  phi_up_ = scaled_phi(words + count, +1);
  phi_down_ = scaled_phi(words + count, -1);
  root_.low.assign(layout_.coordinates(), 0);
  root_.high.assign(layout_.coordinates(), static_cast<int32_t>(words));
  root_.low[layout_.constrained()] = marked.empty() ? 0 : least;
  root_.alive.assign(bits / 64, 0);
  for (const Sentence& sentence : sentences_)
    for (size_t p = 0; p < sentence.vectors.count; ++p)
      root_.alive[(sentence.first_bit + p) / 64] |= uint64_t{1} << (sentence.first_bit + p) % 64;
  for (int j = 0; j < layout_.coordinates(); ++j) {
    int64_t low = 0, high = 0;
    for (const Sentence& sentence : sentences_)
      low += sentence.weight * sentence.low[j], high += sentence.weight * sentence.high[j];
    root_.low[j] = static_cast<int32_t>(std::max<int64_t>(root_.low[j], low));
    root_.high[j] = static_cast<int32_t>(std::min<int64_t>(root_.high[j], high));
    feasible_ = feasible_ && root_.low[j] <= root_.high[j];
  }
  Block roots;
  roots.words = count;
  for (int t = 0; t < tags; ++t)
    if (root_.high[layout_.root(t)] > 0) roots.parts.push_back(layout_.root(t));
  blocks_.push_back(roots);
  for (int b = 0; b < 2 * tags; ++b) {
    Block block;
    block.words = words_of[b % tags];
    block.some = layout_.some(b);
    block.children = layout_.children(b);
    for (int t = 0; t < tags; ++t)
      if (root_.high[layout_.child(b, t)] > 0) block.parts.push_back(layout_.child(b, t));
    if (!block.parts.empty()) blocks_.push_back(block);
  }
  for (Sentence& sentence : sentences_) {
    if (sentence.is_short) {
      set_shares(sentence);
      continue;
    }
    for (Block& block : blocks_)
      for (int32_t part : block.parts) block.can_be_listed &= sentence.high[part] == 0;
  }
  feasible_ = feasible_ && propagate(root_);
}

void CountProblem::set_shares(Sentence& sentence) const {
  const CountVectors& vectors = sentence.vectors;
  sentence.constrained_place =
      std::find(vectors.names.begin(), vectors.names.end(), layout_.constrained()) - vectors.names.begin();
  for (const Block& block : blocks_) {
    std::vector<int32_t> coordinates = block.parts;
    if (block.some >= 0) coordinates.push_back(block.some);
    std::vector<size_t> places;  // indices in the sentence's vectors; `width` means always 0
    for (int32_t j : coordinates)
      places.push_back(std::find(vectors.names.begin(), vectors.names.end(), j) - vectors.names.begin());
    BlockShare share;
    share.width = coordinates.size();
    std::map<std::string, uint16_t> numbers;
    std::string vector(share.width, '\0');
    for (size_t p = 0; p < vectors.count; ++p) {
      for (size_t c = 0; c < share.width; ++c)
        vector[c] = places[c] < vectors.width
                        ? static_cast<char>(vectors.values[p * vectors.width + places[c]])
                        : '\0';
      const auto [found, is_new] = numbers.emplace(vector, static_cast<uint16_t>(numbers.size()));
      if (is_new) share.vectors.insert(share.vectors.end(), vector.begin(), vector.end());
      share.of_parse.push_back(found->second);
    }
    share.count = numbers.size();
    sentence.shares.push_back(std::move(share));
  }
}

void CountProblem::set_short_ranges(Sentence& sentence) const {
  sentence.low.assign(layout_.coordinates(), 0);
  sentence.high.assign(layout_.coordinates(), 0);
  const CountVectors& vectors = sentence.vectors;
  for (size_t l = 0; l < vectors.width; ++l) {
    int32_t low = 255, high = 0;
    for (size_t p = 0; p < vectors.count; ++p) {
      low = std::min<int32_t>(low, vectors.values[p * vectors.width + l]);
      high = std::max<int32_t>(high, vectors.values[p * vectors.width + l]);
    }
    sentence.low[vectors.names[l]] = low;
    sentence.high[vectors.names[l]] = high;
  }
}

void CountProblem::set_long_ranges(Sentence& sentence) {
  sentence.low.assign(layout_.coordinates(), 0);
  sentence.high.assign(layout_.coordinates(), 0);
  std::vector<int64_t> mu(layout_.coordinates());
  std::vector<int32_t> counts(layout_.coordinates());
  for (int j = 0; j < layout_.coordinates(); ++j) {
    for (int sign : {1, -1}) {
      std::fill(mu.begin(), mu.end(), 0);
      if (j < layout_.priced()) {
        mu[j] = sign;
      } else if (j < layout_.constrained()) {
        for (int t = 0; t < layout_.tags; ++t) mu[layout_.child(j - layout_.priced(), t)] = sign;
      } else {
        for (int i = 0; i < layout_.priced(); ++i) mu[i] = sign * marked_[i];
      }
      const int64_t best = best_long(sentence, mu.data(), counts.data());
      (sign > 0 ? sentence.high : sentence.low)[j] = static_cast<int32_t>(sign * best);
    }
  }
}

// The best tree of a long sentence, by the Viterbi algorithm. Multipliers are integers whose sums stay far
// below 2^53, so dmv_decode's doubles represent them exactly.
int64_t CountProblem::best_long(const Sentence& sentence, const int64_t* mu, int32_t* counts) const {
  const DmvLayout features{layout_.tags};
  std::vector<double> theta(features.features(), 0.0);
  for (int t = 0; t < layout_.tags; ++t) theta[features.root(t)] = static_cast<double>(mu[layout_.root(t)]);
  for (int side : {0, 1}) {
    for (int h = 0; h < layout_.tags; ++h) {
      const int block = layout_.block(side, h);
      for (int t = 0; t < layout_.tags; ++t)
        theta[features.child(side, h, t)] = static_cast<double>(mu[layout_.child(block, t)]);
      theta[features.decision(side, h, 0, CONTINUE)] = static_cast<double>(mu[layout_.some(block)]);
    }
  }
  const int n = static_cast<int>(sentence.tags.size());
  std::vector<int32_t> heads(n + 1);
  const double best = dmv_decode(theta.data(), features, sentence.tags.data(), n, heads.data(), workspace_);
  std::fill(counts, counts + layout_.coordinates(), 0);
  tree_coordinates(layout_, sentence.tags.data(), n, heads.data(), marked_, counts);
  return static_cast<int64_t>(best);
}

// ---- bounds

// Calls visit(p, mu . counts) for every alive parse of a short sentence.
template <typename Visit>
void CountProblem::for_parse_values(const Sentence& sentence, const CountBox& box, const int64_t* mu,
                                    Visit visit) const {
  const CountVectors& vectors = sentence.vectors;
  int64_t local[257];
  const int64_t bonus = mu[layout_.constrained()];
  for (size_t l = 0; l < vectors.width; ++l)
    local[l] = mu[vectors.names[l]] + (marked_[vectors.names[l]] ? bonus : 0);
  local[vectors.width] = 0;
  for_alive(sentence, box.alive, [&](size_t p) {
    const uint8_t* step = &vectors.steps[p * vectors.length];
    int64_t sum = 0;
    for (size_t k = 0; k < vectors.length; ++k) sum += local[step[k]];
    visit(p, sum);
  });
}

void CountProblem::bound(const CountBox& box, const int64_t* mu, CountBound& out) const {
  const int size = layout_.coordinates();
  out.sentence_best.assign(sentences_.size(), kNothing);
  out.parses.assign(sentences_.size(), -1);
  out.long_counts.clear();
  out.block_best.assign(blocks_.size(), kNothing);
  out.point.assign(size, 0);
  // The constraint Q >= low with multiplier mu_Q: parses earn mu_Q per marked arc, minus mu_Q times `low`.
  out.value = -mu[layout_.constrained()] * box.low[layout_.constrained()];
  std::vector<int64_t> with_bonus;
  for (size_t s = 0; s < sentences_.size(); ++s) {
    const Sentence& sentence = sentences_[s];
    int64_t best = kNothing;
    if (sentence.is_short) {
      for_parse_values(sentence, box, mu, [&](size_t p, int64_t value) {
        if (value > best) best = value, out.parses[s] = static_cast<int32_t>(p);
      });
    } else {
      if (with_bonus.empty()) {
        with_bonus.assign(mu, mu + size);
        for (int j = 0; j < layout_.priced(); ++j)
          if (marked_[j]) with_bonus[j] += mu[layout_.constrained()];
      }
      out.long_counts.resize(out.long_counts.size() + size);
      best = best_long(sentence, with_bonus.data(), &out.long_counts[out.long_counts.size() - size]);
    }
    out.sentence_best[s] = sentence.weight * best;
    out.value += out.sentence_best[s];
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    block_bound(b, box, mu, out.block_best[b], out.point.data());
    out.value += out.block_best[b];
  }
}

void CountProblem::parse_values(size_t s, const CountBox& box, const int64_t* mu,
                                std::vector<int64_t>& out) const {
  out.clear();
  for_parse_values(sentences_[s], box, mu, [&](size_t, int64_t value) { out.push_back(value); });
}

// ---- reduced costs

bool CountProblem::tighten(CountBox& box, const int64_t* mu, const CountBound& bound,
                           int64_t threshold) const {
  // Any choice more than `spare` below the best of its sentence or block makes the bound at most the
  // threshold.
  const int64_t spare = bound.value - threshold;
  for (size_t s = 0; s < sentences_.size(); ++s) {
    const Sentence& sentence = sentences_[s];
    if (!sentence.is_short) continue;
    for_parse_values(sentence, box, mu, [&](size_t p, int64_t value) {
      if (bound.sentence_best[s] - sentence.weight * value >= spare) kill(box.alive, sentence.first_bit + p);
    });
  }
  for (size_t b = 0; b < blocks_.size(); ++b)
    if (!tighten_block(b, box, mu, bound.block_best[b] - spare)) return false;
  return propagate(box);
}

// ---- parses of one sentence

CountProblem::ParseSplit CountProblem::parse_split(const CountBox& box) const {
  for (size_t s = 0; s < sentences_.size(); ++s) {
    const CountVectors& vectors = sentences_[s].vectors;  // empty for long sentences
    for (size_t l = 0; l < vectors.width; ++l) {
      int low = 255, high = 0;
      for_alive(sentences_[s], box.alive, [&](size_t p) {
        low = std::min<int>(low, vectors.values[p * vectors.width + l]);
        high = std::max<int>(high, vectors.values[p * vectors.width + l]);
      });
      if (low < high) return {static_cast<int>(s), vectors.names[l], (low + high) / 2};
    }
  }
  return {};
}

void CountProblem::keep_parses(CountBox& box, const ParseSplit& split, bool above) const {
  const Sentence& sentence = sentences_.at(split.sentence);
  const CountVectors& vectors = sentence.vectors;
  const auto found = std::find(vectors.names.begin(), vectors.names.end(), split.coordinate);
  const size_t l = found - vectors.names.begin();
  for_alive(sentence, box.alive, [&](size_t p) {
    const int value = l < vectors.width ? vectors.values[p * vectors.width + l] : 0;
    if ((value > split.at) != above) kill(box.alive, sentence.first_bit + p);
  });
}

std::vector<int32_t> CountProblem::only_parses(const CountBox& box) const {
  std::vector<int32_t> out;
  for (const Sentence& sentence : sentences_) {
    if (!sentence.is_short) return {};
    size_t alive = 0, only = 0;
    for_alive(sentence, box.alive, [&](size_t p) { ++alive, only = p; });
    if (alive != 1) return {};
    const uint8_t* heads = &sentence.vectors.heads[only * sentence.tags.size()];
    out.insert(out.end(), heads, heads + sentence.tags.size());
  }
  return out;
}

// ---- values

double CountProblem::block_value(size_t b, const double* point) const {
  const auto phi = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
  const Block& block = blocks_[b];
  double sum = -phi(static_cast<double>(block.words)), total = 0;
  for (int32_t part : block.parts) sum += phi(point[part]), total += point[part];
  if (block.some < 0) return sum;
  const double some = point[block.some], words = static_cast<double>(block.words);
  return sum + phi(words - some) + 2 * phi(some) + phi(total - some) - 2 * phi(total);
}

double CountProblem::value(const double* point) const {
  double sum = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) sum += block_value(b, point);
  return sum;
}

}  // namespace arcwise
