#include "bindings/rooms.hpp"
#include "bindings/score_batch.hpp"
#include "bindings/score_matrix.hpp"
#include "kernels/inference/matrix_tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using Doubles = Array<double>;
using Offsets = Array<int64_t>;
using Lengths = Array<int32_t>;

// Kept between calls: freeing it would let malloc return its pages, and the next call would fault them in
// again.
MatrixTreeWorkspace& workspace_of_thread() {
  thread_local MatrixTreeWorkspace workspace;
  return workspace;
}

double log_partition(ScoreMatrix scores, bool single_root) {
  if (!is_readable(scores)) return UNREADABLE;
  nb::gil_scoped_release release;
  return matrix_tree_log_partition(scores.data(), words_of(scores), single_root, workspace_of_thread());
}

double marginals(ScoreMatrix scores, bool single_root, MatrixOut out) {
  if (!is_readable(scores) || out.shape(0) != scores.shape(0) || out.shape(1) != scores.shape(0))
    return UNREADABLE;
  nb::gil_scoped_release release;
  return matrix_tree_marginals(scores.data(), words_of(scores), single_root, out.data(),
                               workspace_of_thread());
}

auto log_partition_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads) {
  const ArcMatrices batch(scores, offsets, lengths);
  auto values = new_array<double, 1>({batch.sentences});
  for_each_sentence<MatrixTreeWorkspace>(batch, threads, [&](size_t s, MatrixTreeWorkspace& workspace) {
    values.data()[s] = matrix_tree_log_partition(batch.matrix(s), batch.words(s), single_root, workspace);
  });
  return values;
}

auto marginals_batch(Doubles scores, Offsets offsets, Lengths lengths, bool single_root, int threads) {
  const ArcMatrices batch(scores, offsets, lengths);
  auto probabilities = new_array<double, 1>({scores.shape(0)});
  auto log_partitions = new_array<double, 1>({batch.sentences});
  for_each_sentence<MatrixTreeWorkspace>(batch, threads, [&](size_t s, MatrixTreeWorkspace& workspace) {
    log_partitions.data()[s] = matrix_tree_marginals(batch.matrix(s), batch.words(s), single_root,
                                                     probabilities.data() + batch.offsets[s], workspace);
  });
  return std::make_tuple(probabilities, log_partitions);
}

}  // namespace

void bind_inference_matrix_tree(nb::module_& m) {
  m.def("matrix_tree_log_partition", &log_partition, "scores"_a, "single_root"_a,
        "log Z of one sentence; -inf: no tree; nan: scores that cannot be read.");
  m.def("matrix_tree_marginals", &marginals, "scores"_a, "single_root"_a, "out"_a,
        "log Z of one sentence, the probabilities of its arcs into the given array; -inf: no tree; nan: "
        "scores that "
        "cannot be read.");
  m.def("matrix_tree_log_partition_batch", &log_partition_batch, "scores"_a, "offsets"_a, "lengths"_a,
        "single_root"_a, "threads"_a, "log Z of each sentence; -inf: no tree.");
  m.def("matrix_tree_marginals_batch", &marginals_batch, "scores"_a, "offsets"_a, "lengths"_a,
        "single_root"_a, "threads"_a,
        "(probabilities of arcs, placed as the scores are; log Z of each sentence).");
}
