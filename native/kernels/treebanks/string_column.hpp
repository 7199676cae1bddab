// A column whose values are not in the bytes of a file: predictions of a tagger or parser before they are
// written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arcwise {

// Strings concatenated in one block of memory.
class StringTable {
 public:
  size_t size() const { return ends_.size() - 1; }
  std::string_view operator[](size_t i) const { return {text_.data() + ends_[i], ends_[i + 1] - ends_[i]}; }
  // To add a string, append its pieces to `text` and then close it.
  std::string& text() { return text_; }
  int32_t close() {
    ends_.push_back(text_.size());
    return static_cast<int32_t>(ends_.size()) - 2;
  }

 private:
  std::string text_;
  std::vector<size_t> ends_{0};
};

// One string per word: a code into a table, which may belong to a model and be shared by many columns.
struct StringColumn {
  std::vector<int32_t> codes;  // negative: none, written as _
  std::shared_ptr<const StringTable> table;

  size_t size() const { return codes.size(); }
  bool has(size_t word) const { return codes[word] >= 0; }
  std::string_view operator[](size_t word) const { return has(word) ? (*table)[codes[word]] : "_"; }
};

// Decimal numbers; none where a number is negative.
StringColumn number_column(const int32_t* numbers, size_t count);

// The Key=Value pairs of all columns (of equal length), joined by |; none where no column has any.
StringColumn joined_pairs(const std::vector<StringColumn>& columns);

// `old` with the pairs of `added`: each replaces the pair with the same key or goes to the end.
StringColumn merged_pairs(const std::vector<std::string_view>& old, const StringColumn& added);

}  // namespace arcwise
