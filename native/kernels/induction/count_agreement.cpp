#include "kernels/induction/count_agreement.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/induction/count_alive.hpp"

namespace arcwise {

namespace {
constexpr int32_t kLargestSum = 1 << 27;  // bound on the messages of all sentences in a block
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
          sum +=
              share.vectors[v * share.width + c] * mu[c < block.parts.size() ? block.parts[c] : block.some];
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

// ---- messages

// Computes W of every alive parse of a sentence.
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
  std::vector<size_t> agreeing;
  int64_t constant = 0;  // from blocks in which the sentence has no choice; not distributed
  for (size_t b = 0; b < blocks_; ++b) {
    if (!grids_[b].used) continue;
    if (grids_[b].choices[s].size() > 1)
      agreeing.push_back(b);
    else
      constant += given_[b][grids_[b].choices[s][0].vector];
  }
  if (agreeing.empty()) return;
  // Every block gets an equal share of the best value for each of its vectors ...
  shared_.resize(blocks_);
  const auto best_by_vector = [&](size_t b) {
    const BlockShare& share = sentence.shares[b];
    best_.assign(share.count, INT64_MIN / 4);
    for (size_t i = 0; i < worth_.size(); ++i) {
      int64_t& at = best_[share.of_parse[alive_[s][i]]];
      at = std::max(at, worth_[i]);
    }
  };
  for (int64_t& value : worth_) value -= constant;
  for (size_t b : agreeing) {
    best_by_vector(b);
    for (int64_t& value : best_) value /= static_cast<int64_t>(agreeing.size());
    shared_[b] = best_;
  }
  // ... and the remainder of each parse (never positive) goes to the blocks one after the other.
  for (size_t b : agreeing) {
    const uint16_t* of_parse = sentence.shares[b].of_parse.data();
    for (size_t i = 0; i < worth_.size(); ++i) worth_[i] -= shared_[b][of_parse[alive_[s][i]]];
  }
  if (is_backward_) std::reverse(agreeing.begin(), agreeing.end());
  for (size_t b : agreeing) {
    best_by_vector(b);
    const uint16_t* of_parse = sentence.shares[b].of_parse.data();
    for (size_t i = 0; i < worth_.size(); ++i) worth_[i] -= best_[of_parse[alive_[s][i]]];
    for (size_t v = 0; v < best_.size(); ++v) shared_[b][v] += best_[v];
  }
  const int64_t most = kLargestSum / static_cast<int64_t>(sentences_);
  for (size_t b : agreeing)
    for (const Choice& choice : grids_[b].choices[s]) {
      const int64_t given = given_[b][choice.vector], share = shared_[b][choice.vector];
      int64_t message = given - share;
      if (given <= kImpossible / 2)
        message = -most;
      else if (share <= kImpossible / 2)
        message = most;
      messages[first_message(s, b) + choice.vector] = static_cast<int32_t>(std::clamp(message, -most, most));
    }
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
    if (static_cast<double>(before - out.bound) < precision * static_cast<double>(out.bound - threshold))
      break;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds) break;
  }
  forget_the_dead(messages);
  out.messages = std::move(messages);
  return out;
}

// Zeroes the messages of vectors that no alive parse uses, which keeps certificates short.
void CountAgreement::forget_the_dead(std::vector<int32_t>& messages) const {
  for (size_t s = 0; s < sentences_; ++s)
    for (size_t b = 0; b < blocks_ && problem_.sentences()[s].is_short; ++b)
      for (size_t v = 0; v < seen_[s * blocks_ + b].size(); ++v)
        if (!seen_[s * blocks_ + b][v]) messages[first_message(s, b) + v] = 0;
}

bool CountAgreement::tighten(CountBox& box, const Agreement& found, int64_t threshold) {
  std::vector<int64_t> block_best(blocks_, 0);
  int64_t of_blocks = 0;
  for (size_t b = 0; b < blocks_; ++b)
    if (grids_[b].used) of_blocks += block_best[b] = best_of_block(grids_[b]) * kMessageUnit;
  is_backward_ = !is_backward_;  // sweep the partial sums from the other end, under the same messages
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

// Deletes the points of a block whose bound (`rest` plus their own value) is at most the threshold.
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
