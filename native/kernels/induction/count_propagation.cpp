// Propagation: shrinks boxes of counts to what their remaining parses and points can reach.
#include <algorithm>

#include "kernels/induction/count_alive.hpp"
#include "kernels/induction/count_problem.hpp"

namespace arcwise {

namespace {
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
}  // namespace

// Records which vectors of its shares the alive parses of a sentence use, and the resulting ranges.
void CountProblem::look_at(size_t s, const CountBox& box, FitState& state) const {
  const Sentence& sentence = sentences_[s];
  const int size = layout_.coordinates();
  int64_t *low = &state.low[s * size], *high = &state.high[s * size];
  std::copy(sentence.low.begin(), sentence.low.end(), low);
  std::copy(sentence.high.begin(), sentence.high.end(), high);
  state.stale[s] = 0;
  if (!sentence.is_short) return;
  state.is_empty[s] = 1;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const BlockShare& share = sentence.shares[b];
    std::vector<uint8_t>& seen = state.seen[s * blocks_.size() + b];
    seen.assign(share.count, 0);
    if (share.count == 1) {
      seen[0] = 1;
      continue;
    }
    for_alive(sentence, box.alive, [&](size_t p) { seen[share.of_parse[p]] = 1; });
    set_share_range(blocks_[b], share, seen, low, high);
  }
  for_alive(sentence, box.alive, [&](size_t) { state.is_empty[s] = 0; });
  if (const size_t l = sentence.constrained_place; l < sentence.vectors.width) {
    int64_t &least = low[layout_.constrained()], &most = high[layout_.constrained()];
    least = 255, most = 0;
    for_alive(sentence, box.alive, [&](size_t p) {
      const int64_t value = sentence.vectors.values[p * sentence.vectors.width + l];
      least = std::min(least, value), most = std::max(most, value);
    });
  }
}

void CountProblem::set_share_range(const Block& block, const BlockShare& share,
                                   const std::vector<uint8_t>& seen, int64_t* low, int64_t* high) const {
  const auto start = [&](int32_t j) { low[j] = 255, high[j] = 0; };
  const auto take = [&](int32_t j, int64_t value) {
    low[j] = std::min(low[j], value), high[j] = std::max(high[j], value);
  };
  for (int32_t part : block.parts) start(part);
  if (block.some >= 0) start(block.some), start(block.children);
  for (size_t v = 0; v < share.count; ++v) {
    if (!seen[v]) continue;
    const uint8_t* values = &share.vectors[v * share.width];
    int64_t total = 0;
    for (size_t c = 0; c < block.parts.size(); ++c) take(block.parts[c], values[c]), total += values[c];
    if (block.some >= 0) take(block.some, values[block.parts.size()]), take(block.children, total);
  }
}

// Deletes the parses with a count outside from..to (one pair per coordinate); returns whether there were any.
bool CountProblem::delete_unfit(size_t s, CountBox& box, const FitState& state,
                                const std::vector<int64_t>& from, const std::vector<int64_t>& to) const {
  const Sentence& sentence = sentences_[s];
  // Each parse's share, and which share entries do not fit.
  std::vector<std::pair<const uint16_t*, std::vector<uint8_t>>> tests;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const BlockShare& share = sentence.shares[b];
    if (share.count == 1) continue;
    std::vector<uint8_t> unfit(share.count, 0);
    bool any = false;
    const auto is_out = [&](int32_t j, int64_t value) { return value < from[j] || value > to[j]; };
    for (size_t v = 0; v < share.count; ++v) {
      if (!state.seen[s * blocks_.size() + b][v]) continue;
      const uint8_t* values = &share.vectors[v * share.width];
      int64_t total = 0;
      bool out = false;
      for (size_t c = 0; c < block.parts.size(); ++c)
        out |= is_out(block.parts[c], values[c]), total += values[c];
      if (block.some >= 0)
        out |= is_out(block.some, values[block.parts.size()]) | is_out(block.children, total);
      unfit[v] = out;
      any |= out;
    }
    if (any) tests.emplace_back(share.of_parse.data(), std::move(unfit));
  }
  const int q = layout_.constrained();
  const size_t l = sentence.constrained_place, width = sentence.vectors.width;
  const bool limits_q = l < width && (from[q] > 0 || to[q] < 255);
  if (tests.empty() && !limits_q) return false;
  bool deleted = false;
  for_alive(sentence, box.alive, [&](size_t p) {
    bool out = limits_q && (sentence.vectors.values[p * width + l] < from[q] ||
                            sentence.vectors.values[p * width + l] > to[q]);
    for (const auto& [of_parse, unfit] : tests) out |= unfit[of_parse[p]] != 0;
    if (out) kill(box.alive, sentence.first_bit + p), deleted = true;
  });
  return deleted;
}

bool CountProblem::propagate(CountBox& box) const {
  FitState state(sentences_.size(), layout_.coordinates(), blocks_.size());
  for (bool changed = true; changed;) {
    changed = false;
    if (!fit(box, state) || !list_points(box, state, changed)) return false;
  }
  return true;
}

bool CountProblem::fit(CountBox& box, FitState& state) const {
  const int size = layout_.coordinates();
  std::vector<int64_t> sum_low(size), sum_high(size), from(size), to(size);
  for (bool changed = true; changed;) {
    changed = false;
    std::fill(sum_low.begin(), sum_low.end(), 0);
    std::fill(sum_high.begin(), sum_high.end(), 0);
    for (size_t s = 0; s < sentences_.size(); ++s) {
      if (state.stale[s]) look_at(s, box, state);
      if (state.is_empty[s]) return false;
      for (int j = 0; j < size; ++j) {
        sum_low[j] += sentences_[s].weight * state.low[s * size + j];
        sum_high[j] += sentences_[s].weight * state.high[s * size + j];
      }
    }
    for (int j = 0; j < size; ++j) {
      box.low[j] = static_cast<int32_t>(std::max<int64_t>(box.low[j], sum_low[j]));
      box.high[j] = static_cast<int32_t>(std::min<int64_t>(box.high[j], sum_high[j]));
    }
    if (!shrink_blocks(box) || !fit_points(box, changed)) return false;
    // A parse of s may have count a if the other sentences can supply the rest:
    //   low <= w a + (sum_high - w high_s)  and  w a + (sum_low - w low_s) <= high.
    for (size_t s = 0; s < sentences_.size(); ++s) {
      const Sentence& sentence = sentences_[s];
      if (!sentence.is_short) continue;
      const int64_t w = sentence.weight;
      bool cuts = false;
      for (int j = 0; j < size; ++j) {
        const int64_t low = state.low[s * size + j], high = state.high[s * size + j];
        from[j] = ceil_div(box.low[j] - (sum_high[j] - w * high), w);
        to[j] = floor_div(box.high[j] - (sum_low[j] - w * low), w);
        cuts = cuts || from[j] > low || to[j] < high;
      }
      if (cuts && delete_unfit(s, box, state, from, to)) state.stale[s] = 1, changed = true;
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

}  // namespace arcwise
