#include "kernels/siblings/sibling_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

struct Worker {
  SiblingWords words;
  SiblingScorer scorer;
  EisnerSiblingsWorkspace workspace;
  ArcScores<double> memory;
  std::vector<double> arcs, marginals;
  std::vector<int32_t> best;
};

void score_sentence(ArcScores<double>& scores, const SiblingTable& siblings, const float* weights,
                    bool single_root, bool by_sum, Worker& worker) {
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
    if (eisner_siblings_marginals_rows(single_root, {}, marginals, worker.workspace) == MINUS_INFINITY) return;
    for (double& value : worker.marginals) value = std::max(std::log(value), LEAST_LOG_PROBABILITY);
  } else if (eisner_siblings_max_marginals_rows(single_root, {}, marginals, worker.workspace) ==
             MINUS_INFINITY) {
    return;
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
                         const float* weights, const ArcData& data, bool single_root, bool by_sum,
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
    score_sentence(result[s], siblings, weights, single_root, by_sum, worker);
  });
  return result;
}

}  // namespace arcwise
