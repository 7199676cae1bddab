#include "kernels/text/addresses.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace arcwise {
namespace {

constexpr size_t LONGEST_NAME = 64;    // before the @, and between two dots
constexpr size_t LONGEST_SCHEME = 12;  // "https"
// Of domains and of files.
constexpr auto ENDINGS = std::to_array<std::string_view>(
    {"com", "org", "net",  "edu", "gov", "mil", "info", "txt",  "pdf", "doc", "docx", "xls", "xlsx",
     "csv", "ppt", "html", "htm", "xml", "jpg", "png",  "json", "gif", "zip", "exe",  "gz"});
constexpr std::string_view MAILTO = "mailto:";

bool is_letter(uint32_t c) { return c >= 'a' && c <= 'z'; }
bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(uint32_t c) { return is_letter(c) || is_digit(c); }
bool is_any(uint32_t c, std::string_view characters) {
  return c < 0x80 && characters.find(static_cast<char>(c)) != std::string_view::npos;
}

class AddressReader {
 public:
  explicit AddressReader(const SqueezedText& text) : text_(text) {}

  // The address that starts here; an empty one if there is none.
  Address address_at(size_t at) const {
    size_t body = after_scheme(at);
    if (body == at && starts_with(at, "www.") && is_word_character(at + 4)) body = at + 4;
    if (body == at) {
      const size_t other = std::max({end_of_mail(at), end_of_bare_domain(at), end_of_path(at)});
      const size_t name = end_of_name(at);
      return {at, std::max(other, name), name > other};
    }
    const size_t end = end_of_body(at, body);
    return {at, end > body && end - at <= LONGEST_ADDRESS ? end : at};
  }

 private:
  uint32_t c(size_t at) const { return at < text_.size() && !text_.is_space(at) ? text_.lower[at] : ' '; }
  bool is_word_character(size_t at) const { return c(at) >= 0x80 || is_alphanumeric(c(at)); }
  bool starts_with(size_t at, std::string_view start) const {
    for (char character : start)
      if (c(at++) != static_cast<unsigned char>(character)) return false;
    return true;
  }

  // "https://", "mailto:" is none of these.
  size_t after_scheme(size_t at) const {
    size_t end = at;
    while (end < at + LONGEST_SCHEME && (is_alphanumeric(c(end)) || (end > at && is_any(c(end), "+.-"))))
      ++end;
    const bool found = end > at + 1 && starts_with(end, "://") && is_word_character(end + 3);
    return found ? end + 3 : at;
  }

  // Up to white space or a character that no address has; less the punctuation at its end.
  size_t end_of_body(size_t at, size_t body) const {
    size_t end = body;
    while (c(end) != ' ' && end - at <= LONGEST_ADDRESS && !ends_addresses(end)) ++end;
    if (end - at > LONGEST_ADDRESS) return at;
    std::array<int, 3> open{};  // brackets opened and not closed: (), [], {}
    for (size_t i = at; i < end; ++i) count_bracket(c(i), open);
    for (; end > body; --end) {
      const uint32_t last = c(end - 1);
      const size_t closing = std::string_view(")]}").find(static_cast<char>(last < 0x80 ? last : ' '));
      if (closing != std::string_view::npos) {
        if (open[closing] >= 0) break;
        ++open[closing];
      } else if (!is_any(last, ".,;:!?'*_~") && text_.classes[end - 1] != CharacterClass::full_stop) {
        break;
      }
    }
    return end;
  }
  bool ends_addresses(size_t at) const {
    const CharacterClass kind = text_.classes[at];
    if (is_any(c(at), "()[]{}'")) return false;
    return is_any(c(at), "<>\"`^|\\") || kind == CharacterClass::quote || kind == CharacterClass::opening ||
           kind == CharacterClass::closing;
  }
  static void count_bracket(uint32_t c, std::array<int, 3>& open) {
    constexpr std::string_view BRACKETS = "([{)]}";
    const size_t which = c < 0x80 ? BRACKETS.find(static_cast<char>(c)) : std::string_view::npos;
    if (which != std::string_view::npos) open[which % 3] += which < 3 ? 1 : -1;
  }

