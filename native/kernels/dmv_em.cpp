#include "kernels/dmv_em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "kernels/parallel.hpp"

namespace arcwise {

namespace {
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
}

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

double DmvTrainer::best_parses(const double* theta, double* counts) {
  if (!options_.constraint.marked.empty()) return constrained_parses(theta, counts);
  std::fill(counts, counts + layout_.features(), 0.0);
  double value = 0;
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    const int32_t* tags = corpus_.sentence(s);
    const int n = corpus_.length(s);
    const double score = dmv_decode(theta, layout_, tags, n, heads_.data(), workspace_);
    if (score == kImpossible) return kImpossible;
    value += corpus_.weights[s] * score;
    dmv_count(layout_, tags, n, heads_.data(), corpus_.weights[s], counts);
  }
  return value;
}

// Parses with a bonus mu on marked arcs have more of them the larger mu is. Find by bisection the smallest mu
// whose parses satisfy the constraint, then take back, sentence by sentence, what the constraint does not
// need.
double DmvTrainer::constrained_parses(const double* theta, double* counts) {
  const int features = layout_.features();
  const std::vector<uint8_t>& marked = options_.constraint.marked;
  const size_t sentences = corpus_.sentences();
  std::vector<double> loose(sentences * features), tight(loose.size());
  std::vector<double> tilted(features);
  const auto parse_all = [&](double mu, std::vector<double>& out) {  // marked arcs, or -1 without any parse
    for (int m = 0; m < features; ++m) tilted[m] = theta[m] + (marked[m] ? mu : 0.0);
    std::fill(out.begin(), out.end(), 0.0);
    double arcs = 0;
    for (size_t s = 0; s < sentences; ++s) {
      const int32_t* tags = corpus_.sentence(s);
      const int n = corpus_.length(s);
      if (dmv_decode(tilted.data(), layout_, tags, n, heads_.data(), workspace_) == kImpossible) return -1.0;
      dmv_count(layout_, tags, n, heads_.data(), corpus_.weights[s], &out[s * features]);
      arcs += marked_arcs(&out[s * features]);
    }
    return arcs;
  };
  const double least = options_.constraint.least;
  double arcs = parse_all(0, loose);
  if (arcs < 0) return kImpossible;
  if (arcs >= least) {
    tight = loose;
  } else {
    double low = 0, high = 1;
    while ((arcs = parse_all(high, tight)) < least) {
      low = high;
      high *= 4;
      if (high > 1e9) return kImpossible;
    }
    for (int round = 0; round < 30 && high - low > 1e-9 * high; ++round) {
      const double middle = 0.5 * (low + high);
      (parse_all(middle, loose) >= least ? high : low) = middle;
    }
    arcs = parse_all(high, tight);
    parse_all(low, loose);
    std::vector<size_t> order(sentences);
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> gain(sentences);
    for (size_t s = 0; s < sentences; ++s)
      gain[s] =
          dmv_dot(theta, &loose[s * features], features) - dmv_dot(theta, &tight[s * features], features);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return gain[a] > gain[b]; });
    for (size_t s : order) {
      const double lost = marked_arcs(&tight[s * features]) - marked_arcs(&loose[s * features]);
      if (gain[s] <= 0 || arcs - lost < least) continue;
      arcs -= lost;
      std::copy_n(&loose[s * features], features, &tight[s * features]);
    }
  }
  std::fill(counts, counts + features, 0.0);
  for (size_t s = 0; s < sentences; ++s)
    for (int m = 0; m < features; ++m) counts[m] += tight[s * features + m];
  return dmv_dot(theta, counts, features);
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
  if (options_.polish && options_.smoothing > 0 && result.value > kImpossible) {
    dmv_normalise(layout_, counts_.data(), 0.0, result.theta.data());
    result = run(0.0, std::move(result));
  }
  return result;
}

// E-step, M-step, until nothing changes. counts_ are those of the best parses so far and theta is their
// M-step.
DmvEmResult DmvTrainer::run(double smoothing, DmvEmResult result) {
  const int features = layout_.features();
  double before = kImpossible;
  for (int iteration = 0; iteration < options_.iterations; ++iteration) {
    const double value = expectation(result.theta.data(), other_.data());
    if (iteration == 0 && value == kImpossible) {
      result.value = kImpossible;
      return result;
    }
    ++result.iterations;
    // The constrained E-step is not exact, so that it may come back with less: then the old parses stay.
    if (options_.viterbi && iteration > 0 &&
        (value <= dmv_dot(result.theta.data(), counts_.data(), features) || other_ == counts_))
      break;
    counts_.swap(other_);
    if (!options_.viterbi) {
      result.trace.push_back(value);
      // What rises is the posterior: with the prior that add-lambda stands for.
      double posterior = value;
      if (smoothing > 0)
        for (double t : result.theta) posterior += smoothing * t;
      if (posterior - before <= options_.tolerance * std::abs(posterior)) break;
      before = posterior;
    }
    dmv_normalise(layout_, counts_.data(), smoothing, result.theta.data());
    if (options_.viterbi) result.trace.push_back(dmv_dot(result.theta.data(), counts_.data(), features));
  }
  result.value = result.trace.empty() ? kImpossible : result.trace.back();
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
