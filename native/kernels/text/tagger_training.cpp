#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "kernels/base/hashing.hpp"
#include "kernels/text/tagger.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

constexpr double RARE_STATE = 0.003;    // of a form: seen in less than this share, it is taken for an error
constexpr size_t OPEN_CLASS_FORMS = 3;  // a state with as many words seen once is open to new words

constexpr double RARE_STATE_OF_AN_ENDING = 0.1;
constexpr uint32_t RARE_FORM = 5;            // forms seen no more often tell what endings mean
constexpr uint32_t ENOUGH_OF_AN_ENDING = 4;  // words with an ending, for it to tell anything

using StateCounts = std::map<uint16_t, uint32_t>;

uint32_t total_of(const StateCounts& counts) {
  uint32_t total = 0;
  for (const auto& [state, count] : counts) total += count;
  return total;
}

// Builds the dictionary. In training, each word is looked up as if it had not been seen here ("leave one
// out"), so that words seen once teach the model what unknown words are like.
class DictionaryBuilder {
 public:
  DictionaryBuilder(const std::vector<uint64_t>& atoms, const int32_t* state, uint32_t trusted_count)
      : atoms_(atoms), state_(state), trusted_count_(trusted_count) {
    size_t words = atoms.size() / TAGGER_ATOMS;
    for (size_t word = 0; word < words; ++word) count(word, 0, FORM_KEYS);
    for (size_t word = 0; word < words; ++word)
      if (total_of(counts_[keys(word)[0]]) <= RARE_FORM) count(word, FORM_KEYS, WORD_KEYS);
    find_open_states();
  }

  uint32_t set_without(size_t word, TagDictionary& dictionary) {
    auto gold = static_cast<uint16_t>(state_[word]);
    bool rare = total_of(counts_[keys(word)[0]]) <= RARE_FORM;
    for (size_t kind = 0; kind < WORD_KEYS; ++kind) {
      StateCounts others = counts_[keys(word)[kind]];
      if (kind < FORM_KEYS || rare)
        if (--others[gold] == 0) others.erase(gold);
      if (is_enough(others, kind)) return set_of(others, kind, dictionary);
    }
    return 0;
  }

  void finish(TagDictionary& dictionary) {
    std::unordered_map<uint32_t, uint32_t> set_of_key;
    for (size_t word = 0; word < atoms_.size() / TAGGER_ATOMS; ++word)
      for (size_t kind = 0; kind < WORD_KEYS; ++kind) {
        uint32_t key = keys(word)[kind];
        if (!set_of_key.count(key) && is_enough(counts_[key], kind))
          set_of_key[key] = set_of(counts_[key], kind, dictionary);
      }
    dictionary.set_of_key = KeyTable(set_of_key);
  }

  void add_open_set(TagDictionary& dictionary) const {
    for (uint16_t state : open_) dictionary.sets.add(state);
    dictionary.sets.close();
  }

 private:
  std::array<uint32_t, WORD_KEYS> keys(size_t word) const {
    return word_keys(atoms_.data() + word * TAGGER_ATOMS);
  }
  void count(size_t word, size_t first_kind, size_t last_kind) {
    for (size_t kind = first_kind; kind < last_kind; ++kind)
      ++counts_[keys(word)[kind]][static_cast<uint16_t>(state_[word])];
  }
  static bool is_enough(const StateCounts& counts, size_t kind) {
    return kind < FORM_KEYS ? !counts.empty() : total_of(counts) >= ENOUGH_OF_AN_ENDING;
  }

  void find_open_states() {
    std::map<uint16_t, size_t> seen_once;
    std::set<uint16_t> all;
    for (const auto& [key, counts] : counts_) {
      if (total_of(counts) == 1) ++seen_once[counts.begin()->first];
      for (const auto& [state, count] : counts) all.insert(state);
    }
    for (const auto& [state, forms] : seen_once)
      if (forms >= OPEN_CLASS_FORMS) open_.insert(state);
    if (open_.empty()) open_ = all;
  }

  // Sets are numbered by what was seen; candidates are these states, and the open ones where that is little.
  uint32_t set_of(const StateCounts& counts, size_t kind, TagDictionary& dictionary) {
    uint32_t total = total_of(counts);
    bool is_form = kind < FORM_KEYS, trusted = is_form && total >= trusted_count_;
    std::vector<uint16_t> kept{static_cast<uint16_t>(is_form ? 2 * kind + trusted : 4)};
    for (const auto& [state, count] : counts)
      if (count >= (is_form ? RARE_STATE : RARE_STATE_OF_AN_ENDING) * total) kept.push_back(state);
    auto [place, is_new] = numbers_.emplace(kept, static_cast<uint32_t>(dictionary.sets.size()));
    if (is_new) {
      std::set<uint16_t> states(kept.begin() + 1, kept.end());
      if (!trusted) states.insert(open_.begin(), open_.end());
      for (uint16_t state : states) dictionary.sets.add(state);
      dictionary.sets.close();
    }
    return place->second;
  }

