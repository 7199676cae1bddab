// log Z and arc probabilities of projective trees: Eisner (1996) on a GPU, one block of threads per sentence.
#include "kernels/inference/eisner_sums.cuh"

using namespace arcwise;

KERNEL THREADS_AT_MOST(512) eisner_log_partition_float(EisnerArguments arguments) {
  eisner_sums_batch<double, float, false>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_log_partition_double(EisnerArguments arguments) {
  eisner_sums_batch<double, double, false>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_log_partition_wide_float(EisnerArguments arguments) {
  eisner_sums_batch<WideNumber, float, false>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_log_partition_wide_double(EisnerArguments arguments) {
  eisner_sums_batch<WideNumber, double, false>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_float(EisnerArguments arguments) {
  eisner_sums_batch<double, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_double(EisnerArguments arguments) {
  eisner_sums_batch<double, double, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_wide_float(EisnerArguments arguments) {
  eisner_sums_batch<WideNumber, float, true>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_wide_double(EisnerArguments arguments) {
  eisner_sums_batch<WideNumber, double, true>(arguments, true);
}
