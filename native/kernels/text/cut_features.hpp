// The features by which the tokenizer decides whether a word ends (tokenizer.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/hashing.hpp"
#include "kernels/text/line_ends.hpp"
#include "kernels/text/squeezed_text.hpp"
#include "kernels/text/tokenizer.hpp"

namespace arcwise {

constexpr size_t PARAGRAPH_SPACES = 15;           // more are as many
constexpr size_t LONGEST_PARAGRAPH_START = 1000;  // characters in which they are looked for
constexpr uint64_t FIRST_PARAGRAPH_FEATURE =
    200;                                 // behind those of wide context, whether or not a model has it
constexpr uint32_t OUTSIDE_TEXT = '\n';  // a text starts and ends like a paragraph

inline uint64_t length_bucket(size_t count) {
  return count < 4 ? count : count < 7 ? 4 : count < 11 ? 5 : count < 21 ? 6 : count < 41 ? 7 : 8;
}

// Hash and shape of a word that is read character by character, so that a long one costs no more than its
// length.
struct WordSoFar {
  static constexpr auto NONE = static_cast<CharacterClass>(CHARACTER_CLASSES);

  uint64_t characters = 0;
  uint64_t classes = 0;  // of the characters, repeats merged: "Xx", "d.d"
  CharacterClass last = NONE;

  void add(const SqueezedText& text, size_t at) {
    characters = hash_character(characters, text.lower[at]);
    add_class(text.classes[at]);
  }
  void add_class(CharacterClass kind) {
    if (kind != last) classes = classes * 17 + static_cast<uint64_t>(kind) + 1;
    last = kind;
  }
  void add(const SqueezedText& text, size_t first, size_t end) {
    for (size_t at = first; at < end; ++at) add(text, at);
  }
  uint64_t hash() const { return mix(characters); }
};

// What the decisions so far say about the sentence being read.
struct CutHistory {
  size_t sentence_start = 0, word_start = 0;
  size_t mark_end = 0;          // of the mark of a heading, if the sentence starts with one
  size_t words = 0;             // words of the sentence so far
  size_t paragraph_spaces = 0;  // since the start of the paragraph
  uint64_t last_word = 0;       // hash of the word before, 0 at the start of a sentence
  uint64_t before_last = 0;
  int open_brackets = 0;
  bool open_quote = false;
  WordSoFar word;

  void see(const SqueezedText& text, size_t at) {
    CharacterClass kind = text.classes[at];
    if (text.is_space(at)) pass_space(text, at);
    if (kind == CharacterClass::opening) ++open_brackets;
    if (kind == CharacterClass::closing && open_brackets > 0) --open_brackets;
    if (kind == CharacterClass::quote) open_quote = !open_quote;
    word.add(text, at);
  }
  void pass_space(const SqueezedText& text, size_t at) {
    paragraph_spaces = text.lower[at] == '\n' ? 0 : std::min(paragraph_spaces + 1, PARAGRAPH_SPACES);
  }
  void end_word(size_t next_start) {
    before_last = last_word;
    last_word = word.hash();
    word = {};
    ++words;
    word_start = next_start;
  }
  void start_sentence(const SqueezedText& text, size_t at) {
    const size_t spaces = paragraph_spaces;
    *this = CutHistory{};
    paragraph_spaces = spaces;
    sentence_start = word_start = at;
    if (at < text.size()) mark_end = end_of_heading_mark(text, at);
  }
};

// The features of one decision: is `at` the last character of a word?
class CutFeatures {
 public:
  CutFeatures(const TokenizerModel& model, const SqueezedText& text) : model_(model), text_(text) {}

  template <typename Emit>
  void extract(const CutHistory& history, size_t at, Emit emit) {
    at_ = at;
    next_ = at + 1;
    if (next_ < text_.size() && text_.is_space(next_)) ++next_;
    gap_ = next_ == at + 1 ? 0 : 1;
    number_ = 0;
    characters(emit);
    words(history, emit);
    sentence(history, emit);
    if (model_.wide_context && gap_ == 1) context(history, emit);
    if (model_.paragraphs && gap_ == 1) paragraph(history, emit);
  }

 private:
  uint64_t c(int offset) const {
    int64_t at = static_cast<int64_t>(at_) + offset;
    if (at < 0 || at >= static_cast<int64_t>(text_.size())) return OUTSIDE_TEXT;
    return text_.lower[at];
  }
  uint64_t k(int offset) const {
    int64_t at = static_cast<int64_t>(at_) + offset;
    if (at < 0 || at >= static_cast<int64_t>(text_.size()))
      return static_cast<uint64_t>(CharacterClass::space);
    return static_cast<uint64_t>(text_.classes[at]);
  }
  uint64_t characters_hash(int first, int last) const {
    uint64_t h = 0;
    for (int offset = first; offset <= last; ++offset) h = hash_pair(h, c(offset));
    return h;
  }
  uint64_t classes_hash(int first, int last) const {
    uint64_t h = 0;
    for (int offset = first; offset <= last; ++offset) h = h * 17 + k(offset);
    return h;
  }
  uint64_t shape(size_t first, size_t last) const {
    WordSoFar word;
    for (size_t at = first; at < last; ++at) word.add_class(text_.classes[at]);
    return word.classes;
  }
  template <typename Emit>
  void feature(Emit& emit, uint64_t value) {
    emit(feature_key(hash_pair(value, ++number_ * 2 + gap_)));
  }

