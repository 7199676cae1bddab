// The score of the impossible: of a forbidden arc, or of the best tree when there is none.
#pragma once
#include <limits>

namespace arcwise {

constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();

}  // namespace arcwise
