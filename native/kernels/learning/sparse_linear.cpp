#include "kernels/learning/sparse_linear.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kernels/base/hashing.hpp"
#include "kernels/base/random.hpp"

namespace arcwise {
namespace {

// Assigns numbers 0, 1, … to 64-bit keys in order of first appearance, and counts them.
class Numbering {
 public:
  uint32_t number(uint64_t key) {
    if ((keys_.size() + 1) * 2 > slots_.size()) grow();
    size_t mask = slots_.size() - 1;
    size_t slot = mix(key) & mask;
    for (; slots_[slot] >= 0; slot = (slot + 1) & mask)
      if (keys_[slots_[slot]] == key) return static_cast<uint32_t>(slots_[slot]);
    slots_[slot] = static_cast<int32_t>(keys_.size());
    keys_.push_back(key);
    counts_.push_back(0);
    return static_cast<uint32_t>(slots_[slot]);
  }
  void count(uint64_t key) { ++counts_[number(key)]; }
  const std::vector<uint64_t>& keys() const { return keys_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

 private:
  void grow() {
    slots_.assign(std::max<size_t>(1024, slots_.size() * 2), -1);
    size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < keys_.size(); ++i) {
      size_t slot = mix(keys_[i]) & mask;
      while (slots_[slot] >= 0) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<int32_t>(i);
    }
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> counts_;
  std::vector<int32_t> slots_;
};

// The pairs (key << 16 | output) that reach the minimum count, sorted.
std::vector<uint64_t> frequent_pairs(const Lists& features, const Lists& outputs, uint32_t min_count) {
  Numbering pairs;
  for (size_t item = 0; item < features.size(); ++item)
    for (const uint32_t* o = outputs.begin(item); o != outputs.end(item); ++o)
      for (const uint32_t* f = features.begin(item); f != features.end(item); ++f)
        pairs.count(static_cast<uint64_t>(*f) << 16 | *o);
  std::vector<uint64_t> kept;
  for (size_t i = 0; i < pairs.keys().size(); ++i)
    if (pairs.counts()[i] >= min_count) kept.push_back(pairs.keys()[i]);
  std::sort(kept.begin(), kept.end());
  return kept;
}

void keys_to_rows(Lists& features, const SparseLinear& model) {
  size_t write = 0;
  for (size_t item = 0, read = 0; item < features.size(); ++item) {
    for (; read < features.starts[item + 1]; ++read) {
      int64_t row = model.row(features.values[read]);
      if (row >= 0) features.values[write++] = static_cast<uint32_t>(row);
    }
    features.starts[item + 1] = write;
  }
  features.values.resize(write);
}

}  // namespace

SparseLinear::SparseLinear(std::vector<uint32_t> keys, std::vector<uint32_t> starts,
                           std::vector<uint16_t> outputs, std::vector<float> weights)
    : keys_(std::move(keys)),
      starts_(std::move(starts)),
      outputs_(std::move(outputs)),
      weights_(std::move(weights)) {
  if (starts_.size() != keys_.size() + 1 || starts_.front() != 0 || starts_.back() != weights_.size() ||
      outputs_.size() != weights_.size() || !std::is_sorted(starts_.begin(), starts_.end()) ||
      !std::is_sorted(keys_.begin(), keys_.end()))
    throw std::invalid_argument("the arrays of a sparse linear model do not fit together");
  index();
}

void SparseLinear::index() {
  size_t homes = 1;
  for (shift_ = 32; 2 * homes < keys_.size(); --shift_) homes *= 2;
  firsts_.assign(homes + 1, 0);
  for (uint32_t key : keys_) ++firsts_[home(key) + 1];
  std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
}

SparseLinear SparseLinear::supported(Lists& features, const Lists& outputs, uint32_t min_count) {
  SparseLinear model;
  for (uint64_t pair : frequent_pairs(features, outputs, min_count)) {
    auto key = static_cast<uint32_t>(pair >> 16);
    if (model.keys_.empty() || model.keys_.back() != key) {
      model.keys_.push_back(key);
      model.starts_.push_back(model.starts_.back());
    }
    model.outputs_.push_back(static_cast<uint16_t>(pair));
    ++model.starts_.back();
  }
  model.weights_.assign(model.outputs_.size(), 0.0f);
  model.index();
  keys_to_rows(features, model);
  return model;
}

SparseLinear SparseLinear::pruned(float threshold) const {
  SparseLinear kept;
  for (size_t row = 0; row < rows(); ++row) {
    size_t before = kept.weights_.size();
    for (uint32_t at = starts_[row]; at < starts_[row + 1]; ++at) {
      if (weights_[at] == 0.0f || std::fabs(weights_[at]) < threshold) continue;
      kept.outputs_.push_back(outputs_[at]);
      kept.weights_.push_back(weights_[at]);
    }
    if (kept.weights_.size() == before) continue;
    kept.keys_.push_back(keys_[row]);
    kept.starts_.push_back(static_cast<uint32_t>(kept.weights_.size()));
  }
  kept.index();
  return kept;
}

void shuffle(std::vector<uint32_t>& order, uint64_t seed, int epoch) {
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed, static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(static_cast<uint32_t>(i))]);
}

void RegularisedAdaGrad::step(size_t at, float gradient) {
  gradient += options_.l2 * weights_[at];
  weights_[at] -= adagrad_.step(at, options_.rate, gradient);
}

void RegularisedAdaGrad::step_row(const SparseLinear& model, size_t row, const float* gradient_of_output) {
  for (uint32_t at = model.starts()[row]; at < model.starts()[row + 1]; ++at) {
    float gradient = gradient_of_output[model.outputs()[at]];
    if (gradient != 0.0f) step(at, gradient);
  }
}

void RegularisedAdaGrad::end_epoch(int epoch) {
  if (epoch + 1 == options_.epochs / 2) drop_small_weights();
  if (epoch < options_.epochs / 2) return;
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += weights_[i];
  ++summed_;
}

void RegularisedAdaGrad::drop_small_weights() {
  for (size_t i = 0; i < weights_.size(); ++i)
    if (std::fabs(weights_[i]) < options_.prune) {
      weights_[i] = 0.0f;
      adagrad_.squares[i] = std::numeric_limits<float>::infinity();  // makes all further steps 0
    }
}

void RegularisedAdaGrad::finish() {
  if (summed_ == 0) return;
  for (size_t i = 0; i < sums_.size(); ++i) weights_[i] = sums_[i] / static_cast<float>(summed_);
}

}  // namespace arcwise
