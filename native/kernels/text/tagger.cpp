#include "kernels/text/tagger.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

constexpr uint64_t OUTSIDE = 0x5EED;  // atom of a word before or after the sentence

// Hashes of the properties of the words around one word, and the keys of features made of them.
class Neighbourhood {
 public:
  Neighbourhood(const TaggerSentence& sentence, size_t word, std::vector<uint32_t>& keys)
      : sentence_(sentence), word_(static_cast<int64_t>(word)), keys_(keys) {}

  uint64_t atom(int offset, TaggerAtom atom) const {
    int64_t at = word_ + offset;
    if (at < 0 || at >= static_cast<int64_t>(sentence_.size)) return OUTSIDE + (at < 0);
    return sentence_.atoms[at * TAGGER_ATOMS + atom];
  }
  uint64_t set(int offset) const {
    int64_t at = word_ + offset;
    if (at < 0 || at >= static_cast<int64_t>(sentence_.size)) return OUTSIDE + (at < 0);
    return sentence_.sets[at];
  }
  void feature(uint64_t a) { keys_.push_back(feature_key(hash_pair(a, ++number_))); }
  void feature(uint64_t a, uint64_t b) { feature(hash_pair(a, b)); }
  void feature(uint64_t a, uint64_t b, uint64_t c) { feature(hash_pair(hash_pair(a, b), c)); }

 private:
  const TaggerSentence& sentence_;
  int64_t word_;
  std::vector<uint32_t>& keys_;
  uint64_t number_ = 0;
};

// The only bundle that a word may take in a state, or that it always had there; -1: it must be scored.
int known_bundle(const TaggerModel& model, const uint64_t* atoms, uint16_t state) {
  if (model.bundle_task.choices(state) == 1)
    return static_cast<int>(*model.bundle_task.candidates_of_set.begin(state));
  const uint32_t* found = model.bundle_lexicon.find(bundle_lexicon_key(atoms[ATOM_LOWER], state));
  return found ? static_cast<int>(*found) : -1;
}

// The lemma script that training saw with a word, or null.
const uint32_t* known_script(const TaggerModel& model, const uint64_t* atoms, uint16_t upos, int bundle) {
  for (TaggerAtom atom : {ATOM_FORM, ATOM_LOWER})
    for (int known_bundle : {bundle, -1})
      if (const uint32_t* found =
              model.lemma_lexicon.find(lemma_lexicon_key(atoms[atom], upos, known_bundle)))
        return found;
  return nullptr;
}

// Whether tables alone tell state, bundle and lemma of a word, so that nobody asks for its stems.
bool is_looked_up(const TaggerModel& model, const uint64_t* atoms, uint32_t set) {
  const Lists& sets = model.dictionary.sets;
  if (sets.end(set) - sets.begin(set) != 1) return false;
  const auto state = static_cast<uint16_t>(*sets.begin(set));
  return known_bundle(model, atoms, state) >= 0 &&
         model.lemma_lexicon.find(lemma_lexicon_key(atoms[ATOM_LOWER], model.upos_of_state[state], -1));
}

void look_up(const TaggerModel& model, const TreebankLayout& layout, const char* data, size_t first,
             size_t count, const KeptTags& kept, TaggerWorkspace& w) {
  w.atoms = token_atoms(layout, data, w.specs, first, first + count);
  w.sets.resize(count);
  w.stems.clear();
  for (size_t i = 0; i < count; ++i) {
    w.sets[i] = model.dictionary.find(w.atoms.data() + i * TAGGER_ATOMS);
    if (!kept.of_word && is_looked_up(model, w.atoms.data() + i * TAGGER_ATOMS, w.sets[i])) {
      w.stems.skip();
      continue;
    }
    w.lower.clear();
    append_lower_case(w.lower, layout.field(data, first + i, FORM));
    model.stems.find(w.lower, w.stems);
  }
}

// w.possible: the numbers from..to that are among kept..kept_end; all of these, if there are none; from..to, if nothing is kept.
void find_possible(const uint32_t* from, const uint32_t* to, const uint32_t* kept, const uint32_t* kept_end,
                   TaggerWorkspace& w) {
  w.possible.clear();
  std::copy_if(from, to, std::back_inserter(w.possible), [&](uint32_t number) {
    return kept == kept_end || std::find(kept, kept_end, number) != kept_end;
  });
  if (w.possible.empty()) w.possible.assign(kept, kept_end);
}

