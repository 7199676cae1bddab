#include "kernels/treebanks/treebank_layout.hpp"

#include <algorithm>
#include <cstring>

namespace arcwise {
namespace {

// Parses a complete non-negative decimal number: no sign, no spaces, no leading zeros; -1 for anything else.
int64_t whole_number(std::string_view text) {
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return -1;
  int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Position of the first byte that is not part of valid UTF-8, or text.size().
size_t first_invalid_utf8(std::string_view text, size_t from) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  size_t i = from, n = text.size();
  while (i < n) {
    if (p[i] < 0x80) {
      uint64_t eight;
      while (i + 8 <= n && (std::memcpy(&eight, p + i, 8), (eight & 0x8080808080808080ULL) == 0)) i += 8;
      while (i < n && p[i] < 0x80) ++i;
      continue;
    }
    size_t length = p[i] >= 0xF0 ? 4 : p[i] >= 0xE0 ? 3 : 2;
    if (p[i] < 0xC2 || p[i] > 0xF4 || i + length > n) return i;
    for (size_t k = 1; k < length; ++k)
      if ((p[i + k] & 0xC0) != 0x80) return i;
    if ((p[i] == 0xE0 && p[i + 1] < 0xA0) || (p[i] == 0xED && p[i + 1] > 0x9F) ||
        (p[i] == 0xF0 && p[i + 1] < 0x90) || (p[i] == 0xF4 && p[i + 1] > 0x8F))
      return i;
    i += length;
  }
  return n;
}

class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  TreebankLayout run() {
    reserve();
    size_t at = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    while (at < text_.size()) at = line(at);
    end_sentence(text_.size());
    // Trailing blank lines belong to the last sentence, so that the sentences add up to the whole file.
    if (layout_.sentence_bytes.empty()) layout_.sentence_bytes.push_back(0);
    layout_.sentence_bytes.back() = static_cast<uint32_t>(text_.size());
    layout_.sentence_rows.push_back(static_cast<uint32_t>(layout_.rows()));
    layout_.sentence_words.push_back(static_cast<uint32_t>(layout_.words()));
    if (layout_.sentence_bytes.size() == 1) layout_.sentence_bytes.clear();
    check_utf8();
    return std::move(layout_);
  }

 private:
  void reserve() {
    size_t rows = text_.size() / 48;
    layout_.marks.reserve(rows * TreebankLayout::FIELD_MARKS);
    layout_.row_kinds.reserve(rows);
    layout_.word_rows.reserve(rows);
    layout_.heads.reserve(rows);
    layout_.sentence_bytes.push_back(0);
  }

  void report(ProblemKind kind, size_t offset, int64_t found) {
    layout_.problems.push_back({kind, static_cast<uint32_t>(layout_.sentence_bytes.size() - 1),
                                static_cast<uint32_t>(offset), found});
  }

  // Reads the line that starts at `at`; returns the start of the next.
  size_t line(size_t at) {
    const char* start = text_.data() + at;
    const void* found = std::memchr(start, '\n', text_.size() - at);
    size_t next = found ? static_cast<const char*>(found) - text_.data() + 1 : text_.size();
    size_t end = found ? next - 1 : next;
    if (end > at && text_[end - 1] == '\r') --end;
    if (end == at) {
      end_sentence(next);
    } else if (*start == '#') {
      if (in_rows_) report(ProblemKind::comment_position, at, 0);
      in_comments_ = true;
      if (first_comment_ == NONE) first_comment_ = at;
    } else {
      row(at, end);
    }
    return next;
  }

  void row(size_t at, size_t end) {
    uint32_t marks[TreebankLayout::FIELD_MARKS];
    size_t columns = split(at, end, marks);
    std::string_view id(text_.data() + marks[ID], marks[ID + 1] - marks[ID] - 1);
    int64_t number = whole_number(id);
    if (number == 1 && next_id_ > 1) {
      report(ProblemKind::missing_blank, at, 0);
      end_sentence(at);
    }
    if (!in_rows_) {
      layout_.sentence_rows.push_back(static_cast<uint32_t>(layout_.rows()));
      layout_.sentence_words.push_back(static_cast<uint32_t>(layout_.words()));
      in_rows_ = true;
    }
    if (columns != COLUMNS) report(ProblemKind::column_count, at, static_cast<int64_t>(columns));
    RowKind kind = row_kind(id, number, at);
    layout_.marks.insert(layout_.marks.end(), marks, marks + TreebankLayout::FIELD_MARKS);
    layout_.row_kinds.push_back(kind);
    for (int c = FORM; c < COLUMNS; ++c)
      if (marks[c + 1] == marks[c] + 1) report(ProblemKind::empty_field, marks[c], c);
    if (kind == RowKind::word) word(marks, columns);
  }

