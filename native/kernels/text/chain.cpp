#include "kernels/text/chain.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/minus_infinity.hpp"

namespace arcwise {
namespace {

// ψ(c) = exp(emission − the largest of its position); returns the sum of what was taken off.
double potentials(const Chain& chain, ChainWorkspace& w) {
  double taken = 0;
  w.potential.resize(chain.states.size());
  for (size_t i = 0; i < chain.size(); ++i) {
    auto first = chain.emissions.begin() + chain.starts[i],
         last = chain.emissions.begin() + chain.starts[i + 1];
    double top = *std::max_element(first, last);
    taken += top;
    for (uint32_t c = chain.starts[i]; c < chain.starts[i + 1]; ++c)
      w.potential[c] = std::exp(chain.emissions[c] - top);
  }
  return taken;
}

// α(b) = ψ(b) Σ_a α(a) exp t(a, b), each position scaled to sum to 1. Returns log Z of the potentials.
double forward(const Chain& chain, const Transitions& t, ChainWorkspace& w) {
  double log_z = 0;
  w.alpha.resize(chain.states.size());
  w.scale.assign(chain.size() + 1, 0.0);
  for (size_t i = 0; i < chain.size(); ++i) {
    for (uint32_t b = chain.starts[i]; b < chain.starts[i + 1]; ++b) {
      double sum = i == 0 ? t.exponential(t.boundary(), chain.states[b]) : 0.0;
      if (i > 0)
        for (uint32_t a = chain.starts[i - 1]; a < chain.starts[i]; ++a)
          sum += w.alpha[a] * t.exponential(chain.states[a], chain.states[b]);
      w.alpha[b] = sum * w.potential[b];
      w.scale[i] += w.alpha[b];
    }
    for (uint32_t b = chain.starts[i]; b < chain.starts[i + 1]; ++b) w.alpha[b] /= w.scale[i];
    log_z += std::log(w.scale[i]);
  }
  size_t n = chain.size();
  for (uint32_t a = chain.starts[n - 1]; a < chain.starts[n]; ++a)
    w.scale[n] += w.alpha[a] * t.exponential(chain.states[a], t.boundary());
  return log_z + std::log(w.scale[n]);
}

// β(a) = Σ_b exp t(a, b) ψ(b) β(b), scaled as α is, so that α(a) β(a) is the marginal.
void backward(const Chain& chain, const Transitions& t, ChainWorkspace& w) {
  size_t n = chain.size();
  w.beta.resize(chain.states.size());
  for (uint32_t a = chain.starts[n - 1]; a < chain.starts[n]; ++a)
    w.beta[a] = t.exponential(chain.states[a], t.boundary()) / w.scale[n];
  for (size_t i = n - 1; i-- > 0;)
    for (uint32_t a = chain.starts[i]; a < chain.starts[i + 1]; ++a) {
      double sum = 0;
      for (uint32_t b = chain.starts[i + 1]; b < chain.starts[i + 2]; ++b)
        sum += t.exponential(chain.states[a], chain.states[b]) * w.potential[b] * w.beta[b];
      w.beta[a] = sum / w.scale[i + 1];
    }
}

}  // namespace

double chain_marginals(const Chain& chain, const Transitions& transitions, ChainWorkspace& workspace) {
  double taken = potentials(chain, workspace);
  double log_z = forward(chain, transitions, workspace);
  backward(chain, transitions, workspace);
  workspace.marginals.resize(chain.states.size());
  for (size_t c = 0; c < chain.states.size(); ++c)
    workspace.marginals[c] = workspace.alpha[c] * workspace.beta[c];
  return log_z + taken;
}

float chain_decode(const Chain& chain, const Transitions& t, ChainWorkspace& w) {
  size_t n = chain.size();
  w.best.resize(chain.states.size());
  w.back.resize(chain.states.size());
  w.path.resize(n);
  for (size_t i = 0; i < n; ++i)
    for (uint32_t b = chain.starts[i]; b < chain.starts[i + 1]; ++b) {
      float top = i == 0 ? t.score(t.boundary(), chain.states[b]) : static_cast<float>(MINUS_INFINITY);
      if (i > 0)
        for (uint32_t a = chain.starts[i - 1]; a < chain.starts[i]; ++a) {
          float score = w.best[a] + t.score(chain.states[a], chain.states[b]);
          if (score > top) {
            top = score;
            w.back[b] = a;
          }
        }
      w.best[b] = top + chain.emissions[b];
    }
  float top = static_cast<float>(MINUS_INFINITY);
  for (uint32_t a = chain.starts[n - 1]; a < chain.starts[n]; ++a)
    if (float score = w.best[a] + t.score(chain.states[a], t.boundary()); score > top) {
      top = score;
      w.path[n - 1] = a;
    }
  for (size_t i = n - 1; i > 0; --i) w.path[i - 1] = w.back[w.path[i]];
  return top;
}

}  // namespace arcwise
