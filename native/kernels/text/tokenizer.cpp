#include "kernels/text/tokenizer.hpp"

#include <algorithm>
#include <unordered_map>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

constexpr uint32_t OUTSIDE_TEXT = '\n';  // a text starts and ends like a paragraph
constexpr double RARE_CUT = 2e-4;        // pairs of classes cut less often than this are never cut

size_t class_pair(CharacterClass a, CharacterClass b) {
  return static_cast<size_t>(a) * CHARACTER_CLASSES + static_cast<size_t>(b);
}

uint64_t bucket(size_t count) {
  return count < 4 ? count : count < 7 ? 4 : count < 11 ? 5 : count < 21 ? 6 : count < 41 ? 7 : 8;
}

// What the decisions so far say about the sentence being read.
struct History {
  size_t word_start = 0;
  size_t words = 0;        // words of the sentence so far
  uint64_t last_word = 0;  // hash of the word before, 0 at the start of a sentence
  uint64_t before_last = 0;
  int open_brackets = 0;
  bool open_quote = false;

  void see(CharacterClass kind) {
    if (kind == CharacterClass::opening) ++open_brackets;
    if (kind == CharacterClass::closing && open_brackets > 0) --open_brackets;
    if (kind == CharacterClass::quote) open_quote = !open_quote;
  }
  void end_word(uint64_t hash, size_t next_start, bool sentence) {
    if (sentence) {
      *this = History{};
    } else {
      before_last = last_word;
      last_word = hash;
      ++words;
    }
    word_start = next_start;
  }
};

// The features of one decision: is `at` the last character of a word?
class CutFeatures {
 public:
  CutFeatures(const TokenizerModel& model, const SqueezedText& text) : model_(model), text_(text) {}

