// The score of what cannot be: of a forbidden arc, and of the best of no tree.
#pragma once
#include <limits>

namespace arcwise {

constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();

}  // namespace arcwise
