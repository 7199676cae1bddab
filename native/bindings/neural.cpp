// The network of the neural parser.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/neural/neural_parse.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Required = std::optional<Array<int32_t>>;

constexpr std::pair<const char*, Instructions> INSTRUCTIONS[] = {
    {"baseline", Instructions::baseline}, {"avx2", Instructions::avx2}, {"avx512", Instructions::avx512}};

Instructions instructions_of(const std::optional<std::string>& name) {
  if (!name) return widest_instructions();
  for (const auto& [known, instructions] : INSTRUCTIONS)
    if (*name == known) {
      if (!has_instructions(instructions))
        throw nb::value_error(("instructions: this machine has no " + *name).c_str());
      return instructions;
    }
  throw nb::value_error(("instructions: found '" + *name + "', expected baseline, avx2 or avx512").c_str());
}

using NamedArrays = nb::typed<nb::dict, nb::str, nb::object>;

// `kept` keeps the arrays alive, copies of those included that were not contiguous; `tables` those that the
// network goes on to use.
GivenArrays given_arrays(const nb::dict& arrays, std::vector<AnyArray>& kept, std::vector<AnyArray>& tables) {
  GivenArrays given;
  for (const auto& [key, value] : arrays) {
    const auto name = nb::cast<std::string>(key);
    GivenArray& one = given[name];
    AnyArray array;
    const bool is_array = nb::try_cast(value, array);
    if (is_array && array.dtype() == nb::dtype<float>())
      one.numbers = static_cast<const float*>(array.data());
    else if (is_array && array.dtype() == nb::dtype<int8_t>())
      one.bytes = static_cast<const int8_t*>(array.data());
    else
      throw nb::value_error(("array '" + name + "': expected an array of float32 or int8").c_str());
    for (size_t side = 0; side < array.ndim(); ++side) one.shape.push_back(array.shape(side));
    const bool stays = name.starts_with("table.") && (one.bytes || name.ends_with(".scale"));
    (stays ? tables : kept).push_back(array);
  }
  return given;
}

void make_network(NeuralNetwork* self, const std::vector<std::string>& atoms,
                  const std::vector<const Vocabulary*>& vocabularies, const NamedArrays& arrays, int layers,
                  int labels, int clusters, int tags, int order, const std::string& precision,
                  const std::optional<std::string>& instructions, int root_label, float head_temperature) {
  NetworkPlan plan{atoms,
                   {},
                   layers,
                   labels,
                   clusters,
                   tags,
                   order,
                   head_temperature,
                   root_label,
                   NetworkPrecision::float32,
                   instructions_of(instructions),
                   {}};
  for (const Vocabulary* vocabulary : vocabularies) plan.vocabularies.push_back(*vocabulary);
  if (precision == "int8")
    plan.precision = NetworkPrecision::int8;
  else if (precision != "float32")
    throw nb::value_error(("precision: found '" + precision + "', expected float32 or int8").c_str());
  std::vector<AnyArray> kept;
  const auto tables = std::make_shared<std::vector<AnyArray>>();
  const GivenArrays given = given_arrays(arrays, kept, *tables);
  plan.tables_owner = tables;
  new (self) NeuralNetwork(plan, given);
}

// One row after the other, whatever the shape before the last side.
auto quantised(nb::ndarray<const float, nb::c_contig, nb::device::cpu> array) {
  if (array.ndim() < 1 || array.shape(array.ndim() - 1) == 0)
    throw nb::value_error("found an array without rows, expected at least one side");
  const size_t columns = array.shape(array.ndim() - 1), rows = array.size() / columns;
  std::vector<size_t> shape;
  for (size_t side = 0; side < array.ndim(); ++side) shape.push_back(array.shape(side));
  auto* bytes = new int8_t[array.size()];
  nb::capsule bytes_owner(bytes, [](void* memory) noexcept { delete[] static_cast<int8_t*>(memory); });
  auto* scales = new float[rows];
  nb::capsule scales_owner(scales, [](void* memory) noexcept { delete[] static_cast<float*>(memory); });
  for (size_t row = 0; row < rows; ++row)
    scales[row] =
        row_in_bytes(array.data() + row * columns, static_cast<int>(columns), bytes + row * columns);
  return std::make_tuple(nb::ndarray<nb::numpy, int8_t>(bytes, shape.size(), shape.data(), bytes_owner),
                         nb::ndarray<nb::numpy, float>(scales, shape.size() - 1, shape.data(), scales_owner));
}

