#include "kernels/text/squeezed_text.hpp"

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {

SqueezedText::SqueezedText(std::string_view text) {
  uint32_t count = 0;
  int newlines = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    auto start = static_cast<uint32_t>(at);
    uint32_t code_point = utf8_next(text, at);
    CharacterClass kind = character_class(code_point);
    bool space = kind == CharacterClass::space;
    if (space && !classes.empty() && classes.back() == CharacterClass::space) {
      newlines += code_point == '\n';
      is_single.back() = 0;
      if (newlines > 1) lower.back() = '\n';
      continue;
    }
    newlines = code_point == '\n';
    is_single.push_back(code_point == ' ');
    lower.push_back(space ? ' ' : lower_case(code_point));
    classes.push_back(kind);
    byte.push_back(start);
    place.push_back(count);
  }
  byte.push_back(static_cast<uint32_t>(text.size()));
  place.push_back(count);
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
