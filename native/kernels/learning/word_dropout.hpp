// Word dropout (Kiperwasser & Goldberg 2016): training replaces a word of frequency f by the unknown word
// with probability a / (a + f), so that the unknown word gets trained.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/base/hashing.hpp"

namespace arcwise {

// Whether a word is dropped, given a number drawn uniformly from [0, 1). rate: a.
inline bool drops_word(double uniform, double rate, double frequency) {
  return uniform < rate / (rate + frequency);
}

// The random draw for a word: a number in [0, 1) determined by seed, epoch, sentence and word. The trainer of
// transition-based parsers uses its own random stream instead, which it shares with exploration.
inline double word_dropout_draw(uint64_t seed, uint64_t epoch, uint64_t sentence, uint64_t word) {
  uint64_t stream = hash_pair(hash_pair(seed, epoch), sentence);
  return static_cast<double>(hash_pair(stream, word) >> 11) * 0x1.0p-53;
}

}  // namespace arcwise
