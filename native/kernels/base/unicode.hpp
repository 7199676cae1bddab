// The part of Unicode that features need: code points of UTF-8 text, and lower-casing by rule for the scripts
// that have case (Latin, Greek, Cyrillic, Armenian, Georgian, Coptic, Glagolitic, Deseret).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arcwise {

// Length in bytes of the code point that starts with this byte; 1 for a byte that cannot start one.
inline size_t utf8_length(unsigned char first) {
  return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// Decodes the code point at text[at] and advances `at`. Invalid UTF-8 yields its bytes as code points, never
// an error.
uint32_t utf8_next(std::string_view text, size_t& at);

void utf8_append(std::string& out, uint32_t code_point);

// The lower-case form of one code point, where that is one code point; otherwise the code point itself.
uint32_t lower_case(uint32_t code_point);

// Appends the text in lower case, code point by code point, to `out`.
void append_lower_case(std::string& out, std::string_view text);

// The number of code points in the text.
size_t utf8_count(std::string_view text);
// The first (last) `count` code points of the text, or all of a shorter text.
std::string_view utf8_prefix(std::string_view text, size_t count);
std::string_view utf8_suffix(std::string_view text, size_t count);

}  // namespace arcwise
