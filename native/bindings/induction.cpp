#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>

#include "bindings/rooms.hpp"
#include "kernels/induction/dmv.hpp"
#include "kernels/induction/dmv_em.hpp"
#include "kernels/base/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using arcwise::DmvLayout;
using arcwise::TagCorpus;

namespace {

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
Out<T> owned(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(kept->data(), {kept->size()}, owner);
}

TagCorpus corpus_of(int tag_count, In<int32_t> tags, In<int64_t> starts, In<double> weights) {
  TagCorpus corpus{tag_count,
                   {tags.data(), tags.data() + tags.shape(0)},
                   {starts.data(), starts.data() + starts.shape(0)},
                   {weights.data(), weights.data() + weights.shape(0)}};
  bool sound = tag_count > 0 && corpus.starts.size() == corpus.weights.size() + 1 && corpus.starts[0] == 0 &&
               corpus.starts.back() == static_cast<int64_t>(corpus.tags.size());
  for (size_t s = 0; sound && s < corpus.sentences(); ++s)
    sound = corpus.length(s) >= 1 && corpus.weights[s] > 0;
  for (int32_t t : corpus.tags) sound = sound && t >= 0 && t < tag_count;
  if (!sound) throw nb::value_error("tags, starts and weights do not fit together");
  return corpus;
}

std::vector<double> parameters(In<double> theta, int tags) {
  if (static_cast<int>(theta.shape(0)) != DmvLayout{tags}.features())
    throw nb::value_error("one parameter per feature is needed");
  return {theta.data(), theta.data() + theta.shape(0)};
}

// Calls work(sentence, heads of its words with the wall, workspace) and collects the heads without the walls.
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

std::tuple<Out<int32_t>, Out<double>> decode(In<double> theta, const TagCorpus& corpus, int threads) {
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
  return {owned(std::move(heads)), owned(std::move(values))};
}

Out<int32_t> sample(In<double> theta, const TagCorpus& corpus, uint64_t seed, int threads) {
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
  return owned(std::move(heads));
}

std::tuple<Out<double>, Out<double>> expected_counts(In<double> theta, const TagCorpus& corpus) {
  const auto parameter = parameters(theta, corpus.tag_count);
  std::vector<double> counts(parameter.size()), values(corpus.sentences());
  {
    nb::gil_scoped_release release;
    arcwise::DmvWorkspace workspace;
    for (size_t s = 0; s < corpus.sentences(); ++s)
      values[s] = arcwise::dmv_expected_counts(parameter.data(), {corpus.tag_count}, corpus.sentence(s),
                                               corpus.length(s), corpus.weights[s], counts.data(), workspace);
  }
  return {owned(std::move(counts)), owned(std::move(values))};
}

Out<double> tree_counts(const TagCorpus& corpus, In<int32_t> heads) {
  if (heads.shape(0) != corpus.tags.size()) throw nb::value_error("one head per word is needed");
  std::vector<double> counts(DmvLayout{corpus.tag_count}.features());
  for (size_t s = 0; s < corpus.sentences(); ++s)
    arcwise::dmv_count(DmvLayout{corpus.tag_count}, corpus.sentence(s), corpus.length(s),
                       heads.data() + corpus.starts[s] - 1, corpus.weights[s], counts.data());
  return owned(std::move(counts));
}

std::tuple<Out<int32_t>, Out<int64_t>, Out<int32_t>> generate(In<double> theta, int tags, size_t sentences,
                                                              int min_length, int max_length, uint64_t seed,
                                                              size_t attempts) {
  const auto parameter = parameters(theta, tags);
  std::vector<int32_t> all_tags, all_heads, own_tags, own_heads;
  std::vector<int64_t> starts{0};
  for (size_t s = 0; s < sentences; ++s) {
    arcwise::Random random(seed, s);
    size_t tried = 0;
    do {
      if (tried++ == attempts)
        return {owned(std::move(all_tags)), owned(std::move(starts)), owned(std::move(all_heads))};
    } while (!arcwise::dmv_generate(parameter.data(), {tags}, max_length, random, own_tags, own_heads) ||
             static_cast<int>(own_tags.size()) < min_length);
    all_tags.insert(all_tags.end(), own_tags.begin(), own_tags.end());
    all_heads.insert(all_heads.end(), own_heads.begin() + 1, own_heads.end());
    starts.push_back(static_cast<int64_t>(all_tags.size()));
  }
  return {owned(std::move(all_tags)), owned(std::move(starts)), owned(std::move(all_heads))};
}

arcwise::DmvEmOptions em_options(bool viterbi, int start, double smoothing, bool polish, int iterations,
                                 double tolerance, In<uint8_t> marked, double least, int tags) {
  arcwise::DmvEmOptions options;
  options.viterbi = viterbi;
  options.start = static_cast<arcwise::DmvStart>(start);
  options.smoothing = smoothing;
  options.polish = polish;
  options.iterations = iterations;
  options.tolerance = tolerance;
  options.constraint = {{marked.data(), marked.data() + marked.shape(0)}, least};
  if (marked.shape(0) != 0 && static_cast<int>(marked.shape(0)) != DmvLayout{tags}.features())
    throw nb::value_error("one mark per feature is needed");
  return options;
}

using EmResult = std::tuple<double, int, Out<double>, Out<double>, Out<double>>;

EmResult em_restarts(const TagCorpus& corpus, size_t first, size_t restarts, uint64_t seed, int threads,
                     bool viterbi, int start, double smoothing, bool polish, int iterations, double tolerance,
                     In<uint8_t> marked, double least, In<double> base) {
  auto options =
      em_options(viterbi, start, smoothing, polish, iterations, tolerance, marked, least, corpus.tag_count);
  options.base.assign(base.data(), base.data() + base.shape(0));
  if (options.start == arcwise::DmvStart::near) parameters(base, corpus.tag_count);
  arcwise::DmvRestarts out;
  {
    nb::gil_scoped_release release;
    out = arcwise::dmv_em_restarts(corpus, options, first, restarts, seed, threads);
  }
  return {out.best.value, out.best.iterations, owned(std::move(out.best.theta)),
          owned(std::move(out.best.trace)), owned(std::move(out.values))};
}

using Improved = std::tuple<double, Out<double>, Out<double>, Out<int32_t>>;

Improved em_improve(In<double> theta, const TagCorpus& corpus, bool viterbi, double smoothing, bool polish,
                    int iterations, double tolerance, In<uint8_t> marked, double least) {
  const auto options =
      em_options(viterbi, 0, smoothing, polish, iterations, tolerance, marked, least, corpus.tag_count);
  auto from = parameters(theta, corpus.tag_count);
  arcwise::DmvEmResult out;
  std::vector<double> counts;
  std::vector<int32_t> parses;
  {
    nb::gil_scoped_release release;
    arcwise::DmvTrainer trainer(corpus, options);
    out = trainer.improve(std::move(from));
    counts = trainer.counts();
    parses = trainer.parses();
  }
  return {out.value, owned(std::move(out.theta)), owned(std::move(counts)), owned(std::move(parses))};
}

}  // namespace

