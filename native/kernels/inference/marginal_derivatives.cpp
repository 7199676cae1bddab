#include "kernels/inference/marginal_derivatives.hpp"

#include <limits>
#include <type_traits>

#include "kernels/inference/eisner_sums.hpp"
#include "kernels/inference/tree_elimination.hpp"

namespace arcwise {

namespace {

// The weight w = exp(score) with its derivatives along the directions: ∂w = w·d₁, ∂∂w = w·d₁·d₂.
template <typename Base, bool TWICE>
struct Directed;
template <>
struct Directed<double, false> {
  using Number = Tangent<double>;
  static Number weight(double w, double first, double) { return {w, w * first}; }
};
template <>
struct Directed<double, true> {
  using Number = Tangent<Tangent<double>>;
  static Number weight(double w, double first, double second) {
    return {{w, w * first}, {w * second, w * first * second}};
  }
};
template <typename Base>
struct Directed<Base, false> {
  using Number = Dual<Base>;
  static Number weight(const Base& w, double first, double) { return {w, first}; }
};
template <typename Base>
struct Directed<Base, true> {
  using Number = HyperDual<Base>;
  static Number weight(const Base& w, double first, double second) {
    return {w, first, second, first * second};
  }
};

// Normalises a direction; returns the power of two that was factored out, 0 if the direction is 0.
// Subtracting a constant from a column changes no derivative; subtracting the entry of the highest-scoring
// arc keeps slopes small where the weight is.
double prepare(const double* scores, int n, const double* direction, std::vector<double>& to) {
  const size_t side = static_cast<size_t>(n) + 1;
  to.assign(side * side, 0);
  double size = 0;
  for (size_t m = 1; m < side; ++m) {
    size_t highest = 0;
    for (size_t h = 0; h < side; ++h)
      if (h != m && scores[h * side + m] > scores[highest * side + m]) highest = h;
    const double taken = direction[highest * side + m];
    for (size_t h = 0; h < side; ++h) {
      if (h == m || scores[h * side + m] == MINUS_INFINITY) continue;
      const double left = direction[h * side + m] - taken;
      to[h * side + m] = left;
      size = std::isfinite(left) ? std::max(size, std::fabs(left)) : std::numeric_limits<double>::infinity();
      if (!std::isfinite(size)) return size;
    }
  }
  if (size == 0) return 0;
  const int exponent = std::ilogb(size);
  const double scale = std::ldexp(1.0, -exponent);
  for (double& x : to) x *= scale;
  return std::ldexp(1.0, exponent);
}

// The marginals of one sentence over numbers with derivatives.
template <bool TWICE>
class MarginalDerivatives {
 public:
  MarginalDerivatives(const double* scores, int n, double* out, DerivativeWorkspace& workspace)
      : scores_(scores), n_(n), side_(static_cast<size_t>(n) + 1), out_(out), workspace_(workspace) {}

  // Both return log Z, or -inf without writing anything if there is no tree.
  double projective(bool single_root, EisnerSpans spans) {
    return with_eisner_sums(scores_, n_, single_root, workspace_.eisner, spans,
                            [&](const auto& chart, auto&) { outside_of(chart, single_root, spans); });
  }

  // As in matrix_tree: where doubles suffice for the marginals, they suffice for the derivatives.
  template <bool SINGLE>
  double non_projective() {
    TreeElimination<double, SINGLE> plain(scores_, n_, workspace_.matrix_tree.plain);
    const double log_partition = plain.marginals(out_);
    if (plain.is_safe()) {
      if (log_partition != MINUS_INFINITY) {
        workspace_.weights.resize(side_ * side_);
        plain.shifted_weights(workspace_.weights.data());
        eliminate<SINGLE, double>([&](size_t at) { return workspace_.weights[at]; });
      }
      return log_partition;
    }
    if (largest_size(scores_, n_) < WideNumber::LARGEST_LOG)
      return eliminate<SINGLE, WideNumber>([&](size_t at) { return WideNumber::exp(scores_[at]); });
    ReducedScores& reduced = workspace_.matrix_tree.reduced;
    if (!reduced.reduce(scores_, n_, MATRIX_TREE_DEPTH)) return MINUS_INFINITY;
    const double inner =
        eliminate<SINGLE, WideNumber>([&](size_t at) { return WideNumber::exp(reduced.scores[at]); });
    if (is_deep_enough(inner, n_, MATRIX_TREE_DEPTH)) return inner;
    return eliminate<SINGLE, TallNumber>([&](size_t at) { return TallNumber::exp(scores_[at]); });
  }

