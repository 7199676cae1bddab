// Blocks of the likelihood whose points are listed: the lists of a search node and bounds over them.
#include <algorithm>

#include "kernels/induction/count_problem.hpp"

namespace arcwise {

namespace {

const BlockPoints* listed(const CountBox& box, size_t block) {
  return block < box.points.size() ? box.points[block].get() : nullptr;
}

// Calls visit(place, coordinate) for each coordinate of a point of the block: the parts, then A.
template <typename Visit>
void for_coordinates(const CountProblem::Block& block, Visit visit) {
  for (size_t c = 0; c < block.parts.size(); ++c) visit(c, block.parts[c]);
  if (block.some >= 0) visit(block.parts.size(), block.some);
}

// The points for which keep(i, values) holds.
template <typename Keep>
BlockPoints filtered(const BlockPoints& points, Keep keep) {
  BlockPoints out;
  out.width = points.width;
  out.summands = points.summands;
  for (size_t i = 0; i < points.count; ++i) {
    const uint8_t* values = points.point(i);
    if (!keep(i, values)) continue;
    out.values.insert(out.values.end(), values, values + points.width);
    out.gains.push_back(points.gains[i]);
    ++out.count;
  }
  return out;
}

// Calls visit(i, G(v) - mu.v) for every point.
template <typename Visit>
void for_values(const CountProblem::Block& block, const BlockPoints& points, const int64_t* mu, Visit visit) {
  std::vector<int64_t> price(points.width);
  for_coordinates(block, [&](size_t c, int32_t j) { price[c] = mu[j]; });
  const uint8_t* values = points.values.data();
  for (size_t i = 0; i < points.count; ++i) {
    int64_t value = points.gains[i];
    for (size_t c = 0; c < points.width; ++c) value -= price[c] * *values++;
    visit(i, value);
  }
}

}  // namespace

int64_t CountProblem::point_value(const Block& block, const uint8_t* point) const {
  int64_t sum = -phi_down(block.words), total = 0;
  for (size_t c = 0; c < block.parts.size(); ++c) sum += phi_up(point[c]), total += point[c];
  if (block.some < 0) return sum;
  const int64_t some = point[block.parts.size()];
  return sum + phi_up(block.words - some) + 2 * phi_up(some) + phi_up(total - some) - 2 * phi_down(total);
}

// ---- the lists of a search node

// The vectors that alive parses add to a block.
std::vector<Summand> CountProblem::summands(const FitState& state, size_t block) const {
  std::vector<Summand> out;
  for (size_t s = 0; s < sentences_.size(); ++s) {
    if (!sentences_[s].is_short) continue;  // long sentences add nothing to blocks with lists
    const std::vector<uint8_t>& seen = state.seen[s * blocks_.size() + block];
    Summand summand{&sentences_[s].shares[block], sentences_[s].weight, {}};
    for (size_t v = 0; v < seen.size(); ++v)
      if (seen[v]) summand.chosen.push_back(static_cast<uint16_t>(v));
    out.push_back(std::move(summand));
  }
  return out;
}

// Sets the points of the block in the box; returns false if there are none.
bool CountProblem::take_points(CountBox& box, size_t b, BlockPoints points, bool& changed) const {
  if (points.count == 0) return false;
  const Block& block = blocks_[b];
  points.set_ranges(block.parts.size());
  const auto shrink = [&](int32_t j, int32_t low, int32_t high) {
    changed |= low > box.low[j] || high < box.high[j];
    box.low[j] = std::max(box.low[j], low);
    box.high[j] = std::min(box.high[j], high);
  };
  for_coordinates(block, [&](size_t c, int32_t j) { shrink(j, points.low[c], points.high[c]); });
  if (block.children >= 0) shrink(block.children, points.low[points.width], points.high[points.width]);
  if (box.points.size() < blocks_.size()) box.points.resize(blocks_.size());
  box.points[b] = std::make_shared<const BlockPoints>(std::move(points));
  return true;
}

// Deletes the points outside the box.
bool CountProblem::fit_points(CountBox& box, bool& changed) const {
  for (size_t b = 0; b < box.points.size(); ++b) {
    const BlockPoints* points = listed(box, b);
    if (!points) continue;
    const Block& block = blocks_[b];
    bool all_fit = block.children < 0 || (points->low[points->width] >= box.low[block.children] &&
                                          points->high[points->width] <= box.high[block.children]);
    for_coordinates(block, [&](size_t c, int32_t j) {
      all_fit &= points->low[c] >= box.low[j] && points->high[c] <= box.high[j];
    });
    if (all_fit) continue;
    BlockPoints left = filtered(*points, [&](size_t, const uint8_t* values) {
      bool fits = true;
      int32_t total = 0;
      for_coordinates(block, [&](size_t c, int32_t j) {
        fits &= values[c] >= box.low[j] && values[c] <= box.high[j];
        if (j != block.some) total += values[c];
      });
      return fits &&
             (block.children < 0 || (total >= box.low[block.children] && total <= box.high[block.children]));
    });
    if (!take_points(box, b, std::move(left), changed)) return false;
  }
  return true;
}

// Rebuilds the list of every block whose summands have become fewer.
bool CountProblem::list_points(CountBox& box, const FitState& state, bool& changed) const {
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    if (!block.can_be_listed) continue;
    const std::vector<Summand> parts = summands(state, b);
    size_t total = 0;
    for (const Summand& summand : parts) total += summand.chosen.size();
    const BlockPoints* before = listed(box, b);
    if (before && before->summands == total) continue;
    std::vector<int32_t> low, high;
    for_coordinates(block, [&](size_t, int32_t j) {
      low.push_back(box.low[j]);
      high.push_back(box.high[j]);
    });
    BlockPoints points;
    points.width = low.size();
    points.summands = total;
    if (!sum_points(parts, points.width, low.data(), high.data(), points.values)) continue;
    points.count = points.values.size() / points.width;
    for (size_t i = 0; i < points.count; ++i) points.gains.push_back(point_value(block, points.point(i)));
    if (before)
      points = filtered(points, [&](size_t, const uint8_t* values) { return before->contains(values); });
    if (!take_points(box, b, std::move(points), changed)) return false;
  }
  return true;
}

