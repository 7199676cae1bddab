// log Z and the probabilities of arcs and of adjacent siblings: Eisner (1996) with siblings on a GPU, a block of threads a sentence.
#include "kernels/factors/eisner_siblings_sums.cuh"

using namespace arcwise;
using namespace arcwise::block_siblings;

KERNEL THREADS_AT_MOST(512) eisner_siblings_log_partition_float(SiblingArguments arguments) {
  sibling_sums_batch<double, float, false>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_log_partition_double(SiblingArguments arguments) {
  sibling_sums_batch<double, double, false>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_log_partition_wide_float(SiblingArguments arguments) {
  sibling_sums_batch<WideNumber, float, false>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_log_partition_wide_double(SiblingArguments arguments) {
  sibling_sums_batch<WideNumber, double, false>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_float(SiblingArguments arguments) {
  sibling_sums_batch<double, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_double(SiblingArguments arguments) {
  sibling_sums_batch<double, double, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_wide_float(SiblingArguments arguments) {
  sibling_sums_batch<WideNumber, float, true>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_wide_double(SiblingArguments arguments) {
  sibling_sums_batch<WideNumber, double, true>(arguments, true);
}
