// log Z and marginals of sentences of at most 16 words in plain doubles: SHORT of
// src/arcwise/torch/cuda/matrix_tree.py.
#include "kernels/inference/matrix_tree_short.cuh"

using namespace arcwise;
using Work = ShortSentence<16, 4, 4>;

static_assert(Work::DOUBLES * sizeof(double) <= 3'536);
KERNEL BOUNDS(128, 6) matrix_tree_16(MatrixTreeArguments arguments) { Work(arguments).run(); }
