#include "kernels/features/look_alikes.hpp"

#include <stdexcept>

#include "kernels/base/unicode.hpp"

namespace arcwise {

LookAlikes::LookAlikes(const std::vector<uint32_t>& characters, const std::vector<std::u32string>& texts) {
  if (characters.size() != texts.size())
    throw std::invalid_argument("as many characters as texts are needed");
  for (size_t i = 0; i < characters.size(); ++i) {
    if (texts[i].empty()) throw std::invalid_argument("a character is read as nothing");
    if (characters[i] < 0x80) ascii_[characters[i]] = 1;
    texts_[characters[i]] = texts[i];
  }
}

bool LookAlikes::append(std::string& out, std::string_view text) const {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const std::u32string* stand_in = find(utf8_next(text, at));
    any |= stand_in != nullptr;
    if (!stand_in)
      out += text.substr(start, at - start);
    else
      for (char32_t c : *stand_in) utf8_append(out, c);
  }
  return any;
}

std::optional<StringColumn> look_alike_forms(const LookAlikes& look_alikes, const TreebankLayout& layout,
                                             const char* data) {
  if (look_alikes.empty()) return std::nullopt;
  bool any = false;
  auto table = std::make_shared<StringTable>();
  StringColumn out;
  out.codes.reserve(layout.words());
  for (size_t word = 0; word < layout.words(); ++word) {
    std::string_view form = layout.field(data, word, FORM);
    if (look_alikes.may_be_in(form))
      any |= look_alikes.append(table->text(), form);
    else
      table->text().append(form);
    out.codes.push_back(table->close());
  }
  if (!any) return std::nullopt;
  out.table = std::move(table);
  return out;
}

}  // namespace arcwise
