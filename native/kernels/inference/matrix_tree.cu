// log Z and marginals: plain doubles first, then WideNumber where they were unsafe.
#include "kernels/inference/matrix_tree.cuh"

using namespace arcwise;

KERNEL BOUNDS(256, 2) matrix_tree_plain(MatrixTreeArguments arguments) {
  matrix_tree<double, true>(arguments);
}
KERNEL BOUNDS(256, 1) matrix_tree_wide(MatrixTreeArguments arguments) { matrix_tree_again(arguments); }
