// Iterative parameter mixing (McDonald, Hall & Mann 2010): several trainers go on from the same tables, each with sentences of its
// own; then each cell becomes the mean of what they made of it. Of a trainer only the cells are told that it changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace arcwise {

// The cells in which any of the tables differs from what it was before, in order. Tables have the same size.
std::vector<uint32_t> changed_cells(const std::vector<std::span<const float>>& tables,
                                    const std::vector<std::span<const float>>& before, int threads);

// Cells that one trainer changed, in order, and their values now.
struct Changes {
  std::span<const uint32_t> places;
  std::span<const float> values;
};

// table[c] becomes the mean over all trainers: the values of those that changed it, added up in the order of the trainers, and what
// is in the table for the others.
void mix_table(std::span<float> table, const std::vector<Changes>& trainers, int threads);

}  // namespace arcwise
