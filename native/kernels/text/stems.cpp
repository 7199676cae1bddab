#include "kernels/text/stems.hpp"

#include <algorithm>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/learning/sparse_linear.hpp"

namespace arcwise {
namespace {

constexpr size_t SHORTEST_STEM = 2;  // bytes
constexpr size_t LONGEST_WORD = 64;  // bytes; what is longer has no stems
constexpr uint32_t START = 3;        // letters of an ending that Stem::start looks at
constexpr uint32_t ALTERNATION = 5;  // times that a change of letters must have been seen
constexpr uint32_t VOWEL = 'a', NONE = 0;

std::string lower_case_of(std::string_view text) {
  std::string lower;
  append_lower_case(lower, text);
  return lower;
}

uint64_t pair_key(uint32_t lemma, uint16_t upos) { return static_cast<uint64_t>(lemma) << 16 | upos; }

uint64_t form_key(uint32_t lemma, uint16_t upos, std::string_view lower_form) {
  return hash_bytes(lower_form, pair_key(lemma, upos));
}

bool is_vowel(uint32_t letter) {
  constexpr uint32_t VOWELS[] = {'a',   'e',   'i',   'o',   'u',   0xE0,  0xE1,  0xE2,  0xE3,  0xE4,  0xE5,
                                 0xE6,  0xE8,  0xE9,  0xEA,  0xEB,  0xEC,  0xED,  0xEE,  0xEF,  0xF2,  0xF3,
                                 0xF4,  0xF5,  0xF6,  0xF8,  0xF9,  0xFA,  0xFB,  0xFC,  0x131, 0x151, 0x171,
                                 0x430, 0x435, 0x438, 0x43E, 0x443, 0x44B, 0x44D, 0x44E, 0x44F, 0x451};
  return std::binary_search(std::begin(VOWELS), std::end(VOWELS), letter);
}

bool starts_letter(std::string_view text, size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

uint32_t letter_at(std::string_view text, size_t at) { return at < text.size() ? utf8_next(text, at) : NONE; }

// The stem whose ending is text[at ..], where the lemma has `changed` (NONE: it has nothing) before it.
Stem stem_before(std::string_view text, size_t at, uint32_t changed, uint32_t upos) {
  Stem stem;
  stem.ending = hash_bytes(text.substr(at), 78 + changed);
  stem.upos = upos;
  stem.skeleton = stem.start = changed;
  while (at < text.size()) {
    uint32_t letter = utf8_next(text, at);
    stem.skeleton = hash_pair(stem.skeleton, is_vowel(letter) ? VOWEL : letter);
    if (++stem.length == START) stem.start = stem.skeleton;
  }
  if (stem.length < START) stem.start = stem.skeleton;
  return stem;
}

template <typename UposOf>
void find_stems(const StemLexicon& lexicon, std::string_view lower, StemLists& lists, UposOf upos_of) {
  std::string other;
  if (lower.size() <= LONGEST_WORD)
    for (size_t size = lower.size(); size >= SHORTEST_STEM; --size) {
      if (!starts_letter(lower, size)) continue;
      if (uint32_t upos = upos_of(stem_key(lower.substr(0, size))))
        lists.stems.push_back(stem_before(lower, size, NONE, upos));
      Alternation first{letter_at(lower, size), 0};
      auto change = std::lower_bound(lexicon.alternations.begin(), lexicon.alternations.end(), first);
      for (; change != lexicon.alternations.end() && change->first == first.first; ++change) {
        other.assign(lower.substr(0, size));
        utf8_append(other, change->second);
        if (uint32_t upos = upos_of(stem_key(other)))
          lists.stems.push_back(stem_before(lower, size, change->second, upos));
      }
    }
  lists.starts.push_back(static_cast<uint32_t>(lists.stems.size()));
}

}  // namespace

uint32_t stem_key(std::string_view lower) { return feature_key(hash_bytes(lower, 77)); }

void StemLexicon::find(std::string_view lower, StemLists& lists) const { find_without(lower, 0, 0, lists); }

void StemLexicon::find_without(std::string_view lower, uint32_t lemma, uint32_t upos,
                               StemLists& lists) const {
  find_stems(*this, lower, lists, [&](uint32_t key) {
    const uint32_t* found = upos_of_lemma.find(key);
    return !found ? 0u : key == lemma ? *found & ~upos : *found;
  });
}

void StemCounts::add(std::string_view lower_form, std::string_view lemma, uint16_t upos) {
  if (lemma == "_") return;
  std::string lower_lemma = lower_case_of(lemma);
  uint32_t key = stem_key(lower_lemma);
  upos_of_lemma_[key] |= upos_bit(upos);
  ++seen_[pair_key(key, upos)];
  ++seen_as_form_[form_key(key, upos, lower_form)];
  auto end = std::mismatch(lower_form.begin(), lower_form.end(), lower_lemma.begin(), lower_lemma.end());
  auto common = static_cast<size_t>(end.first - lower_form.begin());
  while (!starts_letter(lower_form, common) || !starts_letter(lower_lemma, common)) --common;
  size_t after = common;
  if (common < SHORTEST_STEM || common >= lower_lemma.size() || common >= lower_form.size()) return;
  uint32_t last = utf8_next(lower_lemma, after);
  if (after == lower_lemma.size()) ++alternations_[{letter_at(lower_form, common), last}];
}

StemLexicon StemCounts::lexicon() const {
  StemLexicon lexicon{KeyTable(upos_of_lemma_), {}};
  for (const auto& [change, count] : alternations_)
    if (count >= ALTERNATION) lexicon.alternations.push_back(change);
  return lexicon;
}

void StemCounts::find_without(const StemLexicon& lexicon, std::string_view lower_form, std::string_view lemma,
                              uint16_t upos, bool whole_form, StemLists& lists) const {
  uint32_t own = stem_key(lower_case_of(lemma));
  auto count = [](const auto& counts, uint64_t key) {
    auto found = counts.find(key);
    return found == counts.end() ? 0u : found->second;
  };
  uint32_t left_out = whole_form ? count(seen_as_form_, form_key(own, upos, lower_form)) : 1;
  bool seen_elsewhere = count(seen_, pair_key(own, upos)) > left_out;
  lexicon.find_without(lower_form, own, seen_elsewhere ? 0 : upos_bit(upos), lists);
}

}  // namespace arcwise
