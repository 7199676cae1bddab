#include "kernels/count_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace arcwise {

namespace {

// x log x in multiples of 1/kScale. Long doubles are good to 2^-60 of the value; one unit more on either side
// makes the rounding safe.
std::vector<int64_t> scaled_phi(int64_t up_to, int direction) {
  std::vector<int64_t> table(up_to + 1);
  for (int64_t x = 2; x <= up_to; ++x) {
    const long double value = static_cast<long double>(x) * std::log(static_cast<long double>(x)) * kScale;
    table[x] = direction > 0 ? static_cast<int64_t>(std::ceil(value)) + 1
                             : static_cast<int64_t>(std::floor(value)) - 1;
  }
  return table;
}

bool is_alive(const std::vector<uint64_t>& bits, size_t bit) { return bits[bit / 64] >> (bit % 64) & 1; }
void kill(std::vector<uint64_t>& bits, size_t bit) { bits[bit / 64] &= ~(uint64_t{1} << (bit % 64)); }

// Calls visit(p) for every parse of the sentence that is alive.
template <typename Visit>
void for_alive(const CountProblem::Sentence& sentence, const std::vector<uint64_t>& bits, Visit visit) {
  size_t word = sentence.first_bit / 64;  // each sentence starts at a whole word
  for (size_t p = 0; p < sentence.vectors.count; p += 64, ++word)
    for (uint64_t left = bits[word]; left; left &= left - 1) visit(p + __builtin_ctzll(left));
}

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

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
  feasible_ = propagate(root_);  // before there are blocks: the ranges of the sentences alone
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
  for (const Block& block : blocks_) {
    std::vector<int32_t> coordinates = block.parts;
    if (block.some >= 0) coordinates.push_back(block.some);
    std::vector<size_t> places;  // in the vectors of the sentence; `width`: always 0
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

// The best tree by the Viterbi program. Multipliers are integers and their sums stay far below 2^53, so that
// the doubles of dmv_decode hold them exactly.
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

// ---- propagation

void CountProblem::sentence_range(const Sentence& sentence, const CountBox& box, int64_t* low,
                                  int64_t* high) const {
  if (!sentence.is_short) {
    std::copy(sentence.low.begin(), sentence.low.end(), low);
    std::copy(sentence.high.begin(), sentence.high.end(), high);
    return;
  }
  const CountVectors& vectors = sentence.vectors;
  uint8_t least[256], most[256];
  std::fill(least, least + vectors.width, 255);
  std::fill(most, most + vectors.width, 0);
  for_alive(sentence, box.alive, [&](size_t p) {
    const uint8_t* values = &vectors.values[p * vectors.width];
    for (size_t l = 0; l < vectors.width; ++l) {
      least[l] = std::min(least[l], values[l]);
      most[l] = std::max(most[l], values[l]);
    }
  });
  std::fill(low, low + layout_.coordinates(), 0);
  std::fill(high, high + layout_.coordinates(), 0);
  for (size_t l = 0; l < vectors.width; ++l) {
    low[vectors.names[l]] = least[l];
    high[vectors.names[l]] = most[l];  // below low if no parse is alive
  }
}

bool CountProblem::delete_unfit(const Sentence& sentence, CountBox& box,
                                const std::vector<int64_t>& allowed_low,
                                const std::vector<int64_t>& allowed_high) const {
  const CountVectors& vectors = sentence.vectors;
  uint8_t least[256], most[256];
  for (size_t l = 0; l < vectors.width; ++l) {
    const int64_t from = allowed_low[vectors.names[l]], to = allowed_high[vectors.names[l]];
    least[l] = static_cast<uint8_t>(std::clamp<int64_t>(from, 0, 255));
    most[l] = static_cast<uint8_t>(std::clamp<int64_t>(to, 0, 255));
    if (to < 0) least[l] = 255, most[l] = 0;  // nothing fits
  }
  bool deleted = false;
  for_alive(sentence, box.alive, [&](size_t p) {
    const uint8_t* values = &vectors.values[p * vectors.width];
    bool fits = true;
    for (size_t l = 0; l < vectors.width; ++l) fits &= values[l] >= least[l] && values[l] <= most[l];
    if (!fits) kill(box.alive, sentence.first_bit + p), deleted = true;
  });
  return deleted;
}

bool CountProblem::propagate(CountBox& box) const {
  for (bool changed = true; changed;) {
    changed = false;
    if (!fit(box) || !list_points(box, changed)) return false;
  }
  return true;
}

bool CountProblem::fit(CountBox& box) const {
  const int size = layout_.coordinates();
  std::vector<int64_t> lows(sentences_.size() * size), highs(lows.size());
  std::vector<uint8_t> stale(sentences_.size(), 1);
  std::vector<int64_t> sum_low(size), sum_high(size), from(size), to(size);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = 0; s < sentences_.size(); ++s)
      if (stale[s]) sentence_range(sentences_[s], box, &lows[s * size], &highs[s * size]);
    std::fill(stale.begin(), stale.end(), 0);
    std::fill(sum_low.begin(), sum_low.end(), 0);
    std::fill(sum_high.begin(), sum_high.end(), 0);
    for (size_t s = 0; s < sentences_.size(); ++s) {
      for (int j = 0; j < size; ++j) {
        if (lows[s * size + j] > highs[s * size + j]) return false;  // no parse left
        sum_low[j] += sentences_[s].weight * lows[s * size + j];
        sum_high[j] += sentences_[s].weight * highs[s * size + j];
      }
    }
    for (int j = 0; j < size; ++j) {
      box.low[j] = static_cast<int32_t>(std::max<int64_t>(box.low[j], sum_low[j]));
      box.high[j] = static_cast<int32_t>(std::min<int64_t>(box.high[j], sum_high[j]));
    }
    if (!shrink_blocks(box) || !fit_points(box, changed)) return false;
    // A parse of s may have the count a if the other sentences can make up the rest:
    //   low <= w a + (sum_high - w high_s)  and  w a + (sum_low - w low_s) <= high.
    for (size_t s = 0; s < sentences_.size(); ++s) {
      const Sentence& sentence = sentences_[s];
      if (!sentence.is_short) continue;
      const int64_t w = sentence.weight;
      bool cuts = false;
      for (int32_t j : sentence.vectors.names) {
        const int64_t low = lows[s * size + j], high = highs[s * size + j];
        from[j] = ceil_div(box.low[j] - (sum_high[j] - w * high), w);
        to[j] = floor_div(box.high[j] - (sum_low[j] - w * low), w);
        cuts = cuts || from[j] > low || to[j] < high;
      }
      if (cuts && delete_unfit(sentence, box, from, to)) stale[s] = 1, changed = true;
    }
  }
  return true;
}

