#include "web/document_json.hpp"

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "web/json_reader.hpp"

namespace arcwise::web {
namespace {

class Writer {
 public:
  explicit Writer(const WebDocument& document) : document_(document), layout_(document.layout) {}

  std::string take() {
    out_ = "{\"sentences\":[";
    for (size_t s = 0; s < layout_.sentences(); ++s) sentence(s);
    return std::move(out_) + "]}";
  }

 private:
  // The comma before a member or an item, unless it is the first.
  void separate() {
    if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  }
  void name(std::string_view name) {
    separate();
    append_json(out_, name);
    out_ += ':';
  }
  void member(std::string_view key, std::string_view text) {
    name(key);
    append_json(out_, text);
  }
  // The shortest decimal number that reads back as the same value.
  template <typename Number>
  void number(std::string_view key, Number value) {
    name(key);
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  void sentence(size_t s) {
    separate();
    out_ += '{';
    const char* bytes = document_.data + layout_.sentence_bytes[s];
    const std::string_view block(bytes, layout_.sentence_bytes[s + 1] - layout_.sentence_bytes[s]);
    static constexpr std::string_view TEXT = "# text = ";
    if (const size_t at = block.find(TEXT); at != std::string_view::npos) {
      const size_t start = at + TEXT.size();
      member("text", block.substr(start, block.find('\n', start) - start));
    }
    number("probability", std::exp(document_.trees.log_probability[s]));
    number("entropy", document_.trees.head_entropy[s] / std::log(2.0));
    rows(s);
    out_ += '}';
  }

  void rows(size_t s) {
    name("tokens");
    out_ += '[';
    for (size_t row = layout_.sentence_rows[s]; row < layout_.sentence_rows[s + 1]; ++row)
      if (layout_.row_kinds[row] == RowKind::multiword) {
        separate();
        out_ += '{';
        member("id", layout_.row_field(document_.data, row, ID));
        member("form", layout_.row_field(document_.data, row, FORM));
        place(row);
        out_ += '}';
      }
    out_ += ']';
    name("words");
    out_ += '[';
    for (size_t word = layout_.sentence_words[s]; word < layout_.sentence_words[s + 1]; ++word)
      this->word(word, static_cast<int>(word - layout_.sentence_words[s]) + 1);
    out_ += ']';
  }

  void word(size_t word, int id) {
    const auto field = [&](int column) { return layout_.field(document_.data, word, column); };
    separate();
    out_ += '{';
    number("id", id);
    member("form", field(FORM));
    if (field(LEMMA) != "_" || field(FORM) == "_") member("lemma", field(LEMMA));
    if (field(UPOS) != "_") member("upos", field(UPOS));
    if (field(XPOS) != "_") member("xpos", field(XPOS));
    if (field(FEATS) != "_") feats(field(FEATS));
    const ParseResult& trees = document_.trees;
    number("head", trees.heads[word]);
    if (trees.labels[word] >= 0) member("label", document_.labels[trees.labels[word]]);
    number("head_probability", trees.head_probability[word]);
    number("label_probability", trees.label_probability[word]);
    number("upos_probability", document_.upos_probability[word]);
    place(layout_.word_rows[word]);
    out_ += '}';
  }

  void feats(std::string_view pairs) {
    name("feats");
    out_ += '{';
    for (size_t first = 0, last = 0; last != std::string_view::npos; first = last + 1) {
      last = pairs.find('|', first);
      const std::string_view pair = pairs.substr(first, last - first);
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos) member(pair.substr(0, equals), pair.substr(equals + 1));
    }
    out_ += '}';
  }

  // The position of a token in the text, in code points, from its TokenRange.
  void place(size_t row) {
    const std::string_view misc = layout_.row_field(document_.data, row, MISC);
    static constexpr std::string_view RANGE = "TokenRange=";
    const size_t at = misc.rfind(RANGE);
    if (at == std::string_view::npos) return;
    const char *end = misc.data() + misc.size(), *next = misc.data() + at + RANGE.size();
    uint64_t first = 0, last = 0;
    next = std::from_chars(next, end, first).ptr;
    if (next == end || std::from_chars(next + 1, end, last).ec != std::errc()) return;
    number("start", first);
    number("end", last);
  }

  const WebDocument& document_;
  const TreebankLayout& layout_;
  std::string out_;
};

}  // namespace

std::string document_json(const WebDocument& document) { return Writer(document).take(); }

}  // namespace arcwise::web
