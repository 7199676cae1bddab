// Counter-based random numbers for kernels: splitmix64 (Steele, Lea & Flood 2014), seeded from the purpose of
// a draw, so that results do not depend on which thread draws.
#pragma once
#include "kernels/base/cuda_platform.cuh"

namespace arcwise {

// A pseudorandom number from a counter.
constexpr uint64_t COUNTER_STEP = 0x9E3779B97F4A7C15ull;
DEVICE uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
DEVICE uint64_t scrambled(uint64_t counter) { return mixed(counter + COUNTER_STEP); }

// Uniform in [0, 1), by 53 random bits.
DEVICE double uniform_of(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

struct CounterRandom {
  uint64_t state;

  DEVICE CounterRandom(uint64_t seed, uint64_t sentence, uint64_t draw, uint64_t purpose) {
    state = mixed(seed + COUNTER_STEP);
    state = mixed(state ^ (sentence * COUNTER_STEP + 1));
    state = mixed(state ^ (draw * COUNTER_STEP + 2));
    state = mixed(state ^ (purpose * COUNTER_STEP + 3));
  }
  DEVICE double uniform() { return uniform_of(mixed(state += COUNTER_STEP)); }
};

}  // namespace arcwise
