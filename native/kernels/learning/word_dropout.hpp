// Word dropout (Kiperwasser & Goldberg 2016): in training a word of frequency f is taken for an unknown one with
// probability a / (a + f), so that unknown words have weights too.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/base/hashing.hpp"

namespace arcwise {

// Whether a word is dropped, given a number drawn uniformly from [0, 1). rate: a.
inline bool drops_word(double uniform, double rate, double frequency) {
  return uniform < rate / (rate + frequency);
}

// The draw for a word as a number in [0, 1) that depends on seed, epoch, sentence and word alone. The trainer of
// transition-based parsers draws from its own random stream instead, which exploration draws from too.
inline double word_dropout_draw(uint64_t seed, uint64_t epoch, uint64_t sentence, uint64_t word) {
  uint64_t stream = hash_pair(hash_pair(seed, epoch), sentence);
  return static_cast<double>(hash_pair(stream, word) >> 11) * 0x1.0p-53;
}

}  // namespace arcwise
