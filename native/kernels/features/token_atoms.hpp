// Atoms: the properties of a word that features are built from (its form, its 3-letter suffix, its tag, …),
// each as a 64-bit hash, computed once per word directly from the bytes of the treebank.
//
//   std::vector<AtomSpec> specs = {atom_spec("form"), atom_spec("suffix3"), atom_spec("upos")};
//   std::vector<uint64_t> atoms = token_atoms(layout, data, specs, 0, layout.words());
//   atoms[word * specs.size() + 1]   // the suffix of a word
//
// Two words have equal atoms exactly if they share the property (up to 64-bit collisions). ABSENT means that
// the column is empty (`_`). Atoms of different specs differ, except for ABSENT.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/treebanks/treebank_layout.hpp"

namespace arcwise {

enum class AtomKind : uint8_t {
  form,    // the word as written
  lower,   // the word in lower case
  prefix,  // its first `length` code points, in lower case
  suffix,  // its last `length` code points, in lower case
  shape,   // character classes with repeats merged: "Xx", "d.d", "XdX"
  lemma,
  upos,
  xpos,
  feats,    // the whole FEATS column
  feat,     // one value of FEATS, by `key`
  misc,     // one value of MISC, by `key`
  earlier,  // how many earlier words in the sentence share its UPOS: 0, 1, 2 or more
  later,    // how many later ones
};

struct AtomSpec {
  AtomKind kind;
  int length = 0;
  std::string key;
};

constexpr uint64_t ABSENT = 0;

// Parses a name: form, lower, prefix5, suffix3, shape, lemma, upos, xpos, feats, feats.Case, misc.Cluster,
// earlier, later. Throws std::invalid_argument, listing the known names, for anything else.
AtomSpec atom_spec(std::string_view name);

// The atoms of words first..last-1, row by row: specs.size() for each word.
std::vector<uint64_t> token_atoms(const TreebankLayout& layout, const char* data,
                                  const std::vector<AtomSpec>& specs, size_t first, size_t last);

// Columns with several values per word: those of word i are values[starts[i]] .. values[starts[i+1]-1].
struct AtomLists {
  std::vector<uint32_t> starts;
  std::vector<uint64_t> values;
  uint64_t seed = 0;  // of the hashes of values: hash_bytes(value, seed)
};

// Parses a name: feats (every single Key=Value of FEATS) or misc.KEY (the comma-separated values of that
// entry of MISC). Throws std::invalid_argument for anything else.
AtomSpec list_spec(std::string_view name);

// The values of all words.
AtomLists list_atoms(const TreebankLayout& layout, const char* data, const AtomSpec& spec);

// Counts of the values of an atom in training, stored in the model to recognise rare and unknown words.
// Sorted by descending count (ties by hash), so the `k` most frequent words are the first k.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(const std::vector<uint64_t>& values);  // counts the values, without ABSENT
  Vocabulary(std::vector<uint64_t> hashes, std::vector<uint32_t> counts);  // as stored in a model

  // The frequency rank, from 0; -1 if the value never occurred.
  int64_t rank(uint64_t hash) const;
  uint32_t count(uint64_t hash) const {
    int64_t at = rank(hash);
    return at < 0 ? 0 : counts_[at];
  }
  const std::vector<uint64_t>& hashes() const { return hashes_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

 private:
  void index();

  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> counts_;
  std::vector<int32_t> slots_;  // open addressing; -1 is free
};

// Encodes a column: codes[i] = index of the field among `strings`, or -1.
std::vector<int32_t> known_codes(const TreebankLayout& layout, const char* data, int column,
                                 const std::vector<std::string>& strings);

}  // namespace arcwise
