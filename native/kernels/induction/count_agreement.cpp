#include "kernels/induction/count_agreement.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/induction/count_alive.hpp"

namespace arcwise {

namespace {
constexpr int32_t kImpossible = -(1 << 29);
constexpr int32_t kLargestSum = 1 << 27;      // of the messages of all sentences in a block
constexpr size_t kMostWork = 400'000'000;     // sums to form in one pass over a block
constexpr size_t kMostTable = size_t{1} << 24;  // numbers of partial sums kept of a block
constexpr size_t kShortestRow = 256;
constexpr int64_t kMessageUnit = int64_t{1} << kMessageShift;

int64_t rounded_up(int64_t value) { return (value + kMessageUnit - 1) >> kMessageShift; }

// out = max(out, in - price), where sums that are impossible stay so.
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

CountAgreement::CountAgreement(const CountProblem& problem)
    : problem_(problem), blocks_(problem.blocks().size()), sentences_(problem.sentences().size()) {
  for (const CountProblem::Sentence& sentence : problem.sentences())
    for (size_t b = 0; b < blocks_; ++b) {
      first_.push_back(size_);
      if (sentence.is_short) size_ += sentence.shares[b].count;
    }
  grids_.resize(blocks_);
  alive_.resize(sentences_);
  linear_.resize(sentences_);
  seen_.resize(sentences_ * blocks_);
  given_.resize(blocks_);
  sentence_best_.resize(sentences_);
  for (size_t s = 0; s < sentences_; ++s) order_.push_back(s);
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return problem.sentences()[a].vectors.count > problem.sentences()[b].vectors.count;
  });
}

std::vector<int32_t> CountAgreement::from_prices(const int64_t* mu) const {
  std::vector<int32_t> out(size_);
  const int64_t most = kLargestSum / static_cast<int64_t>(sentences_);
  for (size_t s = 0; s < sentences_; ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    if (!sentence.is_short) continue;
    for (size_t b = 0; b < blocks_; ++b) {
      const CountProblem::Block& block = problem_.blocks()[b];
      const BlockShare& share = sentence.shares[b];
      for (size_t v = 0; v < share.count; ++v) {
        int64_t sum = 0;
        for (size_t c = 0; c < share.width; ++c)
          sum += share.vectors[v * share.width + c] * mu[c < block.parts.size() ? block.parts[c] : block.some];
        sum = (sentence.weight * sum) >> kMessageShift;
        out[first_message(s, b) + v] = static_cast<int32_t>(std::clamp(sum, -most, most));
      }
    }
  }
  return out;
}

std::vector<int64_t> CountAgreement::in_order(size_t b) const {
  std::vector<int64_t> out;
  for (size_t s = 0; s < sentences_; ++s) {
    if (!problem_.sentences()[s].is_short) continue;
    const BlockShare& share = problem_.sentences()[s].shares[b];
    std::vector<size_t> numbers(share.count);
    for (size_t v = 0; v < share.count; ++v) numbers[v] = v;
    std::sort(numbers.begin(), numbers.end(), [&](size_t a, size_t c) {
      const uint8_t *x = &share.vectors[a * share.width], *y = &share.vectors[c * share.width];
      return std::lexicographical_compare(x, x + share.width, y, y + share.width);
    });
    for (size_t v : numbers) out.push_back(static_cast<int64_t>(first_message(s, b) + v));
  }
  return out;
}

// ---- the grids of a box

// The grid of the sums that parses alive can add to a block; false if it is too large.
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
    if (!sentence.is_short) continue;  // adds nothing
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

