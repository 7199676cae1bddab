#include "kernels/inference/mean_scores.hpp"

#include <stdexcept>

namespace arcwise {
namespace {

void check_like(const ArcScores<double>& one, const ArcScores<double>& other) {
  bool same = one.n == other.n && one.values.size() == other.values.size();
  for (size_t at = 0; same && at < one.arcs.size(); ++at)
    same = one.arcs[at].start == other.arcs[at].start && one.arcs[at].set == other.arcs[at].set;
  if (!same) throw std::invalid_argument("scores of other arcs");
}

// total[i] += values[i]; adds the log weights of arcs to `weights`.
void add(const ArcScores<double>& own, ArcScores<double>& total, std::vector<double>& weights) {
  for_each_arc(own, [&](int h, int m, int, const double* values, int count) {
    weights[h * (own.n + 1) + m] += log_sum(values, count, 1.0, own.arc(h, m).tied);
    double* sums = total.of(h, m);
    for (int s = 0; s < count; ++s) sums[s] += values[s];
  });
}

}  // namespace

ScoreBatch mean_scores(const std::vector<const ScoreBatch*>& batches, double temperature,
                       double label_temperature) {
  if (batches.empty()) throw std::invalid_argument("no scores");
  const ScoreBatch& first = *batches.front();
  std::vector<int32_t> lengths;
  for (size_t s = 0; s < first.size(); ++s) lengths.push_back(first.length(s));
  for (const ScoreBatch* batch : batches)
    if (batch->size() != first.size() || batch->states().labels != first.states().labels ||
        batch->states().clusters != first.states().clusters)
      throw std::invalid_argument("scores of other sentences or states");
  ScoreBatch result = ScoreBatch::kept(first.states(), std::move(lengths));
  const double share = 1.0 / static_cast<double>(batches.size());
  ArcScores<double> memory;
  std::vector<double> weights;
  for (size_t s = 0; s < first.size(); ++s) {
    ArcScores<double>& total = result[s];
    const ArcScores<double>& model = first.scores(s, memory);
    total.arcs = model.arcs;
    for (auto& arc : total.arcs) arc.tied = 0;
    total.values.assign(model.values.size(), 0.0);
    weights.assign(model.arcs.size(), 0.0);
    for (const ScoreBatch* batch : batches) {
      const ArcScores<double>& own = batch->scores(s, memory);
      check_like(own, total);
      add(own, total, weights);
    }
    for_each_arc(total, [&](int h, int m, int, double* values, int count) {
      for (int i = 0; i < count; ++i) values[i] *= share / label_temperature;
      const double weight = share / temperature * weights[h * (total.n + 1) + m];
      const double shift = weight - log_sum(values, count, 1.0);
      for (int i = 0; i < count; ++i) values[i] += shift;
    });
  }
  return result;
}

}  // namespace arcwise
