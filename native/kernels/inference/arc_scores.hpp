// The scores of one sentence: of every arc, in each of its states. Whatever computes them (hashed weights, a
// network, a Python function), everything downstream starts here: decoding, probabilities, losses.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/arc_states.hpp"

namespace arcwise {

template <typename Real>
struct ArcScores {
  static constexpr int32_t NONE = -1;
  struct Arc {
    int32_t start = NONE;  // index of its first state in `values`; NONE: no such arc
    int32_t set = 0;       // its label set
    int32_t tied = 0;  // number of final states with equal scores, none of them the best; makes sums faster
  };

  int n = 0;
  const ArcStates* states = nullptr;
  std::vector<Arc> arcs;  // (n+1)^2: of arc h*(n+1)+m
  std::vector<Real> values;

  // Starts a sentence of `words` words, without arcs.
  void start(const ArcStates& of, int words) {
    n = words;
    states = &of;
    arcs.assign(static_cast<size_t>(n + 1) * (n + 1), Arc{});
    values.clear();
  }
  // Adds an arc; returns its states for the caller to fill in.
  Real* add(int h, int m, int set) {
    size_t at = values.size();
    arcs[h * (n + 1) + m] = {static_cast<int32_t>(at), set, 0};
    values.resize(at + states->count(set));
    return &values[at];
  }

  const Arc& arc(int h, int m) const { return arcs[h * (n + 1) + m]; }
  bool has(int h, int m) const { return arc(h, m).start != NONE; }
  const Real* of(int h, int m) const { return &values[arc(h, m).start]; }
  Real* of(int h, int m) { return &values[arc(h, m).start]; }
  int count(int h, int m) const { return states->count(arc(h, m).set); }
  int label_of(int h, int m, int state) const { return states->label_of(arc(h, m).set, state); }
};

// Calls visit(h, m, set, values, count) for every existing arc.
template <typename Scores, typename Visit>
void for_each_arc(Scores& scores, Visit visit) {
  for (int h = 0; h <= scores.n; ++h)
    for (int m = 1; m <= scores.n; ++m) {
      const auto& arc = scores.arc(h, m);
      if (arc.start == scores.NONE) continue;
      visit(h, m, arc.set, &scores.values[arc.start], scores.states->count(arc.set));
    }
}

// Four values starting at `from` as doubles, -inf from index `count` on.
template <typename Real>
Lanes load_some(const Real* from, int count) {
  Lanes out = spread(MINUS_INFINITY);
  for (int i = 0; i < std::min(count, LANES); ++i) out[i] = from[i];
  return out;
}

// log Σ exp(scale * value) over values that are not all -inf. The last `tied` values are equal and not the
// highest.
template <typename Real>
double log_sum(const Real* values, int count, double scale, int tied = 0) {
  const int all = count;
  count -= tied;
  const double top = *std::max_element(values, values + count);
  if (all == 1) return scale * top;
  Lanes total = spread(0);
  int s = 0;
  for (; s + LANES <= count; s += LANES) {
    const Lanes four = {static_cast<double>(values[s]), static_cast<double>(values[s + 1]),
                        static_cast<double>(values[s + 2]), static_cast<double>(values[s + 3])};
    total += exp_of_nonpositive(scale * (four - top));
  }
  if (s < count) total += exp_of_nonpositive(scale * (load_some(values + s, count - s) - top));
  if (tied > 0) total[0] += tied * std::exp(scale * (values[count] - top));
  return scale * top + std::log(sum_of(total));
}

// P(state | its arc) = exp(score of the state - score of the arc), for the states that `counts` selects,
// whose log sum is `arc`. For scores too large for that difference, subtracts the highest of them instead.
template <typename Real>
class StateShares {
 public:
  template <typename Counts>
  StateShares(const Real* values, int count, double arc, Counts counts) : values_(values), from_(arc) {
    constexpr double LARGE = 1e5;
    if (std::fabs(arc) < LARGE) return;
    from_ = MINUS_INFINITY;
    for (int s = 0; s < count; ++s)
      if (counts(s)) from_ = std::max<double>(from_, values[s]);
    double total = 0;
    for (int s = 0; s < count; ++s)
      if (counts(s)) total += std::exp(values[s] - from_);
    scale_ = 1 / total;
  }
  double operator[](int state) const { return std::exp(values_[state] - from_) * scale_; }

 private:
  const Real* values_;
  double from_, scale_ = 1;
};
constexpr auto every_state = [](int) { return true; };

// Arc scores (n+1)^2 from state scores. By maximum: the score of the best state, whose index goes to `best`.
// By sum: the log of the sum of exponentials of scale times the scores (Koo et al. 2007, 3.4).
template <typename Real>
void arcs_by_maximum(const ArcScores<Real>& scores, std::vector<double>& arcs, std::vector<int32_t>& best) {
  arcs.assign(scores.arcs.size(), MINUS_INFINITY);
  best.assign(scores.arcs.size(), 0);
  for_each_arc(scores, [&](int h, int m, int, const Real* values, int count) {
    size_t at = h * (scores.n + 1) + m;
    const Real* top = std::max_element(values, values + count - scores.arcs[at].tied);
    arcs[at] = *top;
    best[at] = static_cast<int32_t>(top - values);
  });
}
template <typename Real>
void arcs_by_sum(const ArcScores<Real>& scores, double scale, std::vector<double>& arcs) {
  arcs.assign(scores.arcs.size(), MINUS_INFINITY);
  for_each_arc(scores, [&](int h, int m, int, const Real* values, int count) {
    size_t at = h * (scores.n + 1) + m;
    arcs[at] = log_sum(values, count, scale, scores.arcs[at].tied);
  });
}

// Constraints on decoding. Each may be null. heads, labels: 0..n, -1 where free; forbidden: (n+1)^2, nonzero
// for excluded arcs.
struct ArcConstraints {
  const int32_t* heads = nullptr;
  const int32_t* labels = nullptr;
  const uint8_t* forbidden = nullptr;
};

// The scores without the arcs and states that the constraints exclude.
template <typename Real>
void constrain(ArcScores<Real>& scores, const ArcConstraints& constraints) {
  constexpr Real none = -std::numeric_limits<Real>::infinity();
  for_each_arc(scores, [&](int h, int m, int set, Real* values, int count) {
    size_t at = h * (scores.n + 1) + m;
    bool possible = !(constraints.heads && constraints.heads[m] >= 0 && constraints.heads[m] != h) &&
                    !(constraints.forbidden && constraints.forbidden[at]);
    if (possible && constraints.labels && constraints.labels[m] >= 0) {
      scores.arcs[at].tied = 0;
      for (int s = 0; s < count; ++s)
        if (int label = scores.states->label_of(set, s); label >= 0 && label != constraints.labels[m])
          values[s] = none;
      possible = std::any_of(values, values + count, [none](Real value) { return value > none; });
    }
    if (!possible) scores.arcs[at].start = ArcScores<Real>::NONE;
  });
}

}  // namespace arcwise
