// UPOS, XPOS, FEATS and lemma of every word, in three steps:
//
//   1. a linear-chain model over states (a state is an UPOS, or an UPOS with its XPOS where those are few),
//   2. among the bundles (XPOS, FEATS) that training saw with the state, a log-linear choice that shares what
//      bundles have in common, given the states of the neighbours,
//   3. a lemma script: the one training saw with this word and bundle, or else a log-linear choice.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/key_table.hpp"
#include "kernels/features/token_atoms.hpp"
#include "kernels/learning/softmax.hpp"
#include "kernels/learning/sparse_linear.hpp"
#include "kernels/text/chain.hpp"
#include "kernels/text/stems.hpp"

namespace arcwise {

// The atoms of a word that the tagger looks at, in this order (see tagger_atom_specs).
enum TaggerAtom {
  ATOM_FORM,
  ATOM_LOWER,
  ATOM_SHAPE,
  ATOM_PREFIX1,
  ATOM_PREFIX2,
  ATOM_PREFIX3,
  ATOM_PREFIX4,
  ATOM_SUFFIX1,
  ATOM_SUFFIX2,
  ATOM_SUFFIX3,
  ATOM_SUFFIX4,
  ATOM_SUFFIX5,
  ATOM_SUFFIX6,
  TAGGER_ATOMS
};
std::vector<AtomSpec> tagger_atom_specs();

// Which states training saw with a form, or, for a form it did not see, with rare words of the same ending
// and shape. Set 0 is for words of which nothing is known: the open classes.
struct TagDictionary {
  KeyTable set_of_key;  // see word_keys
  Lists sets;

  uint32_t find(const uint64_t* atoms) const;
};

// The keys under which a word is looked up, in this order: its form, its form in lower case, and with its
// shape its last 4, 3 and 2 letters.
constexpr size_t FORM_KEYS = 2, WORD_KEYS = 5;
std::array<uint32_t, WORD_KEYS> word_keys(const uint64_t* atoms);

// Which forms that the lexicon does not have may take a lemma script. Empty lists: any beginning or ending.
struct ScriptFit {
  uint16_t shortest;  // in characters
  std::vector<std::string> beginnings, endings;

  bool fits(std::string_view lower_form, size_t characters) const;
};

struct TaggerModel {
  int upos_count = 0;
  std::vector<uint16_t> upos_of_state;
  TagDictionary dictionary;
  StemLexicon stems;
  SparseLinear emissions;
  Transitions transitions;
  SoftmaxTask bundle_task;  // candidate = bundle, set = state
  SparseLinear bundle_weights;
  KeyTable bundle_lexicon;  // the only bundle of forms that were seen often; see bundle_lexicon_key
  SoftmaxTask lemma_task;   // candidate = script, set = UPOS
  SparseLinear lemma_weights;
  KeyTable lemma_lexicon;              // see lemma_lexicon_key
  std::vector<ScriptFit> script_fits;  // of each script

  int states() const { return static_cast<int>(upos_of_state.size()); }
};

struct TaggedWord {
  uint16_t state, bundle, script;
  float upos_probability;
};

// What the words of a sentence are: their atoms, dictionary sets and stems.
struct TaggerSentence {
  const uint64_t* atoms;        // TAGGER_ATOMS per word
  const uint32_t* sets;         // dictionary set of each word
  const uint32_t* stem_starts;  // of each word, and one more
  const Stem* stems;            // see StemLists
  size_t size;

  // Stem `rank` of a word (0 is the longest), among those seen with one of the UPOS of `upos`.
  Stem stem(size_t word, int rank, uint32_t upos = ~uint32_t{0}) const {
    for (uint32_t at = stem_starts[word]; at < stem_starts[word + 1]; ++at)
      if (stems[at].upos & upos && rank-- == 0) return stems[at];
    return {};
  }
};

void state_features(const TaggerSentence& sentence, size_t word, std::vector<uint32_t>& keys);
void bundle_features(const TaggerSentence& sentence, const uint16_t* upos, size_t word, uint16_t state,
                     std::vector<uint32_t>& keys);
void lemma_features(const TaggerSentence& sentence, size_t word, uint16_t upos, uint16_t bundle,
                    std::vector<uint32_t>& keys);
uint32_t bundle_lexicon_key(uint64_t lower_atom, uint16_t state);
uint32_t lemma_lexicon_key(uint64_t form_atom, uint16_t upos, int bundle);  // bundle -1: any

struct TaggerWorkspace {
  std::vector<AtomSpec> specs = tagger_atom_specs();
  Chain chain;
  ChainWorkspace chain_workspace;
  SoftmaxWorkspace softmax;
  std::vector<uint64_t> atoms;
  StemLists stems;
  std::string lower;
  std::vector<uint32_t> sets, keys, possible;
  std::vector<uint16_t> upos;
  std::vector<float> scores;
};

// What is known of words before they are tagged: word i (of the treebank) takes one of the states and one of the bundles of set
// of_word[i]; an empty list leaves all open. of_word may be null.
struct KeptTags {
  const int32_t* of_word = nullptr;
  Lists states, bundles;

  const uint32_t* begin(const Lists& lists, size_t word) const {
    return of_word ? lists.begin(of_word[word]) : nullptr;
  }
  const uint32_t* end(const Lists& lists, size_t word) const {
    return of_word ? lists.end(of_word[word]) : nullptr;
  }
};

// Tags the words first .. first+count-1 (one sentence) into `out`.
void tagger_decode(const TaggerModel& model, const TreebankLayout& layout, const char* data, size_t first,
                   size_t count, const KeptTags& kept, TaggedWord* out, TaggerWorkspace& workspace);

// ---- learning

struct TaggerGold {  // one value per word of the treebank
  const int32_t* state;
  const int32_t* bundle;
  const int32_t* script;
};
struct TaggerTraining {
  TrainingOptions chain, bundle, lemma;
  bool perceptron = false;     // averaged structured perceptron instead of the conditional log-likelihood
  uint32_t trusted_count = 5;  // a form seen so often takes no other state than those seen
  double rare_state = 0.003;   // a state seen with less than this share of a form is taken for an error
  uint32_t bundle_lexicon_count =
      0;  // a form and state seen so often with one bundle take it unscored; 0: none
};

// Learns which states each word may take, from its atoms (TAGGER_ATOMS per word) and state. Returns the set
// of each word looked up as if it had not been seen here ("leave one out"), so that words seen once teach
// what unknown words are like.
std::vector<uint32_t> tagger_learn_dictionary(const std::vector<uint64_t>& atoms, const int32_t* state,
                                              uint32_t trusted_count, double rare_state,
                                              TagDictionary& dictionary);

// `model` comes with its alphabets (upos_of_state, tasks); the rest is learned.
void tagger_train(TaggerModel& model, const TreebankLayout& layout, const char* data, const TaggerGold& gold,
                  const TaggerTraining& training);

}  // namespace arcwise