  // The end of names with dots between them, at least one; `last_name` is where the last of them starts.
  size_t end_of_domain(size_t at, size_t& last_name) const {
    size_t end = at, dots = 0;
    for (size_t name = at;; name = end + 1, ++dots) {
      size_t own = name;
      while (own - name < LONGEST_NAME && (is_alphanumeric(c(own)) || (own > name && c(own) == '-'))) ++own;
      while (own > name && c(own - 1) == '-') --own;
      if (own == name) break;
      last_name = name;
      end = own;
      if (c(end) != '.' || end - at > LONGEST_ADDRESS) {
        ++dots;
        break;
      }
    }
    return dots > 1 && end - last_name > 1 ? end : at;
  }

  // name@domain
  size_t end_of_mail(size_t at) const {
    const size_t start = starts_with(at, MAILTO) ? at + MAILTO.size() : at;
    size_t end = start, last_name = 0;
    while (end - start <= LONGEST_NAME && (is_alphanumeric(c(end)) || is_any(c(end), "._%+-"))) ++end;
    if (end == start || c(end) != '@') return at;
    const size_t domain_end = end_of_domain(end + 1, last_name);
    return domain_end > end + 1 && is_letter(c(last_name)) ? domain_end : at;
  }

  // A domain without scheme, or a file: one with a common ending, with or without what follows it.
  size_t end_of_bare_domain(size_t at) const {
    size_t last_name = 0;
    const size_t end = end_of_domain(at, last_name);
    if (end == at || is_word_character(end) || c(end) == '@') return at;
    auto is_last = [&](std::string_view name) {
      return end - last_name == name.size() && starts_with(last_name, name);
    };
    if (std::none_of(ENDINGS.begin(), ENDINGS.end(), is_last)) return at;
    if (c(end) != '/' || !is_word_character(end + 1)) return end;
    const size_t path_end = end_of_body(at, end);
    return path_end > end && path_end - at <= LONGEST_ADDRESS ? path_end : end;
  }

  // "/a/b", "./a/b", "~/a/b" and longer ones, of names that start with a letter, a dot or a line below.
  size_t end_of_path(size_t at) const {
    size_t end = at, names = 0;
    if (c(end) == '~') ++end;
    while (end < at + 2 && c(end) == '.') ++end;
    while (c(end) == '/' && (is_letter(c(end + 1)) || is_any(c(end + 1), "._")) &&
           end - at < LONGEST_ADDRESS) {
      for (++end, ++names; is_alphanumeric(c(end)) || is_any(c(end), "._+-");) ++end;
    }
    if (names < 2 || end - at > LONGEST_ADDRESS) return at;
    if (c(end) == '/') return end + 1;
    while (is_any(c(end - 1), ".-+")) --end;
    return end;
  }

  // Letters and digits around lines below: "max_words", "my_notes.txt".
  size_t end_of_name(size_t at) const {
    size_t end = at;
    bool is_name = false;
    while (end - at < LONGEST_NAME && (is_alphanumeric(c(end)) || c(end) == '_')) {
      is_name |= c(end) == '_' && end > at && is_alphanumeric(c(end - 1)) && is_alphanumeric(c(end + 1));
      ++end;
    }
    if (!is_name || is_word_character(end)) return at;
    auto follows = [&](std::string_view ending) {
      return starts_with(end + 1, ending) && !is_word_character(end + 1 + ending.size());
    };
    if (c(end) == '.')
      for (std::string_view ending : ENDINGS)
        if (follows(ending)) return end + 1 + ending.size();
    return end;
  }

  const SqueezedText& text_;
};

}  // namespace

std::vector<Address> find_addresses(const SqueezedText& text) {
  std::vector<Address> found;
  AddressReader reader(text);
  bool inside_word = false;
  for (size_t at = 0; at < text.size();) {
    const bool starts = !inside_word && !text.is_space(at);
    const Address own = starts ? reader.address_at(at) : Address{at, at};
    if (own.last > at) found.push_back(own);
    at = std::max(own.last, at + 1);
    const CharacterClass last = text.classes[at - 1];
    inside_word = last == CharacterClass::lower || last == CharacterClass::upper ||
                  last == CharacterClass::digit || last == CharacterClass::mark ||
                  is_any(text.lower[at - 1], "._%+-@/");
  }
  return found;
}

}  // namespace arcwise
