// Losses on scores: (scores, known part of the gold tree, tree class) → (value, gradient by score). The basis
// of the trainers of every scorer.
//
// All except the risk are the difference of two terms: one over all trees, one over the trees that agree with
// the known part. Unknown heads, labels and clusters are summed or maximised out in both.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/known_tree.hpp"
#include "kernels/inference/marginal_derivatives.hpp"
#include "kernels/inference/taught_tree.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// likelihood: -log P(known part) (Koo et al. 2007; with latent clusters or partial trees Smith & Smith 2007,
// 5) hinge: margin violation, max of score + cost over trees minus the best correct score (Taskar et al.
// 2003) softmax-margin: the likelihood with the costs added to the scores of all trees (Gimpel & Smith 2010)
// risk: the expected cost, Σ P(tree) cost(tree) (Smith & Eisner 2006; gradient as in Li & Eisner 2009)
enum class TreeLoss { likelihood, hinge, softmax_margin, risk };

// How the two terms are computed: with or without the costs of wrong arcs added to the scores of all trees;
// as a maximum, or as the log of the sum over trees.
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

// Computes the loss of one sentence at a time; one per thread.
template <typename Real>
class SentenceLoss {
 public:
  // The loss, at least 0; +inf if no tree agrees with the known part. gradient() then holds the derivative by
  // each of scores.values.
  double compute(TreeLoss loss, const ArcScores<Real>& scores, const KnownTree& gold, TreeClass trees);
  // The same with a teacher's distribution p in place of the gold tree: with likelihood the cross-entropy -Σ
  // p(tree) log P(tree); with softmax-margin the expected costs are added to the scores of all trees; the
  // risk is the expected cost under two independent draws of trees. (The hinge has no such form.) Targets for
  // labels that an arc cannot have move to its other labels, and targets for arcs without scores move to the
  // word's other arcs; +inf if a word has none. (No tree distribution may have the resulting marginals, and
  // minimisation may then diverge: score all of the teacher's arcs.)
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

// Computes P(state) of every state, in the order of scores.values; returns the log partition. arcs,
// marginals: workspace.
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
