// Padded batches of tensors with sibling scores. Arrays are addresses, as in inference_padded.cpp; arcwise/torch/sibling_backend.py checks
// types, shapes and contiguity, and keeps the tensors alive during the call.
#include <cstdint>

#include "bindings/rooms.hpp"
#include "kernels/factors/padded_siblings.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;

namespace {

using Address = uintptr_t;

void* at(Address address) {
  return reinterpret_cast<void*>(address);  // NOLINT
}
double* doubles(Address address) { return static_cast<double*>(at(address)); }

void check(const PaddedSiblings& batch) {
  for (size_t b = 0; b < batch.sentences; ++b)
    if (batch.lengths[b] < 0 || batch.lengths[b] > batch.words)
      throw nb::value_error("lengths must be from 0 to N");
}

void log_partition(const PaddedSiblings& batch, Address log_partitions) {
  check(batch);
  nb::gil_scoped_release release;
  padded_siblings_log_partition(batch, doubles(log_partitions));
}

void marginals(const PaddedSiblings& batch, Address log_partitions, Address arcs, Address pairs) {
  check(batch);
  nb::gil_scoped_release release;
  padded_siblings_marginals(batch, doubles(log_partitions), at(arcs), at(pairs));
}

void derivatives(const PaddedSiblings& batch, Address first, Address first_siblings, Address second,
                 Address second_siblings, Address arcs, Address pairs) {
  check(batch);
  nb::gil_scoped_release release;
  const SiblingDirections directions{at(first), at(first_siblings), at(second), at(second_siblings)};
  padded_siblings_derivatives(batch, directions, at(arcs), at(pairs));
}

void decode(const PaddedSiblings& batch, Address heads, Address values) {
  check(batch);
  nb::gil_scoped_release release;
  padded_siblings_decode(batch, static_cast<int64_t*>(at(heads)), doubles(values));
}

}  // namespace

void bind_factors_padded(nb::module_& m) {
  nb::class_<PaddedSiblings>(
      m, "PaddedSiblings",
      "A padded batch in memory that others own: scores (B, N+1, N+1), siblings (B, N+1, N+1, N+1), lengths "
      "(B,) int32.")
      .def(
          "__init__",
          [](PaddedSiblings* self, bool is_double, Address scores, Address siblings, Address lengths,
             size_t sentences, int words, bool single_root, int threads) {
            new (self)
                PaddedSiblings{is_double, at(scores), at(siblings), static_cast<const int32_t*>(at(lengths)),
                               sentences, words,      single_root,  threads};
          },
          "is_double"_a, "scores"_a, "siblings"_a, "lengths"_a, "sentences"_a, "words"_a, "single_root"_a,
          "threads"_a);
  m.def("padded_siblings_log_partition", &log_partition, "batch"_a, "log_partitions"_a,
        "log Z of each sentence, (B,) float64.");
  m.def("padded_siblings_marginals", &marginals, "batch"_a, "log_partitions"_a, "arcs"_a, "pairs"_a,
        "log Z, (B,) float64, the probability of every arc, (B, N+1, N+1), and of every pair of siblings, "
        "(B, N+1, "
        "N+1, N+1).");
  m.def("padded_siblings_derivatives", &derivatives, "batch"_a, "first"_a, "first_siblings"_a, "second"_a,
        "second_siblings"_a, "arcs"_a, "pairs"_a,
        "The derivative of the marginals along one direction, or (second is no address 0) along two.");
  m.def("padded_siblings_decode", &decode, "batch"_a, "heads"_a, "values"_a,
        "The best trees, (B, N+1) int64, and their scores, (B,) float64.");
}
