// Stems: with which lemmas that training saw a word may begin, and what is left of the word after them.
// "evlerinde" begins with "ev", seen as a noun, and the ending "lerinde" tells its case and number, even
// where the word itself was never seen. A lemma may change its last letter before an ending ("yemek" in
// "yemeğinde", "make" in "making"); which changes there are is learned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/key_table.hpp"

namespace arcwise {

// `upos` has bit u (31 for all above) if the lemma was seen with UPOS u; 0: there is no such stem.
struct Stem {
  uint64_t ending = 0;    // hash of the rest of the word, and of the letter that the lemma has instead
  uint64_t skeleton = 0;  // the same, with all vowels taken for one (vowel harmony changes them)
  uint64_t start = 0;     // hash of the first letters of the skeleton
  uint32_t length = 0;    // of the rest, in code points
  uint32_t upos = 0;
};

inline uint32_t upos_bit(uint16_t upos) { return uint32_t{1} << (upos < 31 ? upos : 31); }

// The stems of words, the longest first: those of word w are stems[starts[w]] .. stems[starts[w+1]-1].
struct StemLists {
  std::vector<uint32_t> starts{0};
  std::vector<Stem> stems;

  void clear() {
    starts.assign(1, 0);
    stems.clear();
  }
  // The next word has no stems.
  void skip() { starts.push_back(static_cast<uint32_t>(stems.size())); }
};

// (first letter of the ending, last letter of the lemma): the lemma is what stands before the ending, and
// that letter.
using Alternation = std::pair<uint32_t, uint32_t>;

// Lemmas in lower case, each with the UPOS it was seen with.
struct StemLexicon {
  KeyTable upos_of_lemma;
  std::vector<Alternation> alternations;  // sorted

  // Appends the stems of one word, given in lower case.
  void find(std::string_view lower, StemLists& lists) const;
  // The same without some UPOS of one lemma.
  void find_without(std::string_view lower, uint32_t lemma, uint32_t upos, StemLists& lists) const;
};

uint32_t stem_key(std::string_view lower);

// What a lexicon is made of: how often each lemma was seen with each UPOS, in all and as a form.
class StemCounts {
 public:
  void add(std::string_view lower_form, std::string_view lemma, uint16_t upos);
  StemLexicon lexicon() const;

  // Stems of a word of the training data as if it had not been seen there, or (`whole_form`) its form
  // nowhere.
  void find_without(const StemLexicon& lexicon, std::string_view lower_form, std::string_view lemma,
                    uint16_t upos, bool whole_form, StemLists& lists) const;

 private:
  std::unordered_map<uint32_t, uint32_t> upos_of_lemma_;
  std::unordered_map<uint64_t, uint32_t> seen_, seen_as_form_;
  std::map<Alternation, uint32_t> alternations_;
};

}  // namespace arcwise
