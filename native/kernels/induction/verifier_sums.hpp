// Maxima over sums of one vector per sentence, for the verifier of certificates only: neither this file nor
// the search (count_agreement.hpp) uses the other. These are the inner loops of
// arcwise/induction/verifier/agreement.py, which says what is computed and why it is exact in 32 bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

// How sums move when a sentence adds one of its vectors. Arrays are in row-major order.
struct SumMoves {
  std::vector<size_t> from;     // shape of the sums before
  std::vector<size_t> to;       // shape of the sums after
  std::vector<size_t> shifts;   // vectors * dimensions
  std::vector<int32_t> prices;  // one per vector
  // Whether every shift stays within `to`.
  bool is_sound() const;
};

// out[x + shift_v] = max over v of sums[x] - price_v; `nothing` where no sum leads.
std::vector<int32_t> sums_added(const SumMoves& moves, const int32_t* sums, int32_t nothing);

// both[x] = max over v of after[x + shift_v] - price_v, at least `nothing`; found[v] = max over x of
// before[x] + after[x + shift_v] - price_v.
struct SumsGiven {
  std::vector<int32_t> found, both;
};
SumsGiven sums_given(const SumMoves& moves, const int32_t* before, const int32_t* after, int32_t nothing);

}  // namespace arcwise