  template <typename Emit>
  void extract(const History& history, size_t at, Emit emit) {
    at_ = at;
    next_ = at + 1;
    if (next_ < text_.size() && text_.is_space(next_)) ++next_;
    gap_ = next_ == at + 1 ? 0 : 1;
    number_ = 0;
    characters(emit);
    words(history, emit);
    sentence(history, emit);
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
  // Classes of the characters with repeats merged: "Xx", "d.d".
  uint64_t shape(size_t first, size_t last) const {
    uint64_t h = 0;
    for (size_t i = first; i < last; ++i) {
      uint64_t kind = static_cast<uint64_t>(text_.classes[i]) + 1;
      if (i == first || text_.classes[i] != text_.classes[i - 1]) h = h * 17 + kind;
    }
    return h;
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
  void words(const History& history, Emit& emit) {
    size_t start = history.word_start;
    word_ = word_hash(text_, start, at_ + 1);
    uint64_t word_shape = shape(start, at_ + 1);
    size_t piece_start = start, piece_end = at_ + 1;  // the piece between two spaces
    while (piece_start > 0 && !text_.is_space(piece_start - 1) && at_ - piece_start < LONGEST_WORD)
      --piece_start;
    while (piece_end < text_.size() && !text_.is_space(piece_end) && piece_end - at_ < LONGEST_WORD)
      ++piece_end;
    uint64_t piece = word_hash(text_, piece_start, piece_end);
    uint64_t rest = word_hash(text_, at_ + 1, piece_end);
    size_t length = at_ + 1 - start;
    feature(emit, word_);
    feature(emit, hash_pair(word_, c(1)));
    feature(emit, hash_pair(word_, classes_hash(1, 2)));
    feature(emit, rest);
    feature(emit, hash_pair(word_, rest));
    feature(emit, hash_pair(piece, at_ - piece_start));
    feature(emit, hash_pair(shape(piece_start, piece_end), at_ - piece_start));
    feature(emit, hash_pair(word_shape, shape(at_ + 1, piece_end)));
    feature(emit, hash_pair(word_shape, classes_hash(1, 2)));
    feature(emit, hash_pair(std::min<size_t>(length, 12), classes_hash(0, 1)));
    uint64_t known = model_.knows(word_) * 2u + model_.knows(piece);
    feature(emit, hash_pair(known, classes_hash(0, 1)));
    feature(emit, hash_pair(known * 2 + model_.knows(rest), classes_hash(-1, 2)));
  }

  template <typename Emit>
  void sentence(const History& history, Emit& emit) {
    size_t next_end = next_;
    while (next_end < text_.size() && !text_.is_space(next_end) && next_end - next_ < LONGEST_WORD)
      ++next_end;
    size_t after = next_end < text_.size() && text_.is_space(next_end) ? next_end + 1 : next_end;
    size_t after_end = after;
    while (after_end < text_.size() && !text_.is_space(after_end) && after_end - after < LONGEST_WORD)
      ++after_end;
    uint64_t next = word_hash(text_, next_, next_end), next_shape = shape(next_, next_end);
    uint64_t next_class = next_ < text_.size() ? static_cast<uint64_t>(text_.classes[next_]) : 99;
    uint64_t length = bucket(history.words);
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
    feature(emit, hash_pair(hash_pair(length, ending), shape(history.word_start, at_ + 1)));
    feature(emit, hash_pair(next_shape, after_shape));
    feature(emit, hash_pair(hash_pair(next_shape, after_shape), k(0)));
    feature(emit, hash_pair(next, after_shape));
    feature(emit, hash_pair(hash_pair(model_.knows(next), model_.knows(word_)), ending));
    feature(emit, hash_pair(hash_pair(history.open_brackets > 0, history.open_quote), ending));
  }

  const TokenizerModel& model_;
  const SqueezedText& text_;
  size_t at_ = 0, next_ = 0;
  uint64_t gap_ = 0, number_ = 0, word_ = 0;
};

// Where a decision is needed, and among what: 0 = before a space, 1 = elsewhere (see tokenizer_task).
enum class Choice { none, word_or_sentence, any, end };

Choice choice_at(const TokenizerModel& model, const SqueezedText& text, size_t at) {
  size_t next = at + 1;
  if (next == text.size()) return Choice::end;
  if (text.is_space(at)) return Choice::none;  // inside a word that has spaces
  if (text.is_space(next)) {
    if (next + 1 == text.size() || text.lower[next] == '\n') return Choice::end;
    bool spans =
        text.is_single_space(next) && model.may_span[class_pair(text.classes[at], text.classes[next + 1])];
    return spans ? Choice::any : Choice::word_or_sentence;
  }
  return model.may_cut[class_pair(text.classes[at], text.classes[next])] ? Choice::any : Choice::none;
}

size_t next_start(const SqueezedText& text, size_t at) {
  ++at;
  return at < text.size() && text.is_space(at) ? at + 1 : at;
}

// Runs over the text as decoding does, asking `decide(history, at, choice)` where there is a choice.
template <typename Decide>
std::vector<TextToken> walk(const TokenizerModel& model, const SqueezedText& text, Decide decide) {
  std::vector<TextToken> tokens;
  History history;
  size_t at = !text.size() || !text.is_space(0) ? 0 : 1;
  history.word_start = at;
  while (at < text.size()) {
    history.see(text.classes[at]);
    Choice choice = choice_at(model, text, at);
    Cut cut = choice == Choice::none  ? Cut::inside
              : choice == Choice::end ? Cut::sentence
                                      : decide(history, at, choice);
    if (cut == Cut::word && history.words + 1 >= model.longest_sentence) cut = Cut::sentence;
    if (cut == Cut::inside) {
      ++at;
      continue;
    }
    tokens.push_back(
        {static_cast<uint32_t>(history.word_start), static_cast<uint32_t>(at + 1), cut == Cut::sentence});
    uint64_t word = word_hash(text, history.word_start, at + 1);
    at = next_start(text, at);
    history.end_word(word, at, cut == Cut::sentence);
  }
  return tokens;
}

std::vector<Cut> cuts_of(const SqueezedText& text, const std::vector<TextToken>& tokens) {
  std::vector<Cut> cuts(text.size(), Cut::inside);
  for (const TextToken& token : tokens)
    cuts[token.last - 1] = token.ends_sentence ? Cut::sentence : Cut::word;
  return cuts;
}

void learn_vocabulary(TokenizerModel& model, const SqueezedText& text, const std::vector<TextToken>& tokens) {
  std::unordered_map<uint64_t, uint32_t> counts;
  for (const TextToken& token : tokens) ++counts[word_hash(text, token.first, token.last)];
  for (const auto& [hash, count] : counts)
    if (count > 1) model.vocabulary.push_back(feature_key(hash));
  std::sort(model.vocabulary.begin(), model.vocabulary.end());
}

CharacterClass in_lower_case(CharacterClass kind) {
  return kind == CharacterClass::upper ? CharacterClass::lower : kind;
}

bool is_word_like(CharacterClass a, CharacterClass b) {
  auto in_word = [](CharacterClass kind) {
    return kind == CharacterClass::lower || kind == CharacterClass::upper || kind == CharacterClass::digit;
  };
  return (in_word(a) && in_word(b)) || b == CharacterClass::mark;
}

// Between which classes a word goes on over a space.
void learn_spans(TokenizerModel& model, const SqueezedText& text, const std::vector<Cut>& cuts) {
  std::array<double, CHARACTER_CLASSES * CHARACTER_CLASSES> seen{}, spanned{};
  for (size_t at = 0; at + 2 < text.size(); ++at) {
    if (text.is_space(at) || !text.is_single_space(at + 1)) continue;
    size_t pair = class_pair(text.classes[at], text.classes[at + 2]);
    seen[pair] += 1;
    spanned[pair] += cuts[at] == Cut::inside;
  }
  for (size_t pair = 0; pair < seen.size(); ++pair)
    model.may_span[pair] = spanned[pair] > RARE_CUT * seen[pair];
}

void learn_class_pairs(TokenizerModel& model, const SqueezedText& text, const std::vector<Cut>& cuts) {
  std::array<double, CHARACTER_CLASSES * CHARACTER_CLASSES> seen{}, cut{};
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    if (text.is_space(at) || text.is_space(at + 1)) continue;
    size_t pair = class_pair(text.classes[at], text.classes[at + 1]);
    seen[pair] += 1;
    cut[pair] += cuts[at] != Cut::inside;
  }
  for (size_t pair = 0; pair < seen.size(); ++pair) {
    auto first = static_cast<CharacterClass>(pair / CHARACTER_CLASSES);
    auto second = static_cast<CharacterClass>(pair % CHARACTER_CLASSES);
    // A pair never seen is taken for the same pair in lower case, and that, if need be, for what it is.
    size_t known = seen[pair] > 0 ? pair : class_pair(in_lower_case(first), in_lower_case(second));
    bool may = seen[known] > 0 ? cut[known] > RARE_CUT * seen[known] : !is_word_like(first, second);
    model.may_cut[pair] = may && second != CharacterClass::mark;
  }
}

}  // namespace

