#include "kernels/induction/dmv_em.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/parallel.hpp"

namespace arcwise {

void dmv_normalise(DmvLayout layout, const double* counts, double smoothing, double* theta) {
  layout.distributions([&](int first, int size) {
    double sum = 0;
    for (int m = first; m < first + size; ++m) sum += counts[m] + smoothing;
    for (int m = first; m < first + size; ++m)
      theta[m] = sum > 0 ? std::log((counts[m] + smoothing) / sum) : -std::log(size);
  });
}

double dmv_dot(const double* theta, const double* counts, int features) {
  double sum = 0;
  for (int m = 0; m < features; ++m)
    if (counts[m] > 0) sum += counts[m] * theta[m];
  return sum;
}

DmvTrainer::DmvTrainer(const TagCorpus& corpus, const DmvEmOptions& options)
    : corpus_(corpus), options_(options), layout_{corpus.tag_count} {
  counts_.resize(layout_.features());
  other_.resize(layout_.features());
  int longest = 0;
  for (size_t s = 0; s < corpus.sentences(); ++s) longest = std::max(longest, corpus.length(s));
  heads_.resize(longest + 1);
}

double DmvTrainer::marked_arcs(const double* counts) const {
  double sum = 0;
  for (size_t m = 0; m < options_.constraint.marked.size(); ++m)
    if (options_.constraint.marked[m]) sum += counts[m];
  return sum;
}

double DmvTrainer::parse_all(const double* theta, std::vector<int32_t>& parses) {
  double value = 0;
  parses.resize(corpus_.tags.size());
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    const int n = corpus_.length(s);
    const double score = dmv_decode(theta, layout_, corpus_.sentence(s), n, heads_.data(), workspace_);
    if (score == MINUS_INFINITY) return MINUS_INFINITY;
    value += corpus_.weights[s] * score;
    std::copy_n(heads_.begin() + 1, n, parses.begin() + corpus_.starts[s]);
  }
  return value;
}

void DmvTrainer::count_parse(size_t s, const std::vector<int32_t>& parses, double* counts) const {
  dmv_count(layout_, corpus_.sentence(s), corpus_.length(s), parses.data() + corpus_.starts[s] - 1,
            corpus_.weights[s], counts);
}

double DmvTrainer::best_parses(const double* theta, double* counts) {
  const bool found = options_.constraint.marked.empty() ? parse_all(theta, latest_) > MINUS_INFINITY
                                                        : constrained_parses(theta);
  if (!found) return MINUS_INFINITY;
  std::fill(counts, counts + layout_.features(), 0.0);
  for (size_t s = 0; s < corpus_.sentences(); ++s) count_parse(s, latest_, counts);
  return dmv_dot(theta, counts, layout_.features());
}

// A larger bonus mu on marked arcs gives parses with more of them. Bisect for the smallest mu whose parses
// satisfy the constraint, then revert sentences one by one as far as the constraint allows.
bool DmvTrainer::constrained_parses(const double* theta) {
  const int features = layout_.features();
  const std::vector<uint8_t>& marked = options_.constraint.marked;
  const double least = options_.constraint.least;
  std::vector<int32_t> loose;
  std::vector<double> tilted(features), counts(features);
  const auto of_sentence = [&](size_t s, const std::vector<int32_t>& parses) {  // (likelihood, marked arcs)
    std::fill(counts.begin(), counts.end(), 0.0);
    count_parse(s, parses, counts.data());
    return std::pair{dmv_dot(theta, counts.data(), features), marked_arcs(counts.data())};
  };
  const auto arcs_with_bonus = [&](double mu, std::vector<int32_t>& parses) {
    for (int m = 0; m < features; ++m) tilted[m] = theta[m] + (marked[m] ? mu : 0.0);
    if (parse_all(tilted.data(), parses) == MINUS_INFINITY) return -1.0;
    double arcs = 0;
    for (size_t s = 0; s < corpus_.sentences(); ++s) arcs += of_sentence(s, parses).second;
    return arcs;
  };
  double arcs = arcs_with_bonus(0, latest_);
  if (arcs < 0) return false;
  if (arcs >= least) return true;
  double low = 0, high = 1;
  while (arcs_with_bonus(high, latest_) < least) {
    low = high;
    high *= 4;
    if (high > 1e9) return false;
  }
  for (int round = 0; round < 30 && high - low > 1e-9 * high; ++round) {
    const double middle = 0.5 * (low + high);
    (arcs_with_bonus(middle, loose) >= least ? high : low) = middle;
  }
  arcs = arcs_with_bonus(high, latest_);
  arcs_with_bonus(low, loose);
  std::vector<std::pair<double, size_t>> by_gain;
  for (size_t s = 0; s < corpus_.sentences(); ++s)
    by_gain.emplace_back(of_sentence(s, latest_).first - of_sentence(s, loose).first, s);
  std::sort(by_gain.begin(), by_gain.end());
  for (const auto& [loss, s] : by_gain) {
    const double given_up = of_sentence(s, latest_).second - of_sentence(s, loose).second;
    if (loss >= 0 || arcs - given_up < least) continue;
    arcs -= given_up;
    std::copy_n(loose.begin() + corpus_.starts[s], corpus_.length(s), latest_.begin() + corpus_.starts[s]);
  }
  return true;
}

