#include "kernels/factors/padded_siblings.hpp"

#include <cstddef>
#include <type_traits>
#include <vector>

#include "kernels/base/parallel.hpp"
#include "kernels/factors/eisner_siblings_decode.cuh"
#include "kernels/factors/eisner_siblings_sums.cuh"

namespace arcwise {

namespace {

using namespace block_siblings;

// Memory of one worker: flags, shifts and a number a thread (EisnerScratch), and the tables.
struct Worker {
  std::vector<std::max_align_t> memory;

  char* of(size_t bytes) {
    const size_t count = bytes / sizeof(std::max_align_t) + 1;
    if (memory.size() < count) memory.resize(count);
    return reinterpret_cast<char*>(memory.data());
  }
};

double work_of(const PaddedSiblings& batch) {
  double work = 0;
  for (size_t b = 0; b < batch.sentences; ++b) {
    const double side = batch.lengths[b] + 1.0;
    work += 8 * side * side * side;  // of a first-order sentence: every pair has an exponential
  }
  return work;
}

// Calls run(arguments of one sentence) for each; a block of one thread a sentence.
template <typename Run>
void for_each_sentence(const PaddedSiblings& batch, SiblingArguments arguments, int number_bytes, Run run) {
  const size_t side = static_cast<size_t>(batch.words) + 1;
  std::vector<int32_t> unsafe(batch.sentences);
  arguments.scores = batch.scores, arguments.siblings = batch.siblings;
  arguments.lengths = batch.lengths;
  arguments.unsafe = unsafe.data();
  arguments.batch = static_cast<int32_t>(batch.sentences), arguments.side = static_cast<int32_t>(side);
  arguments.single_root = batch.single_root;
  const size_t scratch = 64 + 8 * (side + 1) + 16;
  const size_t tables = static_cast<size_t>(SiblingTables<double>::bytes(batch.words, true)) *
                        static_cast<size_t>(number_bytes) / sizeof(double);
  const int threads = workers_for(work_of(batch), batch.threads);
  std::vector<Worker> workers(static_cast<size_t>(threads));
  parallel_for(batch.sentences, threads, [&](size_t sentence, size_t worker) {
    char* memory = workers[worker].of(scratch + tables);
    emulated = {static_cast<int>(sentence), arguments.batch, 0, 1, memory, nullptr};
    SiblingArguments own = arguments;
    own.workspace = memory + (scratch + 15) / 16 * 16;
    own.workspace_bytes = 0;  // a worker has one block at a time
    own.shared_bytes = 0;
    run(own);
  });
}

// Calls run(Scalar{}) with the type of the scores.
template <typename Run>
void with_scalar(const PaddedSiblings& batch, Run run) {
  if (batch.is_double)
    run(double{});
  else
    run(float{});
}

template <typename Scalar, bool WITH_OUTSIDE>
void doubles_first(const SiblingArguments& arguments) {
  sibling_sums_batch<double, Scalar, WITH_OUTSIDE>(arguments, false);
  sibling_sums_batch<WideNumber, Scalar, WITH_OUTSIDE>(arguments, true);
}

}  // namespace

void padded_siblings_log_partition(const PaddedSiblings& batch, double* log_partitions) {
  SiblingArguments arguments{};
  arguments.log_partition = log_partitions;
  with_scalar(batch, [&](auto scalar) {
    for_each_sentence(batch, arguments, sizeof(WideNumber),
                      [](const SiblingArguments& own) { doubles_first<decltype(scalar), false>(own); });
  });
}

void padded_siblings_marginals(const PaddedSiblings& batch, double* log_partitions, void* arcs, void* pairs) {
  SiblingArguments arguments{};
  arguments.log_partition = log_partitions, arguments.arcs = arcs, arguments.pairs = pairs;
  with_scalar(batch, [&](auto scalar) {
    for_each_sentence(batch, arguments, sizeof(WideNumber),
                      [](const SiblingArguments& own) { doubles_first<decltype(scalar), true>(own); });
  });
}

void padded_siblings_derivatives(const PaddedSiblings& batch, const SiblingDirections& directions, void* arcs,
                                 void* pairs) {
  SiblingArguments arguments{};
  arguments.first = directions.first, arguments.first_siblings = directions.first_siblings;
  arguments.second = directions.second, arguments.second_siblings = directions.second_siblings;
  std::vector<double> log_partitions(batch.sentences);
  arguments.log_partition = log_partitions.data();
  arguments.arcs = arcs, arguments.pairs = pairs;
  with_scalar(batch, [&](auto scalar) {
    using Scalar = decltype(scalar);
    if (directions.second)
      for_each_sentence(batch, arguments, sizeof(HyperDual<WideNumber>), [](const SiblingArguments& own) {
        sibling_sums_batch<HyperDual<WideNumber>, Scalar, true>(own, false);
      });
    else
      for_each_sentence(batch, arguments, sizeof(Dual<WideNumber>), [](const SiblingArguments& own) {
        sibling_sums_batch<Dual<WideNumber>, Scalar, true>(own, false);
      });
  });
}

void padded_siblings_decode(const PaddedSiblings& batch, int64_t* heads, double* values) {
  SiblingArguments arguments{};
  arguments.heads = heads, arguments.log_partition = values;
  with_scalar(batch, [&](auto scalar) {
    for_each_sentence(batch, arguments, sizeof(BestScore),
                      [](const SiblingArguments& own) { sibling_decode_batch<decltype(scalar)>(own); });
  });
}

}  // namespace arcwise
