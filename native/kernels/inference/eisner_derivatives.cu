// First (slope) and second (bend) derivatives of the arc probabilities of projective trees, on a GPU.
#include "kernels/inference/eisner_sums.cuh"

using namespace arcwise;

KERNEL THREADS_AT_MOST(512) eisner_marginals_jvp_float(EisnerArguments arguments) {
  eisner_sums_batch<Dual<WideNumber>, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_jvp_double(EisnerArguments arguments) {
  eisner_sums_batch<Dual<WideNumber>, double, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_second_derivative_float(EisnerArguments arguments) {
  eisner_sums_batch<HyperDual<WideNumber>, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_marginals_second_derivative_double(EisnerArguments arguments) {
  eisner_sums_batch<HyperDual<WideNumber>, double, true>(arguments, false);
}