// The cells of sums that lie in 0..ranges: rows over the last coordinates, one for each value of the first ones.
void CountAgreement::lay_rows(Grid& grid, const std::vector<int32_t>& ranges, size_t step) const {
  const size_t width = ranges.size();
  size_t first = width;  // of the coordinates within a row
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

// G of the sums of all sentences, where they lie in the box.
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
  // Prices of the blocks that do not agree by messages, and of the constraint.
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

void CountAgreement::pass_forward(Grid& grid, size_t b, size_t step, const std::vector<int32_t>& messages) const {
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

// A of every vector of a sentence: the best of the block with it, without its message.
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

// W of every parse of a sentence that is alive.
void CountAgreement::worth(size_t step) {
  const size_t s = order_[step];
  const CountProblem::Sentence& sentence = problem_.sentences()[s];
  worth_.assign(alive_[s].size(), 0);
  for (size_t i = 0; i < worth_.size(); ++i) worth_[i] = linear_[s][i] >> kMessageShift;
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used) continue;
    conditional(grids_[b], b, step);
    const uint16_t* of_parse = sentence.shares[b].of_parse.data();
    for (size_t i = 0; i < worth_.size(); ++i) worth_[i] += given_[b][of_parse[alive_[s][i]]];
  }
}

void CountAgreement::update(size_t step, std::vector<int32_t>& messages) {
  const size_t s = order_[step];
  if (!problem_.sentences()[s].is_short) return;
  worth(step);
  const CountProblem::Sentence& sentence = problem_.sentences()[s];
  int64_t agreeing = 0;
  for (size_t b = 0; b < blocks_; ++b) agreeing += grids_[b].used && grids_[b].choices[s].size() > 1;
  const int64_t most = kLargestSum / static_cast<int64_t>(sentences_);
  std::vector<int64_t> best;
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used || grids_[b].choices[s].size() < 2) continue;
    const BlockShare& share = sentence.shares[b];
    best.assign(share.count, INT64_MIN / 4);
    for (size_t i = 0; i < worth_.size(); ++i) {
      int64_t& at = best[share.of_parse[alive_[s][i]]];
      at = std::max(at, worth_[i]);
    }
    int64_t constant = 0;  // of blocks in which the sentence has no choice: no part of what is shared out
    for (size_t other = 0; other < blocks_; ++other)
      if (grids_[other].used && grids_[other].choices[s].size() == 1)
        constant += given_[other][grids_[other].choices[s][0].vector];
    for (const Choice& choice : grids_[b].choices[s]) {
      const int64_t given = given_[b][choice.vector], value = best[choice.vector] - constant;
      int64_t message = given - value / agreeing;
      if (given <= kImpossible / 2) message = -most;
      else if (value <= kImpossible / 2) message = most;
      messages[first_message(s, b) + choice.vector] = static_cast<int32_t>(std::clamp(message, -most, most));
    }
  }
}

int64_t CountAgreement::best_of_block(const Grid& grid) const {
  if (is_backward_) return grid.after[0][0];
  return best_sum(grid.before[sentences_].data(), grid.after[sentences_].data(), grid.before[sentences_].size());
}

int64_t CountAgreement::evaluate(const std::vector<int32_t>& messages, Agreement& out) {
  const int size = problem_.layout().coordinates();
  out.counts.assign(size, 0);
  int64_t sum = fixed_;
  for (size_t s = 0; s < sentences_; ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    if (!sentence.is_short) continue;
    std::vector<const int32_t*> of_block;
    std::vector<const uint16_t*> of_parse;
    for (size_t b = 0; b < blocks_; ++b)
      if (grids_[b].used) {
        of_block.push_back(messages.data() + first_message(s, b));
        of_parse.push_back(sentence.shares[b].of_parse.data());
      }
    int64_t best = kNothing;
    size_t at = 0;
    for (size_t i = 0; i < alive_[s].size(); ++i) {
      int64_t value = 0;
      for (size_t k = 0; k < of_block.size(); ++k) value += of_block[k][of_parse[k][alive_[s][i]]];
      value = value * kMessageUnit + linear_[s][i];
      if (value > best) best = value, at = alive_[s][i];
    }
    sum += sentence_best_[s] = best;
    const CountVectors& vectors = sentence.vectors;
    for (size_t l = 0; l < vectors.width; ++l)
      out.counts[vectors.names[l]] += sentence.weight * vectors.values[at * vectors.width + l];
  }
  for (const Grid& grid : grids_)
    if (grid.used) sum += best_of_block(grid) * kMessageUnit;
  return sum;
}

// ---- the bound

