#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
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

// One column of the given rows as codes, and the distinct strings they index.
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

arcwise::StringTable table_of(const std::vector<nb::bytes>& strings) {
  arcwise::StringTable table;
  for (const nb::bytes& s : strings) {
    table.text().append(view(s));
    table.close();
  }
  return table;
}

arcwise::StringColumn column_of(Array<int32_t> codes, std::shared_ptr<arcwise::StringTable> table) {
  for (size_t word = 0; word < codes.shape(0); ++word)
    if (codes.data()[word] >= static_cast<int64_t>(table->size())) throw nb::value_error("code out of range");
  return {vector_of(codes), std::move(table)};
}

TreebankLayout annotated(const TreebankLayout& layout, nb::bytes text,
                         const std::vector<std::tuple<int, arcwise::StringColumn>>& columns,
                         std::optional<Array<int32_t>> heads,
                         std::optional<arcwise::StringColumn> misc_update,
                         const std::vector<nb::bytes>& comments) {
  auto check = [](size_t count, size_t wanted) {
    if (count != wanted) throw nb::value_error("one value per word, one comment per sentence is needed");
  };
  arcwise::Annotation annotation;
  for (const auto& [column, values] : columns) {
    check(values.size(), layout.words());
    if (column < 0 || column >= arcwise::COLUMNS) throw nb::index_error("column out of range");
    annotation.columns.emplace_back(column, values);
  }
  if (heads) check(heads->shape(0), layout.words());
  if (heads) annotation.heads = heads->data();
  if (misc_update) check(misc_update->size(), layout.words());
  if (misc_update) annotation.misc_update = &*misc_update;
  for (const nb::bytes& c : comments) annotation.comments.push_back(view(c));
  if (!comments.empty()) check(comments.size(), layout.sentences());
  const char* data = text.c_str();
  nb::gil_scoped_release release;
  return arcwise::treebank_annotated(layout, data, annotation);
}

auto written(const TreebankLayout& layout, nb::bytes text) {
  arcwise::WrittenTreebank out;
  {
    std::string_view source = view(text);
    nb::gil_scoped_release release;
    out = arcwise::treebank_written(source, layout);
  }
  return std::make_tuple(nb::bytes(out.text.data(), out.text.size()), moved(std::move(out.sentence_bytes)));
}

using LemmaRecipe = std::tuple<std::string, int, int, std::string, std::string, bool>;

arcwise::LemmaScript script_of(const LemmaRecipe& recipe) {
  const auto& [casing, drop_first, drop_last, before, after, whole] = recipe;
  return {static_cast<arcwise::LemmaCase>(casing.at(0)), drop_first, drop_last, before, after, whole};
}

// Lemma scripts, built once and applied to many treebanks.
struct LemmaScripts {
  std::vector<arcwise::LemmaScript> scripts;
};

// The lemma of each word.
arcwise::StringColumn lemmas(const LemmaScripts& by, const TreebankLayout& layout, nb::bytes data,
                             Array<uint16_t> script) {
  if (script.shape(0) != layout.words()) throw nb::value_error("one script per word is needed");
  std::unordered_map<uint64_t, int32_t> numbers;
  auto table = std::make_shared<arcwise::StringTable>();
  arcwise::StringColumn out;
  out.codes.reserve(layout.words());
  for (size_t word = 0; word < layout.words(); ++word) {
    std::string_view form = layout.field(data.c_str(), word, arcwise::FORM);
    uint64_t key = arcwise::hash_bytes(form, script.data()[word] + 1000003);
    auto [found, is_new] = numbers.emplace(key, static_cast<int32_t>(numbers.size()));
    if (is_new) {
      const std::string lemma = arcwise::lemma_apply(by.scripts.at(script.data()[word]), form);
      table->text() += lemma.empty() ? "_" : lemma;
      table->close();
    }
    out.codes.push_back(found->second);
  }
  out.table = std::move(table);
  return out;
}

}  // namespace

void bind_treebanks(nb::module_& m) {
  using arcwise::StringColumn;
  using arcwise::StringTable;
  nb::class_<StringTable>(m, "StringTable", "Strings that columns refer to by their codes.")
      .def(
          "__init__",
          [](StringTable* self, const std::vector<nb::bytes>& strings) {
            new (self) StringTable(table_of(strings));
          },
          "strings"_a);
  nb::class_<StringColumn>(m, "StringColumn", "One string per word, as codes into a table; -1 is none.")
      .def(
          "__init__",
          [](StringColumn* self, Array<int32_t> codes, std::shared_ptr<StringTable> table) {
            new (self) StringColumn(column_of(codes, std::move(table)));
          },
          "codes"_a, "table"_a)
      .def("__len__", &StringColumn::size)
      .def_prop_ro("codes", [](const StringColumn& self) { return copied(self.codes); })
      .def_prop_ro("strings",
                   [](const StringColumn& self) {
                     nb::typed<nb::list, nb::str> out;
                     for (size_t i = 0; i < self.table->size(); ++i) out.append(decoded((*self.table)[i]));
                     return out;
                   })
      .def(
          "words",
          [](const StringColumn& self) {
            nb::typed<nb::list, nb::str> out;
            for (size_t word = 0; word < self.size(); ++word) out.append(decoded(self[word]));
            return out;
          },
          "The string of each word; _ for none.");
  m.def(
      "joined_pairs",
      [](const std::vector<StringColumn>& columns) {
        for (const StringColumn& column : columns)
          if (column.size() != columns[0].size()) throw nb::value_error("columns of equal length are needed");
        return arcwise::joined_pairs(columns);
      },
      "columns"_a, "The Key=Value pairs of several columns, joined by |.");
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
  m.def("treebank_annotated", &annotated, "layout"_a, "text"_a, "columns"_a, "heads"_a = nb::none(),
        "misc_update"_a = nb::none(), "comments"_a = nb::list(),
        "The layout of the same text with new values of its words and comments beside it.");
  m.def("treebank_written", &written, "layout"_a, "text"_a,
        "The text with the annotation of its layout, and where its sentences start.");
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
      .def("lemmas", &lemmas, "layout"_a, "data"_a, "script"_a, "The lemma of each word.");
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
