#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/text/chain_training.hpp"
#include "kernels/text/tagger.hpp"

namespace arcwise {
namespace {

// The words of the training data, seen as if each were new (see tagger_learn_dictionary, StemCounts).
struct TrainingWords {
  const TreebankLayout& layout;
  std::vector<uint64_t> atoms;
  std::vector<uint32_t> sets;
  StemLists stems;            // as if the word were new
  StemLists stems_of_others;  // as if its form were

  TaggerSentence sentence(size_t s, const StemLists& lists) const {
    size_t first = layout.sentence_words[s], size = layout.sentence_words[s + 1] - first;
    return {atoms.data() + first * TAGGER_ATOMS, sets.data() + first, lists.starts.data() + first,
            lists.stems.data(), size};
  }
  // Calls visit(sentence, first word) for every sentence.
  template <typename Visit>
  void each_sentence(const StemLists& lists, Visit visit) const {
    for (size_t s = 0; s < layout.sentences(); ++s) visit(sentence(s, lists), layout.sentence_words[s]);
  }
};

StemLexicon learn_stems(TrainingWords& words, const char* data, const TaggerModel& model,
                        const TaggerGold& gold) {
  StemCounts counts;
  std::string lower;
  auto each_word = [&](auto visit) {
    for (size_t word = 0; word < words.layout.words(); ++word) {
      lower.clear();
      append_lower_case(lower, words.layout.field(data, word, FORM));
      visit(words.layout.field(data, word, LEMMA), model.upos_of_state[gold.state[word]]);
    }
  };
  each_word([&](std::string_view lemma, uint16_t upos) { counts.add(lower, lemma, upos); });
  StemLexicon lexicon = counts.lexicon();
  each_word([&](std::string_view lemma, uint16_t upos) {
    counts.find_without(lexicon, lower, lemma, upos, false, words.stems);
    counts.find_without(lexicon, lower, lemma, upos, true, words.stems_of_others);
  });
  return lexicon;
}

void append_keys(Lists& lists, const std::vector<uint32_t>& keys) {
  lists.values.insert(lists.values.end(), keys.begin(), keys.end());
  lists.close();
}

void learn_chain(TaggerModel& model, const TrainingWords& words, const TaggerGold& gold,
                 const TaggerTraining& training) {
  ChainItems items;
  std::vector<uint32_t> keys;
  words.each_sentence(words.stems, [&](const TaggerSentence& sentence, size_t) {
    for (size_t i = 0; i < sentence.size; ++i) {
      keys.clear();
      state_features(sentence, i, keys);
      append_keys(items.features, keys);
    }
  });
  items.sentence_words = words.layout.sentence_words;
  items.sets = model.dictionary.sets;
  items.set = words.sets;
  items.gold.assign(gold.state, gold.state + words.layout.words());
  ChainModel chain = chain_train(items, model.states(), training.chain, training.perceptron);
  model.emissions = std::move(chain.emissions);
  model.transitions = std::move(chain.transitions);
}

void learn_bundles(TaggerModel& model, const TrainingWords& words, const TaggerGold& gold,
                   const TrainingOptions& options) {
  SoftmaxItems items;
  std::vector<uint32_t> keys;
  std::vector<uint16_t> upos;
  words.each_sentence(words.stems, [&](const TaggerSentence& sentence, size_t first) {
    upos.clear();
    for (size_t i = 0; i < sentence.size; ++i) upos.push_back(model.upos_of_state[gold.state[first + i]]);
    for (size_t i = 0; i < sentence.size; ++i) {
      auto state = static_cast<uint16_t>(gold.state[first + i]);
      if (model.bundle_task.choices(state) < 2) continue;
      keys.clear();
      bundle_features(sentence, upos.data(), i, state, keys);
      append_keys(items.features, keys);
      items.set.push_back(state);
      items.gold.push_back(static_cast<uint32_t>(gold.bundle[first + i]));
    }
  });
  model.bundle_weights = softmax_train(model.bundle_task, items, options);
}

// The bundle of each form and state that were seen `least` times or more, always with that one.
void learn_bundle_lexicon(TaggerModel& model, const std::vector<uint64_t>& atoms, const TaggerGold& gold,
                          uint32_t least) {
  if (least == 0) return;
  std::unordered_map<uint32_t, std::map<uint32_t, uint32_t>> counts;
  for (size_t word = 0; word < atoms.size() / TAGGER_ATOMS; ++word) {
    const auto state = static_cast<uint16_t>(gold.state[word]);
    if (model.bundle_task.choices(state) > 1)
      ++counts[bundle_lexicon_key(atoms[word * TAGGER_ATOMS + ATOM_LOWER], state)]
              [static_cast<uint32_t>(gold.bundle[word])];
  }
  std::unordered_map<uint32_t, uint32_t> lexicon;
  for (const auto& [key, bundles] : counts)
    if (bundles.size() == 1 && bundles.begin()->second >= least) lexicon[key] = bundles.begin()->first;
  model.bundle_lexicon = KeyTable(lexicon);
}

// The most frequent script of each (form, UPOS) and, where it is another, of each (form, UPOS, bundle); for
// the form in lower case, and where that says something else, for the form itself.
void learn_lemma_lexicon(TaggerModel& model, const std::vector<uint64_t>& atoms, const TaggerGold& gold) {
  std::unordered_map<uint32_t, std::map<uint16_t, uint32_t>> counts;
  size_t words = atoms.size() / TAGGER_ATOMS;
  auto key_of = [&](size_t word, TaggerAtom atom, int bundle) {
    uint16_t upos = model.upos_of_state[gold.state[word]];
    return lemma_lexicon_key(atoms[word * TAGGER_ATOMS + atom], upos, bundle);
  };
  for (size_t word = 0; word < words; ++word)
    for (TaggerAtom atom : {ATOM_FORM, ATOM_LOWER})
      for (int bundle : {gold.bundle[word], -1})
        ++counts[key_of(word, atom, bundle)][static_cast<uint16_t>(gold.script[word])];
  auto best = [&](uint32_t key) {
    const auto& scripts = counts[key];
    return std::max_element(scripts.begin(), scripts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  std::unordered_map<uint32_t, uint32_t> lexicon;
  for (size_t word = 0; word < words; ++word) {
    int bundle = gold.bundle[word];
    uint16_t general = best(key_of(word, ATOM_LOWER, -1));
    lexicon[key_of(word, ATOM_LOWER, -1)] = general;
    uint16_t lower = best(key_of(word, ATOM_LOWER, bundle));
    if (lower != general) lexicon[key_of(word, ATOM_LOWER, bundle)] = lower;
    uint16_t any = best(key_of(word, ATOM_FORM, -1)), own = best(key_of(word, ATOM_FORM, bundle));
    if (any != general) lexicon[key_of(word, ATOM_FORM, -1)] = any;
    if (any != general || own != lower) lexicon[key_of(word, ATOM_FORM, bundle)] = own;
  }
  model.lemma_lexicon = KeyTable(lexicon);
}

// From types, not tokens: each different (form, UPOS, bundle, script) counts once, as new words will.
void learn_lemmas(TaggerModel& model, const TrainingWords& words, const TaggerGold& gold,
                  const TrainingOptions& options) {
  SoftmaxItems items;
  std::set<uint64_t> seen;
  std::vector<uint32_t> keys;
  words.each_sentence(words.stems_of_others, [&](const TaggerSentence& sentence, size_t first) {
    for (size_t i = 0; i < sentence.size; ++i) {
      auto bundle = static_cast<uint16_t>(gold.bundle[first + i]);
      auto state = static_cast<uint16_t>(gold.state[first + i]);
      auto script = static_cast<uint32_t>(gold.script[first + i]);
      uint64_t form = sentence.atoms[i * TAGGER_ATOMS + ATOM_FORM];
      if (!seen.insert(hash_pair(hash_pair(form, bundle), hash_pair(state, script))).second) continue;
      keys.clear();
      lemma_features(sentence, i, model.upos_of_state[state], bundle, keys);
      append_keys(items.features, keys);
      items.set.push_back(model.upos_of_state[state]);
      items.gold.push_back(script);
    }
  });
  model.lemma_weights = softmax_train(model.lemma_task, items, options);
}

}  // namespace

void tagger_train(TaggerModel& model, const TreebankLayout& layout, const char* data, const TaggerGold& gold,
                  const TaggerTraining& training) {
  TrainingWords words{layout, token_atoms(layout, data, tagger_atom_specs(), 0, layout.words()), {}, {}, {}};
  words.sets = tagger_learn_dictionary(words.atoms, gold.state, training.trusted_count, training.rare_state,
                                       model.dictionary);
  model.stems = learn_stems(words, data, model, gold);
  learn_chain(model, words, gold, training);
  learn_bundles(model, words, gold, training.bundle);
  learn_bundle_lexicon(model, words.atoms, gold, training.bundle_lexicon_count);
  learn_lemma_lexicon(model, words.atoms, gold);
  learn_lemmas(model, words, gold, training.lemma);
}

}  // namespace arcwise
