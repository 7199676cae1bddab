// Best sums of one vector per sentence, for the verifier of certificates alone: the search does not use this, and
// this uses nothing of the search (count_agreement.hpp). The loops of arcwise/induction/verifier/agreement.py,
// which says what is computed and why it is exact in 32 bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

// Where sums go to when a sentence adds one of its vectors. Arrays are in row-major order.
struct SumMoves {
  std::vector<size_t> from;     // the shape of the sums before
  std::vector<size_t> to;       // of the sums after
  std::vector<size_t> shifts;   // vectors * dimensions
  std::vector<int32_t> prices;  // one per vector
  // Whether every shift stays within `to`.
  bool is_sound() const;
};

// out[x + shift_v] = the highest of sums[x] - price_v; `nothing` where no sum leads to.
std::vector<int32_t> sums_added(const SumMoves& moves, const int32_t* sums, int32_t nothing);

// both[x] = the highest of after[x + shift_v] - price_v, at least `nothing`; found[v] = the highest of
// before[x] + after[x + shift_v] - price_v.
struct SumsGiven {
  std::vector<int32_t> found, both;
};
SumsGiven sums_given(const SumMoves& moves, const int32_t* before, const int32_t* after, int32_t nothing);

}  // namespace arcwise
