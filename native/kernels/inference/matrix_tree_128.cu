// log Z and marginals of sentences of at most 128 words in plain doubles: SHORT of
// src/arcwise/torch/cuda/matrix_tree.py.
#include "kernels/inference/matrix_tree_short.cuh"

using namespace arcwise;
using Work = ShortSentence<128, 2, 8>;

static_assert(Work::DOUBLES * sizeof(double) <= 143'888);
KERNEL BOUNDS(512, 1) matrix_tree_128(MatrixTreeArguments arguments) { Work(arguments).run(); }
