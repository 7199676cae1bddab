// A small random generator that gives the same numbers for a seed on every machine, whatever its standard
// library: xoshiro256++ (Blackman & Vigna 2021), seeded by splitmix64.
#pragma once
#include <cstdint>

namespace arcwise {

inline uint64_t splitmix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Random(seed, stream): the streams of one seed are independent. Use the number of the sentence (or item) as
// stream, and the draws do not depend on which thread makes them.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t mixed = splitmix64(seed) ^ (stream * 0xd1342543de82ef95u);
    for (uint64_t& word : state_) word = splitmix64(mixed);
  }

  uint64_t bits() {
    const uint64_t out = rotated(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return out;
  }

  // Uniform in [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // Uniform in (0, 1), safe for log().
  double positive() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

  // Uniform in 0..bound-1, without bias (Lemire 2019).
  uint32_t below(uint32_t bound) {
    uint64_t product = (bits() >> 32) * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t unfair = -bound % bound;
      while (static_cast<uint32_t>(product) < unfair) product = (bits() >> 32) * bound;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  static uint64_t rotated(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  uint64_t state_[4];
};

}  // namespace arcwise
