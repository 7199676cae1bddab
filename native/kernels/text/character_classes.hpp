// What kind of character a code point is, as far as cutting text into words needs it.
#pragma once
#include <cstdint>

namespace arcwise {

enum class CharacterClass : uint8_t {
  space,  // white space and control characters: never part of a word
  lower,  // a letter in lower case, or of a script without case
  upper,
  digit,
  mark,  // combining marks and joiners: belong to the character before
  han,   // scripts written without spaces between words
  hiragana,
  katakana,
  unspaced,   // Thai, Lao, Khmer, Burmese, Tibetan
  full_stop,  // . ! ? and their relatives: may end a sentence
  opening,    // opening brackets and quotes
  closing,    // closing brackets and quotes
  quote,      // " and ', which may be either
  hyphen,
  punctuation,  // other punctuation
  symbol,       // currency, mathematics, emoji, everything else
};
constexpr int CHARACTER_CLASSES = 16;

CharacterClass character_class(uint32_t code_point);

}  // namespace arcwise
