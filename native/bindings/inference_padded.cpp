// Padded batches of tensors. Arrays are passed as addresses, because creating numpy views would take longer
// than a short sentence. arcwise/torch/cpu.py checks types, shapes and contiguity, and keeps the tensors
// alive during the call.
#include <cstdint>

#include "bindings/rooms.hpp"
#include "kernels/inference/padded_batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;

namespace {

using Address = uintptr_t;

template <typename T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);  // NOLINT
}

// A batch as passed from Python. span_starts is 0 if there are no spans.
struct GivenBatch {
  bool is_double;
  Address scores, lengths;
  size_t sentences;
  int words;
  bool projective, single_root;
  Address span_ends, span_starts;
  int64_t spans;

  void check() const {
    const auto* length = at<const int32_t>(lengths);
    for (size_t b = 0; b < sentences; ++b)
      if (length[b] < 0 || length[b] > words) throw nb::value_error("lengths must be from 0 to N");
    const auto* starts = at<const int64_t>(span_starts);
    if (!starts) return;
    for (size_t b = 0; b < sentences; ++b)
      if (starts[b] < 0 || starts[b] > starts[b + 1] || starts[b + 1] > spans)
        throw nb::value_error("span starts must grow from 0 to the number of spans");
  }

  template <typename Real>
  PaddedBatch<Real> as(int threads) const {
    return {at<const Real>(scores),
            at<const int32_t>(lengths),
            sentences,
            words,
            {projective, single_root},
            at<const int32_t>(span_ends),
            at<const int64_t>(span_starts),
            threads};
  }

  // Calls run(batch, Real{}) with the batch in its floating-point type, without the GIL.
  template <typename Run>
  void with(int threads, Run run) const {
    check();
    nb::gil_scoped_release release;
    if (is_double)
      run(as<double>(threads), double{});
    else
      run(as<float>(threads), float{});
  }
};

void log_partition(const GivenBatch& batch, int threads, Address log_partitions) {
  batch.with(threads, [&](const auto& padded, auto real) {
    padded_log_partition(padded, at<decltype(real)>(log_partitions));
  });
}

void marginals(const GivenBatch& batch, int threads, Address log_partitions, Address probabilities) {
  batch.with(threads, [&](const auto& padded, auto real) {
    using Real = decltype(real);
    padded_marginals(padded, at<Real>(log_partitions), at<Real>(probabilities));
  });
}

void marginal_derivatives(const GivenBatch& batch, int threads, Address first, Address second, Address out) {
  batch.with(threads, [&](const auto& padded, auto real) {
    using Real = decltype(real);
    padded_marginal_derivatives(padded, at<const Real>(first), at<const Real>(second), at<Real>(out));
  });
}

void decode(const GivenBatch& batch, int threads, Address heads, Address values) {
  batch.with(threads, [&](const auto& padded, auto real) {
    padded_decode(padded, at<int64_t>(heads), at<decltype(real)>(values));
  });
}

void k_best(const GivenBatch& batch, int threads, int k, Address heads, Address values) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  batch.with(threads, [&](const auto& padded, auto real) {
    padded_k_best(padded, k, at<int64_t>(heads), at<decltype(real)>(values));
  });
}

void sample(const GivenBatch& batch, int threads, int count, uint64_t seed, Address heads) {
  if (count < 0) throw nb::value_error("count must not be negative");
  batch.with(threads,
             [&](const auto& padded, auto) { padded_sample(padded, count, seed, at<int64_t>(heads)); });
}

}  // namespace

void bind_inference_padded(nb::module_& m) {
  nb::class_<GivenBatch>(
      m, "PaddedBatch",
      "A padded batch in memory that others own: scores (B, N+1, N+1), lengths (B,) int32, span_ends "
      "(spans, 2) int32, span_starts (B+1,) int64 or the address 0.")
      .def(
          "__init__",
          [](GivenBatch* self, bool is_double, Address scores, Address lengths, size_t sentences, int words,
             bool projective, bool single_root, Address span_ends, Address span_starts, int64_t spans) {
            new (self) GivenBatch{is_double,  scores,      lengths,   sentences,   words,
                                  projective, single_root, span_ends, span_starts, spans};
          },
          "is_double"_a, "scores"_a, "lengths"_a, "sentences"_a, "words"_a, "projective"_a, "single_root"_a,
          "span_ends"_a, "span_starts"_a, "spans"_a);
  m.def("padded_log_partition", &log_partition, "batch"_a, "threads"_a, "log_partitions"_a,
        "log Z of each sentence, (B,).");
  m.def("padded_marginals", &marginals, "batch"_a, "threads"_a, "log_partitions"_a, "marginals"_a,
        "log Z, (B,), and the probability of every arc, (B, N+1, N+1).");
  m.def("padded_marginal_derivatives", &marginal_derivatives, "batch"_a, "threads"_a, "first"_a, "second"_a,
        "derivatives"_a,
        "The derivative of the marginals along one direction, or (second is no address 0) along two.");
  m.def("padded_decode", &decode, "batch"_a, "threads"_a, "heads"_a, "values"_a,
        "The best trees, (B, N+1) int64, and their scores, (B,).");
  m.def("padded_k_best", &k_best, "batch"_a, "threads"_a, "k"_a, "heads"_a, "values"_a,
        "The k best trees, (B, k, N+1) int64, and their scores, (B, k).");
  m.def("padded_sample", &sample, "batch"_a, "threads"_a, "count"_a, "seed"_a, "heads"_a,
        "Draws, (count, B, N+1) int64; sentence b draws from stream b of the seed.");
}
