#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/induction/dmv.hpp"
#include "kernels/induction/dmv_em.hpp"
#include "kernels/induction/verifier_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;
using arcwise::DmvEmOptions;
using arcwise::DmvEmResult;
using arcwise::DmvLayout;
using arcwise::DmvRestarts;
using arcwise::DmvStart;
using arcwise::TagCorpus;

namespace {

TagCorpus corpus_of(int tag_count, Array<int32_t> tags, Array<int64_t> starts, Array<double> weights) {
  TagCorpus corpus{tag_count, vector_of(tags), vector_of(starts), vector_of(weights)};
  bool sound = tag_count > 0 && corpus.starts.size() == corpus.weights.size() + 1 && corpus.starts[0] == 0 &&
               corpus.starts.back() == static_cast<int64_t>(corpus.tags.size());
  for (size_t s = 0; sound && s < corpus.sentences(); ++s)
    sound = corpus.length(s) >= 1 && corpus.weights[s] > 0;
  for (int32_t t : corpus.tags) sound = sound && t >= 0 && t < tag_count;
  if (!sound) throw nb::value_error("tags, starts and weights do not fit together");
  return corpus;
}

std::vector<double> parameters(Array<double> theta, int tags) {
  if (static_cast<int>(theta.shape(0)) != DmvLayout{tags}.features())
    throw nb::value_error("one parameter per feature is needed");
  return vector_of(theta);
}

// Calls work(sentence, heads including the root, workspace) and collects the heads of the words.
template <typename Work>
std::vector<int32_t> heads_of_all(const TagCorpus& corpus, int threads, Work work) {
  std::vector<int32_t> heads(corpus.tags.size(), -1);
  std::vector<arcwise::DmvWorkspace> workspaces(std::max(threads, 1));
  arcwise::parallel_for(corpus.sentences(), threads, [&](size_t s, size_t worker) {
    std::vector<int32_t> own(corpus.length(s) + 1, -1);
    work(s, own.data(), workspaces[worker]);
    std::copy(own.begin() + 1, own.end(), heads.begin() + corpus.starts[s]);
  });
  return heads;
}

std::tuple<NewArray<int32_t>, NewArray<double>> decode(Array<double> theta, const TagCorpus& corpus,
                                                       int threads) {
  const auto parameter = parameters(theta, corpus.tag_count);
  std::vector<double> values(corpus.sentences());
  std::vector<int32_t> heads;
  {
    nb::gil_scoped_release release;
    heads = heads_of_all(corpus, threads, [&](size_t s, int32_t* own, arcwise::DmvWorkspace& workspace) {
      values[s] = arcwise::dmv_decode(parameter.data(), {corpus.tag_count}, corpus.sentence(s),
                                      corpus.length(s), own, workspace);
    });
  }
  return {moved(std::move(heads)), moved(std::move(values))};
}

NewArray<int32_t> sample(Array<double> theta, const TagCorpus& corpus, uint64_t seed, int threads) {
  const auto parameter = parameters(theta, corpus.tag_count);
  std::vector<int32_t> heads;
  {
    nb::gil_scoped_release release;
    heads = heads_of_all(corpus, threads, [&](size_t s, int32_t* own, arcwise::DmvWorkspace& workspace) {
      arcwise::Random random(seed, s);
      arcwise::dmv_sample(parameter.data(), {corpus.tag_count}, corpus.sentence(s), corpus.length(s), random,
                          own, workspace);
    });
  }
  return moved(std::move(heads));
}

std::tuple<NewArray<double>, NewArray<double>> expected_counts(Array<double> theta, const TagCorpus& corpus) {
  const auto parameter = parameters(theta, corpus.tag_count);
  std::vector<double> counts(parameter.size()), values(corpus.sentences());
  {
    nb::gil_scoped_release release;
    arcwise::DmvWorkspace workspace;
    for (size_t s = 0; s < corpus.sentences(); ++s)
      values[s] = arcwise::dmv_expected_counts(parameter.data(), {corpus.tag_count}, corpus.sentence(s),
                                               corpus.length(s), corpus.weights[s], counts.data(), workspace);
  }
  return {moved(std::move(counts)), moved(std::move(values))};
}

NewArray<double> tree_counts(const TagCorpus& corpus, Array<int32_t> heads) {
  if (heads.shape(0) != corpus.tags.size()) throw nb::value_error("one head per word is needed");
  std::vector<double> counts(DmvLayout{corpus.tag_count}.features());
  for (size_t s = 0; s < corpus.sentences(); ++s)
    arcwise::dmv_count(DmvLayout{corpus.tag_count}, corpus.sentence(s), corpus.length(s),
                       heads.data() + corpus.starts[s] - 1, corpus.weights[s], counts.data());
  return moved(std::move(counts));
}

std::tuple<NewArray<int32_t>, NewArray<int64_t>, NewArray<int32_t>> generate(Array<double> theta, int tags,
                                                                             size_t sentences, int min_length,
                                                                             int max_length, uint64_t seed,
                                                                             size_t attempts) {
  const auto parameter = parameters(theta, tags);
  std::vector<int32_t> all_tags, all_heads, own_tags, own_heads;
  std::vector<int64_t> starts{0};
  for (size_t s = 0; s < sentences; ++s) {
    arcwise::Random random(seed, s);
    size_t tried = 0;
    do {
      if (tried++ == attempts)
        return {moved(std::move(all_tags)), moved(std::move(starts)), moved(std::move(all_heads))};
    } while (!arcwise::dmv_generate(parameter.data(), {tags}, max_length, random, own_tags, own_heads) ||
             static_cast<int>(own_tags.size()) < min_length);
    all_tags.insert(all_tags.end(), own_tags.begin(), own_tags.end());
    all_heads.insert(all_heads.end(), own_heads.begin() + 1, own_heads.end());
    starts.push_back(static_cast<int64_t>(all_tags.size()));
  }
  return {moved(std::move(all_tags)), moved(std::move(starts)), moved(std::move(all_heads))};
}

void make_options(DmvEmOptions* self, bool viterbi, DmvStart start, double smoothing, bool polish,
                  int iterations, double tolerance, Array<uint8_t> marked, double least,
                  std::optional<Array<double>> base) {
  new (self)
      DmvEmOptions{viterbi, start, smoothing, polish, iterations, tolerance, {vector_of(marked), least}, {}};
  if (base) self->base = vector_of(*base);
}

void check(const DmvEmOptions& options, const TagCorpus& corpus) {
  const size_t features = DmvLayout{corpus.tag_count}.features();
  if (!options.constraint.marked.empty() && options.constraint.marked.size() != features)
    throw nb::value_error("one mark per feature is needed");
  if (options.start == DmvStart::near && options.base.size() != features)
    throw nb::value_error("one parameter per feature is needed");
}

DmvRestarts em_restarts(const TagCorpus& corpus, const DmvEmOptions& options, size_t first, size_t restarts,
                        uint64_t seed, int threads) {
  check(options, corpus);
  nb::gil_scoped_release release;
  return arcwise::dmv_em_restarts(corpus, options, first, restarts, seed, threads);
}

struct DmvImproved {
  DmvEmResult found;
  std::vector<double> counts;
  std::vector<int32_t> heads;
};

DmvImproved em_improve(Array<double> theta, const TagCorpus& corpus, const DmvEmOptions& options) {
  check(options, corpus);
  auto from = parameters(theta, corpus.tag_count);
  nb::gil_scoped_release release;
  arcwise::DmvTrainer trainer(corpus, options);
  DmvEmResult found = trainer.improve(std::move(from));
  return {std::move(found), trainer.counts(), trainer.parses()};
}

void bind_em(nb::module_& m) {
  constexpr auto MOVE = nb::rv_policy::move;
  nb::enum_<DmvStart>(m, "DmvStart", "Where EM starts.")
      .value("uniform", DmvStart::uniform)
      .value("random", DmvStart::random)
      .value("near", DmvStart::near)
      .value("harmonic", DmvStart::harmonic);
  nb::class_<DmvEmOptions>(m, "DmvEmOptions", "How EM for the DMV works; see dmv_em.hpp.")
      .def("__init__", &make_options, nb::kw_only(), "viterbi"_a, "start"_a, "smoothing"_a, "polish"_a,
           "iterations"_a, "tolerance"_a, "marked"_a, "least"_a, "base"_a = nb::none());
  nb::class_<DmvRestarts>(m, "DmvRestarts", "The best of many restarts, and the value of each.")
      .def_prop_ro("value", [](const DmvRestarts& r) { return r.best.value; })
      .def_prop_ro(
          "theta", [](const DmvRestarts& r) { return copied(r.best.theta); }, MOVE)
      .def_prop_ro(
          "trace", [](const DmvRestarts& r) { return copied(r.best.trace); }, MOVE)
      .def_prop_ro("values", [](const DmvRestarts& r) { return copied(r.values); }, MOVE);
  nb::class_<DmvImproved>(m, "DmvImproved",
                          "Where EM led to from given parameters: counts and heads of the parses.")
      .def_prop_ro("value", [](const DmvImproved& r) { return r.found.value; })
      .def_prop_ro(
          "theta", [](const DmvImproved& r) { return copied(r.found.theta); }, MOVE)
      .def_prop_ro(
          "counts", [](const DmvImproved& r) { return copied(r.counts); }, MOVE)
      .def_prop_ro("heads", [](const DmvImproved& r) { return copied(r.heads); }, MOVE);
  m.def("dmv_em_restarts", &em_restarts, "corpus"_a, "options"_a, nb::kw_only(), "first"_a, "restarts"_a,
        "seed"_a, "threads"_a, "EM from many starting points, numbered from `first` on.");
  m.def("dmv_em_improve", &em_improve, "theta"_a, "corpus"_a, "options"_a, "EM from given parameters.");
}

// ---- for the verifier

using Shape = std::vector<size_t>;

arcwise::SumMoves moves_of(const Shape& from, const Shape& to, Array<int64_t> shifts, Array<int32_t> prices) {
  const std::vector<int64_t> given = vector_of(shifts);
  for (int64_t shift : given)
    if (shift < 0) throw nb::value_error("shifts must not be negative");
  arcwise::SumMoves moves{from, to, {given.begin(), given.end()}, vector_of(prices)};
  if (!moves.is_sound()) throw nb::value_error("shapes, shifts and prices do not fit together");
  return moves;
}

void check_size(const Array<int32_t>& sums, const Shape& shape) {
  size_t size = 1;
  for (size_t side : shape) size *= side;
  if (sums.shape(0) != size) throw nb::value_error("as many sums are needed as the shape says");
}

NewArray<int32_t> verifier_added(Array<int32_t> sums, const Shape& from, const Shape& to,
                                 Array<int64_t> shifts, Array<int32_t> prices, int32_t nothing) {
  const arcwise::SumMoves moves = moves_of(from, to, shifts, prices);
  check_size(sums, from);
  return moved(arcwise::sums_added(moves, sums.data(), nothing));
}

std::tuple<NewArray<int32_t>, NewArray<int32_t>> verifier_given(Array<int32_t> before, Array<int32_t> after,
                                                                const Shape& from, const Shape& to,
                                                                Array<int64_t> shifts, Array<int32_t> prices,
                                                                int32_t nothing) {
  const arcwise::SumMoves moves = moves_of(from, to, shifts, prices);
  check_size(before, from);
  check_size(after, to);
  arcwise::SumsGiven found = arcwise::sums_given(moves, before.data(), after.data(), nothing);
  return {moved(std::move(found.found)), moved(std::move(found.both))};
}

void bind_verifier(nb::module_& m) {
  m.def("verifier_sums_added", &verifier_added, "sums"_a, "from_shape"_a, "to_shape"_a, "shifts"_a,
        "prices"_a, "nothing"_a, "The best sums with one more vector, flat.");
  m.def("verifier_sums_given", &verifier_given, "before"_a, "after"_a, "from_shape"_a, "to_shape"_a,
        "shifts"_a, "prices"_a, "nothing"_a,
        "The best with each vector, and the best of what comes after for each sum before, flat.");
}

}  // namespace

