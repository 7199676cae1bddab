// A sparse vector over the cells of a table: adding merges equal places.
#pragma once
#include <cstdint>
#include <vector>

namespace arcwise {

class SparseVector {
 public:
  struct Entry {
    uint32_t place;
    double value;
  };

  void clear() {
    for (uint32_t slot : used_) slots_[slot] = -1;
    used_.clear();
    entries_.clear();
  }
  // Returns the index of the entry for the place.
  uint32_t add(uint32_t place, double value) {
    if (entries_.size() * 2 >= slots_.size()) grow();
    uint32_t slot = slot_of(place);
    if (slots_[slot] < 0) {
      slots_[slot] = static_cast<int32_t>(entries_.size());
      used_.push_back(slot);
      entries_.push_back({place, 0});
    }
    entries_[slots_[slot]].value += value;
    return static_cast<uint32_t>(slots_[slot]);
  }
  const std::vector<Entry>& entries() const { return entries_; }
  double squared_norm() const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += entry.value * entry.value;
    return sum;
  }
  template <typename Real>
  double dot(const Real* weights) const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += entry.value * weights[entry.place];
    return sum;
  }

 private:
  uint32_t slot_of(uint32_t place) const {
    uint32_t mask = static_cast<uint32_t>(slots_.size() - 1), slot = place * 0x9E3779B1u & mask;
    while (slots_[slot] >= 0 && entries_[slots_[slot]].place != place) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, -1);
    used_.clear();
    for (size_t i = 0; i < entries_.size(); ++i) {
      uint32_t slot = slot_of(entries_[i].place);
      slots_[slot] = static_cast<int32_t>(i);
      used_.push_back(slot);
    }
  }

  std::vector<int32_t> slots_;
  std::vector<uint32_t> used_;
  std::vector<Entry> entries_;
};

}  // namespace arcwise