  const std::vector<uint64_t>& atoms_;
  const int32_t* state_;
  uint32_t trusted_count_;
  std::unordered_map<uint32_t, StateCounts> counts_;
  std::map<std::vector<uint16_t>, uint32_t> numbers_;
  std::set<uint16_t> open_;
};

// Weights and the running sum that their average over all steps needs (Collins 2002).
class Averaged {
 public:
  explicit Averaged(std::vector<float>& weights) : weights_(weights), sums_(weights.size(), 0.0) {}
  void add(size_t at, float delta, double step) {
    weights_[at] += delta;
    sums_[at] += step * delta;
  }
  // average = w − (Σ step · delta) / steps
  void finish(double steps) {
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] -= static_cast<float>(sums_[i] / steps);
  }

 private:
  std::vector<float>& weights_;
  std::vector<double> sums_;
};

class ChainTrainer {
 public:
  ChainTrainer(TaggerModel& model, Lists features, const TreebankLayout& layout,
               const std::vector<uint32_t>& sets, const int32_t* gold, const TaggerTraining& training)
      : model_(model),
        features_(std::move(features)),
        layout_(layout),
        sets_(sets),
        gold_(gold),
        options_(training.chain) {
    Lists outputs;
    for (size_t word = 0; word < layout.words(); ++word) {
      outputs.add(static_cast<uint32_t>(gold[word]));
      outputs.close();
    }
    model_.emissions = SparseLinear::supported(features_, outputs, options_.min_count);
    model_.transitions = Transitions(model_.states());
    if (training.perceptron)
      learn_perceptron();
    else
      learn_likelihood();
  }

