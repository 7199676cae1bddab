// The layout of a CoNLL file: byte offsets of sentences, rows and fields. The bytes themselves are never
// changed or copied, so the file can be written back exactly.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/treebanks/string_column.hpp"

namespace arcwise {

enum Column { ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, COLUMNS };

enum class RowKind : uint8_t { word, multiword, empty_node };

// The kinds of problems in a file. The Python side turns each into a message.
enum class ProblemKind : uint8_t {
  column_count,      // found: number of columns
  bad_id,            // the ID field is not an integer, range (2-3) or decimal (8.1)
  id_order,          // found: expected id
  missing_blank,     // id 1 again without a blank line between
  bad_head,          // the HEAD field is neither an integer nor _
  head_range,        // found: number of words
  self_loop,         // a word is its own head
  cycle,             // found: id of a word on the cycle
  bad_multiword,     // a range that is empty, overlaps another or exceeds the sentence
  no_words,          // comments or multiword tokens without a word
  comment_position,  // a comment after the first row of a sentence
  empty_field,       // found: index of the column, from 0
  invalid_utf8,      // found: the byte
};

struct Problem {
  ProblemKind kind;
  uint32_t sentence;  // number of the sentence, from 0
  uint32_t offset;    // position of the problem
  int64_t found;      // see ProblemKind
};

struct TreebankLayout {
  // Row r has fields r*FIELD_MARKS .. ; field c is the bytes [mark[c], mark[c+1]-1).
  static constexpr size_t FIELD_MARKS = COLUMNS + 1;
  std::vector<uint32_t> marks;
  std::vector<RowKind> row_kinds;
  std::vector<uint32_t> word_rows;  // row of each word
  std::vector<int32_t> heads;       // of each word; -1 where unknown (_) or unusable
  // S+1: sentence s is the bytes [s, s+1), comments and blank line included
  std::vector<uint32_t> sentence_bytes;
  std::vector<uint32_t> sentence_rows;   // S+1
  std::vector<uint32_t> sentence_words;  // S+1
  std::vector<Problem> problems;
  // An annotation that is not yet written: columns whose word values replace those in the bytes, and lines to
  // add at the end of each sentence's comments (S, or none).
  std::array<std::shared_ptr<const StringColumn>, COLUMNS> replaced;
  std::vector<std::string> added_comments;

  size_t sentences() const { return sentence_bytes.empty() ? 0 : sentence_bytes.size() - 1; }
  size_t words() const { return word_rows.size(); }
  size_t rows() const { return row_kinds.size(); }

  std::string_view row_field(const char* data, size_t row, int column) const {
    const uint32_t* mark = &marks[row * FIELD_MARKS + column];
    if (mark[1] <= mark[0]) return {};  // the row has too few columns
    return {data + mark[0], mark[1] - mark[0] - 1};
  }
  std::string_view field(const char* data, size_t word, int column) const {
    if (const StringColumn* values = replaced[column].get()) return (*values)[word];
    return row_field(data, word_rows[word], column);
  }
};

// Reads the whole text once. Never fails: problems are listed in `problems`, and the rest is indexed as well
// as possible.
TreebankLayout treebank_layout(std::string_view text);

// New values for the words of a treebank.
struct Annotation {
  std::vector<std::pair<int, StringColumn>> columns;
  const int32_t* heads = nullptr;             // one per word; negative means _
  const StringColumn* misc_update = nullptr;  // Key=Value pairs that replace or extend the existing ones
  std::vector<std::string_view> comments;     // whole lines per sentence, or none at all
};

// The layout of the same bytes with an annotation: `field` reads the new values.
TreebankLayout treebank_annotated(const TreebankLayout& layout, const char* data,
                                  const Annotation& annotation);

struct WrittenTreebank {
  std::string text;
  std::vector<uint32_t> sentence_bytes;  // S+1, of the new text
};

// The text with its annotation applied: columns of words replaced, comments added, everything else unchanged.
WrittenTreebank treebank_written(std::string_view text, const TreebankLayout& layout);

// Offset of the first byte after the last complete sentence in a piece of a longer file; 0 if there is none.
size_t treebank_last_boundary(std::string_view text);

}  // namespace arcwise
