#include "kernels/inference/tall_sums.hpp"

#include <vector>

#include "kernels/inference/eisner_chart.hpp"
#include "kernels/inference/score_range.hpp"
#include "kernels/inference/tree_elimination.hpp"

namespace arcwise {
namespace {

// A sum of products with the entropy of its terms, H = log x - Σ share · log term. The entropy of a product
// is the sum over its factors; that of a sum is the share-weighted mean over its parts plus the entropy of
// the choice between them. Z is a sum with one term per tree however it is computed, so its entropy is that
// of the distribution.
template <typename Base>
struct EntropyNumber {
  Base value;
  double entropy = 0;

  constexpr EntropyNumber() = default;
  explicit constexpr EntropyNumber(double x) : value(x) {}
  EntropyNumber(const Base& value, double entropy) : value(value), entropy(entropy) {}
  bool is_zero() const { return value.is_zero(); }
  double log() const { return value.log(); }

  friend EntropyNumber operator*(const EntropyNumber& a, const EntropyNumber& b) {
    return a.is_zero() || b.is_zero() ? EntropyNumber()
                                      : EntropyNumber(a.value * b.value, a.entropy + b.entropy);
  }
  friend EntropyNumber operator/(const EntropyNumber& a, const EntropyNumber& b) {
    return a.is_zero() ? a : EntropyNumber(a.value / b.value, a.entropy - b.entropy);
  }
  friend EntropyNumber operator+(const EntropyNumber& a, const EntropyNumber& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const Base total = a.value + b.value;
    const auto of = [&](const EntropyNumber& part) {
      const auto share = static_cast<double>(part.value / total);
      return share > 0 ? share * (part.entropy - std::log(share)) : 0;
    };
    return {total, of(a) + of(b)};
  }
  EntropyNumber& operator+=(const EntropyNumber& other) { return *this = *this + other; }
  EntropyNumber& operator*=(const EntropyNumber& other) { return *this = *this * other; }
  friend bool operator==(const EntropyNumber& a, const EntropyNumber& b) { return a.value == b.value; }
};

// The same sum under two distributions, with the divergence of its terms: Σ share of p · log(share of p /
// share of q). Both are 0 for the same terms.
template <typename Base>
struct DivergenceNumber {
  Base p, q;
  double divergence = 0;

  constexpr DivergenceNumber() = default;
  explicit constexpr DivergenceNumber(double x) : p(x), q(x) {}
  DivergenceNumber(const Base& p, const Base& q, double divergence) : p(p), q(q), divergence(divergence) {}
  bool is_zero() const { return p.is_zero(); }
  double log() const { return p.log(); }

  friend DivergenceNumber operator*(const DivergenceNumber& a, const DivergenceNumber& b) {
    return a.is_zero() || b.is_zero() ? DivergenceNumber()
                                      : DivergenceNumber(a.p * b.p, a.q * b.q, a.divergence + b.divergence);
  }
  friend DivergenceNumber operator/(const DivergenceNumber& a, const DivergenceNumber& b) {
    return a.is_zero() ? a : DivergenceNumber(a.p / b.p, a.q / b.q, a.divergence - b.divergence);
  }
  friend DivergenceNumber operator+(const DivergenceNumber& a, const DivergenceNumber& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const Base p = a.p + b.p, q = a.q + b.q;
    const auto of = [&](const DivergenceNumber& part) {
      const auto share = static_cast<double>(part.p / p);
      return share > 0 ? share * (part.divergence + ((part.p / p) / (part.q / q)).log()) : 0;
    };
    return {p, q, of(a) + of(b)};
  }
  DivergenceNumber& operator+=(const DivergenceNumber& other) { return *this = *this + other; }
  DivergenceNumber& operator*=(const DivergenceNumber& other) { return *this = *this * other; }
  friend bool operator==(const DivergenceNumber& a, const DivergenceNumber& b) { return a.p == b.p; }
};

// Z over the trees of the class.
template <typename Number>
Number sum_over_trees(const std::vector<Number>& weights, int n, TreeClass trees, EisnerSpans spans) {
  if (trees.projective) {
    std::vector<Number> cells;
    return EisnerChart<SumOf<Number>>(weights.data(), n, trees.single_root, spans, cells).total();
  }
  EliminationLevels<Number> levels;
  const auto eliminated = [&](auto elimination) {
    elimination.log_partition();
    return elimination.partition();
  };
  return trees.single_root ? eliminated(TreeElimination<Number, true>(weights.data(), n, levels))
                           : eliminated(TreeElimination<Number, false>(weights.data(), n, levels));
}

// Calls use(zero) with a number of the type that can hold scores of this size.
template <typename Use>
double with_base(double largest, Use use) {
  return largest < WideNumber::LARGEST_LOG ? use(WideNumber()) : use(TallNumber());
}

template <typename Base>
Base partition(const TallSentence& s) {
  return sum_over_trees(weights_as<Base>(s.scores, s.n), s.n, s.trees, s.spans);
}

double size_of(const TallSentence& s) { return largest_size(s.scores, s.n); }

}  // namespace

double tall_log_probability(const TallSentence& s, const int32_t* heads) {
  return with_base(size_of(s), [&](auto zero) {
    using Base = decltype(zero);
    Base tree(1.0);
    for (int m = 1; m <= s.n; ++m) tree *= Base::exp(s.scores[static_cast<size_t>(heads[m]) * (s.n + 1) + m]);
    return tree.is_zero() ? MINUS_INFINITY : std::min((tree / partition<Base>(s)).log(), 0.0);
  });
}

double tall_log_ratio(const TallSentence& first, const TallSentence& second) {
  return with_base(std::max(size_of(first), size_of(second)), [&](auto zero) {
    using Base = decltype(zero);
    const Base numerator = partition<Base>(first);
    return numerator.is_zero() ? MINUS_INFINITY : (numerator / partition<Base>(second)).log();
  });
}

double tall_entropy(const TallSentence& s, const double* own) {
  return with_base(size_of(s), [&](auto zero) {
    using Base = decltype(zero);
    const std::vector<Base> values = weights_as<Base>(s.scores, s.n);
    std::vector<EntropyNumber<Base>> weights(values.size());
    for (size_t at = 0; at < values.size(); ++at)
      if (!values[at].is_zero()) weights[at] = {values[at], own ? own[at] : 0};
    return std::max(sum_over_trees(weights, s.n, s.trees, s.spans).entropy, 0.0);
  });
}

double tall_divergence(const TallSentence& p, const double* q, const double* own) {
  return with_base(std::max(size_of(p), largest_size(q, p.n)), [&](auto zero) {
    using Base = decltype(zero);
    const std::vector<Base> mine = weights_as<Base>(p.scores, p.n), theirs = weights_as<Base>(q, p.n);
    std::vector<DivergenceNumber<Base>> weights(mine.size());
    for (size_t at = 0; at < mine.size(); ++at)
      if (!mine[at].is_zero()) weights[at] = {mine[at], theirs[at], own ? own[at] : 0};
    return std::max(sum_over_trees(weights, p.n, p.trees, p.spans).divergence, 0.0);
  });
}

}  // namespace arcwise
