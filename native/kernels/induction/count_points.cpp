#include "kernels/induction/count_points.hpp"

#include <algorithm>
#include <cstring>

namespace arcwise {

void BlockPoints::set_ranges(size_t parts) {
  low.assign(width + 1, INT32_MAX);
  high.assign(width + 1, 0);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* values = point(i);
    int32_t total = 0;
    for (size_t c = 0; c < width; ++c) {
      low[c] = std::min<int32_t>(low[c], values[c]);
      high[c] = std::max<int32_t>(high[c], values[c]);
      if (c < parts) total += values[c];
    }
    low[width] = std::min(low[width], total);
    high[width] = std::max(high[width], total);
  }
}

bool BlockPoints::contains(const uint8_t* wanted) const {
  size_t first = 0, last = count;
  while (first < last) {
    const size_t middle = (first + last) / 2;
    const int order = std::memcmp(point(middle), wanted, width);
    if (order == 0) return true;
    (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
  }
  return false;
}

namespace {

using Bits = std::vector<uint64_t>;

// to |= from << shift
void or_shifted(const Bits& from, size_t used, size_t shift, Bits& to) {
  const size_t words = shift / 64, bits = shift % 64;
  if (bits == 0) {
    for (size_t w = 0; w < used; ++w) to[w + words] |= from[w];
    return;
  }
  uint64_t carry = 0;
  for (size_t w = 0; w < used; ++w) {
    to[w + words] |= from[w] << bits | carry;
    carry = from[w] >> (64 - bits);
  }
  if (carry) to[used + words] |= carry;
}

}  // namespace

bool sum_points(const std::vector<Summand>& summands, size_t width, const int32_t* low, const int32_t* high,
                std::vector<uint8_t>& values) {
  // Each sentence's sums start at the smallest value it can add, which keeps the grid small.
  std::vector<int32_t> offset(width, 0);
  std::vector<size_t> size(width, 1), stride(width, 1);
  std::vector<uint8_t> least(summands.size() * width, 255), most(summands.size() * width, 0);
  for (size_t s = 0; s < summands.size(); ++s) {
    for (uint16_t v : summands[s].chosen)
      for (size_t c = 0; c < width; ++c) {
        const uint8_t value = summands[s].share->vectors[v * width + c];
        least[s * width + c] = std::min(least[s * width + c], value);
        most[s * width + c] = std::max(most[s * width + c], value);
      }
    if (summands[s].chosen.empty()) return true;
    for (size_t c = 0; c < width; ++c) {
      offset[c] += summands[s].weight * least[s * width + c];
      size[c] += summands[s].weight * (most[s * width + c] - least[s * width + c]);
    }
  }
  size_t cells = 1;
  for (size_t c = width; c-- > 0;) {
    stride[c] = cells;
    cells *= size[c];
    if (cells > kMostCells || offset[c] + size[c] > 256) return false;
  }
  Bits sums(cells / 64 + 2, 0), next;
  sums[0] = 1;
  size_t reach = 0;  // the highest bit
  for (size_t s = 0; s < summands.size(); ++s) {
    size_t furthest = 0;
    next.assign(sums.size(), 0);
    for (uint16_t v : summands[s].chosen) {
      size_t shift = 0;
      for (size_t c = 0; c < width; ++c)
        shift += stride[c] * (summands[s].share->vectors[v * width + c] - least[s * width + c]);
      shift *= summands[s].weight;
      or_shifted(sums, reach / 64 + 1, shift, next);
      furthest = std::max(furthest, shift);
    }
    reach += furthest;
    sums.swap(next);
  }
  std::vector<uint8_t> point(width);
  for (size_t w = 0; w <= reach / 64; ++w)
    for (uint64_t left = sums[w]; left; left &= left - 1) {
      uint32_t cell = static_cast<uint32_t>(64 * w + __builtin_ctzll(left));
      bool fits = true;
      for (size_t c = 0; c < width; ++c) {
        const uint32_t steps = cell / static_cast<uint32_t>(stride[c]);
        const int32_t value = offset[c] + static_cast<int32_t>(steps);
        cell -= steps * static_cast<uint32_t>(stride[c]);
        point[c] = static_cast<uint8_t>(value);
        fits &= value >= low[c] && value <= high[c];
      }
      if (!fits) continue;
      if (values.size() >= kMostPoints * width) return values.clear(), false;
      values.insert(values.end(), point.begin(), point.end());
    }
  return true;
}

}  // namespace arcwise
