// log Z and marginals of sentences too long for shared memory, in plain doubles.
#include "kernels/inference/matrix_tree.cuh"

using namespace arcwise;

KERNEL BOUNDS(512, 1) matrix_tree_long(MatrixTreeArguments arguments) {
  matrix_tree<double, false>(arguments);
}
