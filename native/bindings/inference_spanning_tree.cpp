#include "bindings/rooms.hpp"
#include "bindings/score_batch.hpp"
#include "bindings/score_matrix.hpp"
#include "kernels/inference/spanning_tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using Doubles = Array<double>;
using Offsets = Array<int64_t>;
using Lengths = Array<int32_t>;

double decode(ScoreMatrix scores, bool single_root, HeadsOut heads) {
  if (!is_readable(scores) || heads.shape(0) != scores.shape(0)) return UNREADABLE;
  thread_local SpanningTreeWorkspace workspace;  // allocating it would take longer than a short sentence
  return spanning_tree_decode(scores.data(), words_of(scores), single_root, heads.data(), workspace);
}

auto decode_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads) {
  const ArcMatrices batch(scores, offsets, lengths);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(batch.head_starts.back())});
  auto values = new_array<double, 1>({batch.sentences});
  for_each_sentence<SpanningTreeWorkspace>(batch, threads, [&](size_t s, SpanningTreeWorkspace& workspace) {
    values.data()[s] = spanning_tree_decode(batch.matrix(s), batch.words(s), single_root,
                                            heads.data() + batch.head_starts[s], workspace);
  });
  return std::make_tuple(heads, values);
}

// Heads of sentence s start at k·(its start); counts says how many of its k slots are filled.
auto k_best_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int k, int threads) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  const ArcMatrices batch(scores, offsets, lengths);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(k * batch.head_starts.back())});
  auto values = new_array<double, 2>({batch.sentences, static_cast<size_t>(k)});
  auto counts = new_array<int32_t, 1>({batch.sentences});
  for_each_sentence<SpanningTreeWorkspace>(
      batch, threads,
      [&](size_t s, SpanningTreeWorkspace& workspace) {
        counts.data()[s] =
            spanning_tree_k_best(batch.matrix(s), batch.words(s), single_root, k,
                                 heads.data() + k * batch.head_starts[s], values.data() + s * k, workspace);
      },
      k);
  return std::make_tuple(heads, values, counts);
}

}  // namespace

void bind_inference_spanning_tree(nb::module_& m) {
  m.def("spanning_tree_decode", &decode, "scores"_a, "single_root"_a, "heads"_a,
        "The score of the best tree of one sentence, its heads into the given array; -inf: no tree; nan: "
        "scores "
        "that cannot be read.");
  m.def("spanning_tree_decode_batch", &decode_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "threads"_a, "(heads, values): n+1 heads of each sentence in a row; -inf: no tree.");
  m.def("spanning_tree_k_best_batch", &k_best_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "k"_a, "threads"_a, "(heads, values, counts): k·(n+1) heads of each sentence in a row.");
}
