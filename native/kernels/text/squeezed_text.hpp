// A text as code points, as tokenizer and sentence ends read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/features/look_alikes.hpp"
#include "kernels/text/character_classes.hpp"

namespace arcwise {

// Every run of white space is squeezed into one character: ' ', or '\n' where the run has a blank line in it. A character that is
// read as several others (look_alikes.hpp) is so many here, all of them in the same place.
struct SqueezedText {
  explicit SqueezedText(std::string_view text, const LookAlikes& look_alikes = {});

  size_t size() const { return lower.size(); }
  bool is_space(size_t at) const { return classes[at] == CharacterClass::space; }
  bool is_single_space(size_t at) const { return is_space(at) && is_single[at] != 0; }

  std::vector<uint32_t> lower;  // code points in lower case
  std::vector<CharacterClass> classes;
  std::vector<uint8_t> is_single;  // of white space: it is one U+0020
  std::vector<uint8_t> ends_line;  // of white space: it has a line break
  std::vector<uint8_t> joined;     // nothing may be cut behind it: one written character, to the eye, goes on
  std::vector<uint8_t> is_sign;    // emoji and long dashes, which are words by themselves in most treebanks
  std::vector<uint32_t> byte;      // where each starts in the text; one more at the end
  std::vector<uint32_t> place;     // the same, counted in code points

 private:
  void add(uint32_t code_point, bool sign, size_t byte_at, uint32_t place_at);
  void join_graphemes();
};

// Hash of characters, read one after the other: mix(hash_character(… hash_character(0, c_1) …, c_n)).
inline uint64_t hash_character(uint64_t hash, uint64_t lower) {
  return (hash ^ lower) * 0x9E3779B97F4A7C15ULL;
}

// Hash of the characters first .. last-1, in lower case.
uint64_t word_hash(const SqueezedText& text, size_t first, size_t last);
uint64_t word_hash(std::string_view lower);

}  // namespace arcwise
