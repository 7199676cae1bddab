// The chart of sums over projective trees, in the first number type with enough range: doubles, logarithms,
// WideNumber, TallNumber.
#pragma once
#include <cfenv>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/eisner_chart.hpp"
#include "kernels/inference/score_range.hpp"

namespace arcwise {

// Subtracts the highest score of each column (score_range.hpp); returns the sum of these shifts, with total
// -inf if some word can have no head.
inline CarefulSum shift_columns(const double* scores, int n, EisnerWorkspace& workspace) {
  const size_t side = n + 1;
  std::vector<double>&shifts = workspace.shifts, &weights = workspace.weights;
  weights.assign(scores, scores + side * side);
  weights.resize(side * side + LANES, MINUS_INFINITY);
  shifts.assign(side, MINUS_INFINITY);
  for (size_t h = 0; h < side; ++h) {
    double* row = &weights[h * side];
    row[0] = row[h] = MINUS_INFINITY;
    for (size_t m = 0; m < side; ++m) shifts[m] = row[m] > shifts[m] ? row[m] : shifts[m];
  }
  shifts[0] = 0;
  CarefulSum total;
  for (double shift : shifts) {
    if (shift == MINUS_INFINITY) return {MINUS_INFINITY, 0};
    total.add(shift);
  }
  for (size_t h = 0; h < side; ++h)
    for (size_t m = 0; m < side; ++m) weights[h * side + m] -= shifts[m];
  return total;
}

// How far below the highest score of its column a score may be before it is dropped: for weights as doubles,
// and as logarithms, whose error grows with their size.
constexpr double EISNER_DEPTH = 5000, EISNER_LOG_DEPTH = 2e5;

// Up to this size, logarithms are accurate to 12 decimals.
constexpr double EISNER_LOG_EXACT = 5000;

// exp of the shifted scores, times scale; 0 below -EISNER_DEPTH. Returns false if one of the others
// underflows a double.
inline bool exponentiate(double scale, EisnerWorkspace& workspace) {
  const std::vector<double>& weights = workspace.weights;
  workspace.exponentials.resize(weights.size());
  bool fits = true;
  for (double weight : weights) fits &= weight >= -700 || weight < -EISNER_DEPTH;
  for (size_t at = 0; fits && at + LANES <= weights.size(); at += LANES)
    store(&workspace.exponentials[at], scale * exp_of_nonpositive(load(&weights[at])));
  return fits;
}

inline double largest_cell(const EisnerTables<double>& cells) {
  return *std::max_element(cells.rows, cells.rows + 3 * cells.size);
}

// Whether the sum over trees without arcs below -depth equals the sum over all trees, to double precision.
inline bool holds_for_all(double log_partition, int n, double depth, const EisnerWorkspace& workspace) {
  if (is_deep_enough(log_partition, n, depth)) return true;
  const std::vector<double>& weights = workspace.weights;
  return std::none_of(weights.begin(), weights.end(),
                      [=](double w) { return w < -depth && w != MINUS_INFINITY; });
}

// The number of projective trees grows like (27/4)^n: weights scaled by 4/27 keep every sum below 1.
constexpr double GROWTH = 27.0 / 4;
constexpr int SAFE_LENGTH = 300;  // below it, no sum exceeds 1e250
constexpr double SAFE_SUM = 1e250;

// Whether a product of a chart over exponentials left the range of a double. The processor's flags tell. WebAssembly has none: there
// it counts as lost, unless the least product of n weights is large enough. (A span multiplies each arc once.)
#ifdef FE_UNDERFLOW
inline void forget_underflow() { std::feclearexcept(FE_UNDERFLOW); }
inline bool had_underflow() { return std::fetestexcept(FE_UNDERFLOW); }
inline bool had_underflow(const EisnerWorkspace&, int) { return had_underflow(); }
#else
inline void forget_underflow() {}
inline bool had_underflow() { return true; }
inline bool had_underflow(const EisnerWorkspace& workspace, int n) {
  double least = 1;
  for (double weight : workspace.exponentials) least = weight > 0 && weight < least ? weight : least;
  return n * std::log(least) < -700;
}
#endif

template <typename Number, typename Use>
[[gnu::noinline, gnu::cold]] double with_eisner_numbers(const double* scores, int n, bool single_root,
                                                        EisnerSpans spans, Use use) {
  const std::vector<Number> weights = weights_as<Number>(scores, n);
  std::vector<Number> cells, adjoints;
  const EisnerChart<SumOf<Number>> chart(weights.data(), n, single_root, spans, cells);
  if (chart.total().is_zero()) return MINUS_INFINITY;
  use(chart, adjoints);
  return chart.total().log();
}

// Fills the chart of sums and passes it to use(chart, memory for its adjoints); returns log Z, or -inf,
// without calling `use`, if there is no tree.
//
// All summands are non-negative, so every cell is accurate up to rounding unless a product left the range of
// a double, which the floating-point flags reveal; then the chart is filled with logarithms instead. (In the
// outside pass products may underflow: the loss is a probability below 1e-308 times a cell below SAFE_SUM.)
// If even the best trees score so low that logarithms lose digits, the chart uses numbers with a separate
// exponent.
template <typename Use>
double with_eisner_sums(const double* scores, int n, bool single_root, EisnerWorkspace& workspace,
                        EisnerSpans spans, Use use) {
  const CarefulSum shift = shift_columns(scores, n, workspace);
  if (!std::isfinite(shift.total)) return MINUS_INFINITY;
  for (double scale : {1.0, 1 / GROWTH}) {
    if (!exponentiate(scale, workspace)) break;
    forget_underflow();
    EisnerChart<SumProduct> chart(workspace.exponentials.data(), n, single_root, spans, workspace.chart);
    if (had_underflow(workspace, n)) break;
    if (n > SAFE_LENGTH && scale == 1 && !(largest_cell(chart.cells()) < SAFE_SUM)) continue;
    const double log_partition = std::log(chart.total()) - n * std::log(scale);
    if (!holds_for_all(log_partition, n, EISNER_DEPTH, workspace)) break;
    if (chart.total() == 0) return MINUS_INFINITY;
    use(chart, workspace.adjoints);
    return shift.plus(log_partition);
  }
  std::vector<double>& shallow = workspace.exponentials;
  shallow = workspace.weights;
  for (double& weight : shallow) weight = weight < -EISNER_LOG_DEPTH ? MINUS_INFINITY : weight;
  const EisnerChart<LogSum> chart(shallow.data(), n, single_root, spans, workspace.chart);
  if (is_deep_enough(chart.total(), n, EISNER_LOG_DEPTH)) {
    if (chart.total() < -EISNER_LOG_EXACT)
      return shift.plus(with_eisner_numbers<WideNumber>(shallow.data(), n, single_root, spans, use));
    use(chart, workspace.adjoints);
    return shift.plus(chart.total());
  }
  if (largest_size(scores, n) < WideNumber::LARGEST_LOG)
    return with_eisner_numbers<WideNumber>(scores, n, single_root, spans, use);
  return with_eisner_numbers<TallNumber>(scores, n, single_root, spans, use);
}

}  // namespace arcwise
