// log Z and marginals of sentences that are too long for shared memory, by plain doubles.
#include "kernels/inference/matrix_tree.cuh"

using namespace arcwise;

KERNEL BOUNDS(512, 1) matrix_tree_long(MatrixTreeArguments arguments) {
  matrix_tree<double, false>(arguments);
}
