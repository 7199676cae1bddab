// Gradient training of a weight table (tree_loss.hpp), for complete, partial and labelled trees and latent
// clusters: online with SGD or AdaGrad (Koo et al. 2007; Smith & Smith 2007), and the objective function of
// batch training.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/base/huge_pages.hpp"
#include "kernels/graph/arc_dropout.hpp"
#include "kernels/graph/arc_gradient.hpp"
#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/tree_loss.hpp"
#include "kernels/learning/adagrad.hpp"
#include "kernels/learning/averaged_weights.hpp"
#include "kernels/learning/sparse_vector.hpp"

namespace arcwise {

struct LossTrainerOptions {
  TreeLoss loss = TreeLoss::likelihood;
  TreeClass trees;
  bool adagrad = false;
  double prior = 0;     // precision of a Gaussian prior, per sentence
  double floor = 1e-4;  // arcs whose gradient is below this in every state are skipped
  double noise = 0;     // standard deviation of the initial weights (latent clusters need it)
  WordDropout dropout;
};

struct LossReport {
  double loss = 0;
  int64_t skipped = 0;  // sentences whose known heads fit no tree of the class
};

class LossTrainer {
 public:
  LossTrainer(const ArcTable& table, const ArcData& data, const LossTrainerOptions& options);

  // Takes one step of size `rate` per sentence.
  LossReport run(const int64_t* sentences, size_t count, uint64_t epoch, double rate);
  TreeLoss loss() const { return options_.loss; }
  void set_loss(TreeLoss loss) { options_.loss = loss; }
  const ArcData& data() const { return data_; }
  const AveragedWeights& weights() const { return weights_; }
  double steps() const { return weights_.steps; }
  void set_steps(double steps) { weights_.steps = steps; }
  // The trainer's state besides the step count; `squares` is empty without AdaGrad.
  std::vector<Table<float>*> tables() { return {&weights_.weights, &weights_.sums, &adagrad_.squares}; }

 private:
  void start_with_noise();
  void step(double rate);
  template <typename AddCell, typename AddRow>
  void spread(AddCell add_cell, AddRow add_row);
  void shrink(double factor);

  const ArcTable& table_;
  const ArcData& data_;
  LossTrainerOptions options_;
  AveragedWeights weights_;
  AdaGrad adagrad_;
  ArcGradient<float> spread_;
  SparseVector gradient_;
  SentenceLoss<float> loss_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  ArcSentence sentence_;
  KnownTree gold_;
  std::vector<uint8_t> keep_;
};

// The total loss of all sentences as a function of the weights of features that occur in them, in any state
// of any scored arc, so that a solver works on those weights only. Sentences whose known heads fit no tree of
// the class are skipped.
class LossObjective {
 public:
  // Restricted to sentences first..last-1.
  LossObjective(const ArcTable& table, const ArcData& data, TreeLoss loss, TreeClass trees, int threads,
                size_t first, size_t last);

  // The cells of the features that occur, in ascending order.
  const std::vector<uint32_t>& places() const { return places_; }
  // Returns the loss at x, the weights of these cells, and writes its gradient.
  double compute(const double* x, double* gradient);
  // Sentences skipped by the last compute().
  int64_t skipped() const { return skipped_; }
  const ArcTable& table() const { return table_; }

 private:
  void find_places();
  void add_block(size_t start, size_t count);

  const ArcTable& table_;
  const ArcData& data_;
  TreeLoss loss_;
  TreeClass trees_;
  int threads_;
  size_t first_, last_;
  std::vector<uint32_t> places_;
  Table<double> weights_, gradient_;  // of all cells; 0 except at places_
  double total_ = 0;
  int64_t skipped_ = 0;
  struct Worker {
    SentenceLoss<double> loss;
    ArcScorer<double> scorer;
    KnownTree gold;
  };
  struct Prepared {
    ArcSentence sentence;
    ArcScores<double> scores;
    std::vector<double> by_state;
    double value = 0;
  };
  std::vector<Worker> workers_;
  std::vector<Prepared> block_;
  ArcGradient<double> spread_;
};

}  // namespace arcwise
