// A single pass over scores that finds those in need of a closer look. It is a kernel because bindings are compiled
// for size, and every new distribution checks its scores.
#pragma once
#include <cstddef>

namespace arcwise {

// Whether the absolute values of all scores are at most LARGEST_SCORE: false for NaN and infinity.
bool are_ordinary(const double* scores, size_t count);

}  // namespace arcwise
