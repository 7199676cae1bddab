// Linear scores from hashed features: score(output) = Σ over the active features f of weight(f, output).
//
// A (feature, output) pair has a weight only if it occurs in training (a "supported" pair), so a model is a
// list of sparse rows, one per feature: small on disk, with one row lookup per active feature. Features are
// 32-bit keys (the upper half of a 64-bit hash); a feature not seen in training has no row.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/prefetch.hpp"
#include "kernels/learning/adagrad.hpp"

namespace arcwise {

inline uint32_t feature_key(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

// Lists of numbers, one list per item: list i is values[starts[i]] .. values[starts[i+1]-1].
struct Lists {
  std::vector<size_t> starts{0};
  std::vector<uint32_t> values;

  void add(uint32_t value) { values.push_back(value); }
  void close() { starts.push_back(values.size()); }
  size_t size() const { return starts.size() - 1; }
  const uint32_t* begin(size_t item) const { return values.data() + starts[item]; }
  const uint32_t* end(size_t item) const { return values.data() + starts[item + 1]; }
};

class SparseLinear {
 public:
  SparseLinear() = default;
  SparseLinear(std::vector<uint32_t> keys, std::vector<uint32_t> starts, std::vector<uint16_t> outputs,
               std::vector<float> weights);

  // A model of zero weights for the pairs (feature of an item, output of an item) that occur at least
  // `min_count` times. Replaces the feature keys in `features` by row numbers and drops those without a row.
  static SparseLinear supported(Lists& features, const Lists& outputs, uint32_t min_count);

  // Row of a feature, -1 if it has none.
  int64_t row(uint32_t key) const {
    const size_t bucket = home(key);
    for (uint32_t row = firsts_[bucket]; row < firsts_[bucket + 1]; ++row)
      if (keys_[row] == key) return row;
    return -1;
  }
  void add_row(size_t row, float* scores) const {
    for (uint32_t at = starts_[row]; at < starts_[row + 1]; ++at) scores[outputs_[at]] += weights_[at];
  }
  void add(uint32_t key, float* scores) const {
    if (const int64_t found = row(key); found >= 0) add_row(static_cast<size_t>(found), scores);
  }

  // Applies `add` to each key, in order. Prefetches all rows first, because most are not in the cache.
  void add_all(const std::vector<uint32_t>& keys, float* scores) const {
    constexpr size_t AT_A_TIME = 128;
    uint32_t rows[AT_A_TIME];
    for (size_t first = 0; first < keys.size(); first += AT_A_TIME) {
      const size_t last = std::min(first + AT_A_TIME, keys.size());
      for (size_t i = first; i < last; ++i) prefetch(firsts_.data() + home(keys[i]));
      for (size_t i = first; i < last; ++i) prefetch(keys_.data() + firsts_[home(keys[i])]);
      size_t count = 0;
      for (size_t i = first; i < last; ++i)
        if (const int64_t found = row(keys[i]); found >= 0) {
          rows[count++] = static_cast<uint32_t>(found);
          prefetch(starts_.data() + found);
        }
      for (size_t i = 0; i < count; ++i) {
        prefetch(outputs_.data() + starts_[rows[i]]);
        prefetch(weights_.data() + starts_[rows[i]]);
      }
      for (size_t i = 0; i < count; ++i) add_row(rows[i], scores);
    }
  }

  // A copy without the weights below `threshold` in absolute value and without empty rows.
  SparseLinear pruned(float threshold) const;

  size_t rows() const { return keys_.size(); }
  size_t entries() const { return weights_.size(); }
  const std::vector<uint32_t>& keys() const { return keys_; }
  const std::vector<uint32_t>& starts() const { return starts_; }
  const std::vector<uint16_t>& outputs() const { return outputs_; }
  const std::vector<float>& weights() const { return weights_; }
  std::vector<float>& weights() { return weights_; }

 private:
  void index();
  // The home of a key is given by its upper bits. Keys are sorted hashes, so those of a home are the few rows
  // firsts_[home] .. firsts_[home + 1]-1. A hash table would take as much memory as everything else together.
  size_t home(uint32_t key) const { return static_cast<size_t>(static_cast<uint64_t>(key) >> shift_); }

  std::vector<uint32_t> keys_;
  std::vector<uint32_t> starts_{0};  // entries of row r: starts[r] .. starts[r+1]-1
  std::vector<uint16_t> outputs_;    // of each entry
  std::vector<float> weights_;       // of each entry
  std::vector<uint32_t> firsts_{0, 0};
  int shift_ = 32;  // 32 − log2 of the number of homes
};

struct TrainingOptions {
  int epochs = 10;
  float rate = 0.1f;
  float damping = 0.0f;  // see AdaGrad
  float l2 = 0.0f;
  uint32_t min_count = 1;  // minimum count of a (feature, output) pair
  float prune = 0.0f;    // weights below this after half the epochs stay 0 while the others continue training
  float dropout = 0.0f;  // feature dropout rate in training (softmax_train only)
  uint64_t seed = 1;
};

// Shuffles `order`, deterministically for a seed and epoch.
void shuffle(std::vector<uint32_t>& order, uint64_t seed, int epoch);

// Weights trained by AdaGrad with L2 regularisation. The final weights are the average over the epoch ends of
// the second half of training.
class RegularisedAdaGrad {
 public:
  RegularisedAdaGrad(std::vector<float>& weights, const TrainingOptions& options)
      : weights_(weights),
        adagrad_(weights.size(), options.damping),
        sums_(weights.size(), 0.0f),
        options_(options) {}

  // One step against the gradient of the loss.
  void step(size_t at, float gradient);
  // Takes a step of every entry of a row by the gradient of its output. The weights must be the model's.
  void step_row(const SparseLinear& model, size_t row, const float* gradient_of_output);

  void end_epoch(int epoch);
  void finish();

 private:
  void drop_small_weights();

  std::vector<float>& weights_;
  AdaGrad adagrad_;
  std::vector<float> sums_;
  TrainingOptions options_;
  int summed_ = 0;
};

}  // namespace arcwise
