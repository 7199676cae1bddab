#include "kernels/inference/matrix_tree.hpp"

#include "kernels/inference/tree_elimination.hpp"

namespace arcwise {

namespace {

// Doubles where they are safe, else WideNumber. run(elimination) asks the elimination for what is wanted.
template <bool SINGLE, typename Run>
double with_numbers(const double* scores, int n, MatrixTreeWorkspace& workspace, Run run) {
  TreeElimination<double, SINGLE> plain(scores, n, workspace, workspace.plain);
  const double log_partition = run(plain);
  if (plain.is_safe()) return log_partition;
  TreeElimination<WideNumber, SINGLE> wide(scores, n, workspace, workspace.wide);
  return run(wide);
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
