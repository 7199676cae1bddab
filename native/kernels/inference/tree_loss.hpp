// Losses on scores: (scores, what is known of the right tree, tree class) → (value, gradient by score). Trainers of every scorer
// start from these.
//
// All but the risk are the difference of two terms: one over all trees, one over the trees that agree with what is known. Heads,
// labels and clusters that are unknown are summed or maximised out in both.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/known_tree.hpp"
#include "kernels/inference/marginal_derivatives.hpp"
#include "kernels/inference/taught_tree.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// likelihood: -log P(what is known) (Koo et al. 2007; with latent clusters or partial trees Smith & Smith 2007, 5);
// hinge: the score by which the worst tree, its cost added, is ahead of the best right one (Taskar et al. 2003);
// softmax-margin: the likelihood with the costs added to the scores of all trees (Gimpel & Smith 2010);
// risk: the expected cost of a tree, Σ P(tree) cost(tree) (Smith & Eisner 2006; its gradient as in Li & Eisner 2009).
enum class TreeLoss { likelihood, hinge, softmax_margin, risk };

// How the two terms are made: from scores with the costs of wrong arcs added to those of all trees, or not; by the best tree, or
// by the log of the sum over all.
struct LossTerms {
  bool with_costs, maximised;
};
constexpr LossTerms terms_of(TreeLoss loss) {
  switch (loss) {
    case TreeLoss::likelihood:
      return {false, false};
    case TreeLoss::hinge:
      return {true, true};
    case TreeLoss::softmax_margin:
      return {true, false};
    case TreeLoss::risk:
      return {false, false};
  }
  return {};
}

// scores of all states + their costs; gold: a KnownTree or a TaughtTree
template <typename Real, typename Gold>
void add_costs(ArcScores<Real>& scores, const Gold& gold) {
  for_each_arc(scores, [&](int h, int m, int set, Real* values, int count) {
    for (int s = 0; s < count; ++s)
      values[s] += static_cast<Real>(gold.cost(h, scores.states->label_of(set, s), m));
  });
}

// The loss of one sentence after the other; one per thread.
template <typename Real>
class SentenceLoss {
 public:
  // The loss, 0 or more; +inf if no tree agrees with what is known. gradient() then has the derivative by each of scores.values.
  double compute(TreeLoss loss, const ArcScores<Real>& scores, const KnownTree& gold, TreeClass trees);
  // The same where a teacher's distribution p stands for the right tree: -Σ p(tree) log P(tree), the cross-entropy, with likelihood;
  // with softmax-margin the expected costs are added to the scores of all trees, and the risk is the cost that both expect, trees
  // of the two being drawn independently. (The hinge has no such form.) What the
  // teacher says of labels that an arc cannot have goes to its other labels, and what it says of arcs that the scores do not have to the
  // word's other arcs; +inf if a word has none. (Trees of which these are the marginals need not exist then, and minimising may never
  // end: score the arcs that the teacher has.)
  double compute(TreeLoss loss, const ArcScores<Real>& scores, const TaughtTree& taught, TreeClass trees);
  const std::vector<Real>& gradient() const { return gradient_; }

 private:
  double by_sums(const ArcScores<Real>& scores, const ArcScores<Real>& all, const KnownTree& gold,
                 TreeClass trees);
  double by_best_trees(const ArcScores<Real>& scores, const ArcScores<Real>& all, const KnownTree& gold,
                       TreeClass trees);
  template <typename Gold>
  double risk(const ArcScores<Real>& scores, const Gold& gold, TreeClass trees);
  bool take_targets(const ArcScores<Real>& scores, const TaughtTree& taught, CarefulSum& expected);
  double known_marginals(const ArcScores<Real>& scores, const KnownTree& gold, TreeClass trees);
  bool add_best_tree(const ArcScores<Real>& scores, TreeClass trees, Real sign, CarefulSum& sum);

  TreeInference inference_;
  DerivativeWorkspace derivatives_;
  ArcScores<Real> with_costs_, known_;
  std::vector<double> arcs_, marginals_, known_arcs_, known_marginals_, targets_, costs_, slopes_;
  std::vector<int32_t> best_, heads_;
  std::vector<Real> gradient_;
};

// P(state) of every state, in the order of scores.values; the log partition is returned. arcs, marginals: memory to use.
template <typename Real>
double state_marginals(const ArcScores<Real>& scores, TreeClass trees, TreeInference& inference,
                       std::vector<double>& arcs, std::vector<double>& marginals,
                       std::vector<double>& by_state) {
  arcs_by_sum(scores, 1.0, arcs);
  marginals.resize(arcs.size());
  double log_z = inference.marginals(arcs.data(), scores.n, trees, marginals.data());
  by_state.resize(scores.values.size());
  for_each_arc(scores, [&](int h, int m, int, const Real* values, int count) {
    size_t at = h * (scores.n + 1) + m, first = values - scores.values.data();
    const StateShares<Real> shares(values, count, arcs[at], every_state);
    for (int s = 0; s < count; ++s) by_state[first + s] = marginals[at] * shares[s];
  });
  return log_z;
}

}  // namespace arcwise
