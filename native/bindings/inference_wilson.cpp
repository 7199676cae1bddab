#include "bindings/rooms.hpp"
#include "bindings/score_batch.hpp"
#include "kernels/inference/wilson.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

// Sentence s draws from stream first_stream + s of the seed.
auto sample_batch(Array<double> scores, Array<int64_t> offsets, Array<int32_t> lengths, bool single_root,
                  int count, uint64_t seed, uint64_t first_stream, int threads) {
  if (count < 0) throw nb::value_error("count must not be negative");
  const ArcMatrices batch(scores, offsets, lengths);
  auto heads = new_array<int32_t, 1>({static_cast<size_t>(count * batch.head_starts.back())});
  auto log_partitions = new_array<double, 1>({batch.sentences});
  for_each_sentence<WilsonWorkspace>(
      batch, threads,
      [&](size_t s, WilsonWorkspace& workspace) {
        Random random(seed, first_stream + s);
        log_partitions.data()[s] = wilson_sample(batch.matrix(s), batch.words(s), single_root, count, random,
                                                 heads.data() + count * batch.head_starts[s], workspace);
      },
      count);
  return std::make_tuple(heads, log_partitions);
}

}  // namespace

void bind_inference_wilson(nb::module_& m) {
  m.def("wilson_sample_batch", &sample_batch, "scores"_a, "offsets"_a, "lengths"_a, "single_root"_a,
        "count"_a, "seed"_a, "first_stream"_a, "threads"_a,
        "(heads, log Z): count·(n+1) heads of each sentence in a row.");
}
