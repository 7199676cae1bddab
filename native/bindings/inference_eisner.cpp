#include "bindings/rooms.hpp"
#include "bindings/score_batch.hpp"
#include "bindings/score_matrix.hpp"
#include "bindings/span_batch.hpp"
#include "kernels/inference/eisner.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using Doubles = Array<double>;
using Offsets = Array<int64_t>;
using Lengths = Array<int32_t>;

// Kept between calls: allocating it would take as long as parsing a short sentence.
EisnerWorkspace& workspace_of_thread() {
  thread_local EisnerWorkspace workspace;
  return workspace;
}

double decode(ScoreMatrix scores, bool single_root, HeadsOut heads) {
  if (!is_readable(scores) || heads.shape(0) != scores.shape(0)) return UNREADABLE;
  nb::gil_scoped_release release;
  return eisner_decode(scores.data(), words_of(scores), single_root, heads.data(), workspace_of_thread());
}

double log_partition(ScoreMatrix scores, bool single_root) {
  if (!is_readable(scores)) return UNREADABLE;
  nb::gil_scoped_release release;
  return eisner_log_partition(scores.data(), words_of(scores), single_root, workspace_of_thread());
}

double marginals(ScoreMatrix scores, bool single_root, MatrixOut out) {
  if (!is_readable(scores) || out.shape(0) != scores.shape(0) || out.shape(1) != scores.shape(0))
    return UNREADABLE;
  nb::gil_scoped_release release;
  return eisner_marginals(scores.data(), words_of(scores), single_root, out.data(), workspace_of_thread());
}

auto decode_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads,
                  Array<int32_t> span_ends, Offsets span_starts) {
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(batch.head_starts.back())});
  auto values = new_array<double, 1>({batch.sentences});
  for_each_sentence<EisnerWorkspace>(batch, threads, [&](size_t s, EisnerWorkspace& workspace) {
    values.data()[s] = eisner_decode(batch.matrix(s), batch.words(s), single_root,
                                     heads.data() + batch.head_starts[s], workspace, spans.of(s));
  });
  return std::make_tuple(heads, values);
}

// Heads of sentence s start at k·(its start); counts says how many of its k slots are filled.
auto k_best_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int k, int threads,
                  Array<int32_t> span_ends, Offsets span_starts) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(k * batch.head_starts.back())});
  auto values = new_array<double, 2>({batch.sentences, static_cast<size_t>(k)});
  auto counts = new_array<int32_t, 1>({batch.sentences});
  for_each_sentence<EisnerWorkspace>(
      batch, threads,
      [&](size_t s, EisnerWorkspace& workspace) {
        counts.data()[s] = eisner_k_best(batch.matrix(s), batch.words(s), single_root, k,
                                         heads.data() + k * batch.head_starts[s], values.data() + s * k,
                                         workspace, spans.of(s));
      },
      k);
  return std::make_tuple(heads, values, counts);
}

template <double kernel(const double*, int, bool, EisnerWorkspace&, EisnerSpans)>
auto number_of_each(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads,
                    Array<int32_t> span_ends, Offsets span_starts) {
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  auto values = new_array<double, 1>({batch.sentences});
  for_each_sentence<EisnerWorkspace>(batch, threads, [&](size_t s, EisnerWorkspace& workspace) {
    values.data()[s] = kernel(batch.matrix(s), batch.words(s), single_root, workspace, spans.of(s));
  });
  return values;
}

auto marginals_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads,
                     Array<int32_t> span_ends, Offsets span_starts) {
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  auto probabilities = new_array<double, 1>({scores.shape(0)});
  auto log_partitions = new_array<double, 1>({batch.sentences});
  for_each_sentence<EisnerWorkspace>(batch, threads, [&](size_t s, EisnerWorkspace& workspace) {
    log_partitions.data()[s] =
        eisner_marginals(batch.matrix(s), batch.words(s), single_root,
                         probabilities.data() + batch.offsets[s], workspace, spans.of(s));
  });
  return std::make_tuple(probabilities, log_partitions);
}

// Sentence s draws from stream first_stream + s of the seed.
auto sample_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int count,
                  uint64_t seed, uint64_t first_stream, int threads, Array<int32_t> span_ends,
                  Offsets span_starts) {
  if (count < 0) throw nb::value_error("count must not be negative");
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(count * batch.head_starts.back())});
  auto log_partitions = new_array<double, 1>({batch.sentences});
  for_each_sentence<EisnerWorkspace>(
      batch, threads,
      [&](size_t s, EisnerWorkspace& workspace) {
        Random random(seed, first_stream + s);
        log_partitions.data()[s] =
            eisner_sample(batch.matrix(s), batch.words(s), single_root, count, random,
                          heads.data() + count * batch.head_starts[s], workspace, spans.of(s));
      },
      count);
  return std::make_tuple(heads, log_partitions);
}

}  // namespace

void bind_inference_eisner(nb::module_& m) {
  m.def("eisner_decode", &decode, "scores"_a, "single_root"_a, "heads"_a,
        "The score of the best tree of one sentence, its heads into the given array; -inf: no tree; nan: "
        "scores that cannot be read.");
  m.def("eisner_log_partition", &log_partition, "scores"_a, "single_root"_a,
        "log Z of one sentence; -inf: no tree; nan: scores that cannot be read.");
  m.def("eisner_marginals", &marginals, "scores"_a, "single_root"_a, "out"_a,
        "log Z of one sentence, the probabilities of its arcs into the given array; -inf: no tree; nan: "
        "scores that cannot be read.");
  m.def("eisner_decode_batch", &decode_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "threads"_a, "span_ends"_a, "span_starts"_a,
        "(heads, values): n+1 heads of each sentence in a row; -inf: no tree.");
  m.def("eisner_k_best_batch", &k_best_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a, "k"_a,
        "threads"_a, "span_ends"_a, "span_starts"_a,
        "(heads, values, counts): k·(n+1) heads of each sentence in a row.");
  m.def("eisner_log_partition_batch", &number_of_each<eisner_log_partition>, "scores"_a, "offsets"_a,
        "lengths"_a, "single_root"_a, "threads"_a, "span_ends"_a, "span_starts"_a,
        "log Z of each sentence; -inf: no tree.");
  m.def("eisner_count_batch", &number_of_each<eisner_count>, "scores"_a, "offsets"_a, "lengths"_a,
        "single_root"_a, "threads"_a, "span_ends"_a, "span_starts"_a, "How many trees each sentence has.");
  m.def("eisner_marginals_batch", &marginals_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "threads"_a, "span_ends"_a, "span_starts"_a,
        "(probabilities of arcs, placed as the scores are; log Z of each sentence).");
  m.def("eisner_sample_batch", &sample_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "count"_a, "seed"_a, "first_stream"_a, "threads"_a, "span_ends"_a, "span_starts"_a,
        "(heads, log Z): count·(n+1) heads of each sentence in a row.");
}