 private:
  template <typename Base>
  using Number = typename Directed<Base, TWICE>::Number;

  // Calls use(memory), with reusable memory for the common number types.
  template <typename Base, typename Use>
  double with_memory(Use use) {
    if constexpr (!std::is_same_v<Base, double>) {
      DerivativeMemory<Number<Base>> memory;
      return use(memory);
    } else if constexpr (TWICE) {
      return use(workspace_.bends);
    } else {
      return use(workspace_.slopes);
    }
  }

  template <typename Base, typename WeightAt>
  void fill(std::vector<Number<Base>>& weights, WeightAt weight_at) {
    weights.assign(side_ * side_, {});
    for (size_t h = 0; h < side_; ++h)
      for (size_t m = 1; m < side_; ++m) {
        const size_t at = h * side_ + m;
        if (h == m) continue;
        const double second = TWICE ? workspace_.second[at] : 0;
        weights[at] = Directed<Base, TWICE>::weight(weight_at(at), workspace_.first[at], second);
      }
  }

  // The chart determines the number type and holds the weights.
  template <typename Semiring>
  void outside_of(const EisnerChart<Semiring>& chart, bool single_root, EisnerSpans spans) {
    using Value = typename Semiring::Value;
    constexpr bool LOGARITHMS = std::is_same_v<Semiring, LogSum>;
    using Base = std::conditional_t<LOGARITHMS, WideNumber, Value>;
    const Value* from = &chart.weight(0, 0);
    with_memory<Base>([&](auto& memory) {
      fill<Base>(memory.weights, [&](size_t at) {
        if constexpr (LOGARITHMS)
          return WideNumber::exp(from[at]);
        else
          return from[at];
      });
      const EisnerChart<SumOf<Number<Base>>> directed(memory.weights.data(), n_, single_root, spans,
                                                      memory.cells);
      directed.outside(out_, memory.adjoints);
      return 0.0;
    });
  }

  template <bool SINGLE, typename Base, typename WeightAt>
  double eliminate(WeightAt weight_at) {
    return with_memory<Base>([&](auto& memory) {
      fill<Base>(memory.weights, weight_at);
      return TreeElimination<Number<Base>, SINGLE>(memory.weights.data(), n_, memory.levels).marginals(out_);
    });
  }

  const double* scores_;
  int n_;
  size_t side_;
  double* out_;
  DerivativeWorkspace& workspace_;
};

template <bool TWICE>
double derivatives_of(const double* scores, int n, TreeClass trees, double* out,
                      DerivativeWorkspace& workspace, EisnerSpans spans) {
  MarginalDerivatives<TWICE> derivatives(scores, n, out, workspace);
  if (trees.projective) return derivatives.projective(trees.single_root, spans);
  return trees.single_root ? derivatives.template non_projective<true>()
                           : derivatives.template non_projective<false>();
}

}  // namespace

bool marginal_derivatives(const double* scores, int n, TreeClass trees, ScoreDirections directions,
                          double* out, DerivativeWorkspace& workspace, EisnerSpans spans) {
  const bool twice = directions.second != nullptr;
  const double first = prepare(scores, n, directions.first, workspace.first);
  const double second = twice ? prepare(scores, n, directions.second, workspace.second) : 1;
  if (!std::isfinite(first) || !std::isfinite(second)) return false;
  double log_partition = MINUS_INFINITY;
  if (first != 0 && second != 0)
    log_partition = twice ? derivatives_of<true>(scores, n, trees, out, workspace, spans)
                          : derivatives_of<false>(scores, n, trees, out, workspace, spans);
  const size_t size = static_cast<size_t>(n + 1) * (n + 1);
  if (log_partition == MINUS_INFINITY)
    std::fill_n(out, size, 0.0);
  else
    for (size_t at = 0; at < size; ++at) out[at] *= first * second;
  return true;
}

}  // namespace arcwise