 private:
  template <typename Step, typename EndEpoch>
  void each_sentence(Step step, EndEpoch end_epoch) {
    std::vector<uint32_t> order(layout_.sentences());
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      shuffle(order, options_.seed, epoch);
      for (uint32_t s : order) {
        first_ = layout_.sentence_words[s];
        size_ = layout_.sentence_words[s + 1] - first_;
        if (size_ == 0) continue;
        build_chain();
        step();
      }
      end_epoch(epoch);
    }
  }

  void build_chain() {
    chain_.clear();
    gold_places_.clear();
    for (size_t word = first_; word < first_ + size_; ++word) {
      scores_.assign(static_cast<size_t>(model_.states()), 0.0f);
      for (const uint32_t* f = features_.begin(word); f != features_.end(word); ++f)
        model_.emissions.add_row(*f, scores_.data());
      const Lists& sets = model_.dictionary.sets;
      int64_t gold = -1;
      auto add = [&](uint32_t state) {
        if (static_cast<int32_t>(state) == gold_[word]) gold = static_cast<int64_t>(chain_.states.size());
        chain_.states.push_back(static_cast<uint16_t>(state));
        chain_.emissions.push_back(scores_[state]);
      };
      for (const uint32_t* s = sets.begin(sets_[word]); s != sets.end(sets_[word]); ++s) add(*s);
      if (gold < 0) add(static_cast<uint32_t>(gold_[word]));
      gold_places_.push_back(static_cast<uint32_t>(gold));
      chain_.close();
    }
  }

  // Calls pair(a, b) for the transitions on the path of the given places.
  template <typename Pair>
  void each_transition(const std::vector<uint32_t>& path, Pair pair) {
    int before = model_.transitions.boundary();
    for (uint32_t place : path) {
      pair(before, chain_.states[place]);
      before = chain_.states[place];
    }
    pair(before, model_.transitions.boundary());
  }

  void learn_likelihood() {
    AdaGrad emissions(model_.emissions.weights(), options_);
    std::vector<float> scores = model_.transitions.scores();
    TrainingOptions unpruned = options_;
    unpruned.prune = 0.0f;
    AdaGrad transitions(scores, unpruned);
    std::vector<float> gradient(static_cast<size_t>(model_.states()), 0.0f);
    std::vector<float> pair_gradient(model_.transitions.scores().size(), 0.0f);
    std::vector<size_t> touched;
    auto step = [&] {
      chain_marginals(chain_, model_.transitions, workspace_);
      auto pair = [&](int a, int b, double p) {
        size_t at = model_.transitions.place(a, b);
        if (pair_gradient[at] == 0.0f) touched.push_back(at);
        pair_gradient[at] += static_cast<float>(p);
      };
      chain_pair_marginals(chain_, model_.transitions, workspace_, pair);
      each_transition(gold_places_, [&](int a, int b) { pair(a, b, -1.0); });
      for (size_t i = 0; i < size_; ++i) {
        // ∂loss/∂emission(i, s) = p(s_i = s) − [s is gold]
        for (uint32_t c = chain_.starts[i]; c < chain_.starts[i + 1]; ++c) {
          auto p = static_cast<float>(workspace_.marginals[c]) - (c == gold_places_[i] ? 1.0f : 0.0f);
          gradient[chain_.states[c]] = std::fabs(p) < 1e-4f ? 0.0f : p;
        }
        for (const uint32_t* f = features_.begin(first_ + i); f != features_.end(first_ + i); ++f)
          emissions.step_row(model_.emissions, *f, gradient.data());
        for (uint32_t c = chain_.starts[i]; c < chain_.starts[i + 1]; ++c) gradient[chain_.states[c]] = 0.0f;
      }
      for (size_t at : touched) {
        transitions.step(at, pair_gradient[at]);
        model_.transitions.set(at, scores[at]);
        pair_gradient[at] = 0.0f;
      }
      touched.clear();
    };
    each_sentence(step, [&](int epoch) {
      emissions.end_epoch(epoch);
      transitions.end_epoch(epoch);
    });
    emissions.finish();
    transitions.finish();
    set_transitions(scores);
  }

  void learn_perceptron() {
    Averaged emissions(model_.emissions.weights());
    std::vector<float> scores = model_.transitions.scores();
    Averaged transitions(scores);
    double steps = 0;
    auto move_pair = [&](int a, int b, float delta) {
      size_t at = model_.transitions.place(a, b);
      transitions.add(at, delta, steps);
      model_.transitions.set(at, scores[at]);
    };
    auto move = [&](size_t word, uint16_t state, float delta) {
      for (const uint32_t* f = features_.begin(word); f != features_.end(word); ++f)
        for (uint32_t at = model_.emissions.starts()[*f]; at < model_.emissions.starts()[*f + 1]; ++at)
          if (model_.emissions.outputs()[at] == state) emissions.add(at, delta, steps);
    };
    auto step = [&] {
      steps += 1;
      chain_decode(chain_, model_.transitions, workspace_);
      if (workspace_.path == gold_places_) return;
      for (size_t i = 0; i < size_; ++i) {
        if (workspace_.path[i] == gold_places_[i]) continue;
        move(first_ + i, chain_.states[gold_places_[i]], 1.0f);
        move(first_ + i, chain_.states[workspace_.path[i]], -1.0f);
      }
      each_transition(gold_places_, [&](int a, int b) { move_pair(a, b, 1.0f); });
      each_transition(workspace_.path, [&](int a, int b) { move_pair(a, b, -1.0f); });
    };
    each_sentence(step, [](int) {});
    emissions.finish(steps + 1);
    transitions.finish(steps + 1);
    set_transitions(scores);
  }

  void set_transitions(const std::vector<float>& scores) {
    for (size_t at = 0; at < scores.size(); ++at) model_.transitions.set(at, scores[at]);
  }

  TaggerModel& model_;
  Lists features_;
  const TreebankLayout& layout_;
  const std::vector<uint32_t>& sets_;
  const int32_t* gold_;
  TrainingOptions options_;
  Chain chain_;
  ChainWorkspace workspace_;
  std::vector<uint32_t> gold_places_;
  std::vector<float> scores_;
  size_t first_ = 0, size_ = 0;
};

// The words of the training data, seen as if each were new (see DictionaryBuilder, StemCounts).
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
  DictionaryBuilder builder(words.atoms, gold.state, training.trusted_count);
  builder.add_open_set(model.dictionary);
  for (size_t word = 0; word < layout.words(); ++word)
    words.sets.push_back(builder.set_without(word, model.dictionary));
  builder.finish(model.dictionary);
  model.stems = learn_stems(words, data, model, gold);
  Lists features;
  std::vector<uint32_t> keys;
  words.each_sentence(words.stems, [&](const TaggerSentence& sentence, size_t) {
    for (size_t i = 0; i < sentence.size; ++i) {
      keys.clear();
      state_features(sentence, i, keys);
      append_keys(features, keys);
    }
  });
  ChainTrainer(model, std::move(features), layout, words.sets, gold.state, training);
  learn_bundles(model, words, gold, training.bundle);
  learn_lemma_lexicon(model, words.atoms, gold);
  learn_lemmas(model, words, gold, training.lemma);
}

}  // namespace arcwise
