// Local search for DMV parameters: EM (inside-outside) and Viterbi EM, from many starting points.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/induction/dmv.hpp"

namespace arcwise {

enum class DmvStart {
  uniform,   // uniform parameters; ties among parses are broken at random (Spitkovsky et al. 2010)
  random,    // every distribution drawn from a flat Dirichlet
  near,      // the counts `base`, each multiplied by random noise of a random strength
  harmonic,  // heads by 1/distance (Klein & Manning 2004); with random noise from the second restart on
};

// Constraint: at least `least` arcs (root arcs included) must have a marked root or child feature.
struct ArcShare {
  std::vector<uint8_t> marked;  // one per feature; empty: no constraint
  double least = 0;             // a number of arcs
};

struct DmvEmOptions {
  bool viterbi = true;
  DmvStart start = DmvStart::uniform;
  double smoothing = 0;  // added to every count in the M-step
  bool polish = false;   // continue without smoothing after convergence
  int iterations = 100;
  double tolerance = 1e-6;   // relative improvement of the likelihood below which EM stops
  ArcShare constraint;       // Viterbi EM only
  std::vector<double> base;  // for DmvStart::near
};

struct DmvEmResult {
  // Log-likelihood of the corpus (EM), or of the corpus and its parses (Viterbi EM), without the smoothing
  // prior.
  double value = 0;
  int iterations = 0;
  std::vector<double> theta;
  std::vector<double> trace;  // the value after each iteration; for EM, the starting point comes first. The
                              // last one belongs to theta.
};

// theta = log((counts + smoothing) / sum), uniform for a distribution without any count.
void dmv_normalise(DmvLayout layout, const double* counts, double smoothing, double* theta);

// sum_m theta_m counts_m, where 0 * -infinity = 0.
double dmv_dot(const double* theta, const double* counts, int features);

class DmvTrainer {
 public:
  DmvTrainer(const TagCorpus& corpus, const DmvEmOptions& options);
  DmvEmResult restart(Random& random);             // from a starting point chosen by the options
  DmvEmResult improve(std::vector<double> theta);  // from given parameters
  const std::vector<double>& counts() const { return counts_; }  // of the last run
  const std::vector<int32_t>& parses() const {
    return parses_;
  }  // heads of all words in the last run of Viterbi EM
  void number(uint64_t restart) { number_ = restart; }

  // The E-step of Viterbi EM: fills counts with the features of the best parses under theta that satisfy the
  // constraint (see dmv_em.cpp); returns their log-probability, or -infinity if there are none.
  double best_parses(const double* theta, double* counts);

 private:
  double expectation(const double* theta, double* counts);
  double parse_all(const double* theta, std::vector<int32_t>& parses);
  bool constrained_parses(const double* theta);  // writes latest_
  void count_parse(size_t sentence, const std::vector<int32_t>& parses, double* counts) const;
  double marked_arcs(const double* counts) const;
  void first_counts(Random& random);
  DmvEmResult run(double smoothing, DmvEmResult from);

  const TagCorpus& corpus_;
  const DmvEmOptions& options_;
  DmvLayout layout_;
  uint64_t number_ = 0;
  std::vector<double> counts_, other_;
  std::vector<int32_t> heads_, latest_, parses_;  // parses of the last E-step, and the best ones
  DmvWorkspace workspace_;
};

struct DmvRestarts {
  DmvEmResult best;            // the restart with the highest value (the first, if tied)
  std::vector<double> values;  // of every restart
};

// Runs restarts first .. first+restarts-1. Restart r uses Random(seed, r), so the result depends neither on
// the number of threads nor on how the restarts are split over calls.
DmvRestarts dmv_em_restarts(const TagCorpus& corpus, const DmvEmOptions& options, size_t first,
                            size_t restarts, uint64_t seed, int threads);

}  // namespace arcwise
