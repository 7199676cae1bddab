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

std::optional<std::string> look_alike_forms(const LookAlikes& look_alikes, const TreebankLayout& layout,
                                            std::string_view data) {
  if (look_alikes.empty()) return std::nullopt;
  std::string out, form;
  size_t written = 0;
  for (size_t word = 0; word < layout.words(); ++word) {
    std::string_view own = layout.field(data.data(), word, FORM);
    form.clear();
    if (!look_alikes.may_be_in(own) || !look_alikes.append(form, own)) continue;
    const auto start = static_cast<size_t>(own.data() - data.data());
    out += data.substr(written, start - written);
    out += form;
    written = start + own.size();
  }
  if (written == 0) return std::nullopt;
  out += data.substr(written);
  return out;
}

}  // namespace arcwise
