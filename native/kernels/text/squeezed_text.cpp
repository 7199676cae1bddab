#include "kernels/text/squeezed_text.hpp"

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

constexpr uint32_t JOINER = 0x200D;

bool is_regional(uint32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }  // two of them are a flag
bool is_skin_tone(uint32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

// Marks of scripts whose characters are of the class `unspaced`: Thai, Lao, Tibetan, Burmese, Khmer.
bool is_mark(uint32_t c) {
  constexpr uint32_t RANGES[][2] = {{0xE31, 0xE31},   {0xE34, 0xE3A},  {0xE47, 0xE4E}, {0xEB1, 0xEB1},
                                    {0xEB4, 0xEBC},   {0xEC8, 0xECE},  {0xF71, 0xF84}, {0xF8D, 0xFBC},
                                    {0x102B, 0x103E}, {0x17B4, 0x17D3}};
  for (const auto& [first, last] : RANGES)
    if (c >= first && c <= last) return true;
  return false;
}

bool is_sign_of_its_own(uint32_t c) {
  const bool star = c == 0x2605 || c == 0x2606,
             dash = c == 0x2014 || c == 0x2015;  // stars of a rating go together
  return dash || (c >= 0x1F000 && c <= 0x1FAFF) || (c >= 0x2600 && c <= 0x27BF && !star);
}

}  // namespace

SqueezedText::SqueezedText(std::string_view text, const LookAlikes& look_alikes) {
  uint32_t count = 0;
  int newlines = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const size_t start = at;
    uint32_t code_point = utf8_next(text, at);
    if (const std::u32string* stand_in = look_alikes.find(code_point)) {
      for (char32_t c : *stand_in) {
        add(c, is_sign_of_its_own(code_point), start, count);
        joined.back() = 1;
      }
      joined.back() = 0;
      newlines = 0;
      continue;
    }
    CharacterClass kind = character_class(code_point);
    bool space = kind == CharacterClass::space;
    if (space && !classes.empty() && classes.back() == CharacterClass::space) {
      newlines += code_point == '\n';
      is_single.back() = 0;
      ends_line.back() |= code_point == '\n';
      if (newlines > 1) lower.back() = '\n';
      continue;
    }
    newlines = code_point == '\n';
    add(code_point, is_sign_of_its_own(code_point), start, count);
  }
  byte.push_back(static_cast<uint32_t>(text.size()));
  place.push_back(count);
  join_graphemes();
}

void SqueezedText::add(uint32_t code_point, bool sign, size_t byte_at, uint32_t place_at) {
  const CharacterClass kind = character_class(code_point);
  const bool space = kind == CharacterClass::space;
  is_single.push_back(code_point == ' ');
  ends_line.push_back(code_point == '\n');
  joined.push_back(0);
  is_sign.push_back(sign);
  lower.push_back(space ? ' ' : lower_case(code_point));
  classes.push_back(kind);
  byte.push_back(static_cast<uint32_t>(byte_at));
  place.push_back(place_at);
}

// The extended grapheme clusters of UAX 29, as far as text cut into words needs them: marks, variation selectors, keycaps and tags follow
// what they belong to, a joiner joins, a skin tone follows its emoji, and two regional indicators are a flag.
void SqueezedText::join_graphemes() {
  size_t regional = 0;  // of the run that ends here
  for (size_t at = 0; at + 1 < size(); ++at) {
    regional = is_regional(lower[at]) ? regional + 1 : 0;
    if (is_space(at) || is_space(at + 1)) continue;
    const uint32_t next = lower[at + 1];
    const bool mark = classes[at + 1] == CharacterClass::mark ||
                      (classes[at + 1] == CharacterClass::unspaced && is_mark(next));
    if (mark || lower[at] == JOINER || is_skin_tone(next) || (regional % 2 == 1 && is_regional(next)))
      joined[at] = 1;
  }
}

uint64_t word_hash(const SqueezedText& text, size_t first, size_t last) {
  uint64_t h = 0;
  for (size_t i = first; i < last; ++i) h = hash_character(h, text.lower[i]);
  return mix(h);
}

uint64_t word_hash(std::string_view lower) {
  uint64_t h = 0;
  for (size_t at = 0; at < lower.size();) h = hash_character(h, utf8_next(lower, at));
  return mix(h);
}

}  // namespace arcwise
