#include "kernels/treebanks/string_column.hpp"

#include <charconv>

namespace arcwise {
namespace {

// The Key of "Key=Value".
std::string_view key_of(std::string_view pair) { return pair.substr(0, pair.find('=')); }

template <typename Visit>
void for_each_part(std::string_view list, Visit visit) {
  while (!list.empty()) {
    size_t bar = list.find('|');
    visit(list.substr(0, bar));
    if (bar == list.npos) break;
    list.remove_prefix(bar + 1);
  }
}

// `value(word, text)` appends the string of a word, or returns false if it has none.
template <typename Value>
StringColumn column_of(size_t words, Value value) {
  auto table = std::make_shared<StringTable>();
  StringColumn out;
  out.codes.reserve(words);
  for (size_t word = 0; word < words; ++word)
    out.codes.push_back(value(word, table->text()) ? table->close() : -1);
  out.table = std::move(table);
  return out;
}

// Appends `old` with the pairs of `added`, each replacing the pair with the same key or going to the end.
void append_merged(std::string& out, std::string_view old, std::string_view added) {
  size_t start = out.size();
  auto add = [&](std::string_view part) {
    if (out.size() > start) out.push_back('|');
    out.append(part);
  };
  if (old != "_")
    for_each_part(old, [&](std::string_view part) {
      bool replaced = false;
      for_each_part(added, [&](std::string_view pair) { replaced |= key_of(pair) == key_of(part); });
      if (!replaced) add(part);
    });
  for_each_part(added, add);
  if (out.size() == start) out.push_back('_');
}

}  // namespace

StringColumn number_column(const int32_t* numbers, size_t count) {
  return column_of(count, [&](size_t word, std::string& out) {
    if (numbers[word] < 0) return false;
    char digits[16];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, numbers[word]).ptr);
    return true;
  });
}

StringColumn joined_pairs(const std::vector<StringColumn>& columns) {
  return column_of(columns.empty() ? 0 : columns[0].size(), [&](size_t word, std::string& out) {
    bool any = false;
    for (const StringColumn& column : columns) {
      if (!column.has(word)) continue;
      if (any) out.push_back('|');
      out.append(column[word]);
      any = true;
    }
    return any;
  });
}

StringColumn merged_pairs(const std::vector<std::string_view>& old, const StringColumn& added) {
  return column_of(added.size(), [&](size_t word, std::string& out) {
    if (added.has(word))
      append_merged(out, old[word], added[word]);
    else
      out.append(old[word]);
    return true;
  });
}

}  // namespace arcwise
