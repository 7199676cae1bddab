// A log-linear model over candidates. A candidate is a set of outputs, and its score is the sum of their
// scores:
//
//   p(c | item) = exp s(c) / Σ_c' exp s(c'),   s(c) = Σ over outputs o of c, features f of the item: w(f, o)
//
// With one output per candidate this is multinomial logistic regression (a class per output); with several,
// candidates share parameters (FEATS strings share their Key=Value pairs), so that a candidate never seen
// with a feature still gets a meaningful score.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/learning/sparse_linear.hpp"

namespace arcwise {

struct SoftmaxTask {
  Lists outputs_of_candidate;
  Lists candidates_of_set;  // competing candidates; an item names a set
  size_t output_count = 0;

  size_t choices(size_t set) const {
    return candidates_of_set.starts[set + 1] - candidates_of_set.starts[set];
  }
};

struct SoftmaxItems {
  Lists features;
  std::vector<uint32_t> set;
  std::vector<uint32_t> gold;  // the correct candidate of the set
  size_t size() const { return set.size(); }
};

struct SoftmaxWorkspace {
  std::vector<float> output_scores;
  std::vector<float> candidate_scores;
};

// Fills workspace.candidate_scores with the probabilities of the candidates of the set; returns the index of
// the best one. output_scores must hold the scores of the outputs.
size_t softmax_probabilities(const SoftmaxTask& task, size_t set, SoftmaxWorkspace& workspace);

// Trains the weights by AdaGrad on the log-loss; each epoch shuffles the items.
SparseLinear softmax_train(const SoftmaxTask& task, SoftmaxItems& items, const TrainingOptions& options);

}  // namespace arcwise