const int32_t* words_of(const Required& given, const TreebankLayout& layout, const char* what) {
  if (!given) return nullptr;
  if (given->shape(0) != layout.words()) throw nb::value_error(what);
  return given->data();
}

ScoreBatch scores(const NeuralNetwork& network, const TreebankLayout& layout, nb::bytes data,
                  Required required, bool single_root, int threads) {
  const int32_t* heads = words_of(required, layout, "one required head per word is needed");
  const char* bytes = data.c_str();
  nb::gil_scoped_release release;
  return neural_scores(network, {layout, bytes}, heads, single_root, threads);
}

using Tags = std::vector<std::pair<NewArray<int32_t>, NewArray<float>>>;

Tags tag_arrays(std::vector<TagResult> found) {
  Tags tags;
  for (TagResult& one : found)
    tags.emplace_back(moved(std::move(one.codes)), moved(std::move(one.probabilities)));
  return tags;
}

std::pair<ParseResult, Tags> parse_and_tag(const NeuralNetwork& network, const TreebankLayout& layout,
                                           nb::bytes data, Required required, const DecodeSettings& settings,
                                           Required asked_heads, Required asked_labels,
                                           const LegalSettings* legal, int threads, bool tags) {
  const int32_t* heads = words_of(required, layout, "one required head per word is needed");
  AskedTrees asked{words_of(asked_heads, layout, "one head per word is needed"),
                   words_of(asked_labels, layout, "one label per word is needed")};
  if (legal && !legal->fit(layout.words(), network.states().labels))
    throw nb::value_error("rules of other labels or words");
  const char* bytes = data.c_str();
  std::vector<TagResult> found;
  ParseResult parsed;
  {
    nb::gil_scoped_release release;
    parsed = neural_parse(network, {layout, bytes}, heads, settings, asked, threads, tags ? &found : nullptr,
                          legal);
  }
  return {std::move(parsed), tag_arrays(std::move(found))};
}

KBestResult k_best(const NeuralNetwork& network, const TreebankLayout& layout, nb::bytes data,
                   Required required, const DecodeSettings& settings, int k, int threads) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  const int32_t* heads = words_of(required, layout, "one required head per word is needed");
  const char* bytes = data.c_str();
  nb::gil_scoped_release release;
  return neural_k_best(network, {layout, bytes}, heads, settings, k, threads);
}

// What a function of kernels/neural tells of a treebank, as one flat array.
template <std::vector<float> (*Look)(const NeuralNetwork&, const NeuralText&)>
NewArray<float> look(const NeuralNetwork& network, const TreebankLayout& layout, nb::bytes data) {
  std::vector<float> found;
  {
    const char* bytes = data.c_str();
    nb::gil_scoped_release release;
    found = Look(network, {layout, bytes});
  }
  return moved(std::move(found));
}

