#include "kernels/inference/eisner.hpp"

#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/eisner_sums.hpp"

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
  return with_eisner_sums(scores, n, single_root, workspace, spans, [](const auto&, auto&) {});
}

double eisner_marginals(const double* scores, int n, bool single_root, double* marginals,
                        EisnerWorkspace& workspace, EisnerSpans spans) {
  const double log_partition =
      with_eisner_sums(scores, n, single_root, workspace, spans,
                       [&](const auto& chart, auto& adjoints) { chart.outside(marginals, adjoints); });
  if (log_partition == MINUS_INFINITY) std::fill_n(marginals, static_cast<size_t>(n + 1) * (n + 1), 0.0);
  return log_partition;
}

double eisner_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     EisnerWorkspace& workspace, EisnerSpans spans) {
  return with_eisner_sums(scores, n, single_root, workspace, spans, [&](const auto& chart, auto&) {
    draw_trees(chart, count, random, heads, workspace);
  });
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
