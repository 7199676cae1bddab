#include "kernels/learning/mixing.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

constexpr size_t BLOCK = size_t{1} << 15;  // cells processed together: their sums stay in the cache

size_t blocks(size_t cells) { return (cells + BLOCK - 1) / BLOCK; }

}  // namespace

std::vector<uint32_t> changed_cells(const std::vector<std::span<const float>>& tables,
                                    const std::vector<std::span<const float>>& before, int threads) {
  const size_t cells = tables[0].size();
  std::vector<std::vector<uint32_t>> found(blocks(cells));
  parallel_for(found.size(), threads, [&](size_t block, size_t) {
    const size_t start = block * BLOCK, size = std::min(BLOCK, cells - start);
    std::vector<uint8_t> differs(size, 0);
    for (size_t t = 0; t < tables.size(); ++t) {
      const float *now = tables[t].data() + start, *then = before[t].data() + start;
      for (size_t i = 0; i < size; ++i) differs[i] |= now[i] != then[i];
    }
    for (size_t i = 0; i < size; ++i)
      if (differs[i]) found[block].push_back(static_cast<uint32_t>(start + i));
  });
  std::vector<uint32_t> places;
  for (const auto& some : found) places.insert(places.end(), some.begin(), some.end());
  return places;
}

void mix_table(std::span<float> table, const std::vector<Changes>& trainers, int threads) {
  const auto count = static_cast<double>(trainers.size());
  parallel_for(blocks(table.size()), threads, [&](size_t block, size_t) {
    const size_t start = block * BLOCK, end = std::min(start + BLOCK, table.size());
    std::vector<double> sums(end - start, 0);
    std::vector<uint32_t> changed(end - start, 0);  // number of trainers that changed the cell
    for (const Changes& own : trainers) {
      auto at = std::lower_bound(own.places.begin(), own.places.end(), start) - own.places.begin();
      for (auto i = static_cast<size_t>(at); i < own.places.size() && own.places[i] < end; ++i) {
        sums[own.places[i] - start] += own.values[i];
        ++changed[own.places[i] - start];
      }
    }
    for (size_t i = 0; i < changed.size(); ++i)
      if (changed[i] > 0) {
        const double rest = (count - changed[i]) * table[start + i];
        table[start + i] = static_cast<float>((sums[i] + rest) / count);
      }
  });
}

}  // namespace arcwise
