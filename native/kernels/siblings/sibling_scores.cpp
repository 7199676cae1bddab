#include "kernels/siblings/sibling_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/parallel.hpp"
#include "kernels/factors/sibling_relaxation.hpp"

namespace arcwise {
namespace {

struct Worker {
  SiblingWords words;
  SiblingScorer scorer;
  EisnerSiblingsWorkspace workspace;
  SiblingRelaxation relaxation;
  std::vector<double> arcs, marginals, siblings;
  std::vector<int32_t> best, heads;
};

// Gives the arcs of the best tree its score.
void add_crossing(Worker& worker, bool single_root) {
  SiblingRows& rows = worker.workspace.rows;
  const int n = rows.n;
  write_dense(rows, worker.siblings);
  worker.heads.assign(n + 1, -1);
  RelaxationLimits limits;
  limits.max_decodes = CROSSING_DECODES;
  const SiblingSentence sentence{worker.arcs.data(), worker.siblings.data(), n, single_root, {}};
  const CertifiedTree tree = worker.relaxation.decode(sentence, limits, worker.heads.data());
  if (!tree.found) return;
  for (int m = 1; m <= n; ++m) {
    double& score = worker.marginals[rows.cell(worker.heads[m], m)];
    score = std::max(score, tree.value);
  }
}

void score_sentence(ArcScores<double>& scores, const SiblingTable& siblings, const float* weights,
                    TreeClass trees, bool by_sum, Worker& worker) {
  if (by_sum)
    arcs_by_sum(scores, 1.0, worker.arcs);
  else
    arcs_by_maximum(scores, worker.arcs, worker.best);
  SiblingRows& rows = worker.workspace.rows;
  rows.start(scores.n);
  rows.arcs = worker.arcs;
  worker.scorer.score(siblings, weights, worker.words, rows);
  worker.marginals.resize(worker.arcs.size());
  double* marginals = worker.marginals.data();
  if (by_sum) {
    if (!eisner_siblings_log_marginals_rows(trees.single_root, marginals, worker.workspace)) return;
  } else {
    const bool crossing = !trees.projective && scores.n <= MOST_CROSSING_WORDS;
    if (crossing) worker.workspace.kept = rows;
    const double best =
        eisner_siblings_max_marginals_rows(trees.single_root, {}, marginals, worker.workspace);
    if (crossing) {
      rows = worker.workspace.kept;
      add_crossing(worker, trees.single_root);
    } else if (best == MINUS_INFINITY) {
      return;
    }
  }
  for_each_arc(scores, [&](int h, int m, int, double* values, int count) {
    const size_t at = h * (scores.n + 1) + m;
    // An arc of no tree of the class: the arcs of a word with one root may be such.
    if (worker.marginals[at] == MINUS_INFINITY) {
      std::fill_n(values, count, MINUS_INFINITY);
      return;
    }
    const double change = worker.marginals[at] - worker.arcs[at];
    for (int s = 0; s < count; ++s) values[s] += change;
  });
}

}  // namespace

ScoreBatch with_siblings(const ScoreBatch& arcs, const ArcTable& table, const SiblingTable& siblings,
                         const float* weights, const ArcData& data, TreeClass trees, bool by_sum,
                         int threads) {
  ScoreBatch result = arcs;
  double work = 0;
  for (size_t s = 0; s < result.size(); ++s) {
    const double side = result.length(s) + 1;
    work += side * side * side;
  }
  const int workers = workers_for(work, threads);
  std::vector<Worker> pool(workers);
  parallel_for(result.size(), workers, [&](size_t s, size_t number) {
    if (result.length(s) > MOST_SIBLING_WORDS) return;
    Worker& worker = pool[number];
    worker.words.set(table, data, s, {});
    score_sentence(result[s], siblings, weights, trees, by_sum, worker);
  });
  return result;
}

SecondOrderScores second_order_scores(const ScoreBatch& arcs, const ArcTable& table,
                                      const SiblingTable& siblings, const float* weights, const ArcData& data,
                                      size_t sentence) {
  Worker worker;
  ArcScores<double> memory;
  arcs_by_maximum(arcs.scores(sentence, memory), worker.arcs, worker.best);
  worker.words.set(table, data, sentence, {});
  worker.workspace.rows.start(data.length(sentence));
  worker.workspace.rows.arcs = worker.arcs;
  worker.scorer.score(siblings, weights, worker.words, worker.workspace.rows);
  write_dense(worker.workspace.rows, worker.siblings);
  return {std::move(worker.arcs), std::move(worker.siblings)};
}

}  // namespace arcwise
