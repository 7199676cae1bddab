// Log-linear models: log P(gold tree | sentence) and its gradient, for complete, partial and labelled trees
// and latent clusters (Koo et al. 2007; Smith & Smith 2007); online training by SGD or AdaGrad, and the batch
// objective.
//
// Always the same two sums: log P = log Z(trees that agree with what is known) - log Z(all trees).
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_gold.hpp"
#include "kernels/graph/arc_gradient.hpp"
#include "kernels/graph/arc_margin.hpp"
#include "kernels/graph/arc_scores.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// The likelihood of one sentence. `gradient` has a number for each state in `scores.states`: P(state | what
// is known) - P(state), the derivative of log P by the state's score.
template <typename Real>
class SentenceLikelihood {
 public:
  // log P; -inf if no tree agrees with what is known.
  double compute(const ArcSpace& space, const ArcSentence& sentence, const ArcGold& gold, TreeClass trees,
                 ArcScores<Real>& scores);
  const std::vector<Real>& gradient() const { return gradient_; }

 private:
  double known_marginals(const ArcSpace& space, const ArcSentence& sentence, const ArcGold& gold,
                         TreeClass trees, ArcScores<Real>& scores);

  TreeInference inference_;
  std::vector<double> arcs_, marginals_, known_arcs_, known_marginals_;
  std::vector<Real> gradient_;
};

struct LikelihoodOptions {
  TreeClass trees;
  bool adagrad = false;
  double prior = 0;     // precision of a Gaussian prior, per sentence
  double floor = 1e-4;  // arcs whose gradient is smaller than this in every state are left alone
  double noise = 0;     // standard deviation of the first weights (latent clusters need it)
  WordDropout dropout;
};

struct LikelihoodReport {
  double log_likelihood = 0;
  int64_t skipped = 0;  // sentences whose known heads fit no tree of the class
};

class LikelihoodTrainer {
 public:
  LikelihoodTrainer(const ArcSpace& space, const ArcData& data, const LikelihoodOptions& options);

  // One step of size `rate` for each sentence.
  LikelihoodReport run(const int64_t* sentences, size_t count, uint64_t epoch, double rate);
  const AveragedWeights& weights() const { return weights_; }

 private:
  void start_with_noise();
  void step(double rate);
  template <typename AddCell, typename AddRow>
  void spread(AddCell add_cell, AddRow add_row);
  void shrink(double factor);

  const ArcSpace& space_;
  const ArcData& data_;
  LikelihoodOptions options_;
  AveragedWeights weights_;
  Table<float> squares_;  // AdaGrad: sums of squared gradients
  ArcGradient<float> spread_;
  SparseVector gradient_;
  SentenceLikelihood<float> likelihood_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  ArcSentence sentence_;
  ArcGold gold_;
  std::vector<uint8_t> keep_;
};

// sum over sentences of -log P, and its gradient by the weights (added to `gradient`, cells() numbers).
double likelihood_objective(const ArcSpace& space, const ArcData& data, TreeClass trees,
                            const double* weights, double* gradient, int threads);

}  // namespace arcwise
