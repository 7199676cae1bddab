// Online training of arcs and siblings together: averaged perceptron (Collins 2002), MIRA with the best tree (McDonald & Pereira 2006),
// and the gradients of log-likelihood and softmax-margin from exact marginals
// of projective trees. Margins may be taken from trees with crossing arcs as well (sibling_relaxation.hpp).
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/factors/sibling_relaxation.hpp"
#include "kernels/graph/arc_dropout.hpp"
#include "kernels/graph/arc_gradient.hpp"
#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/tree_inference.hpp"
#include "kernels/learning/averaged_weights.hpp"
#include "kernels/learning/sparse_vector.hpp"
#include "kernels/siblings/sibling_features.hpp"

namespace arcwise {

enum class SiblingUpdate { perceptron, mira, log_linear, softmax_margin };

struct SiblingOptions {
  SiblingUpdate update = SiblingUpdate::mira;
  TreeClass trees{true, true};  // gradients: projective
  double C = 0.01;              // MIRA: no step is larger
  double rate = 0.02;           // of gradient steps
  WordDropout dropout;
};

struct SiblingReport {
  double loss = 0;      // costs of the trees found, or the losses
  int64_t updates = 0;  // sentences that changed the weights
  int64_t skipped = 0;  // sentences whose heads are no tree of the class
};

// Weights of the cells of `table`, then of `siblings`.
class SiblingTrainer {
 public:
  SiblingTrainer(const ArcTable& table, const SiblingTable& siblings, const ArcData& data,
                 const SiblingOptions& options);

  SiblingReport run(const int64_t* sentences, size_t count, uint64_t epoch);
  // The loss of a sentence at the present weights and its gradient, as a sparse vector; +inf if it is skipped.
  double loss(size_t sentence, SparseVector& gradient);
  const ArcData& data() const { return data_; }
  const AveragedWeights& weights() const { return weights_; }
  double steps() const { return weights_.steps; }
  void set_steps(double steps) { weights_.steps = steps; }
  std::vector<Table<float>*> tables() { return {&weights_.weights, &weights_.sums}; }

 private:
  bool prepare(size_t sentence, uint64_t epoch, bool dropout);
  void score_rows(bool by_sum);
  int target_state(int m) const;
  bool find_tree();
  double add_difference();
  void step_margin(SiblingReport& report);
  double add_gradient();
  void step_gradient(SiblingReport& report);

  const ArcTable& table_;
  SiblingTable siblings_;
  const ArcData& data_;
  SiblingOptions options_;
  AveragedWeights weights_;
  ArcScorer<float> scorer_;
  SiblingScorer sibling_scorer_;
  ArcScores<float> scores_;
  ArcSentence sentence_;
  SiblingWords words_;
  KnownTree gold_;
  EisnerSiblingsWorkspace workspace_;
  SiblingRelaxation relaxation_;
  ArcGradient<float> spread_;
  SparseVector change_;  // f(gold) - f(tree), or the gradient
  std::vector<uint8_t> keep_;
  std::vector<double> arcs_, marginals_, dense_;
  std::vector<int32_t> best_, heads_, states_;  // best_: states by arc; states_: of the gold arcs
  std::vector<float> by_state_;
};

}  // namespace arcwise