  // Fills the marks of the ten fields, leaving missing ones empty. Returns the number of columns.
  size_t split(size_t at, size_t end, uint32_t* marks) {
    size_t columns = 0;
    const char* data = text_.data();
    marks[0] = static_cast<uint32_t>(at);
    for (size_t i = at; i < end; ++i)
      if (data[i] == '\t' && ++columns < COLUMNS) marks[columns] = static_cast<uint32_t>(i + 1);
    size_t filled = std::min<size_t>(columns, COLUMNS - 1);
    for (size_t c = filled + 1; c <= COLUMNS; ++c) marks[c] = static_cast<uint32_t>(end + 1);
    return columns + 1;
  }

  RowKind row_kind(std::string_view id, int64_t number, size_t at) {
    if (number >= 0) {
      if (number != next_id_) report(ProblemKind::id_order, at, next_id_);
      ++next_id_;
      return RowKind::word;
    }
    if (size_t dash = id.find('-'); dash != id.npos) {
      int64_t first = whole_number(id.substr(0, dash)), last = whole_number(id.substr(dash + 1));
      if (first >= 0 && last >= 0) {
        if (first != next_id_ || last < first || first <= multiword_end_)
          report(ProblemKind::bad_multiword, at, next_id_);
        multiword_end_ = std::max(multiword_end_, last);
        multiword_at_ = at;
        return RowKind::multiword;
      }
    } else if (size_t dot = id.find('.'); dot != id.npos) {
      int64_t before = whole_number(id.substr(0, dot));
      if (before >= 0 && whole_number(id.substr(dot + 1)) >= 1) {
        if (before != next_id_ - 1) report(ProblemKind::id_order, at, next_id_ - 1);
        return RowKind::empty_node;
      }
    }
    report(ProblemKind::bad_id, at, next_id_);
    ++next_id_;
    return RowKind::word;
  }

  void word(const uint32_t* marks, size_t columns) {
    layout_.word_rows.push_back(static_cast<uint32_t>(layout_.rows() - 1));
    std::string_view head(text_.data() + marks[HEAD], marks[HEAD + 1] - marks[HEAD] - 1);
    int64_t value = whole_number(head);
    if (value < 0 && head != "_" && columns > HEAD) report(ProblemKind::bad_head, marks[HEAD], 0);
    layout_.heads.push_back(static_cast<int32_t>(value));
  }

  void end_sentence(size_t next) {
    if (in_rows_) {
      if (layout_.words() == layout_.sentence_words.back())
        report(ProblemKind::no_words,
               layout_.marks[layout_.sentence_rows.back() * TreebankLayout::FIELD_MARKS], 0);
      check_heads();
      layout_.sentence_bytes.push_back(static_cast<uint32_t>(next));
    } else if (in_comments_) {
      report(ProblemKind::no_words, first_comment_, 0);
    } else if (layout_.sentence_bytes.size() > 1) {
      layout_.sentence_bytes.back() = static_cast<uint32_t>(next);  // one more blank line after a sentence
    }
    in_rows_ = in_comments_ = false;
    first_comment_ = NONE;
    next_id_ = 1;
    multiword_end_ = 0;
  }

  void check_heads() {
    size_t first = layout_.sentence_words.back(), n = layout_.words() - first;
    int32_t* heads = layout_.heads.data() + first;
    auto head_offset = [&](size_t i) {
      return layout_.marks[layout_.word_rows[first + i] * TreebankLayout::FIELD_MARKS + HEAD];
    };
    if (multiword_end_ > static_cast<int64_t>(n))
      report(ProblemKind::bad_multiword, multiword_at_, static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      if (heads[i] > static_cast<int64_t>(n)) {
        report(ProblemKind::head_range, head_offset(i), static_cast<int64_t>(n));
        heads[i] = -1;
      } else if (heads[i] == static_cast<int64_t>(i + 1)) {
        report(ProblemKind::self_loop, head_offset(i), heads[i]);
        heads[i] = -1;
      }
    }
    visited_.assign(n + 1, 0);
    for (size_t i = 0; i < n; ++i) {
      int32_t at = static_cast<int32_t>(i + 1), mark = at;
      while (at > 0 && !visited_[at]) {
        visited_[at] = mark;
        at = heads[at - 1];
      }
      if (at > 0 && visited_[at] == mark) report(ProblemKind::cycle, head_offset(at - 1), at);
    }
  }