  template <typename Emit>
  void characters(Emit& emit) {
    constexpr int GRAMS[][2] = {{0, 0},  {1, 1},  {-1, -1}, {2, 2},  {-1, 0}, {0, 1},
                                {1, 2},  {-2, 0}, {-1, 1},  {0, 2},  {1, 3},  {-1, 2},
                                {-3, 0}, {1, 4},  {-2, 1},  {-2, 2}, {0, 3},  {-3, 3}};
    for (const auto& gram : GRAMS) feature(emit, characters_hash(gram[0], gram[1]));
    constexpr int CLASSES[][2] = {{-1, 1}, {-2, 1}, {-1, 2}, {-2, 3}, {-3, 4}, {0, 4}};
    for (const auto& gram : CLASSES) feature(emit, classes_hash(gram[0], gram[1]));
  }

  template <typename Emit>
  void words(const CutHistory& history, Emit& emit) {
    size_t start = history.word_start;
    word_ = history.word.hash();
    uint64_t word_shape = history.word.classes;
    size_t piece_start = start, piece_end = at_ + 1;  // the piece between two spaces
    while (piece_start > 0 && !text_.is_space(piece_start - 1) && at_ - piece_start < LONGEST_WORD)
      --piece_start;
    while (piece_end < text_.size() && !text_.is_space(piece_end) && piece_end - at_ < LONGEST_WORD)
      ++piece_end;
    WordSoFar piece, rest;
    if (piece_start == start) piece = history.word;
    piece.add(text_, piece_start == start ? at_ + 1 : piece_start, piece_end);
    rest.add(text_, at_ + 1, piece_end);
    size_t length = at_ + 1 - start;
    feature(emit, word_);
    feature(emit, hash_pair(word_, c(1)));
    feature(emit, hash_pair(word_, classes_hash(1, 2)));
    feature(emit, rest.hash());
    feature(emit, hash_pair(word_, rest.hash()));
    feature(emit, hash_pair(piece.hash(), at_ - piece_start));
    feature(emit, hash_pair(piece.classes, at_ - piece_start));
    feature(emit, hash_pair(word_shape, rest.classes));
    feature(emit, hash_pair(word_shape, classes_hash(1, 2)));
    feature(emit, hash_pair(std::min<size_t>(length, 12), classes_hash(0, 1)));
    uint64_t known = model_.knows(word_) * 2u + model_.knows(piece.hash());
    feature(emit, hash_pair(known, classes_hash(0, 1)));
    feature(emit, hash_pair(known * 2 + model_.knows(rest.hash()), classes_hash(-1, 2)));
  }

  template <typename Emit>
  void sentence(const CutHistory& history, Emit& emit) {
    size_t next_end = next_;
    while (next_end < text_.size() && !text_.is_space(next_end) && next_end - next_ < LONGEST_WORD)
      ++next_end;
    size_t after = next_end < text_.size() && text_.is_space(next_end) ? next_end + 1 : next_end;
    size_t after_end = after;
    while (after_end < text_.size() && !text_.is_space(after_end) && after_end - after < LONGEST_WORD)
      ++after_end;
    WordSoFar next_word;
    next_word.add(text_, next_, next_end);
    const uint64_t next = next_hash_ = next_word.hash(), next_shape = next_shape_ = next_word.classes;
    uint64_t next_class = next_ < text_.size() ? static_cast<uint64_t>(text_.classes[next_]) : 99;
    uint64_t length = length_bucket(history.words);
    uint64_t ending = hash_pair(k(0), next_class);
    uint64_t after_shape = shape(after, after_end);
    feature(emit, next);
    feature(emit, next_shape);
    feature(emit, hash_pair(word_, next));
    feature(emit, hash_pair(word_, next_shape));
    feature(emit, hash_pair(word_, next_class));
    feature(emit, hash_pair(k(0), next));
    feature(emit, history.last_word);
    feature(emit, hash_pair(history.last_word, word_));
    feature(emit, hash_pair(hash_pair(history.last_word, word_), next_class));
    feature(emit, hash_pair(hash_pair(history.last_word, k(0)), next_class));
    feature(emit, hash_pair(hash_pair(history.before_last, history.last_word), ending));
    feature(emit, hash_pair(length, k(0)));
    feature(emit, hash_pair(length, ending));
    feature(emit, hash_pair(hash_pair(length, ending), history.word.classes));
    feature(emit, hash_pair(next_shape, after_shape));
    feature(emit, hash_pair(hash_pair(next_shape, after_shape), k(0)));
    feature(emit, hash_pair(next, after_shape));
    feature(emit, hash_pair(hash_pair(model_.knows(next), model_.knows(word_)), ending));
    feature(emit, hash_pair(hash_pair(history.open_brackets > 0, history.open_quote), ending));
  }

