#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <unordered_map>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"
#include "kernels/treebanks/column_codes.hpp"
#include "kernels/treebanks/lemma_scripts.hpp"
#include "kernels/treebanks/treebank_layout.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;
using arcwise::TreebankLayout;

namespace {

// A read-only numpy array over memory that the layout owns.
template <typename T, typename Stored>
auto array_of(const std::vector<Stored>& values, nb::handle owner) {
  return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(reinterpret_cast<const T*>(values.data()),
                                                      {values.size()}, owner);
}

nb::str decoded(std::string_view text) {
  PyObject* value = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!value) throw nb::python_error();
  return nb::steal<nb::str>(value);
}

// The strings of one column for the words first..last-1.
nb::typed<nb::list, nb::str> column_strings(const TreebankLayout& layout, nb::bytes text, size_t first,
                                            size_t last, int column) {
  if (last > layout.words() || first > last || column < 0 || column >= arcwise::COLUMNS)
    throw nb::index_error("word or column out of range");
  nb::list out;
  for (size_t word = first; word < last; ++word)
    out.append(decoded(layout.field(text.c_str(), word, column)));
  return out;
}

// One column of the given rows as codes, and the distinct strings that they stand for.
nb::typed<nb::tuple, nb::ndarray<nb::numpy, int32_t>, nb::typed<nb::list, nb::str>> column_codes(
    const TreebankLayout& layout, nb::bytes text, Array<uint32_t> rows, int column) {
  const uint32_t* first = rows.data();
  const size_t count = rows.shape(0);
  if (column < 0 || column >= arcwise::COLUMNS ||
      std::any_of(first, first + count, [&](uint32_t row) { return row >= layout.rows(); }))
    throw nb::index_error("row or column out of range");
  arcwise::ColumnCodes found;
  {
    nb::gil_scoped_release release;
    found = arcwise::column_codes(text.c_str(), layout, first, count, column);
  }
  nb::list strings;
  for (std::string_view s : found.strings) strings.append(decoded(s));
  return nb::make_tuple(moved(std::move(found.codes)), strings);
}

// All fields of the rows first..last-1 (words, multiword tokens and empty nodes).
nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::ellipsis>> row_strings(const TreebankLayout& layout,
                                                                             nb::bytes text, size_t first,
                                                                             size_t last) {
  if (last > layout.rows() || first > last) throw nb::index_error("row out of range");
  nb::list out;
  for (size_t row = first; row < last; ++row) {
    nb::list fields;
    for (int c = 0; c < arcwise::COLUMNS; ++c) fields.append(decoded(layout.row_field(text.c_str(), row, c)));
    out.append(nb::tuple(fields));
  }
  return out;
}

nb::bytes rewrite(const TreebankLayout& layout, nb::bytes text,
                  const std::vector<std::tuple<int, int, Array<int32_t>, std::vector<nb::bytes>>>& updates,
                  const std::vector<nb::bytes>& comments) {
  std::vector<arcwise::ColumnUpdate> native;
  for (const auto& [column, kind, ids, strings] : updates) {
    arcwise::ColumnUpdate update{column, static_cast<arcwise::ColumnUpdate::Kind>(kind), ids.data(), {}};
    if (ids.shape(0) != layout.words()) throw nb::value_error("one value per word is needed");
    for (const nb::bytes& s : strings) update.strings.push_back(view(s));
    if (kind != static_cast<int>(arcwise::ColumnUpdate::Kind::number))
      for (size_t w = 0; w < ids.shape(0); ++w)
        if (ids.data()[w] >= static_cast<int64_t>(strings.size())) throw nb::value_error("code out of range");
    native.push_back(std::move(update));
  }
  std::vector<std::string_view> lines;
  for (const nb::bytes& c : comments) lines.push_back(view(c));
  if (!lines.empty() && lines.size() != layout.sentences())
    throw nb::value_error("one comment per sentence is needed");
  std::string out;
  {
    std::string_view source = view(text);
    nb::gil_scoped_release release;
    out = arcwise::treebank_rewrite(source, layout, native, lines);
  }
  return nb::bytes(out.data(), out.size());
}

using LemmaRecipe = std::tuple<std::string, int, int, std::string, std::string, bool>;

arcwise::LemmaScript script_of(const LemmaRecipe& recipe) {
  const auto& [casing, drop_first, drop_last, before, after, whole] = recipe;
  return {static_cast<arcwise::LemmaCase>(casing.at(0)), drop_first, drop_last, before, after, whole};
}

// Scripts that lemmas are made by; made once for many treebanks.
struct LemmaScripts {
  std::vector<arcwise::LemmaScript> scripts;
};