// K is the sum of the parts, and A lies between 1 and K unless K is 0.
bool CountProblem::shrink_blocks(CountBox& box) const {
  for (int j = 0; j < layout_.coordinates(); ++j)
    if (box.low[j] > box.high[j]) return false;
  for (const Block& block : blocks_) {
    int64_t low = 0, high = 0;
    for (int32_t part : block.parts) low += box.low[part], high += box.high[part];
    int64_t total_low = block.words, total_high = block.words;
    if (block.children >= 0) {
      int32_t &k_low = box.low[block.children], &k_high = box.high[block.children];
      k_low = static_cast<int32_t>(std::max<int64_t>({k_low, low, box.low[block.some]}));
      k_high = static_cast<int32_t>(std::min<int64_t>(k_high, high));
      box.high[block.some] = std::min(box.high[block.some], k_high);
      if (k_low > 0) box.low[block.some] = std::max(box.low[block.some], 1);
      if (box.high[block.some] == 0) k_high = 0;
      if (k_low > k_high || box.low[block.some] > box.high[block.some]) return false;
      total_low = k_low, total_high = k_high;
    }
    for (int32_t part : block.parts) {
      const int64_t others_low = low - box.low[part], others_high = high - box.high[part];
      const int64_t part_low = std::max<int64_t>(box.low[part], total_low - others_high);
      const int64_t part_high = std::min<int64_t>(box.high[part], total_high - others_low);
      if (part_low > part_high) return false;
      low += part_low - box.low[part], high += part_high - box.high[part];
      box.low[part] = static_cast<int32_t>(part_low), box.high[part] = static_cast<int32_t>(part_high);
    }
  }
  return true;
}

