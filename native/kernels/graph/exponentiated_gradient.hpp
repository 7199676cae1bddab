// Max-margin training by exponentiated gradient (Koo et al. 2007, figure 2; Bartlett et al. 2004).
//
// Minimises  ½|w|² + C Σ_i max_y [cost(y) - w·(f(y_i) - f(y))]  through its dual: each sentence has a
// distribution over trees, given by a number θ per state of an arc, and  w = C Σ_i [f(y_i) - E_θ f].
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/base/huge_pages.hpp"
#include "kernels/graph/arc_gradient.hpp"
#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/tree_loss.hpp"

namespace arcwise {

struct ExponentiatedGradientOptions {
  TreeClass trees;
  double C = 1;
  double beta = 9;  // θ of gold arcs at the start
};

class ExponentiatedGradientTrainer {
 public:
  ExponentiatedGradientTrainer(const ArcTable& table, const ArcData& data,
                               const ExponentiatedGradientOptions& options);

  // One step for each of the sentences; C times the expected costs of the sentences, for dual().
  double run(const int64_t* sentences, size_t count);
  // The dual objective, given the sum over all sentences of what run() returned: Σ C E[cost] - ½|w|².
  double dual(double expected_costs) const { return expected_costs - squared_norm() / 2; }
  // The primal objective: by finding the worst tree of every sentence.
  double primal();
  // The mean of the sentences' η.
  double mean_step() const;
  const ArcData& data() const { return data_; }
  const Table<double>& weights() const { return weights_; }

 private:
  void prepare(size_t sentence);
  void marginals(const double* theta, std::vector<double>& by_state);
  double step(size_t sentence);
  double add_features(const std::vector<double>& by_state);
  double squared_norm() const;

  const ArcTable& table_;
  const ArcData& data_;
  ExponentiatedGradientOptions options_;
  Table<double> weights_;
  std::vector<double> theta_;   // of all states of all sentences
  std::vector<float> mu_;       // their marginals, as w has them
  std::vector<size_t> starts_;  // S+1
  std::vector<double> steps_;   // η C of every sentence
  TreeInference inference_;
  ArcScorer<double> scorer_;
  ArcGradient<double> spread_;
  ArcScores<double> scores_, given_;
  ArcSentence sentence_;
  KnownTree gold_;
  std::vector<double> arcs_, arc_marginals_, after_, change_, costs_, old_theta_;
};

}  // namespace arcwise
