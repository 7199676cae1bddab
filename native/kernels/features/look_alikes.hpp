// Look-alike characters: a model trained on "don't" reads "don’t" as the same. Texts keep their original
// characters; the substitutes are used for lookups, hashes and comparisons.
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
  // Substitutes texts[i] (one character or more) for characters[i]; throws std::invalid_argument for an empty
  // text.
  LookAlikes(const std::vector<uint32_t>& characters, const std::vector<std::u32string>& texts);

  bool empty() const { return texts_.empty(); }
  // The substitute of a character, or null.
  const std::u32string* find(uint32_t code_point) const {
    if (empty() || (code_point < 0x80 && !ascii_[code_point])) return nullptr;
    auto found = texts_.find(code_point);
    return found == texts_.end() ? nullptr : &found->second;
  }
  // A fast check whether a text may contain such characters.
  bool may_be_in(std::string_view text) const {
    if (empty()) return false;
    for (char c : text)
      if (const auto byte = static_cast<unsigned char>(c); byte >= 0x80 || ascii_[byte]) return true;
    return false;
  }
  // Appends the text with its substitutions to `out`; returns whether there are any.
  bool append(std::string& out, std::string_view text) const;

 private:
  std::array<uint8_t, 0x80> ascii_{};  // which of these have substitutes
  std::unordered_map<uint32_t, std::u32string> texts_;
};

// The FORM of every word after substitution, or nullopt if no word changes.
std::optional<StringColumn> look_alike_forms(const LookAlikes& look_alikes, const TreebankLayout& layout,
                                             const char* data);

}  // namespace arcwise