void bind_induction(nb::module_& m) {
  nb::class_<TagCorpus>(m, "TagCorpus", "Sentences as tag numbers, each with a weight.")
      .def(
          "__init__",
          [](TagCorpus* self, int tag_count, Array<int32_t> tags, Array<int64_t> starts,
             Array<double> weights) { new (self) TagCorpus(corpus_of(tag_count, tags, starts, weights)); },
          "tag_count"_a, "tags"_a, "starts"_a, "weights"_a);
  m.def("dmv_decode_batch", &decode, "theta"_a, "corpus"_a, "threads"_a = 1,
        "Heads of all words under the best trees, and the log-probability of each tree.");
  m.def("dmv_sample_batch", &sample, "theta"_a, "corpus"_a, "seed"_a, "threads"_a = 1,
        "Heads of all words under trees drawn from the posterior.");
  m.def("dmv_expected_counts_batch", &expected_counts, "theta"_a, "corpus"_a,
        "Expected counts of all features, and log Z of each sentence.");
  m.def("dmv_counts", &tree_counts, "corpus"_a, "heads"_a, "Counts of all features in given trees.");
  m.def("dmv_generate_batch", &generate, "theta"_a, nb::kw_only(), "tags"_a, "sentences"_a, "min_length"_a,
        "max_length"_a, "seed"_a, "attempts"_a,
        "Tags, starts and heads of sentences drawn from the model; fewer if the attempts run out.");
  bind_em(m);
  bind_verifier(m);
}
