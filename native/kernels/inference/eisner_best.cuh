// Numbers and splits of a chart for the best tree.
#pragma once
#include "kernels/base/cuda_platform.cuh"

namespace arcwise {

// A score in the max-plus semiring.
struct BestScore {
  double value = minus_infinity();
  friend DEVICE BestScore operator+(BestScore a, BestScore b) {
    return {a.value > b.value ? a.value : b.value};
  }
  friend DEVICE BestScore operator*(BestScore a, BestScore b) { return {a.value + b.value}; }
  DEVICE BestScore& operator+=(BestScore other) { return *this = *this + other; }
};
DEVICE void set_one(BestScore& x) { x.value = 0; }

// The first of the best splits.
struct BestSplit {
  double value = minus_infinity();
  int split = 1 << 30;
  DEVICE BestSplit better(const BestSplit& other) const {
    return other.value > value || (other.value == value && other.split < split) ? other : *this;
  }
};

}  // namespace arcwise
