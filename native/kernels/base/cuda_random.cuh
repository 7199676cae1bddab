// Random numbers for kernels: splitmix64 (Steele, Lea & Flood 2014), begun from what a draw is for, so that it does not depend on which
// thread makes it.
#pragma once
#include "kernels/base/cuda_platform.cuh"

namespace arcwise {

struct CounterRandom {
  uint64_t state;

  static DEVICE uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  static constexpr uint64_t STEP = 0x9e3779b97f4a7c15ull;

  DEVICE CounterRandom(uint64_t seed, uint64_t sentence, uint64_t draw, uint64_t purpose) {
    state = mixed(seed + STEP);
    state = mixed(state ^ (sentence * STEP + 1));
    state = mixed(state ^ (draw * STEP + 2));
    state = mixed(state ^ (purpose * STEP + 3));
  }
  // Uniform in [0, 1), with 53 random bits.
  DEVICE double uniform() { return static_cast<double>(mixed(state += STEP) >> 11) * 0x1p-53; }
};

}  // namespace arcwise
