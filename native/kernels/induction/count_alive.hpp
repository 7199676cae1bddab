// Iteration over the bits of alive parses (CountBox::alive).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/induction/count_problem.hpp"

namespace arcwise {

inline void kill(std::vector<uint64_t>& bits, size_t bit) { bits[bit / 64] &= ~(uint64_t{1} << (bit % 64)); }

// Calls visit(p) for every alive parse of the sentence.
template <typename Visit>
void for_alive(const CountProblem::Sentence& sentence, const std::vector<uint64_t>& bits, Visit visit) {
  size_t word = sentence.first_bit / 64;  // each sentence starts at a 64-bit boundary
  for (size_t p = 0; p < sentence.vectors.count; p += 64, ++word)
    for (uint64_t left = bits[word]; left; left &= left - 1) visit(p + __builtin_ctzll(left));
}

}  // namespace arcwise
