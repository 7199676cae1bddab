// 64-bit hashes of short byte strings and of pairs of hashes; the same on every little-endian machine.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace arcwise {

// A bijection of 64-bit numbers in which every input bit affects every output bit (the finaliser of
// splitmix64).
inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  return x ^ x >> 31;
}

// Order matters: hash_pair(a, b) != hash_pair(b, a).
inline uint64_t hash_pair(uint64_t a, uint64_t b) { return mix(a * 0x9E3779B97F4A7C15ULL + b); }

inline uint64_t hash_bytes(std::string_view text, uint64_t seed = 0) {
  uint64_t h = mix(seed + 0x9E3779B97F4A7C15ULL * (text.size() + 1));
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    h = mix(h ^ word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, text.data() + at, text.size() - at);
  return mix(h ^ rest);
}

}  // namespace arcwise
