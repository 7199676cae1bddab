#include "web/json_reader.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "kernels/base/unicode.hpp"

namespace arcwise::web {

class Json::Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = this->value(0);
    skip_space();
    if (at_ != text_.size()) damaged();
    return value;
  }

 private:
  static constexpr int DEEPEST = 64;

  [[noreturn]] void damaged() const {
    fail("the header of the model is not valid JSON (byte " + std::to_string(at_) + ")");
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  char next() {
    if (at_ == text_.size()) damaged();
    return text_[at_++];
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) damaged();
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json value(int depth) {
    if (depth == DEEPEST) damaged();
    skip_space();
    Json out;
    if (take('{')) {
      out.kind_ = Kind::object;
      if (take('}')) return out;
      do {
        skip_space();
        std::string name = string();
        need(':');
        out.members_.emplace_back(std::move(name), value(depth + 1));
      } while (take(','));
      need('}');
    } else if (take('[')) {
      out.kind_ = Kind::list;
      if (take(']')) return out;
      do out.items_.push_back(value(depth + 1));
      while (take(','));
      need(']');
    } else if (at_ < text_.size() && text_[at_] == '"') {
      out.kind_ = Kind::text;
      out.text_ = string();
    } else if (take_word("true") || take_word("false")) {
      out.kind_ = Kind::boolean;
      out.number_ = text_[at_ - 2] == 'u';  // the u of "true"
    } else if (!take_word("null")) {
      out.kind_ = Kind::number;
      out.number_ = number();
    }
    return out;
  }

  double number() {
    const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
    const std::string digits(text_.substr(at_, end - at_));
    char* stop = nullptr;
    const double value = std::strtod(digits.c_str(), &stop);
    if (digits.empty() || *stop) damaged();
    at_ = end;
    return value;
  }

  std::string string() {
    if (next() != '"') damaged();
    std::string out;
    for (char c; (c = next()) != '"';) {
      if (c != '\\') {
        out += c;
        continue;
      }
      static constexpr std::string_view NAMES = "\"\\/bfnrt", CHARACTERS = "\"\\/\b\f\n\r\t";
      c = next();
      if (c == 'u')
        utf8_append(out, escaped_character());
      else if (const size_t place = NAMES.find(c); place != std::string_view::npos)
        out += CHARACTERS[place];
      else
        damaged();
    }
    return out;
  }

  uint32_t escaped_character() {
    const uint32_t first = four_digits();
    if (first < 0xD800 || first >= 0xDC00 || !take_word("\\u")) return first;
    return 0x10000 + ((first - 0xD800) << 10) + (four_digits() - 0xDC00);
  }
  uint32_t four_digits() {
    uint32_t value = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 4) damaged();
    at_ += 4;
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Json Json::read(std::string_view text) { return Reader(text).whole(); }

const Json& Json::expected(Kind kind) const {
  if (kind_ != kind) fail("the header of the model has a value of another type than expected");
  return *this;
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [own, value] : object())
    if (own == name) return &value;
  return nullptr;
}

const Json& Json::operator[](std::string_view name) const {
  const Json* value = find(name);
  if (!value) fail("the header of the model lacks '" + std::string(name) + "'");
  return *value;
}

const Json& Json::operator[](size_t item) const {
  if (item >= list().size()) fail("a list in the header of the model is too short");
  return items_[item];
}

std::vector<std::string> Json::texts() const {
  std::vector<std::string> out;
  for (const Json& item : list()) out.push_back(item.text());
  return out;
}

void append_json(std::string& out, std::string_view text) {
  static constexpr std::string_view DIGITS = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      ((out += "\\u00") += DIGITS[c >> 4]) += DIGITS[c & 15];
    else
      out += c;
  }
  out += '"';
}

}  // namespace arcwise::web
