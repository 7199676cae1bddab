// Arc scores of a single sentence, for calls whose overhead must be small.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>

#include "kernels/inference/score_range.hpp"

namespace arcwise {

using ScoreMatrix =
    nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using HeadsOut = nanobind::ndarray<int32_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using MatrixOut = nanobind::ndarray<double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// Returned for scores that are not square or above the largest; Python then reports what is wrong with them.
constexpr double UNREADABLE = std::numeric_limits<double>::quiet_NaN();

inline int words_of(const ScoreMatrix& scores) { return static_cast<int>(scores.shape(0)) - 1; }

inline bool is_readable(const ScoreMatrix& scores) {
  const size_t side = scores.shape(0);
  if (side < 2 || scores.shape(1) != side) return false;
  for (size_t h = 0; h < side; ++h) {
    const double* row = scores.data() + h * side;
    int wrong = 0;
    for (size_t m = 1; m < side; ++m) wrong += !(row[m] <= LARGEST_SCORE);
    if (wrong && (wrong > 1 || h == 0 || row[h] <= LARGEST_SCORE)) return false;
  }
  return true;
}

}  // namespace arcwise
