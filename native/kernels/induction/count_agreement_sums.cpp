// The grids of partial sums behind CountAgreement: their layout and the dynamic programs over them.
#include <algorithm>

#include "kernels/induction/count_agreement.hpp"
#include "kernels/induction/count_alive.hpp"

namespace arcwise {

namespace {
constexpr size_t kMostWork = 400'000'000;       // limit on the additions of one pass over a block
constexpr size_t kMostTable = size_t{1} << 24;  // limit on the partial sums stored for a block
constexpr size_t kShortestRow = 256;

int64_t rounded_up(int64_t value) { return (value + kMessageUnit - 1) >> kMessageShift; }

// out = max(out, in - price); impossible sums stay impossible.
void raise_to(int32_t* __restrict out, const int32_t* __restrict in, size_t length, int32_t price) {
  for (size_t x = 0; x < length; ++x) {
    const int32_t value = in[x] - price;
    out[x] = value > out[x] ? value : out[x];
  }
}

int32_t best_sum(const int32_t* __restrict a, const int32_t* __restrict b, size_t length) {
  int32_t best = 2 * kImpossible;
  for (size_t x = 0; x < length; ++x) {
    const int32_t value = a[x] + b[x];
    best = value > best ? value : best;
  }
  return best;
}
}  // namespace

// ---- the grids of a box

// Lays out the grid of the sums that alive parses can add to a block; returns false if it is too large.
bool CountAgreement::lay_out(size_t b) {
  const CountProblem::Block& block = problem_.blocks()[b];
  Grid& grid = grids_[b];
  grid.used = false;
  if (!block.can_be_listed || block.words > 255) return false;
  const size_t width = block.parts.size() + (block.some >= 0);
  std::vector<int32_t> least(sentences_ * width), range(sentences_ * width), total(width, 0);
  grid.offset.assign(width, 0);
  for (size_t s = 0; s < sentences_; ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    if (!sentence.is_short) continue;  // contributes nothing
    const BlockShare& share = sentence.shares[b];
    const std::vector<uint8_t>& seen = seen_[s * blocks_ + b];
    for (size_t c = 0; c < width; ++c) {
      int32_t low = 255, high = 0;
      for (size_t v = 0; v < share.count; ++v)
        if (seen[v]) {
          low = std::min<int32_t>(low, share.vectors[v * width + c]);
          high = std::max<int32_t>(high, share.vectors[v * width + c]);
        }
      least[s * width + c] = low;
      range[s * width + c] = sentence.weight * (high - low);
      grid.offset[c] += sentence.weight * low;
      total[c] += range[s * width + c];
    }
  }
  grid.stride.assign(width, 1);
  grid.cells = 1;
  for (size_t c = width; c-- > 0;) {
    grid.stride[c] = grid.cells;
    grid.cells *= total[c] + 1;
    if (grid.cells > kMostCells || grid.offset[c] + total[c] > 255) return false;
  }
  grid.choices.assign(sentences_, {});
  grid.reach.assign(sentences_ + 1, 0);
  grid.length.assign(sentences_ + 1, 1);
  grid.rows.assign(sentences_ + 1, {0});
  std::vector<int32_t> partial(width, 0);
  size_t work = 0, table = 0;
  for (size_t step = 0; step < sentences_; ++step) {
    const size_t s = order_[step];
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    if (sentence.is_short) {
      const BlockShare& share = sentence.shares[b];
      for (size_t v = 0; v < share.count; ++v) {
        if (!seen_[s * blocks_ + b][v]) continue;
        size_t shift = 0;
        for (size_t c = 0; c < width; ++c)
          shift += grid.stride[c] * (share.vectors[v * width + c] - least[s * width + c]);
        grid.choices[s].push_back({static_cast<uint32_t>(v), static_cast<uint32_t>(shift * sentence.weight)});
      }
    } else {
      grid.choices[s].push_back({0, 0});
    }
    work += grid.choices[s].size() * grid.rows[step].size() * grid.length[step];
    for (size_t c = 0; c < width; ++c) partial[c] += range[s * width + c];
    lay_rows(grid, partial, step + 1);
    table += grid.reach[step + 1] + 1;
    if (work > kMostWork || table > kMostTable) return false;
  }
  return grid.used = true;
}

// Finds the cells of sums within 0..ranges: a row spans the last coordinates; there is one row per value of
// the first ones.
void CountAgreement::lay_rows(Grid& grid, const std::vector<int32_t>& ranges, size_t step) const {
  const size_t width = ranges.size();
  size_t first = width;  // index of the first coordinate inside a row
  while (first > 0 && (first ? grid.stride[first - 1] : grid.cells) < kShortestRow) --first;
  grid.length[step] = 1;
  grid.reach[step] = 0;
  for (size_t c = 0; c < width; ++c) {
    grid.reach[step] += ranges[c] * grid.stride[c];
    if (c >= first) grid.length[step] += ranges[c] * grid.stride[c];
  }
  std::vector<uint32_t>& rows = grid.rows[step];
  rows.assign(1, 0);
  for (size_t c = 0; c < first; ++c) {
    std::vector<uint32_t> more;
    more.reserve(rows.size() * (ranges[c] + 1));
    for (uint32_t row : rows)
      for (int32_t value = 0; value <= ranges[c]; ++value)
        more.push_back(row + static_cast<uint32_t>(value * grid.stride[c]));
    rows.swap(more);
  }
}

// Stores G at the sums of all sentences that lie in the box.
void CountAgreement::fill_last(size_t b, const CountBox& box) {
  const CountProblem::Block& block = problem_.blocks()[b];
  Grid& grid = grids_[b];
  const size_t width = grid.offset.size();
  std::vector<int32_t>& last = grid.after[sentences_];
  last.assign(grid.reach[sentences_] + 1, kImpossible);
  const auto value = [](int64_t gain) {
    return static_cast<int32_t>(std::max<int64_t>(rounded_up(gain), kImpossible));
  };
  if (b < box.points.size() && box.points[b]) {
    const BlockPoints& points = *box.points[b];
    for (size_t i = 0; i < points.count; ++i) {
      size_t cell = 0;
      bool inside = true;
      for (size_t c = 0; c < width; ++c) {
        const int64_t steps = points.point(i)[c] - grid.offset[c];
        const size_t size = (c ? grid.stride[c - 1] : grid.cells) / grid.stride[c];
        inside &= steps >= 0 && steps < static_cast<int64_t>(size);
        cell += inside ? steps * grid.stride[c] : 0;
      }
      if (inside && cell < last.size()) last[cell] = value(points.gains[i]);
    }
    return;
  }
  std::vector<uint8_t> point(width);
  for (size_t cell = 0; cell < last.size(); ++cell) {
    size_t rest = cell;
    bool inside = true;
    int64_t total = 0;
    for (size_t c = 0; c < width; ++c) {
      const int64_t at = grid.offset[c] + static_cast<int64_t>(rest / grid.stride[c]);
      rest %= grid.stride[c];
      point[c] = static_cast<uint8_t>(at);
      const int32_t j = c < block.parts.size() ? block.parts[c] : block.some;
      inside &= at >= box.low[j] && at <= box.high[j];
      if (c < block.parts.size()) total += at;
    }
    if (block.some >= 0) {
      const int some = point[block.parts.size()];
      inside &= total >= box.low[block.children] && total <= box.high[block.children];
      inside &= some <= total && (some > 0 || total == 0) && some <= block.words;
    } else {
      inside &= total == block.words;
    }
    if (inside) last[cell] = value(problem_.point_gain(b, point.data()));
  }
}

void CountAgreement::prepare(const CountBox& box, const int64_t* mu) {
  const CountLayout layout = problem_.layout();
  for (size_t s = 0; s < sentences_; ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    alive_[s].clear();
    if (!sentence.is_short) continue;
    for_alive(sentence, box.alive, [&](size_t p) { alive_[s].push_back(static_cast<uint32_t>(p)); });
    for (size_t b = 0; b < blocks_; ++b) {
      std::vector<uint8_t>& seen = seen_[s * blocks_ + b];
      seen.assign(sentence.shares[b].count, 0);
      for (uint32_t p : alive_[s]) seen[sentence.shares[b].of_parse[p]] = 1;
    }
  }
  // Prices of the blocks without messages, and of the constraint.
  left_.assign(mu, mu + layout.coordinates());
  for (size_t b = 0; b < blocks_; ++b) {
    if (!lay_out(b)) continue;
    grids_[b].before.resize(sentences_ + 1);
    grids_[b].after.resize(sentences_ + 1);
    fill_last(b, box);
    for (int32_t part : problem_.blocks()[b].parts) left_[part] = 0;
    if (problem_.blocks()[b].some >= 0) left_[problem_.blocks()[b].some] = 0;
  }
  CountBound& bound = by_prices_;
  problem_.bound(box, left_.data(), bound);
  fixed_ = -mu[layout.constrained()] * box.low[layout.constrained()];
  for (size_t s = 0; s < sentences_; ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    linear_[s].assign(alive_[s].size(), 0);
    if (!sentence.is_short) {
      fixed_ += bound.sentence_best[s];
      continue;
    }
    problem_.parse_values(s, box, left_.data(), linear_[s]);
    for (int64_t& value : linear_[s]) value *= sentence.weight;
  }
  for (size_t b = 0; b < blocks_; ++b)
    if (!grids_[b].used) fixed_ += bound.block_best[b];
}

// ---- partial sums

int32_t CountAgreement::price(const Choice& choice, size_t b, size_t s,
                              const std::vector<int32_t>& messages) const {
  return problem_.sentences()[s].is_short ? messages[first_message(s, b) + choice.vector] : 0;
}

void CountAgreement::pass_forward(Grid& grid, size_t b, size_t step,
                                  const std::vector<int32_t>& messages) const {
  const std::vector<int32_t>& from = grid.before[step];
  std::vector<int32_t>& to = grid.before[step + 1];
  to.assign(grid.reach[step + 1] + 1, kImpossible);
  const size_t length = grid.length[step], s = order_[step];
  for (const uint32_t row : grid.rows[step])
    for (const Choice& choice : grid.choices[s])
      raise_to(to.data() + row + choice.shift, from.data() + row, length, price(choice, b, s, messages));
}

void CountAgreement::pass_backward(Grid& grid, size_t b, size_t step,
                                   const std::vector<int32_t>& messages) const {
  const std::vector<int32_t>& from = grid.after[step + 1];
  std::vector<int32_t>& to = grid.after[step];
  to.assign(grid.reach[step] + 1, kImpossible);
  const size_t length = grid.length[step], s = order_[step];
  for (const uint32_t row : grid.rows[step])
    for (const Choice& choice : grid.choices[s])
      raise_to(to.data() + row, from.data() + row + choice.shift, length, price(choice, b, s, messages));
}

// Computes A of every vector of a sentence: the best value of the block with that vector, excluding its
// message.
void CountAgreement::conditional(const Grid& grid, size_t b, size_t step) {
  const size_t s = order_[step];
  std::vector<int64_t>& given = given_[b];
  given.assign(problem_.sentences()[s].shares[b].count, kImpossible);
  const int32_t *before = grid.before[step].data(), *after = grid.after[step + 1].data();
  for (const uint32_t row : grid.rows[step])
    for (const Choice& choice : grid.choices[s]) {
      const int32_t best = best_sum(before + row, after + row + choice.shift, grid.length[step]);
      given[choice.vector] = std::max<int64_t>(given[choice.vector], best);
    }
}

int64_t CountAgreement::best_of_block(const Grid& grid) const {
  if (is_backward_) return grid.after[0][0];
  return best_sum(grid.before[sentences_].data(), grid.after[sentences_].data(),
                  grid.before[sentences_].size());
}

// Extends the partial sums by one sentence, in the direction of the sweep.
void CountAgreement::pass(size_t step, const std::vector<int32_t>& messages) {
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used) continue;
    if (is_backward_)
      pass_backward(grids_[b], b, step, messages);
    else
      pass_forward(grids_[b], b, step, messages);
  }
}

}  // namespace arcwise
