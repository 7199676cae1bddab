#include "kernels/inference/marginal_derivatives.hpp"

#include "bindings/rooms.hpp"
#include "bindings/score_matrix.hpp"
#include "bindings/span_batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using Directions = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

auto marginals_jvp_batch(Array<double> scores, Array<int64_t> offsets, Array<int32_t> lengths,
                         bool projective, bool single_root, Directions directions, int threads,
                         Array<int32_t> span_ends, Array<int64_t> span_starts) {
  const ArcMatrices batch(scores, offsets, lengths);
  const SpanBatch spans(span_ends, span_starts, batch);
  const size_t count = directions.shape(0), size = scores.shape(0);
  if (directions.shape(1) != size) throw nb::value_error("a direction needs as many numbers as the scores");
  auto derivatives = new_array<double, 2>({count, size});
  std::fill_n(derivatives.data(), count * size, 0.0);  // numbers between the matrices belong to no sentence
  for_each_sentence<DerivativeWorkspace>(
      batch, threads,
      [&](size_t s, DerivativeWorkspace& workspace) {
        const int n = batch.words(s);
        for (size_t d = 0; d < count; ++d) {
          const size_t from = d * size + batch.offsets[s];
          if (!marginal_derivatives(batch.matrix(s), n, {projective, single_root},
                                    {directions.data() + from, nullptr}, derivatives.data() + from, workspace,
                                    spans.of(s)))
            std::fill_n(derivatives.data() + from, static_cast<size_t>(n + 1) * (n + 1), UNREADABLE);
        }
      },
      static_cast<int>(std::min<size_t>(count, 1000)));
  return derivatives;
}

}  // namespace

void bind_inference_marginal_derivatives(nb::module_& m) {
  m.def("marginals_jvp_batch", &marginals_jvp_batch, "scores"_a, "offsets"_a, "lengths"_a, "projective"_a,
        "single_root"_a, "directions"_a, "threads"_a, "span_ends"_a, "span_starts"_a,
        "The derivative of the marginals along each direction, (D, size of the scores), placed as the scores "
        "are; 0: no tree; nan: a direction that is not finite.");
}
