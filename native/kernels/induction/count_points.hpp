// The points of a block (count_problem.hpp) that sums of parses can reach.
//
// A box of counts contains points that no parses have, because the ranges of a block's coordinates do not say
// which values occur together. Where there are few enough, the points that are sums of one vector per
// sentence are listed; bounds over the list are much tighter than bounds over the box.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

// Points of one block, in lexicographic order; each has `width` coordinates: the parts, then A.
struct BlockPoints {
  size_t width = 0, count = 0;
  std::vector<uint8_t> values;     // count * width
  std::vector<int64_t> gains;      // G of each point, rounded up, in multiples of 1/kScale
  std::vector<int32_t> low, high;  // range of each coordinate; the last entry is that of K
  size_t summands = 0;             // number of sentence vectors it was built from
  const uint8_t* point(size_t i) const { return &values[i * width]; }
  void set_ranges(size_t parts);
  bool contains(const uint8_t* point) const;
};

// The distinct vectors that one sentence can add to a block, and which of them each parse adds.
struct BlockShare {
  size_t width = 0, count = 0;
  std::vector<uint8_t> vectors;    // count * width
  std::vector<uint16_t> of_parse;  // for short sentences
};

// The vectors that one sentence may add at a search node, by index in its share.
struct Summand {
  const BlockShare* share;
  int weight;
  std::vector<uint16_t> chosen;
};

constexpr size_t kMostCells = size_t{1} << 20;   // limit on the grid on which points are added up
constexpr size_t kMostPoints = size_t{1} << 14;  // limit on the length of a list

// Lists all sums of one vector per summand, times its weight, within low..high (one pair per coordinate). A
// sum is a bit of a grid, and adding a sentence ORs shifted copies of the grid. Returns false, and no points,
// if the grid or the list would be too large.
bool sum_points(const std::vector<Summand>& summands, size_t width, const int32_t* low, const int32_t* high,
                std::vector<uint8_t>& values);

}  // namespace arcwise
