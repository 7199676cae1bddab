// The points of a block (count_problem.hpp) that parses can add up to.
//
// A box of counts holds points that no parses have: the ranges of a block's coordinates say nothing of which
// values go together. Where they are few enough, the points that are sums of one vector per sentence are
// listed; bounds over the list are much tighter than bounds over the box.
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
  std::vector<int32_t> low, high;  // range of each coordinate, and last that of K
  size_t summands = 0;             // how many vectors of sentences it was made of
  const uint8_t* point(size_t i) const { return &values[i * width]; }
  void set_ranges(size_t parts);
  bool contains(const uint8_t* point) const;
};

// The different vectors that one sentence can add to a block, and which of them each parse adds.
struct BlockShare {
  size_t width = 0, count = 0;
  std::vector<uint8_t> vectors;    // count * width
  std::vector<uint16_t> of_parse;  // of short sentences
};

// What one sentence may add at a node: vectors of its share by number.
struct Summand {
  const BlockShare* share;
  int weight;
  std::vector<uint16_t> chosen;
};

constexpr size_t kMostCells = size_t{1} << 20;   // of the grid on which points are added up
constexpr size_t kMostPoints = size_t{1} << 14;  // of a list

// All sums of one chosen vector per summand, times its weight, within low..high (one pair per coordinate).
// Sums are bits of a grid, and adding a sentence is or-ing shifted copies. False, and no points, if the grid
// or the list would be too large.
bool sum_points(const std::vector<Summand>& summands, size_t width, const int32_t* low, const int32_t* high,
                std::vector<uint8_t>& values);

}  // namespace arcwise
