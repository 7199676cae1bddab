// Whether scores need a closer look, in one pass. A kernel, because bindings are compiled for size and this runs whenever
// a distribution is made.
#pragma once
#include <cstddef>

namespace arcwise {

// Whether all scores are numbers up to LARGEST_SCORE in size: none is NaN, infinite or larger.
bool are_ordinary(const double* scores, size_t count);

}  // namespace arcwise