// ---- bounds

void CountProblem::parse_values(const Sentence& sentence, const int64_t* mu,
                                std::vector<int64_t>& values) const {
  const CountVectors& vectors = sentence.vectors;
  int64_t local[257];
  const int64_t bonus = mu[layout_.constrained()];
  for (size_t l = 0; l < vectors.width; ++l)
    local[l] = mu[vectors.names[l]] + (marked_[vectors.names[l]] ? bonus : 0);
  local[vectors.width] = 0;
  values.resize(vectors.count);
  for (size_t p = 0; p < vectors.count; ++p) {
    const uint8_t* step = &vectors.steps[p * vectors.length];
    int64_t sum = 0;
    for (size_t k = 0; k < vectors.length; ++k) sum += local[step[k]];
    values[p] = sum;
  }
}

void CountProblem::bound(const CountBox& box, const int64_t* mu, CountBound& out) const {
  const int size = layout_.coordinates();
  out.sentence_best.assign(sentences_.size(), kNothing);
  out.parses.assign(sentences_.size(), -1);
  out.long_counts.clear();
  out.block_best.assign(blocks_.size(), kNothing);
  out.point.assign(size, 0);
  // The constraint Q >= low with multiplier mu_Q: parses earn mu_Q per marked arc, of which `low` are owed.
  out.value = -mu[layout_.constrained()] * box.low[layout_.constrained()];
  std::vector<int64_t> values, with_bonus;
  for (size_t s = 0; s < sentences_.size(); ++s) {
    const Sentence& sentence = sentences_[s];
    int64_t best = kNothing;
    if (sentence.is_short) {
      parse_values(sentence, mu, values);
      for_alive(sentence, box.alive, [&](size_t p) {
        if (values[p] > best) best = values[p], out.parses[s] = static_cast<int32_t>(p);
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

// ---- reduced costs

bool CountProblem::tighten(CountBox& box, const int64_t* mu, const CountBound& bound,
                           int64_t threshold) const {
  // With anything whose value is more than `spare` below the best of its own sentence or block, the bound is
  // at most the threshold.
  const int64_t spare = bound.value - threshold;
  std::vector<int64_t> values;
  for (size_t s = 0; s < sentences_.size(); ++s) {
    const Sentence& sentence = sentences_[s];
    if (!sentence.is_short) continue;
    parse_values(sentence, mu, values);
    for_alive(sentence, box.alive, [&](size_t p) {
      if (bound.sentence_best[s] - sentence.weight * values[p] >= spare)
        kill(box.alive, sentence.first_bit + p);
    });
  }
  for (size_t b = 0; b < blocks_.size(); ++b)
    if (!tighten_block(b, box, mu, bound.block_best[b] - spare)) return false;
  return propagate(box);
}

// ---- parses of one sentence

CountProblem::ParseSplit CountProblem::parse_split(const CountBox& box) const {
  std::vector<int64_t> low(layout_.coordinates()), high(layout_.coordinates());
  for (size_t s = 0; s < sentences_.size(); ++s) {
    if (!sentences_[s].is_short) continue;
    sentence_range(sentences_[s], box, low.data(), high.data());
    for (int j = 0; j < layout_.coordinates(); ++j)
      if (low[j] < high[j]) return {static_cast<int>(s), j, static_cast<int>(floor_div(low[j] + high[j], 2))};
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
