// An immutable hash table from 32-bit keys (upper halves of hashes) to numbers. The home slot of a key is
// given by its upper bits, so that sorted keys fill the table from front to back and a model file loads at
// memory speed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace arcwise {

class KeyTable {
 public:
  KeyTable() = default;
  explicit KeyTable(const std::unordered_map<uint32_t, uint32_t>& map) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs(map.begin(), map.end());
    std::sort(pairs.begin(), pairs.end());
    reserve(pairs.size());
    for (const auto& [key, value] : pairs) add(key, value);
  }
  KeyTable(const uint32_t* keys, const uint32_t* values, size_t count) {
    reserve(count);
    for (size_t i = 0; i < count; ++i) add(keys[i], values[i]);
  }

  // The value of a key; null if absent.
  const uint32_t* find(uint32_t key) const {
    size_t mask = slots_.size() - 1;
    for (size_t slot = home(key); slots_[slot].is_taken; slot = (slot + 1) & mask)
      if (slots_[slot].key == key) return &slots_[slot].value;
    return nullptr;
  }

  // All pairs, sorted by key.
  std::vector<std::pair<uint32_t, uint32_t>> pairs() const {
    std::vector<std::pair<uint32_t, uint32_t>> found;
    for (const Slot& slot : slots_)
      if (slot.is_taken) found.emplace_back(slot.key, slot.value);
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  struct Slot {
    uint32_t key = 0, value = 0;
    bool is_taken = false;
  };

  size_t home(uint32_t key) const { return static_cast<size_t>(static_cast<uint64_t>(key) >> shift_); }
  void reserve(size_t count) {
    size_t size = 1;
    for (shift_ = 32; size < count + count / 2 + 1; --shift_) size *= 2;
    slots_.assign(size, Slot{});
  }
  void add(uint32_t key, uint32_t value) {
    size_t mask = slots_.size() - 1, slot = home(key);
    while (slots_[slot].is_taken && slots_[slot].key != key) slot = (slot + 1) & mask;
    slots_[slot] = {key, value, true};
  }

  std::vector<Slot> slots_{Slot{}};
  int shift_ = 32;  // 32 − log2 of the number of slots
};

// Decodes sorted keys from their gaps of 16 bits each; a full gap (65535) continues in the next one.
inline std::vector<uint32_t> keys_of_gaps(const uint16_t* gaps, size_t count) {
  constexpr uint16_t FULL = 65535;
  std::vector<uint32_t> keys;
  keys.reserve(count);
  uint32_t key = 0;
  for (size_t i = 0; i < count; ++i) {
    key += gaps[i];
    if (gaps[i] != FULL) keys.push_back(key);
  }
  return keys;
}

}  // namespace arcwise
