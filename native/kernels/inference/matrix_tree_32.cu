// log Z and marginals of sentences of at most 32 words in plain doubles: SHORT of
// src/arcwise/torch/cuda/matrix_tree.py.
#include "kernels/inference/matrix_tree_short.cuh"

using namespace arcwise;
using Work = ShortSentence<32, 4, 4>;

static_assert(Work::DOUBLES * sizeof(double) <= 11'152);
KERNEL BOUNDS(128, 4) matrix_tree_32(MatrixTreeArguments arguments) { Work(arguments).run(); }
