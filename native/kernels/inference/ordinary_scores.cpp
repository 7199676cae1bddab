#include "kernels/inference/ordinary_scores.hpp"

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/inference/score_range.hpp"

namespace arcwise {

bool are_ordinary(const double* scores, size_t count) {
  // As integers, the bits of absolute values sort like the doubles, with infinity and NaN last, so the sign of one
  // difference suffices.
  constexpr auto LARGEST_BITS = std::bit_cast<int64_t>(LARGEST_SCORE);
  constexpr size_t LANES = 16;
  int64_t differences[LANES] = {};
  const auto left = [](double score) {
    return LARGEST_BITS - (std::bit_cast<int64_t>(score) & std::numeric_limits<int64_t>::max());
  };
  size_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (size_t lane = 0; lane < LANES; ++lane) differences[lane] |= left(scores[i + lane]);
  for (; i < count; ++i) differences[0] |= left(scores[i]);
  int64_t all = 0;
  for (int64_t difference : differences) all |= difference;
  return all >= 0;
}

}  // namespace arcwise
