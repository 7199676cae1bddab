#include "kernels/inference/eisner.hpp"

#include <cfenv>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/eisner_chart.hpp"

namespace arcwise {

namespace {

template <typename Splits>
int best_split(Splits splits) {
  int best = 0;
  for (int k = 1; k < splits.length; ++k)
    if (splits.a[k] + splits.b[k] > splits.a[best] + splits.b[best]) best = k;
  return best;
}

template <typename Semiring, typename Splits>
int random_split(Splits splits, Random& random, double* weights) {
  Semiring::split_weights(splits.a, splits.b, splits.length, weights);
  double total = 0;
  for (int k = 0; k < splits.length; ++k) total += weights[k];
  double left = random.uniform() * total;
  int chosen = -1;
  for (int k = 0; k < splits.length; ++k) {
    if (weights[k] == 0) continue;
    chosen = k;
    if ((left -= weights[k]) < 0) break;
  }
  return chosen;
}

// Every word has one head, so subtracting a constant from a column subtracts it from every tree. Takes its
// maximum from each column; returns the sum of the maxima, -inf if some word can have no head.
double shift_columns(const double* scores, int n, EisnerWorkspace& workspace) {
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
  double total = 0;
  for (double shift : shifts) total += shift;
  if (total > MINUS_INFINITY)
    for (size_t h = 0; h < side; ++h)
      for (size_t m = 0; m < side; ++m) weights[h * side + m] -= shifts[m];
  return total;
}

// exp of the shifted scores, times scale; false if one of them is too small for a double.
bool exponentiate(double scale, EisnerWorkspace& workspace) {
  const std::vector<double>& weights = workspace.weights;
  workspace.exponentials.resize(weights.size());
  bool fits = true;
  for (double weight : weights) fits &= weight >= -700 || weight == MINUS_INFINITY;
  for (size_t at = 0; fits && at + LANES <= weights.size(); at += LANES)
    store(&workspace.exponentials[at], scale * exp_of_nonpositive(load(&weights[at])));
  return fits;
}

double largest_cell(const EisnerTables& cells) {
  return *std::max_element(cells.rows, cells.rows + 3 * cells.size);
}

// The number of projective trees grows like (27/4)^n: weights scaled by 4/27 keep every sum below 1.
constexpr double GROWTH = 27.0 / 4;
constexpr int SAFE_LENGTH = 300;  // below it, no sum exceeds 1e250
constexpr double SAFE_SUM = 1e250;

// Fills the chart of sums and hands it to use(chart); returns log Z, or -inf, without a use, if there is no
// tree.
//
// All sums are of non-negative numbers, so every cell is exact to rounding unless a product left the range of
// a double: the processor's flags tell. Then the same chart is filled with logarithms. (In the outside pass a
// product may underflow: what is lost there is a probability below 1e-308 times a cell below SAFE_SUM.)
template <typename Use>
double with_sums(const double* scores, int n, bool single_root, EisnerWorkspace& workspace, EisnerSpans spans,
                 Use use) {
  const double shift = shift_columns(scores, n, workspace);
  if (shift == MINUS_INFINITY) return MINUS_INFINITY;
  for (double scale : {1.0, 1 / GROWTH}) {
    if (!exponentiate(scale, workspace)) break;
    std::feclearexcept(FE_UNDERFLOW);
    EisnerChart<SumProduct> chart(workspace.exponentials.data(), n, single_root, spans, workspace.chart);
    if (std::fetestexcept(FE_UNDERFLOW)) break;
    if (n > SAFE_LENGTH && scale == 1 && !(largest_cell(chart.cells()) < SAFE_SUM)) continue;
    if (chart.total() == 0) return MINUS_INFINITY;
    use(chart);
    return std::log(chart.total()) + shift - n * std::log(scale);
  }
  EisnerChart<LogSum> chart(workspace.weights.data(), n, single_root, spans, workspace.chart);
  if (chart.total() == MINUS_INFINITY) return MINUS_INFINITY;
  use(chart);
  return chart.total() + shift;
}

template <typename Semiring>
void draw_trees(const EisnerChart<Semiring>& chart, int count, Random& random, int32_t* heads,
                EisnerWorkspace& workspace) {
  const size_t side = chart.words() + 1;
  workspace.split_weights.resize(side);
  auto choose = [&](auto splits) {
    return random_split<Semiring>(splits, random, workspace.split_weights.data());
  };
  for (int draw = 0; draw < count; ++draw) chart.walk(choose, workspace.pending, heads + draw * side);
}

}  // namespace

double eisner_decode(const double* scores, int n, bool single_root, int32_t* heads,
                     EisnerWorkspace& workspace, EisnerSpans spans) {
  EisnerChart<MaxPlus> chart(scores, n, single_root, spans, workspace.chart);
  std::fill_n(heads, n + 1, -1);
  if (chart.total() == MINUS_INFINITY) return MINUS_INFINITY;
  chart.walk([](auto splits) { return best_split(splits); }, workspace.pending, heads);
  return chart.total();
}

double eisner_log_partition(const double* scores, int n, bool single_root, EisnerWorkspace& workspace,
                            EisnerSpans spans) {
  return with_sums(scores, n, single_root, workspace, spans, [](const auto&) {});
}

double eisner_marginals(const double* scores, int n, bool single_root, double* marginals,
                        EisnerWorkspace& workspace, EisnerSpans spans) {
  const double log_partition = with_sums(scores, n, single_root, workspace, spans, [&](const auto& chart) {
    chart.outside(marginals, workspace.adjoints);
  });
  if (log_partition == MINUS_INFINITY) std::fill_n(marginals, static_cast<size_t>(n + 1) * (n + 1), 0.0);
  return log_partition;
}

double eisner_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     EisnerWorkspace& workspace, EisnerSpans spans) {
  return with_sums(scores, n, single_root, workspace, spans,
                   [&](const auto& chart) { draw_trees(chart, count, random, heads, workspace); });
}

double eisner_count(const double* scores, int n, bool single_root, EisnerWorkspace& workspace,
                    EisnerSpans spans) {
  const size_t size = static_cast<size_t>(n + 1) * (n + 1);
  workspace.exponentials.resize(size);
  for (size_t at = 0; at < size; ++at) workspace.exponentials[at] = scores[at] > MINUS_INFINITY ? 1 : 0;
  return EisnerChart<SumProduct>(workspace.exponentials.data(), n, single_root, spans, workspace.chart)
      .total();
}

}  // namespace arcwise