Agreement CountAgreement::improve(const CountBox& box, const int64_t* mu, std::vector<int32_t> messages,
                                  int64_t threshold, int most_sweeps, double precision, double seconds) {
  const auto began = std::chrono::steady_clock::now();
  Agreement out;
  prepare(box, mu);
  for (const Grid& grid : grids_) out.blocks.push_back(grid.used);
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used) continue;
    grids_[b].before[0].assign(1, 0);
    for (size_t step = 0; step < sentences_; ++step) pass_forward(grids_[b], b, step, messages);
  }
  is_backward_ = false;
  out.bound = evaluate(messages, out);
  while (out.bound > threshold && out.sweeps < most_sweeps) {
    ++out.sweeps;
    is_backward_ = !is_backward_;
    for (size_t i = 0; i < sentences_; ++i) {
      const size_t step = is_backward_ ? sentences_ - 1 - i : i;
      update(step, messages);
      pass(step, messages);
    }
    const int64_t before = out.bound;
    out.bound = evaluate(messages, out);
    if (static_cast<double>(before - out.bound) < precision * static_cast<double>(out.bound - threshold)) break;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds) break;
  }
  forget_the_dead(messages);
  out.messages = std::move(messages);
  return out;
}

// Messages of vectors that no parse alive has are 0, so that certificates are short.
void CountAgreement::forget_the_dead(std::vector<int32_t>& messages) const {
  for (size_t s = 0; s < sentences_; ++s)
    for (size_t b = 0; b < blocks_ && problem_.sentences()[s].is_short; ++b)
      for (size_t v = 0; v < seen_[s * blocks_ + b].size(); ++v)
        if (!seen_[s * blocks_ + b][v]) messages[first_message(s, b) + v] = 0;
}

// The sums of one sentence more, in the direction of the sweep.
void CountAgreement::pass(size_t step, const std::vector<int32_t>& messages) {
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used) continue;
    if (is_backward_)
      pass_backward(grids_[b], b, step, messages);
    else
      pass_forward(grids_[b], b, step, messages);
  }
}

bool CountAgreement::tighten(CountBox& box, const Agreement& found, int64_t threshold) {
  std::vector<int64_t> block_best(blocks_, 0);
  int64_t of_blocks = 0;
  for (size_t b = 0; b < blocks_; ++b)
    if (grids_[b].used) of_blocks += block_best[b] = best_of_block(grids_[b]) * kMessageUnit;
  is_backward_ = !is_backward_;  // partial sums from the other end, under the same messages
  for (size_t i = 0; i < sentences_; ++i) pass(is_backward_ ? sentences_ - 1 - i : i, found.messages);
  for (size_t step = 0; step < sentences_; ++step) {
    const size_t s = order_[step];
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    if (!sentence.is_short) continue;
    worth(step);
    const int64_t rest = found.bound - of_blocks - sentence_best_[s];
    for (size_t i = 0; i < worth_.size(); ++i) {
      const int64_t rounded = linear_[s][i] >> kMessageShift;
      const int64_t value = (worth_[i] - rounded) * kMessageUnit + linear_[s][i];
      if (rest + value <= threshold) kill(box.alive, sentence.first_bit + alive_[s][i]);
    }
  }
  for (size_t b = 0; b < blocks_; ++b) {
    const int64_t spare = found.bound - threshold;
    const bool left = grids_[b].used
                          ? tighten_grid(b, box, found.bound - block_best[b], threshold)
                          : problem_.tighten_block(b, box, left_.data(), by_prices_.block_best[b] - spare);
    if (!left) return false;
  }
  return problem_.propagate(box);
}

// Deletes the points of a block with which the bound, `rest` and their own value, is at most the threshold.
bool CountAgreement::tighten_grid(size_t b, CountBox& box, int64_t rest, int64_t threshold) const {
  const Grid& grid = grids_[b];
  const std::vector<int32_t>&sums = grid.before[sentences_], &last = grid.after[sentences_];
  std::vector<uint8_t> good(sums.size());
  for (size_t x = 0; x < sums.size(); ++x) {
    const int64_t value = static_cast<int64_t>(sums[x]) + last[x];
    good[x] = value > kImpossible && rest + value * kMessageUnit > threshold;
  }
  return problem_.keep_cells(b, box, grid.offset, grid.stride, good);
}

}  // namespace arcwise