  void check_utf8() {
    size_t bad = first_invalid_utf8(text_, 0);
    while (bad < text_.size()) {
      auto after = std::upper_bound(layout_.sentence_bytes.begin(), layout_.sentence_bytes.end(), bad);
      auto sentence = std::max<std::ptrdiff_t>(after - layout_.sentence_bytes.begin() - 1, 0);
      layout_.problems.push_back({ProblemKind::invalid_utf8, static_cast<uint32_t>(sentence),
                                  static_cast<uint32_t>(bad), static_cast<unsigned char>(text_[bad])});
      // Report at most one problem per line.
      const void* newline = std::memchr(text_.data() + bad, '\n', text_.size() - bad);
      if (!newline) break;
      bad = first_invalid_utf8(text_, static_cast<const char*>(newline) - text_.data() + 1);
    }
    std::stable_sort(layout_.problems.begin(), layout_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.offset < b.offset; });
  }

  static constexpr size_t NONE = static_cast<size_t>(-1);
  std::string_view text_;
  TreebankLayout layout_;
  bool in_rows_ = false, in_comments_ = false;
  size_t first_comment_ = NONE, multiword_at_ = 0;
  int64_t next_id_ = 1, multiword_end_ = 0;
  std::vector<int32_t> visited_;
};

}  // namespace

TreebankLayout treebank_layout(std::string_view text) { return LayoutReader(text).run(); }

TreebankLayout treebank_annotated(const TreebankLayout& layout, const char* data,
                                  const Annotation& annotation) {
  TreebankLayout out = layout;
  for (const auto& [column, values] : annotation.columns)
    out.replaced[column] = std::make_shared<StringColumn>(values);
  if (annotation.heads) {
    out.heads.assign(annotation.heads, annotation.heads + layout.words());
    out.replaced[HEAD] = std::make_shared<StringColumn>(number_column(annotation.heads, layout.words()));
  }
  if (annotation.misc_update) {
    std::vector<std::string_view> old(layout.words());
    for (size_t word = 0; word < old.size(); ++word) old[word] = out.field(data, word, MISC);
    out.replaced[MISC] = std::make_shared<StringColumn>(merged_pairs(old, *annotation.misc_update));
  }
  if (!annotation.comments.empty()) {
    out.added_comments.resize(layout.sentences());
    for (size_t s = 0; s < layout.sentences(); ++s) out.added_comments[s].append(annotation.comments[s]);
  }
  return out;
}

WrittenTreebank treebank_written(std::string_view text, const TreebankLayout& layout) {
  WrittenTreebank written;
  std::string& out = written.text;
  out.reserve(2 * text.size());
  size_t copied = 0, word = 0;
  auto copy_to = [&](size_t end) {
    out.append(text.data() + copied, end - copied);
    copied = end;
  };
  auto end_sentence = [&](size_t end) {
    copy_to(end);
    written.sentence_bytes.push_back(static_cast<uint32_t>(out.size()));
  };
  for (size_t s = 0; s < layout.sentences(); ++s) {
    end_sentence(layout.sentence_bytes[s]);
    if (!layout.added_comments.empty() && !layout.added_comments[s].empty()) {
      copy_to(layout.marks[layout.sentence_rows[s] * TreebankLayout::FIELD_MARKS]);
      out.append(layout.added_comments[s]);
    }
    for (; word < layout.sentence_words[s + 1]; ++word) {
      const size_t row = layout.word_rows[word];
      for (int column = 0; column < COLUMNS; ++column) {
        if (!layout.replaced[column]) continue;
        copy_to(layout.marks[row * TreebankLayout::FIELD_MARKS + column]);
        out.append((*layout.replaced[column])[word]);
        copied += layout.row_field(text.data(), row, column).size();
      }
    }
  }
  if (layout.sentences() > 0)
    end_sentence(text.size());
  else
    copy_to(text.size());
  return written;
}

size_t treebank_last_boundary(std::string_view text) {
  // A sentence ends after an empty line: "\n\n" or "\n\r\n".
  for (size_t i = text.size(); i >= 2; --i) {
    if (text[i - 1] != '\n') continue;
    if (text[i - 2] == '\n') return i;
    if (i >= 3 && text[i - 2] == '\r' && text[i - 3] == '\n') return i;
  }
  return 0;
}

}  // namespace arcwise