SqueezedText::SqueezedText(std::string_view text) {
  uint32_t count = 0;
  int newlines = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    auto start = static_cast<uint32_t>(at);
    uint32_t code_point = utf8_next(text, at);
    CharacterClass kind = character_class(code_point);
    bool space = kind == CharacterClass::space;
    if (space && !classes.empty() && classes.back() == CharacterClass::space) {
      newlines += code_point == '\n';
      is_single.back() = 0;
      if (newlines > 1) lower.back() = '\n';
      continue;
    }
    newlines = code_point == '\n';
    is_single.push_back(code_point == ' ');
    lower.push_back(space ? ' ' : lower_case(code_point));
    classes.push_back(kind);
    byte.push_back(start);
    place.push_back(count);
  }
  byte.push_back(static_cast<uint32_t>(text.size()));
  place.push_back(count);
}

uint64_t word_hash(const SqueezedText& text, size_t first, size_t last) {
  uint64_t h = 0;
  for (size_t i = first; i < last; ++i) h = (h ^ text.lower[i]) * 0x9E3779B97F4A7C15ULL;
  return mix(h);
}

uint64_t word_hash(std::string_view lower) {
  uint64_t h = 0;
  for (size_t at = 0; at < lower.size();) h = (h ^ utf8_next(lower, at)) * 0x9E3779B97F4A7C15ULL;
  return mix(h);
}

bool TokenizerModel::knows(uint64_t word_hash) const {
  return std::binary_search(vocabulary.begin(), vocabulary.end(), feature_key(word_hash));
}

SoftmaxTask tokenizer_task() {
  SoftmaxTask task;
  task.output_count = 3;
  for (uint32_t cut = 0; cut < 3; ++cut) {
    task.outputs_of_candidate.add(cut);
    task.outputs_of_candidate.close();
  }
  for (uint32_t first : {1u, 0u}) {
    for (uint32_t cut = first; cut < 3; ++cut) task.candidates_of_set.add(cut);
    task.candidates_of_set.close();
  }
  return task;
}

std::vector<TextToken> tokenizer_decode(const TokenizerModel& model, const SqueezedText& text) {
  CutFeatures features(model, text);
  return walk(model, text, [&](const History& history, size_t at, Choice choice) {
    std::array<float, 3> scores{};
    features.extract(history, at, [&](uint32_t key) { model.cuts.add(key, scores.data()); });
    size_t first = choice == Choice::any ? 0 : 1;
    return static_cast<Cut>(std::max_element(scores.begin() + first, scores.end()) - scores.begin());
  });
}

TokenizerModel tokenizer_tables(const SqueezedText& text, const std::vector<TextToken>& tokens) {
  TokenizerModel model;
  std::vector<Cut> cuts = cuts_of(text, tokens);
  learn_vocabulary(model, text, tokens);
  learn_class_pairs(model, text, cuts);
  learn_spans(model, text, cuts);
  return model;
}

SoftmaxItems tokenizer_items(TokenizerModel model, const SqueezedText& text,
                             const std::vector<TextToken>& tokens) {
  SoftmaxItems items;
  std::vector<Cut> cuts = cuts_of(text, tokens);
  CutFeatures features(model, text);
  model.longest_sentence = UINT32_MAX;
  walk(model, text, [&](const History& history, size_t at, Choice choice) {
    features.extract(history, at, [&](uint32_t key) { items.features.add(key); });
    items.features.close();
    Cut gold = choice == Choice::any ? cuts[at] : std::max(cuts[at], Cut::word);
    items.set.push_back(choice == Choice::any ? 1 : 0);
    items.gold.push_back(static_cast<uint32_t>(gold));
    return gold;
  });
  return items;
}

TokenizerModel tokenizer_train(const SqueezedText& text, const std::vector<TextToken>& tokens,
                               const TrainingOptions& options) {
  TokenizerModel model = tokenizer_tables(text, tokens);
  SoftmaxItems items = tokenizer_items(model, text, tokens);
  model.cuts = softmax_train(tokenizer_task(), items, options);
  return model;
}

}  // namespace arcwise
