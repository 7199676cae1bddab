// Online error-driven and large-margin training: averaged perceptron (Collins 2002), k-best MIRA and factored
// MIRA (McDonald, Crammer & Pereira 2005), for labelled and unlabelled, complete and partial trees.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/graph/arc_dropout.hpp"
#include "kernels/graph/arc_scorer.hpp"
#include "kernels/inference/known_tree.hpp"
#include "kernels/inference/tree_inference.hpp"
#include "kernels/learning/averaged_weights.hpp"
#include "kernels/learning/sparse_vector.hpp"

namespace arcwise {

enum class MarginUpdate { perceptron, mira, mira_factored };

struct MarginOptions {
  MarginUpdate update = MarginUpdate::mira;
  TreeClass trees;
  int k = 5;                   // MIRA: constraints from the k best trees
  double C = 0.01;             // MIRA: upper bound of the multipliers
  bool loss_augmented = true;  // decode with the costs of wrong arcs added to the scores
  // Decode the minimum-risk tree under the current weights instead of the best tree.
  bool minimum_risk = false;
  bool risk_augmented = false;  // MIRA: minimum risk under weights augmented with the costs of wrong arcs
  WordDropout dropout;
};

// Statistics of a run over some sentences.
struct MarginReport {
  double loss = 0;      // total cost of the decoded trees
  int64_t updates = 0;  // sentences that changed the weights
  int64_t skipped = 0;  // sentences whose known heads fit no tree of the class

  MarginReport& operator+=(const MarginReport& other) {
    loss += other.loss;
    updates += other.updates;
    skipped += other.skipped;
    return *this;
  }
};

// Computes the weight change that one sentence causes.
class MarginStep {
 public:
  MarginStep(const ArcTable& table, const ArcData& data, const MarginOptions& options)
      : table_(table), data_(data), options_(options) {}

  MarginReport learn(const float* weights, size_t sentence, uint64_t epoch);
  // Calls make(place, change) for each cell changed by the last sentence.
  template <typename Make>
  void for_each_change(Make make) const {
    for (size_t i = 0; i < change_.size(); ++i)
      if (change_[i] != 0) make(touched_.entries()[i].place, change_[i]);
  }

 private:
  struct Constraint {
    SparseVector difference;  // f(gold) - f(other)
    double loss = 0;          // required margin
    double norm = 0, multiplier = 0;
    double wanted = 0;  // loss - w·difference before the update
    bool idle = false;  // its multiplier was 0 at the last check and had no reason to rise
    std::vector<SparseVector::Entry> local;  // the difference by entries of touched_
  };

  bool complete_gold();
  int target_state(int m) const;
  void add_arc(SparseVector& vector, int h, int m, int state, double value) const;
  Constraint& next_constraint();
  double add_tree(const int32_t* heads);
  void add_factored();
  void take_marginals();
  double add_found_trees();
  bool hildreth();
  void start_hildreth();
  double hildreth_pass(bool idle_too);
  bool perceptron();

  const ArcTable& table_;
  const ArcData& data_;
  MarginOptions options_;
  TreeInference inference_;
  ArcScorer<float> scorer_;
  ArcScores<float> scores_;
  ArcSentence sentence_;
  KnownTree gold_;
  std::vector<uint8_t> keep_;
  std::vector<double> arcs_, sums_, values_;
  std::vector<int32_t> best_, trees_;
  std::vector<int32_t> target_, target_states_;  // the target tree (unknown heads filled in) and its states
  std::vector<Constraint> constraints_;
  size_t constraint_count_ = 0;
  SparseVector touched_;        // the cells that an update can change
  std::vector<double> change_;  // of each touched cell
  const float* weights_ = nullptr;
};

class MarginTrainer {
 public:
  MarginTrainer(const ArcTable& table, const ArcData& data, const MarginOptions& options)
      : table_(table), data_(data), options_(options), weights_(table.cells()) {
    steps_.emplace_back(table, data, options);
  }

  // batch: number of sentences that share the same weights; threads: number of threads per batch
  // (learning/batched_changes.hpp).
  MarginReport run(const int64_t* sentences, size_t count, uint64_t epoch, size_t batch = 1, int threads = 1);
  const ArcData& data() const { return data_; }
  const AveragedWeights& weights() const { return weights_; }
  double steps() const { return weights_.steps; }
  void set_steps(double steps) { weights_.steps = steps; }
  // The trainer's state besides the step count.
  std::vector<Table<float>*> tables() { return {&weights_.weights, &weights_.sums}; }

 private:
  MarginReport run_batches(const int64_t* sentences, size_t count, uint64_t epoch, size_t batch, int threads);

  const ArcTable& table_;
  const ArcData& data_;
  MarginOptions options_;
  AveragedWeights weights_;
  std::deque<MarginStep> steps_;  // one for each thread
};

}  // namespace arcwise