double DmvTrainer::expectation(const double* theta, double* counts) {
  if (options_.viterbi) return best_parses(theta, counts);
  std::fill(counts, counts + layout_.features(), 0.0);
  double value = 0;
  for (size_t s = 0; s < corpus_.sentences(); ++s)
    value += corpus_.weights[s] * dmv_expected_counts(theta, layout_, corpus_.sentence(s), corpus_.length(s),
                                                      corpus_.weights[s], counts, workspace_);
  return value;
}

void DmvTrainer::first_counts(Random& random) {
  std::fill(counts_.begin(), counts_.end(), 0.0);
  std::vector<double> theta(layout_.features());
  dmv_normalise(layout_, counts_.data(), 1.0, theta.data());
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    const int32_t* tags = corpus_.sentence(s);
    const int n = corpus_.length(s);
    if (options_.start == DmvStart::harmonic) {
      dmv_harmonic_counts(layout_, tags, n, corpus_.weights[s], counts_.data(), workspace_);
    } else {
      // Under uniform parameters all trees of a sentence are equally good.
      dmv_sample(theta.data(), layout_, tags, n, random, heads_.data(), workspace_);
      dmv_count(layout_, tags, n, heads_.data(), corpus_.weights[s], counts_.data());
    }
  }
  if (options_.start == DmvStart::harmonic && number_ > 0)
    for (double& count : counts_) count *= -std::log(random.positive());
}

DmvEmResult DmvTrainer::restart(Random& random) {
  std::vector<double> theta(layout_.features());
  if (options_.start == DmvStart::random) {
    for (double& count : counts_) count = -std::log(random.positive());
    dmv_normalise(layout_, counts_.data(), 0.0, theta.data());
  } else if (options_.start == DmvStart::near) {
    const double strength = 0.25 * std::exp2(3 * random.uniform());
    for (size_t m = 0; m < counts_.size(); ++m)
      counts_[m] = (options_.base[m] + 0.05) * std::pow(-std::log(random.positive()), strength);
    dmv_normalise(layout_, counts_.data(), 0.0, theta.data());
  } else {
    first_counts(random);
    dmv_normalise(layout_, counts_.data(), options_.smoothing, theta.data());
  }
  return improve(std::move(theta));
}

DmvEmResult DmvTrainer::improve(std::vector<double> theta) {
  DmvEmResult from;
  from.theta = std::move(theta);
  DmvEmResult result = run(options_.smoothing, std::move(from));
  if (options_.polish && options_.smoothing > 0 && result.value > MINUS_INFINITY) {
    dmv_normalise(layout_, counts_.data(), 0.0, result.theta.data());
    result = run(0.0, std::move(result));
  }
  return result;
}

// Alternates E- and M-steps until convergence. counts_ are those of the best parses so far, and theta is
// their M-step.
DmvEmResult DmvTrainer::run(double smoothing, DmvEmResult result) {
  const int features = layout_.features();
  double before = MINUS_INFINITY;
  bool converged = false;
  for (int iteration = 0; iteration < options_.iterations; ++iteration) {
    const double value = expectation(result.theta.data(), other_.data());
    if (iteration == 0 && value == MINUS_INFINITY) {
      result.value = MINUS_INFINITY;
      return result;
    }
    ++result.iterations;
    // The constrained E-step is approximate and can return a worse value; then keep the old parses.
    if (options_.viterbi && iteration > 0 &&
        (value <= dmv_dot(result.theta.data(), counts_.data(), features) || other_ == counts_))
      break;
    counts_.swap(other_);
    if (options_.viterbi) parses_ = latest_;
    if (!options_.viterbi) {
      result.trace.push_back(value);
      // EM increases the posterior, so include the log prior that add-lambda smoothing corresponds to.
      double posterior = value;
      if (smoothing > 0)
        for (double t : result.theta) posterior += smoothing * t;
      converged = posterior - before <= options_.tolerance * std::abs(posterior);
      if (converged) break;
      before = posterior;
    }
    dmv_normalise(layout_, counts_.data(), smoothing, result.theta.data());
    if (options_.viterbi) result.trace.push_back(dmv_dot(result.theta.data(), counts_.data(), features));
  }
  // The last M-step has changed the model, so its likelihood is still unknown.
  if (!options_.viterbi && !converged)
    result.trace.push_back(expectation(result.theta.data(), other_.data()));
  result.value = result.trace.empty() ? MINUS_INFINITY : result.trace.back();
  return result;
}

DmvRestarts dmv_em_restarts(const TagCorpus& corpus, const DmvEmOptions& options, size_t first,
                            size_t restarts, uint64_t seed, int threads) {
  DmvRestarts out;
  out.values.resize(restarts);
  struct Worker {
    std::unique_ptr<DmvTrainer> trainer;
    DmvEmResult best;
    size_t number = 0;
  };
  std::vector<Worker> workers(std::max(threads, 1));
  parallel_for(restarts, threads, [&](size_t r, size_t w) {
    Worker& worker = workers[w];
    const bool fresh = !worker.trainer;
    if (fresh) worker.trainer = std::make_unique<DmvTrainer>(corpus, options);
    worker.trainer->number(first + r);
    Random random(seed, first + r);
    DmvEmResult result = worker.trainer->restart(random);
    out.values[r] = result.value;
    if (fresh || result.value > worker.best.value) worker.best = std::move(result), worker.number = r;
  });
  size_t number = restarts;
  for (Worker& worker : workers) {
    if (!worker.trainer) continue;
    if (number == restarts || worker.best.value > out.best.value ||
        (worker.best.value == out.best.value && worker.number < number))
      out.best = std::move(worker.best), number = worker.number;
  }
  return out;
}

}  // namespace arcwise
