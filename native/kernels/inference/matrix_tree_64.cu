// log Z and marginals of sentences of at most 64 words in plain doubles: SHORT of
// src/arcwise/torch/cuda/matrix_tree.py.
#include "kernels/inference/matrix_tree_short.cuh"

using namespace arcwise;
using Work = ShortSentence<64, 4, 8>;

static_assert(Work::DOUBLES * sizeof(double) <= 38'800);
KERNEL BOUNDS(128, 4) matrix_tree_64(MatrixTreeArguments arguments) { Work(arguments).run(); }