void decode_states(const TaggerModel& model, const TaggerSentence& sentence, const KeptTags& kept,
                   size_t first, TaggedWord* out, TaggerWorkspace& w) {
  w.chain.clear();
  for (size_t i = 0; i < sentence.size; ++i) {
    const Lists& sets = model.dictionary.sets;
    find_possible(sets.begin(sentence.sets[i]), sets.end(sentence.sets[i]),
                  kept.begin(kept.states, first + i), kept.end(kept.states, first + i), w);
    w.scores.assign(static_cast<size_t>(model.states()), 0.0f);
    // The emission of an only state is a constant factor of all sequences.
    if (w.possible.size() > 1) {
      w.keys.clear();
      state_features(sentence, i, w.keys);
      model.emissions.add_all(w.keys, w.scores.data());
    }
    for (uint32_t s : w.possible) {
      w.chain.states.push_back(static_cast<uint16_t>(s));
      w.chain.emissions.push_back(w.scores[s]);
    }
    w.chain.close();
  }
  chain_marginals(w.chain, model.transitions, w.chain_workspace);
  // The UPOS with the largest probability, and in it the state with the largest.
  for (size_t i = 0; i < sentence.size; ++i) {
    w.scores.assign(static_cast<size_t>(model.upos_count), 0.0f);
    for (uint32_t c = w.chain.starts[i]; c < w.chain.starts[i + 1]; ++c)
      w.scores[model.upos_of_state[w.chain.states[c]]] += static_cast<float>(w.chain_workspace.marginals[c]);
    auto upos = static_cast<uint16_t>(std::max_element(w.scores.begin(), w.scores.end()) - w.scores.begin());
    double top = -1;
    for (uint32_t c = w.chain.starts[i]; c < w.chain.starts[i + 1]; ++c) {
      if (model.upos_of_state[w.chain.states[c]] != upos || w.chain_workspace.marginals[c] <= top) continue;
      top = w.chain_workspace.marginals[c];
      out[i].state = w.chain.states[c];
    }
    out[i].upos_probability = std::min(w.scores[upos], 1.0f);
    w.upos[i] = upos;
  }
}

// The best candidate of a set, among those that are allowed if any of it is.
template <typename Allowed>
uint16_t choose(const SoftmaxTask& task, size_t set, const SparseLinear& weights, Allowed allowed,
                TaggerWorkspace& w) {
  const uint32_t* candidates = task.candidates_of_set.begin(set);
  if (task.choices(set) == 1) return static_cast<uint16_t>(candidates[0]);
  w.softmax.output_scores.assign(task.output_count, 0.0f);
  weights.add_all(w.keys, w.softmax.output_scores.data());
  size_t best = softmax_probabilities(task, set, w.softmax);
  float most = -1;
  for (size_t c = 0; c < task.choices(set); ++c)
    if (w.softmax.candidate_scores[c] > most && allowed(candidates[c])) {
      most = w.softmax.candidate_scores[c];
      best = c;
    }
  return static_cast<uint16_t>(candidates[best]);
}

uint16_t decode_lemma(const TaggerModel& model, const TaggerSentence& sentence, size_t word, uint16_t upos,
                      uint16_t bundle, std::string_view form, TaggerWorkspace& w) {
  const uint64_t* atoms = sentence.atoms + word * TAGGER_ATOMS;
  if (const uint32_t* script = known_script(model, atoms, upos, bundle))
    return static_cast<uint16_t>(*script);
  w.keys.clear();
  lemma_features(sentence, word, upos, bundle, w.keys);
  w.lower.clear();
  append_lower_case(w.lower, form);
  const size_t characters = utf8_count(w.lower);
  return choose(
      model.lemma_task, upos, model.lemma_weights,
      [&](uint32_t script) { return model.script_fits[script].fits(w.lower, characters); }, w);
}

}  // namespace

bool ScriptFit::fits(std::string_view lower_form, size_t characters) const {
  auto begins = [&](std::string_view text) { return lower_form.starts_with(text); };
  auto ends = [&](std::string_view text) { return lower_form.ends_with(text); };
  return characters >= shortest &&
         (beginnings.empty() || std::any_of(beginnings.begin(), beginnings.end(), begins)) &&
         (endings.empty() || std::any_of(endings.begin(), endings.end(), ends));
}

std::vector<AtomSpec> tagger_atom_specs() {
  std::vector<AtomSpec> specs;
  for (const char* name : {"form", "lower", "shape", "prefix1", "prefix2", "prefix3", "prefix4", "suffix1",
                           "suffix2", "suffix3", "suffix4", "suffix5", "suffix6"})
    specs.push_back(atom_spec(name));
  return specs;
}

