#include "kernels/text/tokenizer.hpp"

#include <algorithm>
#include <unordered_map>

#include "kernels/base/hashing.hpp"
#include "kernels/text/addresses.hpp"
#include "kernels/text/cut_features.hpp"
#include "kernels/text/line_ends.hpp"

namespace arcwise {
namespace {

constexpr double RARE_CUT = 2e-4;  // pairs of classes cut less often than this are never cut
// The rules for signs and addresses hold if training breaks them no more often.
constexpr double FEW_EXCEPTIONS = 0.1;
// From so many names as programs have them the weights learn what is done beside them; of fewer, the rule of addresses holds.
constexpr double ENOUGH_NAMES = 20;

size_t class_pair(CharacterClass a, CharacterClass b) {
  return static_cast<size_t>(a) * CHARACTER_CLASSES + static_cast<size_t>(b);
}

// What is settled behind each character before any decision is made.
enum class Settled : uint8_t { no, inside, word };

// Punctuation that is no part of an address beside it, and of no other word either.
bool stands_alone(const SqueezedText& text, size_t at) {
  const CharacterClass kind = text.classes[at];
  const uint32_t c = text.lower[at];
  return kind == CharacterClass::opening || kind == CharacterClass::closing ||
         kind == CharacterClass::full_stop || c == ',' || c == ';' || c == '<' || c == '>' || c == '"';
}

// The ends of an address that stand beside such punctuation: work(the last character before the cut).
template <typename Work>
void for_each_edge(const SqueezedText& text, const Address& address, Work work) {
  if (address.first > 0 && stands_alone(text, address.first - 1)) work(address.first - 1);
  if (address.last < text.size() && stands_alone(text, address.last)) work(address.last - 1);
}

// Where words end before and behind emoji and long dashes: work(the last character before the cut).
template <typename Work>
void for_each_sign_edge(const SqueezedText& text, Work work) {
  bool inside = false;  // a sign goes on here
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    inside = text.is_sign[at] || (inside && text.joined[at - 1]);
    if (text.joined[at] || text.is_space(at) || text.is_space(at + 1)) continue;
    if (inside || text.is_sign[at + 1]) work(at);
  }
}

std::vector<Settled> settle(const TokenizerModel& model, const SqueezedText& text) {
  std::vector<Settled> settled(text.size(), Settled::no);
  if (model.single_signs) for_each_sign_edge(text, [&](size_t at) { settled[at] = Settled::word; });
  if (model.whole_addresses)
    for (const Address& address : find_addresses(text)) {
      std::fill(settled.begin() + address.first, settled.begin() + address.last - 1, Settled::inside);
      if (address.is_name ? model.cut_names_out : model.cut_addresses_out)
        for_each_edge(text, address, [&](size_t at) { settled[at] = Settled::word; });
    }
  for (size_t at = 0; at < text.size(); ++at)
    if (text.joined[at]) settled[at] = Settled::inside;
  return settled;
}

// Where a decision is needed, and among what: 0 = before a space, 1 = elsewhere (see tokenizer_task).
enum class Choice { none, word, word_or_sentence, any, end };

Choice choice_at(const TokenizerModel& model, const SqueezedText& text, const std::vector<Settled>& settled,
                 size_t sentence_start, size_t at) {
  size_t next = at + 1;
  if (next == text.size()) return Choice::end;
  if (text.is_space(at)) return Choice::none;  // inside a word that has spaces
  if (text.is_space(next)) {
    if (next + 1 == text.size() || text.lower[next] == '\n') return Choice::end;
    if (text.ends_line[next] && ends_with_line(text, sentence_start, next)) return Choice::end;
    if (!text.is_single_space(next)) return Choice::word_or_sentence;
    const size_t pair = class_pair(text.classes[at], text.classes[next + 1]);
    if (model.may_span[pair]) return Choice::any;
    return model.never_ends[pair] ? Choice::word : Choice::word_or_sentence;
  }
  if (settled[at] != Settled::no)
    return settled[at] == Settled::inside ? Choice::none : Choice::word_or_sentence;
  return model.may_cut[class_pair(text.classes[at], text.classes[next])] ? Choice::any : Choice::none;
}

// How many spaces stand between `start` and the start of its paragraph, as far as they are counted.
size_t spaces_before(const SqueezedText& text, size_t start) {
  size_t spaces = 0;
  const size_t far = start > LONGEST_PARAGRAPH_START ? start - LONGEST_PARAGRAPH_START : 0;
  for (size_t at = start; at > far; --at) {
    if (!text.is_space(at - 1)) continue;
    if (text.lower[at - 1] == '\n') return spaces;
    if (++spaces == PARAGRAPH_SPACES) return spaces;
  }
  return far > 0 ? PARAGRAPH_SPACES : spaces;
}

size_t next_start(const SqueezedText& text, size_t at) {
  ++at;
  return at < text.size() && text.is_space(at) ? at + 1 : at;
}

// Runs over the text as decoding does, asking `decide(history, at, choice)` where there is a choice.
template <typename Decide>
std::vector<TextToken> walk(const TokenizerModel& model, const SqueezedText& text, size_t start,
                            Decide decide) {
  std::vector<TextToken> tokens;
  const std::vector<Settled> settled = settle(model, text);
  CutHistory history;
  size_t at = start < text.size() && text.is_space(start) ? start + 1 : start;
  history.start_sentence(text, at);
  history.paragraph_spaces = spaces_before(text, at);
  while (at < text.size()) {
    history.see(text, at);
    Choice choice = choice_at(model, text, settled, history.sentence_start, at);
    Cut cut = choice == Choice::none   ? Cut::inside
              : choice == Choice::word ? Cut::word
              : choice == Choice::end  ? Cut::sentence
                                       : decide(history, at, choice);
    if (cut == Cut::sentence && choice != Choice::end && at < history.mark_end) cut = Cut::word;
    if (cut == Cut::word && history.words + 1 >= model.longest_sentence) cut = Cut::sentence;
    if (cut == Cut::inside) {
      ++at;
      continue;
    }
    tokens.push_back(
        {static_cast<uint32_t>(history.word_start), static_cast<uint32_t>(at + 1), cut == Cut::sentence});
    at = next_start(text, at);
    if (text.is_space(at - 1)) history.pass_space(text, at - 1);
    history.end_word(at);
    if (cut == Cut::sentence) history.start_sentence(text, at);
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

// Whether emoji and long dashes are words by themselves. A treebank that has none does not say otherwise.
void learn_signs(TokenizerModel& model, const SqueezedText& text, const std::vector<Cut>& cuts) {
  double edges = 0, uncut = 0;
  for_each_sign_edge(text, [&](size_t at) {
    edges += 1;
    uncut += cuts[at] == Cut::inside;
  });
  model.single_signs = uncut <= FEW_EXCEPTIONS * edges;
}

// Whether the treebank leaves addresses whole, and cuts off the punctuation beside them. One that has none does.
void learn_addresses(TokenizerModel& model, const SqueezedText& text, const std::vector<Cut>& cuts) {
  double seen = 0, cut = 0, edges = 0, uncut = 0, names = 0;
  for (const Address& address : find_addresses(text)) {
    seen += 1;
    names += address.is_name;
    cut += std::any_of(cuts.begin() + address.first, cuts.begin() + address.last - 1,
                       [](Cut own) { return own != Cut::inside; });
    for_each_edge(text, address, [&](size_t at) {
      edges += 1;
      uncut += cuts[at] == Cut::inside;
    });
  }
  model.whole_addresses = cut <= FEW_EXCEPTIONS * seen;
  model.cut_addresses_out = uncut <= FEW_EXCEPTIONS * edges;
  model.cut_names_out = model.cut_addresses_out && names < ENOUGH_NAMES;
}

}  // namespace

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

std::vector<TextToken> tokenizer_decode(const TokenizerModel& model, const SqueezedText& text, size_t start) {
  CutFeatures features(model, text);
  std::vector<uint32_t> keys;
  return walk(model, text, start, [&](const CutHistory& history, size_t at, Choice choice) {
    std::array<float, 3> scores{};
    keys.clear();
    features.extract(history, at, [&](uint32_t key) { keys.push_back(key); });
    model.cuts.add_all(keys, scores.data());
    auto [inside, word, sentence] = scores;
    if (choice == Choice::any && inside >= std::max(word, sentence)) return Cut::inside;
    return sentence + model.sentence_bias > word ? Cut::sentence : Cut::word;
  });
}

TokenizerModel tokenizer_tables(const SqueezedText& text, const std::vector<TextToken>& tokens) {
  TokenizerModel model;
  model.paragraphs = true;
  std::vector<Cut> cuts = cuts_of(text, tokens);
  learn_vocabulary(model, text, tokens);
  learn_class_pairs(model, text, cuts);
  learn_spans(model, text, cuts);
  learn_signs(model, text, cuts);
  learn_addresses(model, text, cuts);
  return model;
}

SoftmaxItems tokenizer_items(TokenizerModel model, const SqueezedText& text,
                             const std::vector<TextToken>& tokens) {
  SoftmaxItems items;
  std::vector<Cut> cuts = cuts_of(text, tokens);
  CutFeatures features(model, text);
  model.longest_sentence = UINT32_MAX;
  walk(model, text, 0, [&](const CutHistory& history, size_t at, Choice choice) {
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
                               const TrainingOptions& options, bool wide_context) {
  TokenizerModel model = tokenizer_tables(text, tokens);
  model.wide_context = wide_context;
  SoftmaxItems items = tokenizer_items(model, text, tokens);
  model.cuts = softmax_train(tokenizer_task(), items, options);
  return model;
}

void tokenizer_learn_ends(TokenizerModel& model, const SqueezedText& text,
                          const std::vector<TextToken>& tokens, double rare_end) {
  std::array<double, CHARACTER_CLASSES * CHARACTER_CLASSES> seen{}, ended{};
  for (const TextToken& token : tokens) {
    const size_t next = token.last;
    if (next + 1 >= text.size() || !text.is_single_space(next)) continue;
    const size_t pair = class_pair(text.classes[next - 1], text.classes[next + 1]);
    seen[pair] += 1;
    ended[pair] += token.ends_sentence;
  }
  for (size_t pair = 0; pair < seen.size(); ++pair)
    model.never_ends[pair] = seen[pair] > 0 && ended[pair] < rare_end * seen[pair];
}

}  // namespace arcwise
