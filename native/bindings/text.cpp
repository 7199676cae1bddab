#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/linear_arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/base/hashing.hpp"
#include "kernels/base/key_table.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/text/multiword.hpp"
#include "kernels/text/tagger.hpp"
#include "kernels/text/tokenized_text.hpp"
#include "kernels/text/tokenizer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;
using arcwise::Lists;
using arcwise::SoftmaxTask;
using arcwise::SparseLinear;

namespace {

// A damaged model file must not lead outside an array.
template <typename Values>
void check_below(const Values& values, size_t limit, const char* what) {
  for (auto value : values)
    if (value >= limit) throw nb::value_error((std::string(what) + " out of range").c_str());
}

SparseLinear linear_of(Array<uint32_t> keys, Array<uint32_t> starts, Array<uint16_t> outputs,
                       Array<float> weights, size_t output_count) {
  SparseLinear model(vector_of(keys), vector_of(starts), vector_of(outputs), vector_of(weights));
  check_below(model.outputs(), output_count, "an output");
  return model;
}

auto table_arrays(const arcwise::KeyTable& table) {
  std::vector<uint32_t> keys, values;
  for (const auto& [key, value] : table.pairs()) {
    keys.push_back(key);
    values.push_back(value);
  }
  return std::make_tuple(moved(std::move(keys)), moved(std::move(values)));
}

arcwise::KeyTable table_of(const ListArrays& arrays, size_t limit) {
  if (arrays.first.shape(0) != arrays.second.shape(0)) throw nb::value_error("as many keys as values");
  for (size_t i = 0; i < arrays.second.shape(0); ++i)
    if (arrays.second.data()[i] >= limit) throw nb::value_error("a value out of range");
  return {arrays.first.data(), arrays.second.data(), arrays.first.shape(0)};
}

// One output per candidate, the same number.
SoftmaxTask plain_task(size_t candidates, Lists sets) {
  SoftmaxTask task;
  task.output_count = candidates;
  for (uint32_t c = 0; c < candidates; ++c) {
    task.outputs_of_candidate.add(c);
    task.outputs_of_candidate.close();
  }
  task.candidates_of_set = std::move(sets);
  return task;
}

// ---- tokenizer

struct Tokenizer {
  arcwise::TokenizerModel model;
  arcwise::MultiwordModel multiword;
};

std::vector<arcwise::TextToken> tokens_in(const arcwise::SqueezedText& text, const Array<uint32_t>& first,
                                          const Array<uint32_t>& last, const Array<uint8_t>& ends) {
  auto place = [&](uint32_t code_point) {
    return static_cast<uint32_t>(std::lower_bound(text.place.begin(), text.place.end(), code_point) -
                                 text.place.begin());
  };
  std::vector<arcwise::TextToken> tokens;
  for (size_t i = 0; i < first.shape(0); ++i)
    tokens.push_back({place(first.data()[i]), place(last.data()[i]), ends.data()[i] != 0});
  return tokens;
}

Tokenizer train_tokenizer(nb::bytes text, Array<uint32_t> first, Array<uint32_t> last, Array<uint8_t> ends,
                          const OptionTuple& options, const arcwise::LookAlikes* look_alikes) {
  Tokenizer tokenizer;
  const arcwise::LookAlikes read = look_alikes ? *look_alikes : arcwise::LookAlikes();
  std::string_view source = view(text);
  nb::gil_scoped_release release;
  arcwise::SqueezedText squeezed(source, read);
  tokenizer.model =
      arcwise::tokenizer_train(squeezed, tokens_in(squeezed, first, last, ends), options_of(options));
  tokenizer.model.look_alikes = read;
  return tokenizer;
}

// The decisions that a tokenizer learns from, for a look inside: features, set and gold cut of each.
auto training_items(nb::bytes text, Array<uint32_t> first, Array<uint32_t> last, Array<uint8_t> ends) {
  arcwise::SqueezedText squeezed(view(text));
  std::vector<arcwise::TextToken> tokens = tokens_in(squeezed, first, last, ends);
  arcwise::SoftmaxItems items =
      arcwise::tokenizer_items(arcwise::tokenizer_tables(squeezed, tokens), squeezed, tokens);
  return std::make_tuple(list_arrays(items.features), moved(std::move(items.set)),
                         moved(std::move(items.gold)));
}

using Recipe = std::tuple<int, int, bool, std::string>;

void set_multiword(Tokenizer& tokenizer, const std::vector<std::vector<Recipe>>& scripts,
                   const ListArrays& sets, const ListArrays& set_of_token) {
  arcwise::MultiwordModel& model = tokenizer.multiword;
  model = {};
  for (const auto& script : scripts) {
    model.scripts.emplace_back();
    for (const auto& [first, last, to_end, text] : script)
      model.scripts.back().push_back({first, last, to_end, text});
  }
  model.task = plain_task(scripts.size(), lists_of(sets));
  check_below(model.task.candidates_of_set.values, scripts.size(), "a script");
  model.set_of_token = table_of(set_of_token, model.task.candidates_of_set.size());
}

void train_multiword(Tokenizer& tokenizer,
                     const std::vector<std::tuple<std::string, std::string, std::string>>& contexts,
                     Array<uint32_t> set, Array<uint32_t> gold, const OptionTuple& options) {
  arcwise::SoftmaxItems items;
  std::vector<uint32_t> keys;
  for (const auto& [token, before, after] : contexts) {
    arcwise::multiword_features({token, before, after, known_stems(tokenizer.model, token)}, keys);
    items.features.values.insert(items.features.values.end(), keys.begin(), keys.end());
    items.features.close();
  }
  items.set = vector_of(set);
  items.gold = vector_of(gold);
  tokenizer.multiword.weights = arcwise::softmax_train(tokenizer.multiword.task, items, options_of(options));
}

arcwise::TokenizedText tokenize(const Tokenizer& tokenizer, nb::bytes text, uint64_t first_place,
                                uint64_t first_sentence, bool complete, bool ranges) {
  std::string_view source = view(text);
  nb::gil_scoped_release release;
  return arcwise::tokenized_text(tokenizer.model, tokenizer.multiword, source,
                                 {first_place, first_sentence, complete, ranges});
}

// Many texts, each as if it were alone: their CoNLL-U one after the other, and how many sentences each has.
auto tokenize_texts(const Tokenizer& tokenizer, const std::vector<nb::bytes>& texts, bool ranges,
                    int threads) {
  std::vector<std::string_view> sources;
  for (const nb::bytes& text : texts) sources.push_back(view(text));
  std::vector<arcwise::TokenizedText> found(texts.size());
  std::vector<uint32_t> sentences;
  std::string conllu;
  {
    nb::gil_scoped_release release;
    arcwise::parallel_for(texts.size(), threads, [&](size_t i, size_t) {
      found[i] =
          arcwise::tokenized_text(tokenizer.model, tokenizer.multiword, sources[i], {.ranges = ranges});
    });
    size_t size = 0;
    for (const arcwise::TokenizedText& text : found) {
      sentences.push_back(static_cast<uint32_t>(text.sentences));
      size += text.conllu.size();
    }
    conllu.reserve(size);
    for (const arcwise::TokenizedText& text : found) conllu += text.conllu;
  }
  return std::make_tuple(nb::bytes(conllu.data(), conllu.size()), moved(std::move(sentences)));
}

// Where the sentences of a text end, in code points, at each of several biases: of all one after the other.
auto sentence_ends(const Tokenizer& tokenizer, nb::bytes text, const std::vector<float>& biases) {
  arcwise::SqueezedText squeezed(view(text), tokenizer.model.look_alikes);
  Lists ends;
  arcwise::TokenizerModel model = tokenizer.model;
  for (float bias : biases) {
    model.sentence_bias = bias;
    for (const arcwise::TextToken& token : arcwise::tokenizer_decode(model, squeezed))
      if (token.ends_sentence) ends.add(squeezed.place[token.last]);
    ends.close();
  }
  return list_arrays(ends);
}

using ClassPairs = std::array<uint8_t, arcwise::CHARACTER_CLASSES * arcwise::CHARACTER_CLASSES>;

void copy_classes(const Array<uint8_t>& values, ClassPairs& pairs) {
  if (values.shape(0) != pairs.size()) throw nb::value_error("a table of character classes has another size");
  std::copy_n(values.data(), pairs.size(), pairs.begin());
}

auto class_array(const ClassPairs& pairs) { return moved(std::vector<uint8_t>(pairs.begin(), pairs.end())); }

void bind_tokenizer(nb::module_& m) {
  using arcwise::TokenizedText;
  nb::class_<TokenizedText>(
      m, "TokenizedText",
      "CoNLL-U made of a text; the bytes, code points and sentences of it that were written.")
      .def_prop_ro("conllu",
                   [](const TokenizedText& t) { return nb::bytes(t.conllu.data(), t.conllu.size()); })
      .def_ro("bytes", &TokenizedText::bytes)
      .def_ro("places", &TokenizedText::places)
      .def_ro("sentences", &TokenizedText::sentences);
  nb::class_<Tokenizer>(m, "Tokenizer", "Raw text into words and sentences.")
      .def(
          "__init__",
          [](Tokenizer* self, Array<uint32_t> keys, Array<uint32_t> starts, Array<uint16_t> outputs,
             Array<float> weights, Array<uint32_t> vocabulary, Array<uint8_t> may_cut,
             Array<uint8_t> may_span) {
            new (self) Tokenizer;
            self->model.cuts = linear_of(keys, starts, outputs, weights, 3);
            self->model.vocabulary = vector_of(vocabulary);
            copy_classes(may_cut, self->model.may_cut);
            copy_classes(may_span, self->model.may_span);
          },
          "keys"_a, "starts"_a, "outputs"_a, "weights"_a, "vocabulary"_a, "may_cut"_a, "may_span"_a)
      .def_static("train", &train_tokenizer, "text"_a, "first"_a, "last"_a, "ends_sentence"_a, "options"_a,
                  "look_alikes"_a.none() = nb::none())
      .def_static("training_items", &training_items, "text"_a, "first"_a, "last"_a, "ends_sentence"_a,
                  "Features, set and gold cut of the decisions that a tokenizer learns from.")
      .def("set_multiword", &set_multiword, "scripts"_a, "sets"_a, "set_of_token"_a)
      .def(
          "set_multiword_weights",
          [](Tokenizer& self, Array<uint32_t> keys, Array<uint32_t> starts, Array<uint16_t> outputs,
             Array<float> weights) {
            self.multiword.weights =
                linear_of(keys, starts, outputs, weights, self.multiword.task.output_count);
          },
          "keys"_a, "starts"_a, "outputs"_a, "weights"_a)
      .def("train_multiword", &train_multiword, "contexts"_a, "set"_a, "gold"_a, "options"_a)
      .def(
          "prune",
          [](Tokenizer& self, float threshold) {
            self.model.cuts = self.model.cuts.pruned(threshold);
            self.multiword.weights = self.multiword.weights.pruned(threshold);
          },
          "threshold"_a)
      .def("tokenize", &tokenize, "text"_a, "first_place"_a, "first_sentence"_a, "complete"_a, "ranges"_a,
           "The text as CoNLL-U.")
      .def("tokenize_texts", &tokenize_texts, "texts"_a, "ranges"_a, "threads"_a,
           "Many texts as CoNLL-U, one after the other, and how many sentences each has.")
      .def("sentence_ends", &sentence_ends, "text"_a, "biases"_a,
           "Where sentences end, in code points, at each bias.")
      .def_prop_rw(
          "sentence_bias", [](const Tokenizer& self) { return self.model.sentence_bias; },
          [](Tokenizer& self, float bias) { self.model.sentence_bias = bias; })
      .def(
          "set_look_alikes",
          [](Tokenizer& self, const arcwise::LookAlikes& look_alikes) {
            self.model.look_alikes = look_alikes;
          },
          "look_alikes"_a)
      .def_prop_rw(
          "rules",
          [](const Tokenizer& self) {
            const arcwise::TokenizerModel& model = self.model;
            return std::make_tuple(model.whole_addresses, model.cut_addresses_out, model.single_signs);
          },
          [](Tokenizer& self, std::tuple<bool, bool, bool> rules) {
            auto& [whole, out, signs] = rules;
            self.model.whole_addresses = whole;
            self.model.cut_addresses_out = out;
            self.model.single_signs = signs;
          },
          "Whether addresses are whole, and cut off from punctuation beside them; whether emoji and long "
          "dashes are words.")
      .def("cuts", [](const Tokenizer& self) { return linear_arrays(self.model.cuts); })
      .def("multiword", [](const Tokenizer& self) { return linear_arrays(self.multiword.weights); })
      .def("vocabulary", [](const Tokenizer& self) { return copied(self.model.vocabulary); })
      .def("may_cut", [](const Tokenizer& self) { return class_array(self.model.may_cut); })
      .def("may_span", [](const Tokenizer& self) { return class_array(self.model.may_span); });
  m.def(
      "keys_of_gaps",
      [](Array<uint16_t> gaps) {
        std::vector<uint32_t> keys = arcwise::keys_of_gaps(gaps.data(), gaps.shape(0));
        return moved(std::move(keys));
      },
      "gaps"_a, "Sorted keys from the gaps between them; a gap of 65535 goes on in the next.");
  m.def(
      "token_key", [](const std::string& token) { return arcwise::token_key(token); }, "token"_a,
      "The key of a token (in lower case) in the table of multiword tokens.");
}

// ---- tagger

auto tag(const arcwise::TaggerModel& model, const arcwise::TreebankLayout& layout, nb::bytes data,
         std::optional<Array<int32_t>> kept_of_word, const ListArrays& kept_states,
         const ListArrays& kept_bundles, int threads) {
  arcwise::KeptTags kept{nullptr, lists_of(kept_states), lists_of(kept_bundles)};
  if (kept_of_word) {
    const size_t sets = std::min(kept.states.size(), kept.bundles.size());
    if (kept_of_word->shape(0) != layout.words()) throw nb::value_error("one set per word is needed");
    for (size_t i = 0; i < layout.words(); ++i)
      if (kept_of_word->data()[i] < 0 || kept_of_word->data()[i] >= static_cast<int64_t>(sets))
        throw nb::index_error("no such set");
    check_below(kept.states.values, model.upos_of_state.size(), "a state");
    kept.of_word = kept_of_word->data();
  }
  std::vector<arcwise::TaggedWord> words(layout.words());
  std::vector<uint16_t> state(words.size()), bundle(words.size()), script(words.size());
  std::vector<float> probability(words.size());
  const char* bytes = data.c_str();
  {
    nb::gil_scoped_release release;
    std::vector<arcwise::TaggerWorkspace> workspaces(static_cast<size_t>(std::max(threads, 1)));
    arcwise::parallel_for(layout.sentences(), threads, [&](size_t s, size_t worker) {
      size_t first = layout.sentence_words[s];
      arcwise::tagger_decode(model, layout, bytes, first, layout.sentence_words[s + 1] - first, kept,
                             words.data() + first, workspaces[worker]);
    });
    for (size_t i = 0; i < words.size(); ++i) {
      state[i] = words[i].state;
      bundle[i] = words[i].bundle;
      script[i] = words[i].script;
      probability[i] = words[i].upos_probability;
    }
  }
  return std::make_tuple(moved(std::move(state)), moved(std::move(bundle)), moved(std::move(script)),
                         moved(std::move(probability)));
}

void train_tagger(arcwise::TaggerModel& model, const arcwise::TreebankLayout& layout, nb::bytes data,
                  Array<int32_t> state, Array<int32_t> bundle, Array<int32_t> script,
                  const OptionTuple& chain, const OptionTuple& bundles, const OptionTuple& lemma,
                  bool perceptron, uint32_t trusted_count) {
  for (const auto* gold : {&state, &bundle, &script})
    if (gold->shape(0) != layout.words()) throw nb::value_error("one value per word is needed");
  arcwise::TaggerTraining training{options_of(chain), options_of(bundles), options_of(lemma), perceptron,
                                   trusted_count};
  const char* bytes = data.c_str();
  nb::gil_scoped_release release;
  arcwise::tagger_train(model, layout, bytes, {state.data(), bundle.data(), script.data()}, training);
}

// The candidate states of each word in training, and the dictionary learned; for a look inside.
auto training_sets(const arcwise::TreebankLayout& layout, nb::bytes data, Array<int32_t> state,
                   uint32_t trusted_count) {
  if (state.shape(0) != layout.words()) throw nb::value_error("one value per word is needed");
  arcwise::TagDictionary dictionary;
  std::vector<uint32_t> sets = arcwise::tagger_learn_dictionary(
      arcwise::token_atoms(layout, data.c_str(), arcwise::tagger_atom_specs(), 0, layout.words()),
      state.data(), trusted_count, dictionary);
  return std::make_tuple(moved(std::move(sets)), list_arrays(dictionary.sets));
}

void bind_tagger(nb::module_& m) {
  using arcwise::TaggerModel;
  nb::class_<TaggerModel>(m, "Tagger", "UPOS, XPOS, FEATS and lemma of words.")
      .def(
          "__init__",
          [](TaggerModel* self, Array<uint16_t> upos_of_state, int upos_count,
             const ListArrays& outputs_of_bundle, size_t bundle_outputs, const ListArrays& bundles_of_state,
             size_t scripts, const ListArrays& scripts_of_upos) {
            new (self) TaggerModel;
            self->upos_of_state = vector_of(upos_of_state);
            self->upos_count = upos_count;
            self->bundle_task = {lists_of(outputs_of_bundle), lists_of(bundles_of_state), bundle_outputs};
            self->lemma_task = plain_task(scripts, lists_of(scripts_of_upos));
            check_below(self->upos_of_state, static_cast<size_t>(upos_count), "an UPOS");
            check_below(self->bundle_task.outputs_of_candidate.values, bundle_outputs, "an output");
            check_below(self->bundle_task.candidates_of_set.values,
                        self->bundle_task.outputs_of_candidate.size(), "a bundle");
            check_below(self->lemma_task.candidates_of_set.values, scripts, "a script");
            if (self->bundle_task.candidates_of_set.size() != self->upos_of_state.size() ||
                self->lemma_task.candidates_of_set.size() != static_cast<size_t>(upos_count))
              throw nb::value_error("the lists of a tagger do not fit together");
          },
          "upos_of_state"_a, "upos_count"_a, "outputs_of_bundle"_a, "bundle_outputs"_a, "bundles_of_state"_a,
          "scripts"_a, "scripts_of_upos"_a)
      .def("train", &train_tagger, "layout"_a, "data"_a, "state"_a, "bundle"_a, "script"_a, "chain"_a,
           "bundles"_a, "lemma"_a, "perceptron"_a, "trusted_count"_a)
      .def_static("training_sets", &training_sets, "layout"_a, "data"_a, "state"_a, "trusted_count"_a,
                  "The number of the candidate set that each word has in training, and the sets.")
      .def("tag", &tag, "layout"_a, "data"_a, "kept_of_word"_a.none(), "kept_states"_a, "kept_bundles"_a,
           "threads"_a,
           "State, bundle, lemma script and probability of the UPOS, of every word; the word takes one of "
           "the states and bundles of its kept set, if the set has any.")
      .def(
          "prune",
          [](TaggerModel& self, float threshold) {
            for (SparseLinear* part : {&self.emissions, &self.bundle_weights, &self.lemma_weights})
              *part = part->pruned(threshold);
          },
          "threshold"_a)
      .def(
          "linear",
          [](const TaggerModel& self, const std::string& which) {
            return linear_arrays(which == "states"    ? self.emissions
                                 : which == "bundles" ? self.bundle_weights
                                                      : self.lemma_weights);
          },
          "which"_a)
      .def(
          "set_linear",
          [](TaggerModel& self, const std::string& which, Array<uint32_t> keys, Array<uint32_t> starts,
             Array<uint16_t> outputs, Array<float> weights) {
            auto read = [&](size_t count) { return linear_of(keys, starts, outputs, weights, count); };
            if (which == "states")
              self.emissions = read(self.upos_of_state.size());
            else if (which == "bundles")
              self.bundle_weights = read(self.bundle_task.output_count);
            else
              self.lemma_weights = read(self.lemma_task.output_count);
          },
          "which"_a, "keys"_a, "starts"_a, "outputs"_a, "weights"_a)
      .def("transitions", [](const TaggerModel& self) { return copied(self.transitions.scores()); })
      .def(
          "set_transitions",
          [](TaggerModel& self, Array<float> scores) {
            size_t side = self.upos_of_state.size() + 1;
            if (scores.shape(0) != side * side) throw nb::value_error("transitions have another size");
            self.transitions = arcwise::Transitions(self.states());
            for (size_t at = 0; at < scores.shape(0); ++at) self.transitions.set(at, scores.data()[at]);
          },
          "scores"_a)
      .def("dictionary",
           [](const TaggerModel& self) {
             return std::make_tuple(table_arrays(self.dictionary.set_of_key),
                                    list_arrays(self.dictionary.sets));
           })
      .def(
          "set_dictionary",
          [](TaggerModel& self, const ListArrays& set_of_key, const ListArrays& sets) {
            self.dictionary.sets = lists_of(sets);
            check_below(self.dictionary.sets.values, self.upos_of_state.size(), "a state");
            for (size_t set = 0; set < self.dictionary.sets.size(); ++set)
              if (self.dictionary.sets.begin(set) == self.dictionary.sets.end(set))
                throw nb::value_error("a dictionary set is empty");
            self.dictionary.set_of_key = table_of(set_of_key, self.dictionary.sets.size());
          },
          "set_of_key"_a, "sets"_a)
      .def("stems", [](const TaggerModel& self) { return table_arrays(self.stems.upos_of_lemma); })
      .def(
          "set_stems",
          [](TaggerModel& self, const ListArrays& stems, std::vector<arcwise::Alternation> alternations) {
            self.stems.upos_of_lemma = table_of(stems, size_t{1} << 32);
            std::sort(alternations.begin(), alternations.end());
            self.stems.alternations = std::move(alternations);
          },
          "stems"_a, "alternations"_a)
      .def("alternations", [](const TaggerModel& self) { return self.stems.alternations; })
      .def("lexicon", [](const TaggerModel& self) { return table_arrays(self.lemma_lexicon); })
      .def(
          "set_lexicon",
          [](TaggerModel& self, const ListArrays& lexicon) {
            self.lemma_lexicon = table_of(lexicon, self.lemma_task.output_count);
          },
          "lexicon"_a);
  m.def(
      "split_apply",
      [](const std::vector<Recipe>& script, const std::string& token) {
        arcwise::SplitScript native;
        for (const auto& [first, last, to_end, text] : script) native.push_back({first, last, to_end, text});
        return arcwise::split_apply(native, token);
      },
      "script"_a, "token"_a, "The words that a script makes of a token; none if it does not fit.");
}

}  // namespace

void bind_text(nb::module_& m) {
  bind_tokenizer(m);
  bind_tagger(m);
}
