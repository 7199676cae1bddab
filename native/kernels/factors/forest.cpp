#include "kernels/factors/forest.hpp"

#include "kernels/factors/grammars.hpp"

namespace arcwise {

template class Forest<HeadGrammar>;

}  // namespace arcwise
