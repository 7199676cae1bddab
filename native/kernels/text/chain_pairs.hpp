// The probabilities of neighbouring states of a chain; a template, so a header (see chain.hpp).
#pragma once
#include "kernels/text/chain.hpp"

namespace arcwise {

template <typename Add>
void chain_pair_marginals(const Chain& chain, const Transitions& transitions, const ChainWorkspace& workspace,
                          Add add) {
  size_t n = chain.size();
  for (uint32_t b = chain.starts[0]; b < chain.starts[1]; ++b)
    add(transitions.boundary(), chain.states[b], workspace.marginals[b]);
  for (uint32_t a = chain.starts[n - 1]; a < chain.starts[n]; ++a)
    add(chain.states[a], transitions.boundary(), workspace.marginals[a]);
  for (size_t i = 1; i < n; ++i)
    for (uint32_t a = chain.starts[i - 1]; a < chain.starts[i]; ++a)
      for (uint32_t b = chain.starts[i]; b < chain.starts[i + 1]; ++b) {
        // p(a, b) = α(a) · exp t(a, b) · ψ(b) · β(b) / scale
        double t = transitions.exponential(chain.states[a], chain.states[b]);
        add(chain.states[a], chain.states[b],
            workspace.alpha[a] * t * workspace.potential[b] * workspace.beta[b] / workspace.scale[i]);
      }
}

}  // namespace arcwise
