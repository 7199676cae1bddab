// Bindings of the tagger.
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
#include "bindings/text_model_arrays.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/text/tagger.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;

namespace {

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
                  bool perceptron, uint32_t trusted_count, double rare_state, uint32_t bundle_lexicon_count) {
  for (const auto* gold : {&state, &bundle, &script})
    if (gold->shape(0) != layout.words()) throw nb::value_error("one value per word is needed");
  arcwise::TaggerTraining training{options_of(chain), options_of(bundles), options_of(lemma),   perceptron,
                                   trusted_count,     rare_state,          bundle_lexicon_count};
  const char* bytes = data.c_str();
  nb::gil_scoped_release release;
  arcwise::tagger_train(model, layout, bytes, {state.data(), bundle.data(), script.data()}, training);
}

// The candidate states of each word in training, and the dictionary learned; for a look inside.
auto training_sets(const arcwise::TreebankLayout& layout, nb::bytes data, Array<int32_t> state,
                   uint32_t trusted_count, double rare_state) {
  if (state.shape(0) != layout.words()) throw nb::value_error("one value per word is needed");
  arcwise::TagDictionary dictionary;
  std::vector<uint32_t> sets = arcwise::tagger_learn_dictionary(
      arcwise::token_atoms(layout, data.c_str(), arcwise::tagger_atom_specs(), 0, layout.words()),
      state.data(), trusted_count, rare_state, dictionary);
  return std::make_tuple(moved(std::move(sets)), list_arrays(dictionary.sets));
}

}  // namespace

void bind_text_tagger(nb::module_& m) {
  using arcwise::TaggerModel;
  nb::class_<TaggerModel>(m, "Tagger", "UPOS, XPOS, FEATS and lemma of words.")
      .def(
          "__init__",
          [](TaggerModel* self, Array<uint16_t> upos_of_state, int upos_count,
             const ListArrays& outputs_of_bundle, size_t bundle_outputs, const ListArrays& bundles_of_state,
             size_t scripts, const ListArrays& scripts_of_upos,
             const std::vector<std::tuple<uint16_t, std::vector<std::string>, std::vector<std::string>>>&
                 script_fits) {
            new (self) TaggerModel;
            self->upos_of_state = vector_of(upos_of_state);
            self->upos_count = upos_count;
            self->bundle_task = {lists_of(outputs_of_bundle), lists_of(bundles_of_state), bundle_outputs};
            self->lemma_task = plain_task(scripts, lists_of(scripts_of_upos));
            for (const auto& [shortest, beginnings, endings] : script_fits)
              self->script_fits.push_back({shortest, beginnings, endings});
            check_below(self->upos_of_state, static_cast<size_t>(upos_count), "an UPOS");
            check_below(self->bundle_task.outputs_of_candidate.values, bundle_outputs, "an output");
            check_below(self->bundle_task.candidates_of_set.values,
                        self->bundle_task.outputs_of_candidate.size(), "a bundle");
            check_below(self->lemma_task.candidates_of_set.values, scripts, "a script");
            if (self->bundle_task.candidates_of_set.size() != self->upos_of_state.size() ||
                self->lemma_task.candidates_of_set.size() != static_cast<size_t>(upos_count) ||
                self->script_fits.size() != scripts)
              throw nb::value_error("the lists of a tagger do not fit together");
          },
          "upos_of_state"_a, "upos_count"_a, "outputs_of_bundle"_a, "bundle_outputs"_a, "bundles_of_state"_a,
          "scripts"_a, "scripts_of_upos"_a, "script_fits"_a)
      .def("train", &train_tagger, "layout"_a, "data"_a, "state"_a, "bundle"_a, "script"_a, "chain"_a,
           "bundles"_a, "lemma"_a, "perceptron"_a, "trusted_count"_a, "rare_state"_a,
           "bundle_lexicon_count"_a)
      .def_static("training_sets", &training_sets, "layout"_a, "data"_a, "state"_a, "trusted_count"_a,
                  "rare_state"_a = arcwise::TaggerTraining{}.rare_state,
                  "The number of the candidate set that each word has in training, and the sets.")
      .def("tag", &tag, "layout"_a, "data"_a, "kept_of_word"_a.none(), "kept_states"_a, "kept_bundles"_a,
           "threads"_a,
           "State, bundle, lemma script and probability of the UPOS, of every word; the word takes one of "
           "the states and bundles of its kept set, if the set has any.")
      .def(
          "prune",
          [](TaggerModel& self, float threshold) {
            for (arcwise::SparseLinear* part : {&self.emissions, &self.bundle_weights, &self.lemma_weights})
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
      .def("bundle_lexicon", [](const TaggerModel& self) { return table_arrays(self.bundle_lexicon); })
      .def(
          "set_bundle_lexicon",
          [](TaggerModel& self, const ListArrays& lexicon) {
            self.bundle_lexicon = table_of(lexicon, self.bundle_task.outputs_of_candidate.size());
          },
          "lexicon"_a)
      .def("lexicon", [](const TaggerModel& self) { return table_arrays(self.lemma_lexicon); })
      .def(
          "set_lexicon",
          [](TaggerModel& self, const ListArrays& lexicon) {
            self.lemma_lexicon = table_of(lexicon, self.lemma_task.output_count);
          },
          "lexicon"_a);
}