std::array<uint32_t, WORD_KEYS> word_keys(const uint64_t* atoms) {
  auto ending = [&](TaggerAtom suffix) { return feature_key(hash_pair(atoms[suffix], atoms[ATOM_SHAPE])); };
  return {feature_key(atoms[ATOM_FORM]), feature_key(atoms[ATOM_LOWER]), ending(ATOM_SUFFIX4),
          ending(ATOM_SUFFIX3), ending(ATOM_SUFFIX2)};
}

uint32_t TagDictionary::find(const uint64_t* atoms) const {
  for (uint32_t key : word_keys(atoms))
    if (const uint32_t* found = set_of_key.find(key)) return *found;
  return 0;
}

void state_features(const TaggerSentence& sentence, size_t word, std::vector<uint32_t>& keys) {
  Neighbourhood n(sentence, word, keys);
  uint64_t lower = n.atom(0, ATOM_LOWER), set = n.set(0);
  uint64_t shape = n.atom(0, ATOM_SHAPE), suffix3 = n.atom(0, ATOM_SUFFIX3);
  n.feature(0);
  for (int atom = ATOM_FORM; atom <= ATOM_SUFFIX6; ++atom)
    n.feature(n.atom(0, static_cast<TaggerAtom>(atom)));
  n.feature(set);
  n.feature(shape, word == 0);
  n.feature(shape, n.atom(-1, ATOM_SHAPE));
  n.feature(shape, n.atom(1, ATOM_SHAPE));
  n.feature(shape, suffix3);
  n.feature(shape, set);
  n.feature(shape, n.set(-1));
  n.feature(shape, n.atom(-1, ATOM_LOWER));
  n.feature(shape, n.atom(1, ATOM_LOWER));
  for (int offset : {-2, -1, 1, 2}) {
    n.feature(n.atom(offset, ATOM_LOWER));
    n.feature(n.set(offset));
  }
  for (int offset : {-1, 1}) {
    n.feature(n.atom(offset, ATOM_SUFFIX3));
    n.feature(n.atom(offset, ATOM_SUFFIX2));
    n.feature(n.atom(offset, ATOM_SHAPE));
    n.feature(lower, n.atom(offset, ATOM_LOWER));
    n.feature(lower, n.set(offset));
    n.feature(set, n.set(offset));
    n.feature(set, n.atom(offset, ATOM_LOWER));
    n.feature(suffix3, n.set(offset));
    n.feature(suffix3, n.atom(offset, ATOM_LOWER));
  }
  n.feature(n.set(-1), n.set(1));
  n.feature(n.set(-1), set, n.set(1));
  n.feature(n.set(-2), n.set(-1));
  n.feature(n.set(1), n.set(2));
  n.feature(n.set(-2), n.set(-1), set);
  n.feature(set, n.set(1), n.set(2));
  n.feature(n.atom(-1, ATOM_LOWER), n.atom(1, ATOM_LOWER));
  n.feature(n.atom(-2, ATOM_LOWER), n.atom(-1, ATOM_LOWER));
  n.feature(n.atom(1, ATOM_LOWER), n.atom(2, ATOM_LOWER));
  n.feature(sentence.size == 1, shape);
  Stem longest = sentence.stem(word, 0), second = sentence.stem(word, 1);
  n.feature(longest.upos);
  n.feature(longest.ending);
  n.feature(longest.ending, longest.upos);
  n.feature(second.ending, second.upos);
  n.feature(longest.upos, second.upos, second.ending);
  n.feature(longest.skeleton, longest.upos);
  n.feature(second.skeleton, second.upos);
  n.feature(longest.start, longest.upos);
}

