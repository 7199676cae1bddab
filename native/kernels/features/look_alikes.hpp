// Characters that are read as others: a model that learned from "don't" reads "don’t" as that. Texts keep their own characters; what is
// looked up, hashed and compared has the stand-ins.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/treebanks/treebank_layout.hpp"

namespace arcwise {

class LookAlikes {
 public:
  LookAlikes() = default;
  // characters[i] is read as texts[i], one character or more; std::invalid_argument for none.
  LookAlikes(const std::vector<uint32_t>& characters, const std::vector<std::u32string>& texts);

  bool empty() const { return texts_.empty(); }
  // What a character is read as; null: as itself.
  const std::u32string* find(uint32_t code_point) const {
    if (empty() || (code_point < 0x80 && !ascii_[code_point])) return nullptr;
    auto found = texts_.find(code_point);
    return found == texts_.end() ? nullptr : &found->second;
  }
  // Whether a text may have such characters; quick.
  bool may_be_in(std::string_view text) const {
    if (empty()) return false;
    for (char c : text)
      if (const auto byte = static_cast<unsigned char>(c); byte >= 0x80 || ascii_[byte]) return true;
    return false;
  }
  // The text with its stand-ins, appended to `out`; whether it has any.
  bool append(std::string& out, std::string_view text) const;

 private:
  std::array<uint8_t, 0x80> ascii_{};  // which of these stand for others
  std::unordered_map<uint32_t, std::u32string> texts_;
};

// The FORM of every word with its stand-ins; none if no word has any.
std::optional<StringColumn> look_alike_forms(const LookAlikes& look_alikes, const TreebankLayout& layout,
                                             const char* data);

}  // namespace arcwise
