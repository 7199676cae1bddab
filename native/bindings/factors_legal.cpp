// Legal trees: rules over the dependents of a word.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>

#include "bindings/arrays.hpp"
#include "kernels/factors/legal_batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

LegalRules legal_rules(const Array<uint64_t>& groups, const Array<uint64_t>& leaves,
                       const Array<uint64_t>& outsiders, const Array<double>& group_costs,
                       const Array<double>& leaf_costs) {
  if (leaves.shape(0) != groups.shape(0) || outsiders.shape(0) != groups.shape(0))
    throw nb::value_error("masks must be one number per label");
  auto reaches = [](const Array<uint64_t>& masks, size_t rules) {
    return rules > 64 || std::any_of(masks.data(), masks.data() + masks.shape(0),
                                     [rules](uint64_t mask) { return rules < 64 && mask >> rules; });
  };
  if (reaches(groups, group_costs.shape(0)) || reaches(leaves, leaf_costs.shape(0)) ||
      reaches(outsiders, leaf_costs.shape(0)))
    throw nb::value_error("a mask names a rule without a cost, or there are more than 64 rules");
  return {vector_of(groups), vector_of(leaves), vector_of(outsiders), vector_of(group_costs),
          vector_of(leaf_costs)};
}

BatchSpans spans_of(const ScoreBatch& scores, const Array<int32_t>& ends, const Array<int64_t>& starts) {
  if (starts.shape(0) == 0) return {};
  if (starts.shape(0) != scores.size() + 1 ||
      2 * starts.data()[scores.size()] != static_cast<int64_t>(ends.shape(0)))
    throw nb::value_error("spans of another batch");
  return {ends.data(), starts.data()};
}

auto decode_legal(const LegalRules& rules, const ScoreBatch& scores, const DecodeSettings& settings,
                  Array<int32_t> span_ends, Array<int64_t> span_starts, int max_decodes, int threads) {
  if (scores.states().labels != static_cast<int>(rules.groups.size()))
    throw nb::value_error("rules and scores have different labels");
  const BatchSpans spans = spans_of(scores, span_ends, span_starts);
  LegalBatch batch;
  {
    nb::gil_scoped_release release;
    batch = legal_decode(scores, settings, rules, spans, max_decodes, threads);
  }
  return std::make_tuple(std::move(batch.parses), moved(std::move(batch.values)),
                         moved(std::move(batch.bounds)), moved(std::move(batch.decodes)));
}

// The parse with legal trees in the places of illegal ones.
ParseResult legal_parses(const ScoreBatch& scores, ParseResult parses, const DecodeSettings& settings,
                         const LegalSettings& legal, Array<int32_t> span_ends, Array<int64_t> span_starts,
                         int threads) {
  if (!legal.fit(scores.words(), scores.states().labels))
    throw nb::value_error("rules of other labels or words");
  const BatchSpans spans = spans_of(scores, span_ends, span_starts);
  if (parses.heads.size() != scores.words() || parses.parsed.size() != scores.size() ||
      (settings.probabilities && parses.head_probability.empty() && scores.words() > 0))
    throw nb::value_error("a parse of another batch, or without probabilities");
  nb::gil_scoped_release release;
  legal_replace(parses, scores, settings, legal, spans, threads);
  return parses;
}

// Heads and labels of other lengths, or outside their sentence, would be read out of bounds.
auto illegal(const LegalRules& rules, Array<int32_t> heads, Array<int32_t> labels, Array<int64_t> starts) {
  const size_t sentences = starts.shape(0) ? starts.shape(0) - 1 : 0;
  if (!starts.shape(0) || starts.data()[0] != 0 || heads.shape(0) != labels.shape(0) ||
      starts.data()[sentences] != static_cast<int64_t>(heads.shape(0)))
    throw nb::value_error("heads, labels and starts of different sentences");
  for (size_t s = 0; s < sentences; ++s) {
    const int64_t first = starts.data()[s], last = starts.data()[s + 1];
    if (last < first) throw nb::value_error("starts must not fall");
    for (int64_t word = first; word < last; ++word)
      if (heads.data()[word] > last - first ||
          labels.data()[word] >= static_cast<int64_t>(rules.groups.size()))
        throw nb::value_error("a head or label is out of range");
  }
  return moved(illegal_sentences(rules, heads.data(), labels.data(), starts.data(), sentences));
}

}  // namespace

void bind_factors_legal(nb::module_& m) {
  nb::class_<LegalRules>(m, "LegalTreeRules",
                         "Rules over the dependents of a word, by label; see legal_trees.hpp.")
      .def(
          "__init__",
          [](LegalRules* self, Array<uint64_t> groups, Array<uint64_t> leaves, Array<uint64_t> outsiders,
             Array<double> group_costs, Array<double> leaf_costs) {
            new (self) LegalRules(legal_rules(groups, leaves, outsiders, group_costs, leaf_costs));
          },
          "groups"_a, "leaves"_a, "outsiders"_a, "group_costs"_a, "leaf_costs"_a)
      .def("decode", &decode_legal, "scores"_a, "settings"_a, "span_ends"_a, "span_starts"_a, nb::kw_only(),
           "max_decodes"_a, "threads"_a, "Trees, values, bounds and numbers of decodes of a batch.")
      .def("illegal", &illegal, "heads"_a, "labels"_a, "starts"_a,
           "Each sentence: whether it breaks a rule.");
  nb::class_<LegalSettings>(m, "LegalSettings", "The rules that the trees of a parse must obey.")
      .def(
          "__init__",
          [](LegalSettings* self, const LegalRules& rules, std::optional<Array<int32_t>> labels,
             int max_decodes) {
            new (self)
                LegalSettings{&rules, labels ? vector_of(*labels) : std::vector<int32_t>{}, max_decodes};
          },
          "rules"_a, "labels"_a.none() = nb::none(), nb::kw_only(), "max_decodes"_a, nb::keep_alive<1, 2>(),
          "labels: the label that each word keeps, -1 where free.");
  m.def("legal_parses", &legal_parses, "scores"_a, "parses"_a, "settings"_a, "legal"_a, "span_ends"_a,
        "span_starts"_a, nb::kw_only(), "threads"_a,
        "A parse of these scores with the best legal trees in the places of illegal ones.");
}
