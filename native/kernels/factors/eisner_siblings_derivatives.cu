// Derivatives of the probabilities of arcs and of adjacent siblings, first and second, on a GPU.
#include "kernels/factors/eisner_siblings_sums.cuh"

using namespace arcwise;
using namespace arcwise::block_siblings;

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_jvp_float(SiblingArguments arguments) {
  sibling_sums_batch<Dual<WideNumber>, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_jvp_double(SiblingArguments arguments) {
  sibling_sums_batch<Dual<WideNumber>, double, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_second_derivative_float(SiblingArguments arguments) {
  sibling_sums_batch<HyperDual<WideNumber>, float, true>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_marginals_second_derivative_double(SiblingArguments arguments) {
  sibling_sums_batch<HyperDual<WideNumber>, double, true>(arguments, false);
}
