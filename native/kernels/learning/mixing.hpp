// Iterative parameter mixing (McDonald, Hall & Mann 2010): several trainers continue from the same tables,
// each with its own sentences; each cell then becomes the mean of their values. Trainers only transmit the
// cells they changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace arcwise {

// The cells in which any of the tables differs from `before`, in ascending order. All tables have the same
// size.
std::vector<uint32_t> changed_cells(const std::vector<std::span<const float>>& tables,
                                    const std::vector<std::span<const float>>& before, int threads);

// The cells that one trainer changed, in ascending order, and their current values.
struct Changes {
  std::span<const uint32_t> places;
  std::span<const float> values;
};

// table[c] becomes the mean over all trainers: the values of those that changed it, added in the order of the
// trainers, and the table's value for the others.
void mix_table(std::span<float> table, const std::vector<Changes>& trainers, int threads);

}  // namespace arcwise
