#include "kernels/inference/tree_loss.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/inference/tall_sums.hpp"

namespace arcwise {

template <typename Real>
double SentenceLoss<Real>::compute(TreeLoss loss, const ArcScores<Real>& scores, const KnownTree& gold,
                                   TreeClass trees) {
  const LossTerms terms = terms_of(loss);
  if (terms.with_costs) {
    with_costs_ = scores;
    add_costs(with_costs_, gold);
  }
  const ArcScores<Real>& all = terms.with_costs ? with_costs_ : scores;
  gradient_.assign(scores.values.size(), 0);
  if (loss == TreeLoss::risk)
    return known_marginals(scores, gold, trees) == MINUS_INFINITY ? -MINUS_INFINITY
                                                                  : risk(scores, gold, trees);
  return terms.maximised ? by_best_trees(scores, all, gold, trees) : by_sums(scores, all, gold, trees);
}

// Log Z and the marginals of the trees that agree with the known heads and labels.
template <typename Real>
double SentenceLoss<Real>::known_marginals(const ArcScores<Real>& scores, const KnownTree& gold,
                                           TreeClass trees) {
  int n = scores.n;
  known_arcs_.assign((n + 1) * (n + 1), MINUS_INFINITY);
  known_marginals_.assign((n + 1) * (n + 1), 0);
  double log_z = 0;
  for_each_arc(scores, [&](int h, int m, int set, const Real* values, int count) {
    if (!gold.agrees_with_head(h, m)) return;
    double top = MINUS_INFINITY, total = 0;
    auto agrees = [&](int s) { return gold.agrees(scores.states->label_of(set, s), m); };
    for (int s = 0; s < count; ++s)
      if (agrees(s)) top = std::max<double>(top, values[s]);
    if (top == MINUS_INFINITY) return;
    for (int s = 0; s < count; ++s)
      if (agrees(s)) total += std::exp(values[s] - top);
    double arc = top + std::log(total);
    known_arcs_[h * (n + 1) + m] = arc;
    known_marginals_[h * (n + 1) + m] = 1;
    log_z += arc;
  });
  if (!gold.complete) return inference_.marginals(known_arcs_.data(), n, trees, known_marginals_.data());
  for (int m = 1; m <= n; ++m)
    if (known_arcs_[gold.heads[m] * (n + 1) + m] == MINUS_INFINITY) return MINUS_INFINITY;
  return is_tree(gold.heads.data(), n, trees) ? log_z : MINUS_INFINITY;
}

// log Z(all) - log Z(known); its derivative by a score is P(state) - P(state | known).
template <typename Real>
double SentenceLoss<Real>::by_sums(const ArcScores<Real>& scores, const ArcScores<Real>& all,
                                   const KnownTree& gold, TreeClass trees) {
  int n = scores.n;
  arcs_by_sum(all, 1.0, arcs_);
  marginals_.resize((n + 1) * (n + 1));
  double log_z = inference_.marginals(arcs_.data(), n, trees, marginals_.data());
  double known_log_z = known_marginals(scores, gold, trees);
  if (log_z == MINUS_INFINITY || known_log_z == MINUS_INFINITY) return -MINUS_INFINITY;
  for_each_arc(all, [&](int h, int m, int set, const Real* values, int count) {
    size_t at = h * (n + 1) + m, first = values - all.values.data();
    const auto agrees = [&](int s) { return gold.agrees(all.states->label_of(set, s), m); };
    const bool is_known = known_marginals_[at] > 0;
    const StateShares<Real> shares(values, count, arcs_[at], every_state),
        known_shares(&scores.values[first], is_known ? count : 0, is_known ? known_arcs_[at] : 0, agrees);
    // P(state) = P(arc) P(state | arc), under either distribution
    for (int s = 0; s < count; ++s) {
      const double known = is_known && agrees(s) ? known_marginals_[at] * known_shares[s] : 0;
      gradient_[first + s] = static_cast<Real>(marginals_[at] * shares[s] - known);
    }
  });
  if (cancels(std::fabs(log_z) + std::fabs(known_log_z)))
    return tall_log_ratio({arcs_.data(), n, trees}, {known_arcs_.data(), n, trees});
  return log_z - known_log_z;
}

// log Z(all) - Σ p(state) score(state) with the teacher's p; its derivative by a score is P(state) -
// p(state): the student's expected counts minus the teacher's.
template <typename Real>
double SentenceLoss<Real>::compute(TreeLoss loss, const ArcScores<Real>& scores, const TaughtTree& taught,
                                   TreeClass trees) {
  const bool costs = terms_of(loss).with_costs;
  if (costs) {
    with_costs_ = scores;
    add_costs(with_costs_, taught);
  }
  const ArcScores<Real>& all = costs ? with_costs_ : scores;
  gradient_.assign(scores.values.size(), 0);
  CarefulSum expected;
  if (!take_targets(scores, taught, expected)) return -MINUS_INFINITY;
  if (loss == TreeLoss::risk) return risk(scores, taught, trees);
  arcs_by_sum(all, 1.0, arcs_);
  marginals_.resize(arcs_.size());
  const double log_z = inference_.marginals(arcs_.data(), scores.n, trees, marginals_.data());
  if (log_z == MINUS_INFINITY) return -MINUS_INFINITY;
  for_each_arc(all, [&](int h, int m, int, const Real* values, int count) {
    const size_t at = h * (scores.n + 1) + m, first = values - all.values.data();
    const StateShares<Real> shares(values, count, arcs_[at], every_state);
    for (int s = 0; s < count; ++s)
      gradient_[first + s] = static_cast<Real>(marginals_[at] * shares[s] - targets_[first + s]);
  });
  return expected.plus(log_z);
}

// Σ P(state) cost(state). Its derivative by a score is the covariance of the tree's cost with the state: the
// derivative of the arc's marginal in the direction of the arcs' mean costs, plus the covariance with the
// state given its arc. +inf without a tree.
template <typename Real>
template <typename Gold>
double SentenceLoss<Real>::risk(const ArcScores<Real>& scores, const Gold& gold, TreeClass trees) {
  const int n = scores.n;
  arcs_by_sum(scores, 1.0, arcs_);
  marginals_.resize(arcs_.size());
  if (inference_.marginals(arcs_.data(), n, trees, marginals_.data()) == MINUS_INFINITY)
    return -MINUS_INFINITY;
  costs_.assign(arcs_.size(), 0);
  const auto for_each_state = [&](auto visit) {
    for_each_arc(scores, [&](int h, int m, int set, const Real* values, int count) {
      const size_t at = h * (n + 1) + m, first = values - scores.values.data();
      const StateShares<Real> shares(values, count, arcs_[at], every_state);
      for (int s = 0; s < count; ++s)
        visit(at, first + s, shares[s], gold.cost(h, scores.states->label_of(set, s), m));
    });
  };
  for_each_state([&](size_t at, size_t, double share, double cost) { costs_[at] += share * cost; });
  double expected = 0;
  for (size_t at = 0; at < arcs_.size(); ++at) expected += marginals_[at] * costs_[at];
  slopes_.resize(arcs_.size());
  marginal_derivatives(arcs_.data(), n, trees, {costs_.data(), nullptr}, slopes_.data(), derivatives_);
  for_each_state([&](size_t at, size_t state, double share, double cost) {
    gradient_[state] = static_cast<Real>(share * (slopes_[at] + marginals_[at] * (cost - costs_[at])));
  });
  return expected;
}

// Writes the teacher's probability of every state to targets_ and subtracts the expected score from
// `expected`; returns false if a word has none of the teacher's arcs. Where the targets leave states open
// (the cluster of a label; the label of an arc that lacks all of the targets' labels), the scores decide, so
// the targets for heads are unchanged.
template <typename Real>
bool SentenceLoss<Real>::take_targets(const ArcScores<Real>& scores, const TaughtTree& taught,
                                      CarefulSum& expected) {
  const int clusters = scores.states->clusters;
  targets_.assign(scores.values.size(), 0);
  // Distributes the probability p over the states first .. first + count - 1.
  auto give = [&](int first, int count, double p) {
    const Real* values = &scores.values[first];
    const double sum = log_sum(values, count, 1.0);
    const StateShares<Real> shares(values, count, sum, every_state);
    for (int s = 0; s < count; ++s) targets_[first + s] += count == 1 ? p : p * shares[s];
    expected.add(-p * sum);
  };
  auto first_state = [&](int h, int m, int label) {
    for (int s = 0; s < scores.count(h, m); s += clusters)
      if (scores.label_of(h, m, s) == label) return scores.arc(h, m).start + s;
    return ArcScores<Real>::NONE;
  };
  for (int m = 1; m <= scores.n; ++m) {
    double kept = 0;
    taught.for_each_arc_into(m, [&](int h, int, double share) { kept += scores.has(h, m) ? share : 0; });
    if (kept == 0) return false;
    for (int64_t from = taught.first[m - 1], to = from; from < taught.first[m]; from = to) {
      const int h = taught.heads[from];
      double arc = 0,
             labelled = 0;  // of all target labels of the arc, and of those that it can have
      for (; to < taught.first[m] && taught.heads[to] == h; ++to) {
        arc += taught.shares[to];
        if (scores.has(h, m) && first_state(h, m, taught.labels[to]) != scores.NONE)
          labelled += taught.shares[to];
      }
      if (!scores.has(h, m)) continue;
      if (labelled == 0) give(scores.arc(h, m).start, scores.count(h, m), arc / kept);
      for (int64_t at = from; at < to && labelled > 0; ++at)
        if (const int first = first_state(h, m, taught.labels[at]); first != scores.NONE)
          give(first, clusters, taught.shares[at] * (arc / labelled) / kept);
    }
  }
  return true;
}

// Score of the best tree overall minus that of the best tree that agrees with the known arcs; the derivative
// is 1 on the states of the former and -1 on those of the latter.
template <typename Real>
double SentenceLoss<Real>::by_best_trees(const ArcScores<Real>& scores, const ArcScores<Real>& all,
                                         const KnownTree& gold, TreeClass trees) {
  known_ = scores;
  constrain(known_, {gold.heads.data(), gold.labels.data(), nullptr});
  CarefulSum ahead;
  if (!add_best_tree(known_, trees, -1, ahead) || !add_best_tree(all, trees, 1, ahead))
    return -MINUS_INFINITY;
  return std::max(ahead.plus(0), 0.0);
}

// Adds the best tree, times sign, to the gradient and the scores of its arcs to the sum; returns false if
// there is none.
template <typename Real>
bool SentenceLoss<Real>::add_best_tree(const ArcScores<Real>& scores, TreeClass trees, Real sign,
                                       CarefulSum& sum) {
  arcs_by_maximum(scores, arcs_, best_);
  heads_.resize(scores.n + 1);
  if (inference_.decode(arcs_.data(), scores.n, trees, heads_.data()) == MINUS_INFINITY) return false;
  for (int m = 1; m <= scores.n; ++m) {
    size_t at = heads_[m] * (scores.n + 1) + m;
    gradient_[scores.arcs[at].start + best_[at]] += sign;
    sum.add(sign * arcs_[at]);
  }
  return true;
}

template class SentenceLoss<float>;
template class SentenceLoss<double>;

}  // namespace arcwise