void bind_parsing(nb::class_<NeuralNetwork>& network) {
  network
      .def("scores", &scores, "layout"_a, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(),
           "single_root"_a = true, "threads"_a,
           "The scores of all sentences: of every arc that the required heads allow.")
      .def(
          "parse",
          [](const NeuralNetwork& self, const TreebankLayout& layout, nb::bytes data, Required required,
             const DecodeSettings& settings, Required asked_heads, Required asked_labels,
             const LegalSettings* legal, int threads) {
            return parse_and_tag(self, layout, data, required, settings, asked_heads, asked_labels, legal,
                                 threads, false)
                .first;
          },
          "layout"_a, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(), "settings"_a,
          "asked_heads"_a.none() = nb::none(), "asked_labels"_a.none() = nb::none(),
          "legal"_a.none() = nb::none(), "threads"_a,
          "scores(…).decode(…), without keeping the scores; and legal_parses(…) if there are rules.")
      .def(
          "parse_and_tag",
          [](const NeuralNetwork& self, const TreebankLayout& layout, nb::bytes data, Required required,
             const DecodeSettings& settings, Required asked_heads, Required asked_labels,
             const LegalSettings* legal, int threads) {
            return parse_and_tag(self, layout, data, required, settings, asked_heads, asked_labels, legal,
                                 threads, true);
          },
          "layout"_a, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(), "settings"_a,
          "asked_heads"_a.none() = nb::none(), "asked_labels"_a.none() = nb::none(),
          "legal"_a.none() = nb::none(), "threads"_a,
          "(parse(…), tags(…)), from one pass through the encoder.")
      .def("k_best", &k_best, "layout"_a, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(),
           "settings"_a, "k"_a, "threads"_a, "scores(…).k_best(…), without keeping the scores.")
      .def(
          "tags",
          [](const NeuralNetwork& self, const TreebankLayout& layout, nb::bytes data, int threads) {
            std::vector<TagResult> found;
            {
              const char* bytes = data.c_str();
              nb::gil_scoped_release release;
              found = neural_tags(self, {layout, bytes}, threads);
            }
            return tag_arrays(std::move(found));
          },
          "layout"_a, "data"_a, nb::kw_only(), "threads"_a,
          "For each tag output the best class of every word and its probability, flat over words.");
}

}  // namespace

void bind_neural(nb::module_& m) {
  auto network = nb::class_<NeuralNetwork>(m, "NeuralNetwork",
                                           "The network of the neural parser, made from named arrays: see "
                                           "native/kernels/neural/neural_network.hpp.");
  network
      .def("__init__", &make_network, nb::kw_only(), "atoms"_a, "vocabularies"_a, "arrays"_a, "layers"_a,
           "labels"_a = 0, "clusters"_a = 1, "tags"_a = 0, "order"_a = 1, "precision"_a = "float32",
           "instructions"_a.none() = nb::none(), "root_label"_a = -1, "head_temperature"_a = 1.0f,
           "instructions: baseline, avx2 or avx512; None: the widest that this machine has.")
      .def_prop_ro("instructions",
                   [](const NeuralNetwork& self) {
                     for (const auto& [name, known] : INSTRUCTIONS)
                       if (known == self.loops().instructions) return std::string(name);
                     return std::string();
                   })
      .def(
          "states", &look<neural_states>, "layout"_a, "data"_a,
          "Outputs of the encoder: 2H numbers for every position, the root before the words of its sentence.")
      .def("arcs", &look<neural_arcs>, "layout"_a, "data"_a,
           "Scores of arcs without labels, (n+1)² a sentence.")
      .def("labels", &look<neural_labels>, "layout"_a, "data"_a,
           "Scores of states before softmax, (n+1)² · states a sentence; 0 for arcs into the root.")
      .def("siblings", &look<neural_siblings>, "layout"_a, "data"_a,
           "Scores of adjacent siblings, (n+1)³ a sentence; 0 where no tree has such a pair; none at order "
           "1.");
  bind_parsing(network);
  m.def("quantised", &quantised, "array"_a,
        "(int8, scales): the numbers in 8 bits, each row of the last side with a scale of its own, as "
        "NeuralNetwork rounds them.");
  m.def(
      "neural_instructions",
      [] {
        std::vector<std::string> here;
        for (const auto& [name, known] : INSTRUCTIONS)
          if (has_instructions(known)) here.emplace_back(name);
        return here;
      },
      "The instruction sets that this machine can run a NeuralNetwork with, the widest last.");
}
