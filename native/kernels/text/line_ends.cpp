#include "kernels/text/line_ends.hpp"

#include <algorithm>
#include <initializer_list>

namespace arcwise {
namespace {

// A line of running text that was broken to fit a page is longer than this. Behind such a line a dash may be just a dash.
constexpr size_t SHORT_LINE = 40;
constexpr size_t LONGEST_NUMBER = 3;  // digits of the number of an item
constexpr size_t DEEPEST_HEADING = 6;

enum class LineKind { running, item, heading };

bool is_one_of(uint32_t c, std::initializer_list<uint32_t> characters) {
  return std::find(characters.begin(), characters.end(), c) != characters.end();
}

struct LineStart {
  LineKind kind;
  size_t end;  // of the mark
};

// An item starts with "- ", "* ", "• ", "1. ", "2) " or "b) ", a heading with "# " to "###### ".
LineStart start_of_line(const SqueezedText& text, size_t at) {
  auto c = [&](size_t place) { return place < text.size() ? text.lower[place] : uint32_t{'\n'}; };
  auto is_digit = [&](size_t place) { return c(place) >= '0' && c(place) <= '9'; };
  auto if_space = [&](LineKind kind, size_t end) {
    const bool space = end < text.size() && text.is_space(end);
    return LineStart{space ? kind : LineKind::running, space ? end : at};
  };
  size_t end = at + 1;
  if (is_one_of(c(at), {'-', '*', '+', 0x2022, 0x2023, 0x2043, 0x25AA, 0x25CF, 0x25E6, 0x2013, 0x2014})) {
    while (end < text.size() && text.joined[end - 1]) ++end;  // a dash that is read as two
    return if_space(LineKind::item, end);
  }
  if (c(at) >= 'a' && c(at) <= 'z' && c(end) == ')') return if_space(LineKind::item, end + 1);
  for (end = at; end < at + LONGEST_NUMBER && is_digit(end);) ++end;
  if (end > at && is_one_of(c(end), {'.', ')'})) return if_space(LineKind::item, end + 1);
  for (end = at; end < at + DEEPEST_HEADING && c(end) == '#';) ++end;
  return end > at ? if_space(LineKind::heading, end) : LineStart{LineKind::running, at};
}

// Whether the line of this sentence that ends at `at` is a short one.
bool is_short(const SqueezedText& text, size_t start, size_t at) {
  for (size_t length = 0; length < SHORT_LINE; ++length)
    if (at - length == start || text.ends_line[at - length - 1]) return true;
  return false;
}

}  // namespace

bool ends_with_line(const SqueezedText& text, size_t start, size_t at) {
  const LineKind own = start_of_line(text, start).kind, next = start_of_line(text, at + 1).kind;
  if (own == LineKind::heading || next == LineKind::heading) return true;
  const bool closed =
      text.classes[at - 1] == CharacterClass::full_stop || is_one_of(text.lower[at - 1], {',', ':', ';'});
  return next == LineKind::item && (own == LineKind::item || closed || is_short(text, start, at));
}

size_t end_of_heading_mark(const SqueezedText& text, size_t start) {
  const LineStart line = start_of_line(text, start);
  return line.kind == LineKind::heading ? line.end : start;
}

}  // namespace arcwise