void bundle_features(const TaggerSentence& sentence, const uint16_t* upos, size_t word, uint16_t state,
                     std::vector<uint32_t>& keys) {
  Neighbourhood n(sentence, word, keys);
  auto tag = [&](int offset) -> uint64_t {
    int64_t at = static_cast<int64_t>(word) + offset;
    return at < 0 || at >= static_cast<int64_t>(sentence.size) ? 99 : upos[at];
  };
  uint64_t own = state, suffix2 = n.atom(0, ATOM_SUFFIX2), suffix3 = n.atom(0, ATOM_SUFFIX3);
  n.feature(0);
  n.feature(own);
  for (int atom = ATOM_FORM; atom <= ATOM_SUFFIX6; ++atom)
    n.feature(n.atom(0, static_cast<TaggerAtom>(atom)), own);
  for (int offset : {-2, -1, 1, 2}) n.feature(n.atom(offset, ATOM_LOWER), own);
  for (int offset : {-1, 1}) {
    n.feature(tag(offset), own);
    n.feature(tag(offset), suffix2);
    n.feature(tag(offset), n.atom(0, ATOM_LOWER));
    n.feature(n.atom(offset, ATOM_LOWER), n.atom(0, ATOM_LOWER));
    n.feature(n.atom(offset, ATOM_LOWER), suffix2, own);
    n.feature(n.atom(offset, ATOM_SUFFIX2), suffix2, own);
    n.feature(n.atom(offset, ATOM_SUFFIX3), suffix3, own);
    n.feature(n.atom(offset, ATOM_SUFFIX3), own);
    n.feature(n.atom(offset, ATOM_SUFFIX2), own);
  }
  n.feature(tag(-2), tag(-1), own);
  n.feature(tag(1), tag(2), own);
  n.feature(tag(-1), tag(1), hash_pair(own, suffix2));
  for (int rank : {0, 1}) {
    Stem any = sentence.stem(word, rank), fitting = sentence.stem(word, rank, upos_bit(upos[word]));
    n.feature(any.ending, any.upos, own);
    n.feature(fitting.ending, own);
    n.feature(fitting.skeleton, own);
    n.feature(fitting.start, own);
  }
}

void lemma_features(const TaggerSentence& sentence, size_t word, uint16_t upos, uint16_t bundle,
                    std::vector<uint32_t>& keys) {
  const uint64_t* atoms = sentence.atoms + word * TAGGER_ATOMS;
  uint64_t number = 0;
  auto feature = [&](uint64_t a, uint64_t b) {
    keys.push_back(feature_key(hash_pair(hash_pair(a, b), ++number)));
  };
  feature(1, upos);
  feature(2, bundle);
  for (int atom = ATOM_SHAPE; atom <= ATOM_SUFFIX6; ++atom) {
    feature(atoms[atom], upos);
    feature(atoms[atom], hash_pair(bundle, 1));
  }
  Stem longest = sentence.stem(word, 0, upos_bit(upos)), second = sentence.stem(word, 1, upos_bit(upos));
  feature(longest.ending, upos);
  feature(longest.ending, hash_pair(bundle, 1));
  feature(second.ending, hash_pair(bundle, 1));
  feature(longest.ending, hash_pair(second.ending, bundle));
  feature(longest.skeleton, hash_pair(bundle, 1));
  feature(longest.length, upos);
  feature(longest.length, hash_pair(bundle, 1));
  feature(second.length, upos);
  feature(second.length, hash_pair(bundle, 1));
  feature(longest.length, hash_pair(second.length, upos));
  feature(longest.length, hash_pair(longest.start, upos));
}

uint32_t bundle_lexicon_key(uint64_t lower_atom, uint16_t state) {
  return feature_key(hash_pair(lower_atom, state));
}

uint32_t lemma_lexicon_key(uint64_t form_atom, uint16_t upos, int bundle) {
  return feature_key(
      hash_pair(form_atom, static_cast<uint64_t>(upos) << 32 | static_cast<uint64_t>(bundle + 1)));
}

void tagger_decode(const TaggerModel& model, const TreebankLayout& layout, const char* data, size_t first,
                   size_t count, const KeptTags& kept, TaggedWord* out, TaggerWorkspace& w) {
  if (count == 0) return;
  look_up(model, layout, data, first, count, kept, w);
  w.upos.resize(count);
  TaggerSentence sentence{w.atoms.data(), w.sets.data(), w.stems.starts.data(), w.stems.stems.data(), count};
  decode_states(model, sentence, kept, first, out, w);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t *bundles = kept.begin(kept.bundles, first + i), *end = kept.end(kept.bundles, first + i);
    const int bundle =
        bundles == end ? known_bundle(model, w.atoms.data() + i * TAGGER_ATOMS, out[i].state) : -1;
    if (bundle >= 0) {
      out[i].bundle = static_cast<uint16_t>(bundle);
    } else {
      w.keys.clear();
      if (model.bundle_task.choices(out[i].state) > 1)
        bundle_features(sentence, w.upos.data(), i, out[i].state, w.keys);
      out[i].bundle = choose(
          model.bundle_task, out[i].state, model.bundle_weights,
          [&](uint32_t candidate) { return std::find(bundles, end, candidate) != end; }, w);
    }
    out[i].script =
        decode_lemma(model, sentence, i, w.upos[i], out[i].bundle, layout.field(data, first + i, FORM), w);
  }
}

}  // namespace arcwise
