// Linear scores from hashed features: score(output) = Σ over the active features f of weight(f, output).
//
// A (feature, output) pair has a weight only if it occurs in training ("supported" pairs), so a model is a
// list of sparse rows, one per feature: small on disk, and a lookup touches one row per active feature.
// Features are 32-bit keys (the upper half of a 64-bit hash); a feature that training never saw has no row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

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
  // `min_count` times. The feature keys in `features` are replaced by row numbers; those without a row go.
  static SparseLinear supported(Lists& features, const Lists& outputs, uint32_t min_count);

  // Row of a feature, -1 if it has none.
  int64_t row(uint32_t key) const {
    size_t mask = slots_.size() - 1;
    for (size_t slot = key & mask;; slot = (slot + 1) & mask) {
      int32_t found = slots_[slot];
      if (found < 0 || keys_[found] == key) return found;
    }
  }
  void add_row(size_t row, float* scores) const {
    for (uint32_t at = starts_[row]; at < starts_[row + 1]; ++at) scores[outputs_[at]] += weights_[at];
  }
  void add(uint32_t key, float* scores) const {
    int64_t found = row(key);
    if (found >= 0) add_row(static_cast<size_t>(found), scores);
  }

  // The same model without the weights below `threshold` in absolute value, and without empty rows.
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

  std::vector<uint32_t> keys_;
  std::vector<uint32_t> starts_{0};  // entries of row r: starts[r] .. starts[r+1]-1
  std::vector<uint16_t> outputs_;    // of each entry
  std::vector<float> weights_;       // of each entry
  std::vector<int32_t> slots_{-1};   // open addressing over keys; -1 is free
};

// Weights learned by AdaGrad (Duchi, Hazan & Singer 2011) with L2 regularisation.
class AdaGrad {
 public:
  AdaGrad(size_t size, float rate, float l2) : squares_(size, 0.0f), rate_(rate), l2_(l2) {}

  // One step against the gradient of the loss.
  void step(float& weight, size_t at, float gradient);
  // A step of every entry of a row by the gradient of its output.
  void step_row(SparseLinear& model, size_t row, const float* gradient_of_output);

 private:
  std::vector<float> squares_;
  float rate_, l2_;
};

}  // namespace arcwise
