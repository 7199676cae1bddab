// Derivatives of the marginals in one direction, and in two.
#include "kernels/inference/matrix_tree.cuh"

using namespace arcwise;

KERNEL BOUNDS(256, 1) matrix_tree_derivative(MatrixTreeArguments arguments) {
  matrix_tree<Dual<WideNumber>, false>(arguments);
}
KERNEL BOUNDS(256, 1) matrix_tree_second_derivative(MatrixTreeArguments arguments) {
  matrix_tree<HyperDual<WideNumber>, false>(arguments);
}
