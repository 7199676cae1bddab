#include "kernels/induction/verifier_sums.hpp"

#include <algorithm>

namespace arcwise {

namespace {

size_t product(const std::vector<size_t>& shape) {
  size_t out = 1;
  for (size_t side : shape) out *= side;
  return out;
}

// Calls visit(start of the row before, start of the row after) for every row of the sums before the addition.
template <typename Visit>
void for_rows(const SumMoves& moves, Visit visit) {
  const size_t dimensions = moves.from.size(), length = moves.from.back();
  std::vector<size_t> at(dimensions, 0);
  for (size_t row = 0, rows = product(moves.from) / length; row < rows; ++row) {
    size_t place = 0;
    for (size_t d = 0; d < dimensions; ++d) place = place * moves.to[d] + at[d];
    visit(row * length, place);
    for (size_t d = dimensions - 1; d-- > 0;) {
      if (++at[d] < moves.from[d]) break;
      at[d] = 0;
    }
  }
}

std::vector<size_t> offsets(const SumMoves& moves) {
  const size_t dimensions = moves.to.size();
  std::vector<size_t> out(moves.prices.size(), 0);
  for (size_t v = 0; v < out.size(); ++v)
    for (size_t d = 0; d < dimensions; ++d) out[v] = out[v] * moves.to[d] + moves.shifts[v * dimensions + d];
  return out;
}

}  // namespace

bool SumMoves::is_sound() const {
  const size_t dimensions = from.size();
  if (!dimensions || to.size() != dimensions || shifts.size() != prices.size() * dimensions) return false;
  for (size_t d = 0; d < dimensions; ++d) {
    if (!from[d] || to[d] < from[d]) return false;
    for (size_t v = 0; v < prices.size(); ++v)
      if (shifts[v * dimensions + d] > to[d] - from[d]) return false;
  }
  return true;
}

std::vector<int32_t> sums_added(const SumMoves& moves, const int32_t* sums, int32_t nothing) {
  std::vector<int32_t> out(product(moves.to), nothing);
  const std::vector<size_t> shift = offsets(moves);
  const size_t length = moves.from.back();
  for_rows(moves, [&](size_t from, size_t to) {
    for (size_t v = 0; v < shift.size(); ++v) {
      const int32_t* __restrict in = sums + from;
      int32_t* __restrict best = out.data() + to + shift[v];
      const int32_t price = moves.prices[v];
      for (size_t x = 0; x < length; ++x) best[x] = std::max(best[x], in[x] - price);
    }
  });
  return out;
}

SumsGiven sums_given(const SumMoves& moves, const int32_t* before, const int32_t* after, int32_t nothing) {
  SumsGiven out;
  const std::vector<size_t> shift = offsets(moves);
  out.found.assign(shift.size(), INT32_MIN);
  out.both.assign(product(moves.from), nothing);
  const size_t length = moves.from.back();
  for_rows(moves, [&](size_t from, size_t to) {
    const int32_t* __restrict first = before + from;
    int32_t* __restrict both = out.both.data() + from;
    for (size_t v = 0; v < shift.size(); ++v) {
      const int32_t* __restrict rest = after + to + shift[v];
      const int32_t price = moves.prices[v];
      int32_t best = INT32_MIN;
      for (size_t x = 0; x < length; ++x) {
        const int32_t value = rest[x] - price;
        both[x] = std::max(both[x], value);
        best = std::max(best, first[x] + value);
      }
      out.found[v] = std::max(out.found[v], best);
    }
  });
  return out;
}

}  // namespace arcwise
