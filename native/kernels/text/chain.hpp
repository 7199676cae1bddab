// Linear chains (Lafferty, McCallum & Pereira 2001): position i of a sentence takes one of its own candidate
// states, and
//
//   score(s_1 … s_n) = Σ_i emission(i, s_i) + transition(s_{i-1}, s_i),   s_0 = s_{n+1} = the boundary state
//
// Positions have candidate lists of their own, because for most words a dictionary leaves few states: the
// cost is Σ_i |candidates(i-1)| · |candidates(i)|.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

struct Chain {
  // The candidates of position i are starts[i] .. starts[i+1]-1, in both arrays.
  std::vector<uint32_t> starts{0};
  std::vector<uint16_t> states;
  std::vector<float> emissions;

  void clear() {
    starts.assign(1, 0);
    states.clear();
    emissions.clear();
  }
  void close() { starts.push_back(static_cast<uint32_t>(states.size())); }
  size_t size() const { return starts.size() - 1; }
};

// The score of each pair of states, and its exponential; the boundary is state number `states`.
class Transitions {
 public:
  explicit Transitions(int states = 0)
      : states_(states),
        scores_(static_cast<size_t>(states + 1) * (states + 1), 0.0f),
        exponentials_(scores_.size(), 1.0) {}

  int states() const { return states_; }
  int boundary() const { return states_; }
  size_t place(int a, int b) const { return static_cast<size_t>(a) * (states_ + 1) + b; }
  float score(int a, int b) const { return scores_[place(a, b)]; }
  double exponential(int a, int b) const { return exponentials_[place(a, b)]; }
  void set(size_t place, float score) {
    scores_[place] = score;
    exponentials_[place] = std::exp(static_cast<double>(score));
  }
  const std::vector<float>& scores() const { return scores_; }

 private:
  int states_;
  std::vector<float> scores_;
  std::vector<double> exponentials_;
};

struct ChainWorkspace {
  std::vector<double> alpha, beta, scale, potential, marginals;
  std::vector<float> best;
  std::vector<uint32_t> back;
  std::vector<uint32_t> path;
};

// workspace.marginals: the probability of each candidate, in the order of chain.states. Returns log Z.
double chain_marginals(const Chain& chain, const Transitions& transitions, ChainWorkspace& workspace);

// After chain_marginals: calls add(a, b, p) with the probability p of each pair of neighbouring states.
template <typename Add>
void chain_pair_marginals(const Chain& chain, const Transitions& transitions, const ChainWorkspace& workspace,
                          Add add);

// workspace.path: for each position the place in chain.states of the state on the best path. Returns its
// score.
float chain_decode(const Chain& chain, const Transitions& transitions, ChainWorkspace& workspace);

}  // namespace arcwise

#include "kernels/text/chain_pairs.hpp"
