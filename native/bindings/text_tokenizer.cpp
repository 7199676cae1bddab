// Bindings of the tokenizer and of the words that its tokens are made of.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/linear_arrays.hpp"
#include "bindings/rooms.hpp"
#include "bindings/text_model_arrays.hpp"
#include "kernels/base/hashing.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/text/multiword.hpp"
#include "kernels/text/tokenized_text.hpp"
#include "kernels/text/tokenizer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;

namespace {

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
                          const OptionTuple& options, const arcwise::LookAlikes* look_alikes,
                          bool wide_context) {
  Tokenizer tokenizer;
  const arcwise::LookAlikes read = look_alikes ? *look_alikes : arcwise::LookAlikes();
  std::string_view source = view(text);
  nb::gil_scoped_release release;
  arcwise::SqueezedText squeezed(source, read);
  tokenizer.model = arcwise::tokenizer_train(squeezed, tokens_in(squeezed, first, last, ends),
                                             options_of(options), wide_context);
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

void learn_ends(Tokenizer& tokenizer, nb::bytes text, Array<uint32_t> first, Array<uint32_t> last,
                Array<uint8_t> ends, double rare_end) {
  arcwise::SqueezedText squeezed(view(text), tokenizer.model.look_alikes);
  arcwise::tokenizer_learn_ends(tokenizer.model, squeezed, tokens_in(squeezed, first, last, ends), rare_end);
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
                                uint64_t first_sentence, bool complete, bool ranges, size_t bytes_before,
                                size_t places_before) {
  std::string_view source = view(text);
  nb::gil_scoped_release release;
  return arcwise::tokenized_text(
      tokenizer.model, tokenizer.multiword, source,
      {first_place, first_sentence, complete, ranges, bytes_before, places_before});
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
  arcwise::Lists ends;
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

}  // namespace

void bind_text_tokenizer(nb::module_& m) {
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
                  "look_alikes"_a.none() = nb::none(), "wide_context"_a = false)
      .def_static("training_items", &training_items, "text"_a, "first"_a, "last"_a, "ends_sentence"_a,
                  "Features, set and gold cut of the decisions that a tokenizer learns from.")
      .def("learn_ends", &learn_ends, "text"_a, "first"_a, "last"_a, "ends_sentence"_a, "rare_end"_a,
           "Learns between which classes of characters a single space ends no sentence.")
      .def("never_ends", [](const Tokenizer& self) { return class_array(self.model.never_ends); })
      .def(
          "set_never_ends",
          [](Tokenizer& self, Array<uint8_t> pairs) { copy_classes(pairs, self.model.never_ends); },
          "pairs"_a)
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
           "bytes_before"_a = 0, "places_before"_a = 0,
           "The text as CoNLL-U, but for so much of it, which stands before what is cut and is looked at "
           "alone.")
      .def("tokenize_texts", &tokenize_texts, "texts"_a, "ranges"_a, "threads"_a,
           "Many texts as CoNLL-U, one after the other, and how many sentences each has.")
      .def("sentence_ends", &sentence_ends, "text"_a, "biases"_a,
           "Where sentences end, in code points, at each bias.")
      .def_prop_rw(
          "sentence_bias", [](const Tokenizer& self) { return self.model.sentence_bias; },
          [](Tokenizer& self, float bias) { self.model.sentence_bias = bias; })
      .def_prop_rw(
          "wide_context", [](const Tokenizer& self) { return self.model.wide_context; },
          [](Tokenizer& self, bool wide) { self.model.wide_context = wide; },
          "Whether sentence ends depend on four words to come and on the endings of words.")
      .def_prop_rw(
          "paragraphs", [](const Tokenizer& self) { return self.model.paragraphs; },
          [](Tokenizer& self, bool paragraphs) { self.model.paragraphs = paragraphs; },
          "Whether sentence ends depend on where in a paragraph they are.")
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
            return std::make_tuple(model.whole_addresses, model.cut_addresses_out, model.single_signs,
                                   model.cut_names_out);
          },
          [](Tokenizer& self, std::tuple<bool, bool, bool, bool> rules) {
            auto& [whole, out, signs, names_out] = rules;
            self.model.whole_addresses = whole;
            self.model.cut_addresses_out = out;
            self.model.single_signs = signs;
            self.model.cut_names_out = names_out;
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
  m.def(
      "split_apply",
      [](const std::vector<Recipe>& script, const std::string& token) {
        arcwise::SplitScript native;
        for (const auto& [first, last, to_end, text] : script) native.push_back({first, last, to_end, text});
        return arcwise::split_apply(native, token);
      },
      "script"_a, "token"_a, "The words that a script makes of a token; none if it does not fit.");
}
