#include "kernels/inference/matrix_tree.hpp"

#include "kernels/inference/tree_elimination.hpp"

namespace arcwise {

namespace {

template <bool SINGLE, typename Number, typename Run>
double with_weights(const double* scores, int n, EliminationLevels<Number>& levels, Run run) {
  const std::vector<Number> weights = weights_as<Number>(scores, n);
  TreeElimination<Number, SINGLE> elimination(weights.data(), n, levels);
  return run(elimination);
}

// Uses doubles where they are safe, else WideNumber; for scores too large for it, WideNumber on reduced
// scores, and TallNumber where that fails. run(elimination) requests results from the elimination.
template <bool SINGLE, typename Run>
double with_numbers(const double* scores, int n, MatrixTreeWorkspace& workspace, Run run) {
  TreeElimination<double, SINGLE> plain(scores, n, workspace.plain);
  double log_partition = run(plain);
  if (plain.is_safe()) return log_partition;
  if (largest_size(scores, n) < WideNumber::LARGEST_LOG)
    return with_weights<SINGLE>(scores, n, workspace.wide, run);
  ReducedScores& reduced = workspace.reduced;
  if (!reduced.reduce(scores, n, MATRIX_TREE_DEPTH)) return MINUS_INFINITY;
  const double* inner = reduced.scores.data();
  TreeElimination<double, SINGLE> again(inner, n, workspace.plain);
  log_partition = run(again);
  if (!again.is_safe()) log_partition = with_weights<SINGLE>(inner, n, workspace.wide, run);
  if (is_deep_enough(log_partition, n, MATRIX_TREE_DEPTH)) return reduced.taken.plus(log_partition);
  return with_weights<SINGLE>(scores, n, workspace.tall, run);
}

template <typename Run>
double with_roots(const double* scores, int n, bool single_root, MatrixTreeWorkspace& workspace, Run run) {
  return single_root ? with_numbers<true>(scores, n, workspace, run)
                     : with_numbers<false>(scores, n, workspace, run);
}

}  // namespace

double matrix_tree_log_partition(const double* scores, int n, bool single_root,
                                 MatrixTreeWorkspace& workspace) {
  return with_roots(scores, n, single_root, workspace,
                    [](auto& elimination) { return elimination.log_partition(); });
}

double matrix_tree_marginals(const double* scores, int n, bool single_root, double* marginals,
                             MatrixTreeWorkspace& workspace) {
  return with_roots(scores, n, single_root, workspace,
                    [&](auto& elimination) { return elimination.marginals(marginals); });
}

}  // namespace arcwise