  // Titles, greetings and the like: short, without an end mark, at the start of a paragraph.
  template <typename Emit>
  void paragraph(const CutHistory& history, Emit& emit) {
    number_ = FIRST_PARAGRAPH_FEATURE;
    const size_t start = history.sentence_start;
    const bool is_first = start == 0 || text_.lower[start - 1] == '\n';
    const uint64_t next_class = next_ < text_.size() ? static_cast<uint64_t>(text_.classes[next_]) : 99;
    for (uint64_t place : {static_cast<uint64_t>(history.paragraph_spaces), uint64_t{is_first}}) {
      const uint64_t sides = hash_pair(hash_pair(place, k(0)), next_class);
      feature(emit, place);
      feature(emit, sides);
      feature(emit, hash_pair(hash_pair(place, history.word.classes), next_shape_));
      feature(emit, hash_pair(place, next_hash_));
      feature(emit, hash_pair(place, word_));
      feature(emit, hash_pair(sides, length_bucket(history.words)));
    }
  }

  // One past the word that starts at `start`, of which no more than LONGEST_WORD characters are read.
  size_t end_of_word(size_t start) const {
    size_t end = start;
    while (end < text_.size() && !text_.is_space(end) && end - start < LONGEST_WORD) ++end;
    return end;
  }
  // The last three characters of the word that ends before `end`.
  uint64_t ending(size_t end) const {
    uint64_t h = 0;
    for (size_t at = end; at > 0 && end - at < 3 && !text_.is_space(at - 1); --at)
      h = hash_pair(h, text_.lower[at - 1]);
    return h;
  }

  // Wide context, for texts whose sentences do not end in punctuation: four words to come, the word before,
  // and the endings of all of them, which stand for their parts of speech. Nothing is read behind a blank line.
  template <typename Emit>
  void context(const CutHistory& history, Emit& emit) {
    constexpr size_t OWN = 1, COUNT = OWN + WIDE_WORDS + 1;  // the word before, this one, those to come
    std::array<uint64_t, COUNT> word{}, end{};
    const size_t before = history.word_start > 0 && text_.is_space(history.word_start - 1)
                              ? history.word_start - 1
                              : history.word_start;
    word[0] = history.last_word;
    end[0] = history.words > 0 ? ending(before) : 0;
    word[OWN] = word_;
    end[OWN] = ending(at_ + 1);
    for (size_t i = OWN + 1, start = next_; i < COUNT && start < text_.size(); ++i) {
      if (text_.lower[start - 1] == '\n') break;
      const size_t stop = end_of_word(start);
      WordSoFar read;
      read.add(text_, start, stop);
      word[i] = read.hash();
      end[i] = ending(stop);
      start = stop < text_.size() && text_.is_space(stop) ? stop + 1 : stop;
    }
    auto joined = [](uint64_t a, uint64_t b, uint64_t c) { return hash_pair(hash_pair(a, b), c); };
    for (size_t i = 0; i < COUNT; ++i) feature(emit, end[i]);
    for (size_t i = OWN + 2; i < COUNT; ++i) feature(emit, word[i]);
    for (size_t i = 0; i + 1 < COUNT; ++i) {
      feature(emit, hash_pair(end[i], end[i + 1]));
      feature(emit, hash_pair(end[i], word[i + 1]));
      feature(emit, hash_pair(word[i], end[i + 1]));
    }
    for (size_t i = OWN + 1; i + 1 < COUNT; ++i) feature(emit, hash_pair(word[i], word[i + 1]));
    for (size_t i = 0; i + 2 < COUNT; ++i) feature(emit, joined(end[i], end[i + 1], end[i + 2]));
    feature(emit, joined(word[OWN + 1], end[OWN + 2], end[OWN + 3]));
    feature(emit, joined(end[OWN], word[OWN + 1], end[OWN + 2]));
    feature(emit, hash_pair(joined(end[OWN], end[OWN + 1], end[OWN + 2]), end[OWN + 3]));
    const uint64_t length = length_bucket(history.words);
    feature(emit, hash_pair(length, word[OWN + 1]));
    feature(emit, hash_pair(length, end[OWN + 1]));
  }

  const TokenizerModel& model_;
  const SqueezedText& text_;
  size_t at_ = 0, next_ = 0;
  uint64_t gap_ = 0, number_ = 0, word_ = 0;
  uint64_t next_hash_ = 0, next_shape_ = 0;  // of the characters up to the next space
};

}  // namespace arcwise
