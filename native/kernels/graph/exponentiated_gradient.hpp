// Max-margin training by exponentiated gradient (Koo et al. 2007, figure 2; Bartlett et al. 2004), and
// log-linear training (Globerson et al. 2007; Collins et al. 2008).
//
// Minimises  ½|w|² + C Σ_i max_y [cost(y) - w·(f(y_i) - f(y))]  through its dual: each sentence has a
// distribution over trees, and  w = C Σ_i [f(y_i) - E f].
//
// The distribution of a sentence is a mixture. Its smooth part is the paper's: a number θ per state of an arc
// gives P(y) ∝ exp Σ θ. Steps of θ multiply probabilities, so a tree whose probability is almost 0 recovers
// slowly, and the last percents of convergence are slow. The mixture therefore also contains single trees
// with their own probabilities: each visit moves some probability from the worst part of the mixture to the
// worst violator, exactly as far as the dual rises (pairwise Frank-Wolfe steps; Lacoste-Julien et al. 2013,
// Lacoste-Julien & Jaggi 2015).
//
// Log-linear training minimises  ½|w|² - C Σ_i log P(y_i; w).  Its dual has the entropy of a distribution in
// place of its expected cost; a step moves θ towards w·f, its optimum, and there are no single trees.
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
  double beta = 9;          // initial θ of gold arcs
  int violators = 3;        // trees that get probability per visit; 0: the paper's steps only
  bool log_linear = false;  // requires violators = 0: std::invalid_argument otherwise
};

class ExponentiatedGradientTrainer {
 public:
  // Requires that every head is known, and every label if there are labels: std::invalid_argument otherwise.
  ExponentiatedGradientTrainer(const ArcTable& table, const ArcData& data,
                               const ExponentiatedGradientOptions& options);

  // Visits each of the sentences once; returns the sum of their terms of the dual.
  double run(const int64_t* sentences, size_t count);
  // The dual objective: the sum of the sentences' terms (C E[cost], or C times the entropy) - ½|w|².
  double dual() const;
  // The primal objective: finds the worst violator, or the log partition, of every sentence.
  double primal();
  // The mean of the sentences' η.
  double mean_step() const;
  // Sentences whose gold heads are not a tree of the class; they are skipped.
  size_t skipped() const { return skipped_; }
  const ArcData& data() const { return data_; }
  const Table<double>& weights() const { return weights_; }

 private:
  struct Part {                          // a tree of the mixture of a sentence, with its probability
    std::vector<int32_t> heads, states;  // 0..n
    std::vector<int32_t> at;             // by word, the index of its state among those of the sentence
    double cost = 0, gain = 0;           // gain: cost + w·f
    double share = 0;
  };
  struct Mixture {
    size_t first = 0;   // index of its θ and μ
    double smooth = 1;  // probability of the smooth part
    double step = 1;    // η C
    double term = 0;    // its term of the dual: C E[cost], or C times the entropy
    std::vector<Part> trees;
  };

  void start(size_t sentence);
  void prepare(size_t sentence);
  void score();
  void marginals(const Mixture& mixture);
  bool find_change(const double* mu);
  void take_change(Mixture& mixture);
  double add_features(double factor);
  void visit(Mixture& mixture);
  void raise_smooth_part(Mixture& mixture);
  void move_shares(Mixture& mixture);
  void balance_trees(Mixture& mixture, double enough);
  void move_between_trees(Mixture& mixture, Part& giver, Part& taker);
  void move_from_smooth_part(Mixture& mixture, Part& taker, double difference);
  double add_difference(const Part& of, const Part& instead, double factor);
  size_t add_violator(Mixture& mixture);
  Part worst_violator();
  void find_gain(Part& tree) const;
  double smooth_gain(const Mixture& mixture);
  double gold_gain();
  double surprisal();
  static double sum_of(const std::vector<double>& by_state, const Part& tree);
  static void add_tree(std::vector<double>& by_state, const Part& tree, double share);
  bool has_gold_tree() const;
  double squared_norm() const;

  const ArcTable& table_;
  const ArcData& data_;
  ExponentiatedGradientOptions options_;
  double longest_;  // η C
  Table<double> weights_;
  std::vector<double> theta_, mu_;  // of all states of all sentences; μ of the whole mixture, as applied to w
  std::vector<Mixture> mixtures_;
  size_t skipped_ = 0;
  double entropy_ = 0;
  TreeInference inference_;
  ArcScorer<double> scorer_;
  ArcGradient<double> spread_;
  ArcScores<double> scores_, given_;
  ArcSentence sentence_;
  KnownTree gold_;
  std::vector<double> arcs_, arc_marginals_, costs_, gains_, after_, change_, old_theta_, rest_;
  std::vector<size_t> likeliest_;
  std::vector<int32_t> best_;
};

}  // namespace arcwise
