// Columns encoded as integers: equal fields have equal codes, so columns can be compared without creating
// strings.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/treebanks/treebank_layout.hpp"

namespace arcwise {

struct ColumnCodes {
  std::vector<int32_t> codes;             // one per given row
  std::vector<std::string_view> strings;  // the distinct fields, in order of first appearance
};

// The fields of one column in the given rows. O(bytes of the fields).
ColumnCodes column_codes(const char* data, const TreebankLayout& layout, const uint32_t* rows, size_t count,
                         int column);

}  // namespace arcwise