// ---- bounds

void CountProblem::block_bound(size_t b, const CountBox& box, const int64_t* mu, int64_t& best,
                               int32_t* point) const {
  const Block& block = blocks_[b];
  const BlockPoints* points = listed(box, b);
  if (!points) return box_bound(block, box, mu, best, point);
  best = kNothing;
  size_t at = 0;
  for_values(block, *points, mu, [&](size_t i, int64_t value) {
    if (value > best) best = value, at = i;
  });
  int32_t total = 0;
  for_coordinates(block, [&](size_t c, int32_t j) {
    point[j] = points->point(at)[c];
    if (j != block.some) total += point[j];
  });
  if (block.children >= 0) point[block.children] = total;
}

bool CountProblem::tighten_block(size_t b, CountBox& box, const int64_t* mu, int64_t needed) const {
  const BlockPoints* points = listed(box, b);
  if (!points) return tighten_box(blocks_[b], box, mu, needed);
  std::vector<uint8_t> good(points->count);
  size_t count = 0;
  for_values(blocks_[b], *points, mu, [&](size_t i, int64_t value) { count += good[i] = value > needed; });
  if (count == points->count) return true;
  bool changed = false;
  return take_points(box, b, filtered(*points, [&](size_t i, const uint8_t*) { return good[i] != 0; }),
                     changed);
}

bool CountProblem::keep_cells(size_t b, CountBox& box, const std::vector<int32_t>& offset,
                              const std::vector<size_t>& stride, const std::vector<uint8_t>& good) const {
  const Block& block = blocks_[b];
  bool changed = false;
  if (const BlockPoints* points = listed(box, b)) {
    BlockPoints left = filtered(*points, [&](size_t, const uint8_t* values) {
      int64_t cell = 0;
      bool inside = true;
      for (size_t c = 0; c < offset.size(); ++c) {
        const int64_t steps = values[c] - offset[c];
        inside &= steps >= 0;
        cell += steps * static_cast<int64_t>(stride[c]);
      }
      return inside && cell < static_cast<int64_t>(good.size()) && good[cell];
    });
    return left.count == points->count || take_points(box, b, std::move(left), changed);
  }
  std::vector<int32_t> low(offset.size(), INT32_MAX), high(offset.size(), -1);
  for (size_t cell = 0; cell < good.size(); ++cell) {
    if (!good[cell]) continue;
    size_t rest = cell;
    for (size_t c = 0; c < offset.size(); ++c) {
      const int32_t value = offset[c] + static_cast<int32_t>(rest / stride[c]);
      rest %= stride[c];
      low[c] = std::min(low[c], value), high[c] = std::max(high[c], value);
    }
  }
  bool any = true;
  for_coordinates(block, [&](size_t c, int32_t j) {
    box.low[j] = std::max(box.low[j], low[c]);
    box.high[j] = std::min(box.high[j], high[c]);
    any &= box.low[j] <= box.high[j];
  });
  return any;
}

}  // namespace arcwise
