#include "kernels/factors/forest.hpp"

#include "kernels/factors/grammars.hpp"

namespace arcwise {

template class Forest<SiblingGrammar>;
template class Forest<AutomatonGrammar>;

}  // namespace arcwise
