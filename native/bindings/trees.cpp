#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/trees/tree_properties.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;

namespace {

constexpr size_t MEASURES = 7;

void store(const arcwise::TreeProperties& p, int32_t* row) {
  int32_t values[MEASURES] = {p.roots,     p.depth,          p.gap_degree, p.edge_degree,
                              p.crossings, p.root_crossings, p.well_nested};
  std::copy(values, values + MEASURES, row);
}

auto properties(const Array<int32_t>& heads, const Array<uint32_t>& sentence_words) {
  size_t sentences = sentence_words.shape(0) ? sentence_words.shape(0) - 1 : 0;
  const uint32_t* starts = sentence_words.data();
  for (size_t s = 0; s < sentences; ++s)
    if (starts[s] > starts[s + 1] || starts[s + 1] > heads.shape(0))
      throw nb::value_error("sentence_words must grow and stay within heads");
  std::vector<int32_t> measures(sentences * MEASURES);
  std::vector<uint8_t> non_projective(heads.shape(0)), crossing(heads.shape(0));
  size_t s = 0;
  {
    nb::gil_scoped_release release;
    arcwise::TreePropertiesWorkspace work;
    arcwise::TreeProperties found;
    for (; s < sentences; ++s) {
      uint32_t at = starts[s];
      if (!arcwise::tree_properties(heads.data() + at, static_cast<int>(starts[s + 1] - at), found,
                                    non_projective.data() + at, crossing.data() + at, work))
        break;
      store(found, &measures[s * MEASURES]);
    }
  }
  if (s < sentences)
    throw nb::value_error(("the heads of sentence " + std::to_string(s) + " are no tree").c_str());
  size_t words = heads.shape(0);
  return std::tuple(moved(std::move(measures), {sentences, MEASURES}), moved(std::move(non_projective)),
                    moved(std::move(crossing)));
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("tree_properties", &properties, "heads"_a, "sentence_words"_a,
        "Of many trees, heads flat over all words: (measures, non_projective, crossing), where measures has "
        "a row per "
        "sentence: roots, depth, gap degree, edge degree, crossings, crossings with the root, well-nested.");
}
