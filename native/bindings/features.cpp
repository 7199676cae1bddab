#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/base/huge_pages.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/features/look_alikes.hpp"
#include "kernels/features/token_atoms.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;
using arcwise::TreebankLayout;
using arcwise::Vocabulary;

namespace {

auto atoms_of(const TreebankLayout& layout, nb::bytes data, const std::vector<std::string>& names) {
  std::vector<arcwise::AtomSpec> specs;
  for (const std::string& name : names) specs.push_back(arcwise::atom_spec(name));
  std::vector<uint64_t> atoms;
  {
    const char* bytes = data.c_str();
    nb::gil_scoped_release release;
    atoms = arcwise::token_atoms(layout, bytes, specs, 0, layout.words());
  }
  return moved(std::move(atoms), {layout.words(), names.size()});
}

constexpr size_t WEIGHT_BLOCK = 256;  // number of 8-bit weights that share a scale in a model file

// Unpacks a weight table from a bit per cell and, for the cells whose bit is set, 8-bit values with a scale
// per block (the first cell is the highest bit of a byte).
auto spread_weights(Array<uint8_t> bits, Array<int8_t> values, Array<float> scales, size_t size) {
  if (bits.shape(0) * 8 < size || scales.shape(0) * WEIGHT_BLOCK < values.shape(0))
    throw nb::value_error("the bits, values and scales of the weights do not fit together");
  arcwise::Table<float> weights(size);
  size_t next = 0, count = values.shape(0);
  for (size_t byte = 0; byte * 8 < size; ++byte)
    for (unsigned rest = bits.data()[byte]; rest;) {
      int place = std::countl_zero(static_cast<uint8_t>(rest));
      rest &= ~(0x80u >> place);
      if (next == count || byte * 8 + static_cast<size_t>(place) >= size)
        throw nb::value_error("the bits of the weights do not fit their values");
      weights[byte * 8 + static_cast<size_t>(place)] =
          values.data()[next] * scales.data()[next / WEIGHT_BLOCK];
      ++next;
    }
  if (next != count) throw nb::value_error("the bits of the weights do not fit their values");
  return moved(std::move(weights));
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) out.push_back(arcwise::utf8_next(text, at));
  return out;
}

arcwise::LookAlikes look_alikes_of(const std::vector<std::string>& characters,
                                   const std::vector<std::string>& texts) {
  std::vector<uint32_t> own;
  std::vector<std::u32string> stand_ins;
  for (const std::string& character : characters) {
    std::u32string one = code_points(character);
    if (one.size() != 1) throw nb::value_error("expected one character each");
    own.push_back(one[0]);
  }
  for (const std::string& text : texts) stand_ins.push_back(code_points(text));
  return {own, stand_ins};
}

// The FORM of every word after substitution; None if no word changes.
std::optional<arcwise::StringColumn> forms_of(const arcwise::LookAlikes& look_alikes,
                                              const TreebankLayout& layout, nb::bytes data) {
  const char* source = data.c_str();
  nb::gil_scoped_release release;
  return arcwise::look_alike_forms(look_alikes, layout, source);
}

}  // namespace

void bind_features(nb::module_& m) {
  using arcwise::LookAlikes;
  nb::class_<LookAlikes>(m, "LookAlikes", "Characters that are read as others.")
      .def(
          "__init__",
          [](LookAlikes* self, const std::vector<std::string>& characters,
             const std::vector<std::string>& texts) {
            new (self) LookAlikes(look_alikes_of(characters, texts));
          },
          "characters"_a, "texts"_a)
      .def("forms", &forms_of, "layout"_a, "data"_a,
           "The FORM of every word with its stand-ins; None if no word has any.")
      .def(
          "read",
          [](const LookAlikes& self, const std::string& text) {
            std::string out;
            self.append(out, text);
            return out;
          },
          "text"_a, "A text with stand-ins.");
  m.attr("WEIGHT_BLOCK") = WEIGHT_BLOCK;
  m.def("spread_weights", &spread_weights, "bits"_a, "values"_a, "scales"_a, "size"_a,
        "The table of weights of a model file: a bit per cell, values of the cells that have one.");
  m.def("token_atoms", &atoms_of, "layout"_a, "data"_a, "names"_a,
        "The atoms of every word, shape (words, names), uint64; 0 where a column has nothing.");
  m.def(
      "check_atom", [](const std::string& name) { arcwise::atom_spec(name); }, "name"_a,
      "ValueError, with the known names, unless there is an atom of that name.");
  m.def(
      "known_codes",
      [](const TreebankLayout& layout, nb::bytes data, int column, const std::vector<std::string>& strings) {
        std::vector<int32_t> codes = arcwise::known_codes(layout, data.c_str(), column, strings);
        size_t words = codes.size();
        return moved(std::move(codes));
      },
      "layout"_a, "data"_a, "column"_a, "strings"_a,
      "Place of each word's field among the strings, -1 if it is none of them.");
  nb::class_<Vocabulary>(m, "Vocabulary", "How often each value of an atom occurs, most frequent first.")
      .def("__init__",
           [](Vocabulary* self, Array<uint64_t> hashes, Array<uint32_t> counts) {
             new (self) Vocabulary({hashes.data(), hashes.data() + hashes.shape(0)},
                                   {counts.data(), counts.data() + counts.shape(0)});
           })
      .def_static(
          "of",
          [](Array<uint64_t> values) {
            return Vocabulary(std::vector<uint64_t>(values.data(), values.data() + values.shape(0)));
          },
          "values"_a, "Count the values.")
      .def_prop_ro(
          "hashes", [](const Vocabulary& v) { return copied(v.hashes()); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "counts", [](const Vocabulary& v) { return copied(v.counts()); }, nb::rv_policy::automatic)
      .def("rank", &Vocabulary::rank, "hash"_a)
      .def(
          "ranks",
          [](const Vocabulary& v, Array<uint64_t> hashes) {
            std::vector<int32_t> ranks(hashes.shape(0));
            for (size_t i = 0; i < ranks.size(); ++i)
              ranks[i] = static_cast<int32_t>(v.rank(hashes.data()[i]));
            return moved(std::move(ranks));
          },
          "hashes"_a, "The rank of each value, -1 where it never occurred.")
      .def("count", &Vocabulary::count, "hash"_a);
}
