#include "kernels/text/tokenized_text.hpp"

#include <algorithm>
#include <charconv>

#include "kernels/base/unicode.hpp"
#include "kernels/text/addresses.hpp"

namespace arcwise {
namespace {

void append_number(std::string& out, uint64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// White space as UDPipe writes it in MISC: \s \t \n \r \p (pipe) \\.
void append_escaped(std::string& out, std::string_view spaces) {
  for (char c : spaces) {
    switch (c) {
      case ' ':
        out += "\\s";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '|':
        out += "\\p";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
}

class ConlluWriter {
 public:
  ConlluWriter(const TokenizerModel& tokenizer, const MultiwordModel& multiword, std::string_view text,
               const SqueezedText& squeezed, const WritingOptions& options)
      : tokenizer_(tokenizer), multiword_(multiword), text_(text), squeezed_(squeezed), options_(options) {}

  // The sentence of the tokens first .. last-1; `from` is the byte where its white space before starts.
  void sentence(const std::vector<TextToken>& tokens, size_t first, size_t last, bool with_spaces_before) {
    std::string& out = result_.conllu;
    out += "# sent_id = ";
    append_number(out, options_.first_sentence + result_.sentences++);
    out += "\n# text = ";
    append_line(out, slice(tokens[first].first, tokens[last - 1].last));
    out += '\n';
    lower_tokens(tokens, first, last);
    number_ = 0;
    for (size_t i = first; i < last; ++i) token(tokens, i, first, last, with_spaces_before && i == first);
    out += '\n';
    result_.words += number_;
    result_.bytes = squeezed_.byte[after(tokens[last - 1])] - options_.bytes_before;
    result_.places = squeezed_.place[after(tokens[last - 1])] - options_.places_before;
  }

  TokenizedText take() { return std::move(result_); }

 private:
  std::string_view slice(size_t first, size_t last) const {
    return text_.substr(squeezed_.byte[first], squeezed_.byte[last] - squeezed_.byte[first]);
  }
  // The character after the token and the white space that follows it.
  size_t after(const TextToken& token) const {
    size_t next = token.last;
    return next < squeezed_.size() && squeezed_.is_space(next) ? next + 1 : next;
  }
  // The text on one line, with every run of line breaks and control characters as one space.
  static void append_line(std::string& out, std::string_view text) {
    bool gap = false;
    for (char c : text) {
      bool control = static_cast<unsigned char>(c) < ' ';
      if (!control) out += c;
      if (control && !gap) out += ' ';
      gap = control;
    }
  }
  void lower_tokens(const std::vector<TextToken>& tokens, size_t first, size_t last) {
    if (multiword_.empty()) return;
    lower_.clear();
    for (size_t i = first; i < last; ++i) {
      read_.clear();
      tokenizer_.look_alikes.append(read_, slice(tokens[i].first, tokens[i].last));
      lower_.emplace_back();
      append_lower_case(lower_.back(), read_);
    }
  }

  std::vector<std::string> words_of(const std::vector<TextToken>& tokens, size_t i, size_t first,
                                    size_t last) {
    if (multiword_.empty()) return {};
    TokenContext context{lower_[i - first], i > first ? std::string_view(lower_[i - first - 1]) : "<s>",
                         i + 1 < last ? std::string_view(lower_[i - first + 1]) : "</s>",
                         known_stems(tokenizer_, lower_[i - first])};
    bool seen = tokenizer_.knows(word_hash(squeezed_, tokens[i].first, tokens[i].last));
    size_t script = multiword_decode(multiword_, context, seen, workspace_);
    if (script == 0) return {};
    return split_apply(multiword_.scripts[script], slice(tokens[i].first, tokens[i].last));
  }

  void token(const std::vector<TextToken>& tokens, size_t i, size_t first, size_t last, bool spaces_before) {
    std::string& out = result_.conllu;
    std::vector<std::string> words = words_of(tokens, i, first, last);
    if (words.size() < 2) {
      append_number(out, ++number_);
      row_rest(slice(tokens[i].first, tokens[i].last));
      misc(tokens[i], spaces_before);
      return;
    }
    append_number(out, number_ + 1);
    out += '-';
    append_number(out, number_ + words.size());
    row_rest(slice(tokens[i].first, tokens[i].last));
    misc(tokens[i], spaces_before);
    for (const std::string& word : words) {
      append_number(out, ++number_);
      row_rest(word);
      out += "_\n";
    }
  }
  void row_rest(std::string_view form) {
    result_.conllu += '\t';
    result_.conllu += form;
    result_.conllu += "\t_\t_\t_\t_\t_\t_\t_\t";
  }
  void misc(const TextToken& token, bool spaces_before) {
    std::string& out = result_.conllu;
    size_t start = out.size();
    auto separate = [&] {
      if (out.size() > start) out += '|';
    };
    std::string_view spaces = slice(token.last, after(token));
    if (spaces.empty()) out += "SpaceAfter=No";
    if (!spaces.empty() && spaces != " ") {
      out += "SpacesAfter=";
      append_escaped(out, spaces);
    }
    if (spaces_before && token.first > 0 && options_.bytes_before == 0) {
      separate();
      out += "SpacesBefore=";
      append_escaped(out, slice(0, token.first));
    }
    if (options_.ranges) {
      separate();
      out += "TokenRange=";
      const uint64_t zero = options_.first_place - options_.places_before;  // of the text before, too
      append_number(out, zero + squeezed_.place[token.first]);
      out += ':';
      append_number(out, zero + squeezed_.place[token.last]);
    }
    out += out.size() == start ? "_\n" : "\n";
  }

  const TokenizerModel& tokenizer_;
  const MultiwordModel& multiword_;
  std::string_view text_;
  const SqueezedText& squeezed_;
  const WritingOptions& options_;
  TokenizedText result_;
  std::string read_;                // a token with its stand-ins
  std::vector<std::string> lower_;  // the tokens of the sentence, so read, in lower case
  SoftmaxWorkspace workspace_;
  size_t number_ = 0;
};

// Whether text that follows may change what was decided up to here: the model looks ahead, and an address may go on to the next space.
bool may_change(const TokenizerModel& tokenizer, const SqueezedText& text, size_t at) {
  if (at + tokenizer.look_ahead() > text.size()) return true;
  const size_t far = std::min(at + LONGEST_ADDRESS + 1, text.size());
  while (at < far && !text.is_space(at)) ++at;
  return at == text.size();
}

}  // namespace

TokenizedText tokenized_text(const TokenizerModel& tokenizer, const MultiwordModel& multiword,
                             std::string_view text, const WritingOptions& options) {
  SqueezedText squeezed(text, tokenizer.look_alikes);
  const auto start = std::lower_bound(squeezed.byte.begin(), squeezed.byte.end(), options.bytes_before);
  std::vector<TextToken> tokens =
      tokenizer_decode(tokenizer, squeezed, static_cast<size_t>(start - squeezed.byte.begin()));
  ConlluWriter writer(tokenizer, multiword, text, squeezed, options);
  for (size_t first = 0, last = 0; last < tokens.size(); ++last) {
    if (!tokens[last].ends_sentence) continue;
    if (!options.complete && may_change(tokenizer, squeezed, tokens[last].last)) break;
    writer.sentence(tokens, first, last + 1, first == 0);
    first = last + 1;
  }
  return writer.take();
}

}  // namespace arcwise
