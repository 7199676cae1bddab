// The best projective tree with sibling scores, on a GPU.
#include "kernels/factors/eisner_siblings_decode.cuh"

using namespace arcwise;
using namespace arcwise::block_siblings;

KERNEL THREADS_AT_MOST(512) eisner_siblings_decode_float(SiblingArguments arguments) {
  sibling_decode_batch<float>(arguments);
}

KERNEL THREADS_AT_MOST(512) eisner_siblings_decode_double(SiblingArguments arguments) {
  sibling_decode_batch<double>(arguments);
}
