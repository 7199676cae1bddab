#include "kernels/base/unicode.hpp"

#include <algorithm>

namespace arcwise {
namespace {

enum class Case : uint8_t {
  shift,  // every code point of the range is upper case: add `by`
  even,   // upper case at even code points, each followed by its lower case
  odd,    // upper case at odd code points, each followed by its lower case
};

struct CaseRange {
  uint32_t first, last;
  Case rule;
  int32_t by;
};

// By code point. Letters whose lower case follows none of the rules have a range of one.
constexpr CaseRange CASE_RANGES[] = {
    {0x41, 0x5A, Case::shift, 32},        {0xC0, 0xD6, Case::shift, 32},
    {0xD8, 0xDE, Case::shift, 32},        {0x100, 0x12F, Case::even, 1},
    {0x130, 0x130, Case::shift, -199},    {0x132, 0x137, Case::even, 1},
    {0x139, 0x148, Case::odd, 1},         {0x14A, 0x177, Case::even, 1},
    {0x178, 0x178, Case::shift, -121},    {0x179, 0x17E, Case::odd, 1},
    {0x181, 0x181, Case::shift, 210},     {0x182, 0x185, Case::even, 1},
    {0x186, 0x186, Case::shift, 206},     {0x187, 0x188, Case::odd, 1},
    {0x189, 0x18A, Case::shift, 205},     {0x18B, 0x18C, Case::odd, 1},
    {0x18E, 0x18E, Case::shift, 79},      {0x18F, 0x18F, Case::shift, 202},
    {0x190, 0x190, Case::shift, 203},     {0x191, 0x192, Case::odd, 1},
    {0x193, 0x193, Case::shift, 205},     {0x194, 0x194, Case::shift, 207},
    {0x198, 0x199, Case::even, 1},        {0x19D, 0x19D, Case::shift, 213},
    {0x1A0, 0x1A5, Case::even, 1},        {0x1AF, 0x1B0, Case::odd, 1},
    {0x1B5, 0x1B6, Case::odd, 1},         {0x1B7, 0x1B7, Case::shift, 219},
    {0x1CD, 0x1DC, Case::odd, 1},         {0x1DE, 0x1EF, Case::even, 1},
    {0x1F8, 0x21F, Case::even, 1},        {0x222, 0x233, Case::even, 1},
    {0x246, 0x24F, Case::even, 1},        {0x370, 0x373, Case::even, 1},
    {0x376, 0x377, Case::even, 1},        {0x386, 0x386, Case::shift, 38},
    {0x388, 0x38A, Case::shift, 37},      {0x38C, 0x38C, Case::shift, 64},
    {0x38E, 0x38F, Case::shift, 63},      {0x391, 0x3A1, Case::shift, 32},
    {0x3A3, 0x3AB, Case::shift, 32},      {0x3CF, 0x3CF, Case::shift, 8},
    {0x3D8, 0x3EF, Case::even, 1},        {0x400, 0x40F, Case::shift, 80},
    {0x410, 0x42F, Case::shift, 32},      {0x460, 0x481, Case::even, 1},
    {0x48A, 0x4BF, Case::even, 1},        {0x4C0, 0x4C0, Case::shift, 15},
    {0x4C1, 0x4CE, Case::odd, 1},         {0x4D0, 0x52F, Case::even, 1},
    {0x531, 0x556, Case::shift, 48},      {0x10A0, 0x10C5, Case::shift, 7264},
    {0x1C90, 0x1CBA, Case::shift, -3008}, {0x1E00, 0x1E95, Case::even, 1},
    {0x1E9E, 0x1E9E, Case::shift, -7615}, {0x1EA0, 0x1EFF, Case::even, 1},
    {0x1F08, 0x1F0F, Case::shift, -8},    {0x1F18, 0x1F1D, Case::shift, -8},
    {0x1F28, 0x1F2F, Case::shift, -8},    {0x1F38, 0x1F3F, Case::shift, -8},
    {0x1F48, 0x1F4D, Case::shift, -8},    {0x1F59, 0x1F59, Case::shift, -8},
    {0x1F5B, 0x1F5B, Case::shift, -8},    {0x1F5D, 0x1F5D, Case::shift, -8},
    {0x1F5F, 0x1F5F, Case::shift, -8},    {0x1F68, 0x1F6F, Case::shift, -8},
    {0x1FB8, 0x1FB9, Case::shift, -8},    {0x1FBA, 0x1FBB, Case::shift, -74},
    {0x1FC8, 0x1FCB, Case::shift, -86},   {0x1FD8, 0x1FD9, Case::shift, -8},
    {0x1FDA, 0x1FDB, Case::shift, -100},  {0x1FE8, 0x1FE9, Case::shift, -8},
    {0x1FEA, 0x1FEB, Case::shift, -112},  {0x1FEC, 0x1FEC, Case::shift, -7},
    {0x1FF8, 0x1FF9, Case::shift, -128},  {0x1FFA, 0x1FFB, Case::shift, -126},
    {0x2C00, 0x2C2E, Case::shift, 48},    {0x2C80, 0x2CE3, Case::even, 1},
    {0xA640, 0xA66D, Case::even, 1},      {0xFF21, 0xFF3A, Case::shift, 32},
    {0x10400, 0x10427, Case::shift, 40},
};

}  // namespace

uint32_t utf8_next(std::string_view text, size_t& at) {
  auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[i]); };
  uint32_t first = byte(at);
  size_t length = utf8_length(static_cast<unsigned char>(first));
  if (first < 0xC0 || at + length > text.size()) {
    ++at;
    return first;
  }
  uint32_t value = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) value = value << 6 | (byte(at + i) & 0x3F);
  at += length;
  return value;
}

void utf8_append(std::string& out, uint32_t code_point) {
  auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3F));
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

uint32_t lower_case(uint32_t code_point) {
  if (code_point < 0x80) return code_point - 'A' < 26u ? code_point + 32 : code_point;
  for (const CaseRange& range : CASE_RANGES) {
    if (code_point < range.first) break;
    if (code_point > range.last) continue;
    if (range.rule == Case::even && code_point % 2 == 1) break;
    if (range.rule == Case::odd && code_point % 2 == 0) break;
    return code_point + static_cast<uint32_t>(range.by);
  }
  return code_point;
}

void append_lower_case(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out.push_back(static_cast<char>(lower_case(byte)));
      ++at;
    } else {
      utf8_append(out, lower_case(utf8_next(text, at)));
    }
  }
}

size_t utf8_count(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view utf8_prefix(std::string_view text, size_t count) {
  size_t at = 0;
  while (count-- > 0 && at < text.size()) at += utf8_length(static_cast<unsigned char>(text[at]));
  return text.substr(0, at);
}

std::string_view utf8_suffix(std::string_view text, size_t count) {
  size_t at = text.size();
  while (count > 0 && at > 0)
    if ((static_cast<unsigned char>(text[--at]) & 0xC0) != 0x80) --count;
  return text.substr(at);
}

}  // namespace arcwise
