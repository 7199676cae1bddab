#include "kernels/treebanks/column_codes.hpp"

#include <unordered_map>

namespace arcwise {

ColumnCodes column_codes(const char* data, const TreebankLayout& layout, const uint32_t* rows, size_t count,
                         int column) {
  ColumnCodes out;
  out.codes.resize(count);
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t i = 0; i < count; ++i) {
    std::string_view field = layout.row_field(data, rows[i], column);
    auto [at, is_new] = known.try_emplace(field, static_cast<int32_t>(out.strings.size()));
    if (is_new) out.strings.push_back(field);
    out.codes[i] = at->second;
  }
  return out;
}

}  // namespace arcwise