// The lemma of each word as a code into a list of different lemmas.
auto lemmas(const LemmaScripts& by, const TreebankLayout& layout, nb::bytes data, Array<uint16_t> script) {
  if (script.shape(0) != layout.words()) throw nb::value_error("one script per word is needed");
  const std::vector<arcwise::LemmaScript>& scripts = by.scripts;
  std::unordered_map<uint64_t, int32_t> numbers;
  std::vector<int32_t> codes(layout.words());
  nb::typed<nb::list, nb::str> strings;
  for (size_t word = 0; word < codes.size(); ++word) {
    std::string_view form = layout.field(data.c_str(), word, arcwise::FORM);
    uint64_t key = arcwise::hash_bytes(form, script.data()[word] + 1000003);
    auto [found, is_new] = numbers.emplace(key, static_cast<int32_t>(numbers.size()));
    if (is_new) {
      std::string lemma = arcwise::lemma_apply(scripts.at(script.data()[word]), form);
      strings.append(decoded(lemma));
    }
    codes[word] = found->second;
  }
  return std::make_tuple(moved(std::move(codes)), strings);
}

}  // namespace

void bind_treebanks(nb::module_& m) {
  nb::class_<TreebankLayout>(m, "TreebankLayout", "Where the sentences, rows and fields of a CoNLL text are.")
      .def_prop_ro("sentence_count", &TreebankLayout::sentences)
      .def_prop_ro("word_count", &TreebankLayout::words)
      .def_prop_ro("row_count", &TreebankLayout::rows)
      .def_prop_ro("marks",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint32_t>(nb::cast<TreebankLayout&>(self).marks, self);
                   })
      .def_prop_ro("row_kinds",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint8_t>(nb::cast<TreebankLayout&>(self).row_kinds, self);
                   })
      .def_prop_ro("word_rows",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint32_t>(nb::cast<TreebankLayout&>(self).word_rows, self);
                   })
      .def_prop_ro("heads",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<int32_t>(nb::cast<TreebankLayout&>(self).heads, self);
                   })
      .def_prop_ro("sentence_bytes",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint32_t>(nb::cast<TreebankLayout&>(self).sentence_bytes, self);
                   })
      .def_prop_ro("sentence_rows",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint32_t>(nb::cast<TreebankLayout&>(self).sentence_rows, self);
                   })
      .def_prop_ro("sentence_words",
                   [](nb::handle_t<TreebankLayout> self) {
                     return array_of<uint32_t>(nb::cast<TreebankLayout&>(self).sentence_words, self);
                   })
      .def_prop_ro("problems",
                   [](const TreebankLayout& layout) {
                     std::vector<std::tuple<int, uint32_t, uint32_t, int64_t>> out;
                     for (const auto& p : layout.problems)
                       out.emplace_back(static_cast<int>(p.kind), p.sentence, p.offset, p.found);
                     return out;
                   })
      .def("column_strings", &column_strings, "text"_a, "first"_a, "last"_a, "column"_a)
      .def("column_codes", &column_codes, "text"_a, "rows"_a, "column"_a,
           "One column of the given rows as (codes, distinct strings in order of first appearance).")
      .def("row_strings", &row_strings, "text"_a, "first"_a, "last"_a);
  m.def(
      "treebank_layout",
      [](nb::bytes text) {
        std::string_view source = view(text);
        nb::gil_scoped_release release;
        return arcwise::treebank_layout(source);
      },
      "text"_a, "Index a CoNLL-U or CoNLL-X text; problems are listed, never raised.");
  m.def("treebank_rewrite", &rewrite, "layout"_a, "text"_a, "updates"_a, "comments"_a,
        "The text with columns of its words replaced: (column, kind, codes, strings) each.");
  m.def(
      "treebank_last_boundary", [](nb::bytes text) { return arcwise::treebank_last_boundary(view(text)); },
      "text"_a, "Offset just after the last complete sentence, 0 if there is none.");
  nb::class_<LemmaScripts>(m, "LemmaScripts", "Scripts that make lemmas of forms.")
      .def(
          "__init__",
          [](LemmaScripts* self, const std::vector<LemmaRecipe>& recipes) {
            new (self) LemmaScripts;
            for (const LemmaRecipe& recipe : recipes) self->scripts.push_back(script_of(recipe));
          },
          "recipes"_a)
      .def("lemmas", &lemmas, "layout"_a, "data"_a, "script"_a,
           "The lemma of each word: a code each, and the list of different lemmas.");
  m.def(
      "lemma_apply",
      [](const LemmaRecipe& recipe, const std::string& form) {
        return arcwise::lemma_apply(script_of(recipe), form);
      },
      "recipe"_a, "form"_a, "The lemma that a script makes of a form.");
  m.def(
      "lower_case",
      [](nb::bytes text) {
        std::string out;
        arcwise::append_lower_case(out, {text.c_str(), text.size()});
        return nb::bytes(out.data(), out.size());
      },
      "text"_a, "UTF-8 text in lower case, code point by code point.");
}