void bind_induction(nb::module_& m) {
  nb::class_<TagCorpus>(m, "TagCorpus", "Sentences as tag numbers, each with a weight.")
      .def(
          "__init__",
          [](TagCorpus* self, int tag_count, In<int32_t> tags, In<int64_t> starts, In<double> weights) {
            new (self) TagCorpus(corpus_of(tag_count, tags, starts, weights));
          },
          "tag_count"_a, "tags"_a, "starts"_a, "weights"_a);
  m.def("dmv_decode_batch", &decode, "theta"_a, "corpus"_a, "threads"_a = 1,
        "Heads of all words under the best trees, and the log-probability of each tree.");
  m.def("dmv_sample_batch", &sample, "theta"_a, "corpus"_a, "seed"_a, "threads"_a = 1,
        "Heads of all words under trees drawn from the posterior.");
  m.def("dmv_expected_counts_batch", &expected_counts, "theta"_a, "corpus"_a,
        "Expected counts of all features, and log Z of each sentence.");
  m.def("dmv_counts", &tree_counts, "corpus"_a, "heads"_a, "Counts of all features in given trees.");
  m.def("dmv_generate_batch", &generate, "theta"_a, "tags"_a, "sentences"_a, "min_length"_a, "max_length"_a,
        "seed"_a, "attempts"_a,
        "Tags, starts and heads of sentences drawn from the model; fewer if the attempts run out.");
  m.def("dmv_em_restarts", &em_restarts, "corpus"_a, "first"_a, "restarts"_a, "seed"_a, "threads"_a,
        "viterbi"_a, "start"_a, "smoothing"_a, "polish"_a, "iterations"_a, "tolerance"_a, "marked"_a,
        "least"_a, "base"_a,
        "Best (value, iterations, theta, trace) of many restarts, and the value of each.");
  m.def("dmv_em_improve", &em_improve, "theta"_a, "corpus"_a, "viterbi"_a, "smoothing"_a, "polish"_a,
        "iterations"_a, "tolerance"_a, "marked"_a, "least"_a,
        "(value, theta, counts, heads of the parses) from given parameters.");
}
