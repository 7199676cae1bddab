// Reading the JSON header of a model file.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arcwise::web {

// Ends loading or parsing with a message; the JavaScript side throws it as an Error.
[[noreturn]] void fail(const std::string& message);

class Json {
 public:
  enum class Kind { null, boolean, number, text, list, object };

  // Parses the whole of `text` as one value; fails if it is not valid JSON.
  static Json read(std::string_view text);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool boolean() const { return expected(Kind::boolean).number_ != 0; }
  double number() const { return expected(Kind::number).number_; }
  int integer() const { return static_cast<int>(number()); }
  const std::string& text() const { return expected(Kind::text).text_; }
  const std::vector<Json>& list() const { return expected(Kind::list).items_; }
  const std::vector<std::pair<std::string, Json>>& object() const { return expected(Kind::object).members_; }

  // A member of an object; null if it is missing.
  const Json* find(std::string_view name) const;
  // A member of an object; fails if it is missing.
  const Json& operator[](std::string_view name) const;
  const Json& operator[](size_t item) const;

  std::vector<std::string> texts() const;

 private:
  class Reader;
  const Json& expected(Kind kind) const;

  Kind kind_ = Kind::null;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
};

// A text as a JSON string, in quotes, appended to `out`.
void append_json(std::string& out, std::string_view text);

}  // namespace arcwise::web
