#include "kernels/inference/padded_batch.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/random.hpp"
#include "kernels/inference/marginal_derivatives.hpp"

namespace arcwise {

namespace {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// The workspaces of one worker.
struct Worker {
  TreeInference inference;
  DerivativeWorkspace derivatives;
  std::vector<double> scores, first, second, results, values;
  std::vector<int32_t> heads;
};

// A sentence of n > 0 words in a padded matrix.
template <typename Real>
struct PaddedSentence {
  const PaddedBatch<Real>& batch;
  size_t number;
  int n;

  size_t side() const { return static_cast<size_t>(n) + 1; }
  size_t square() const { return side() * side(); }
  EisnerSpans spans() const { return batch.spans(number); }
  bool in_place() const { return std::is_same_v<Real, double> && n == batch.words; }

  template <typename Number>
  Number* matrix(Number* of_all) const {
    return of_all + number * batch.square();
  }

  // A matrix of the sentence as (n+1)² contiguous doubles.
  const double* compact(const Real* of_all, std::vector<double>& memory) const {
    const Real* from = matrix(of_all);
    if constexpr (std::is_same_v<Real, double>)
      if (n == batch.words) return from;
    memory.resize(square());
    for (size_t h = 0; h < side(); ++h)
      std::copy_n(from + h * batch.side(), side(), memory.data() + h * side());
    return memory.data();
  }

  // The buffer that a kernel writes a matrix to, and the copy from there to its place.
  double* results(Real* of_all, std::vector<double>& memory) const {
    if constexpr (std::is_same_v<Real, double>)
      if (n == batch.words) return matrix(of_all);
    memory.resize(square());
    return memory.data();
  }
  void place(const double* from, Real* of_all) const {
    if (in_place()) return;
    Real* to = matrix(of_all);
    for (size_t h = 0; h < side(); ++h) {
      const double* row = from + h * side();
      for (size_t m = 0; m < side(); ++m) to[h * batch.side() + m] = static_cast<Real>(row[m]);
      std::fill(to + h * batch.side() + side(), to + (h + 1) * batch.side(), Real{0});
    }
    std::fill(to + side() * batch.side(), to + batch.square(), Real{0});
  }

  // Writes the same number for every arc, 0 elsewhere.
  void fill(Real* of_all, double number_of_arcs) const {
    Real* to = matrix(of_all);
    std::fill_n(to, batch.square(), Real{0});
    for (size_t h = 0; h < side(); ++h)
      for (size_t m = 1; m < side(); ++m)
        if (h != m) to[h * batch.side() + m] = static_cast<Real>(number_of_arcs);
  }
};

// Whether no arc score is nan or too large.
bool is_readable(const double* scores, int n) {
  const size_t side = static_cast<size_t>(n) + 1;
  for (size_t h = 0; h < side; ++h) {
    const double* row = scores + h * side;
    int wrong = 0;
    for (size_t m = 1; m < side; ++m) wrong += !(row[m] <= LARGEST_SCORE);
    if (h > 0) wrong -= !(row[h] <= LARGEST_SCORE);
    if (wrong) return false;
  }
  return true;
}

void place_heads(const int32_t* from, int n, size_t side, int64_t* to) {
  std::copy_n(from, n + 1, to);
  std::fill(to + n + 1, to + side, -1);
}

// The calling thread keeps workspaces of sentences up to this length: allocating them takes as long as a
// short sentence.
constexpr int KEPT_LENGTH = 128;

// Calls one of these for every sentence: empty(b) without words, unreadable(sentence), work(sentence, scores,
// worker). effort: cost per sentence relative to one chart.
template <typename Real, typename Empty, typename Unreadable, typename Work>
void for_each_sentence(const PaddedBatch<Real>& batch, double effort, Empty empty, Unreadable unreadable,
                       Work work) {
  double total = 0;
  for (size_t b = 0; b < batch.sentences; ++b) {
    const double side = batch.lengths[b] + 1.0;
    total += effort * side * side * side;
  }
  const int workers = workers_for(total, batch.threads);
  thread_local Worker kept;
  std::vector<Worker> own(batch.words > KEPT_LENGTH ? workers : workers - 1);
  Worker* first = batch.words > KEPT_LENGTH ? &own.back() : &kept;
  parallel_for(batch.sentences, workers, [&, first](size_t b, size_t number) {
    Worker& worker = number == 0 ? *first : own[number - 1];
    const int n = batch.lengths[b];
    if (n == 0) return empty(b);
    const PaddedSentence<Real> sentence{batch, b, n};
    const double* scores = sentence.compact(batch.scores, worker.scores);
    if (is_readable(scores, n))
      work(sentence, scores, worker);
    else
      unreadable(sentence);
  });
}

}  // namespace

template <typename Real>
void padded_log_partition(const PaddedBatch<Real>& batch, Real* log_partitions) {
  for_each_sentence(
      batch, 1, [&](size_t b) { log_partitions[b] = 0; },
      [&](auto sentence) { log_partitions[sentence.number] = static_cast<Real>(NOT_A_NUMBER); },
      [&](auto sentence, const double* scores, Worker& worker) {
        log_partitions[sentence.number] = static_cast<Real>(
            worker.inference.log_partition(scores, sentence.n, batch.trees, sentence.spans()));
      });
}

template <typename Real>
void padded_marginals(const PaddedBatch<Real>& batch, Real* log_partitions, Real* marginals) {
  for_each_sentence(
      batch, 2,
      [&](size_t b) {
        log_partitions[b] = 0;
        std::fill_n(marginals + b * batch.square(), batch.square(), Real{0});
      },
      [&](auto sentence) {
        log_partitions[sentence.number] = static_cast<Real>(NOT_A_NUMBER);
        sentence.fill(marginals, NOT_A_NUMBER);
      },
      [&](auto sentence, const double* scores, Worker& worker) {
        double* results = sentence.results(marginals, worker.results);
        const double log_partition =
            worker.inference.marginals(scores, sentence.n, batch.trees, results, sentence.spans());
        log_partitions[sentence.number] = static_cast<Real>(log_partition);
        if (log_partition == MINUS_INFINITY)
          sentence.fill(marginals, 0);
        else
          sentence.place(results, marginals);
      });
}

template <typename Real>
void padded_marginal_derivatives(const PaddedBatch<Real>& batch, const Real* first, const Real* second,
                                 Real* derivatives) {
  for_each_sentence(
      batch, second ? 20 : 8,
      [&](size_t b) { std::fill_n(derivatives + b * batch.square(), batch.square(), Real{0}); },
      [&](auto sentence) { sentence.fill(derivatives, NOT_A_NUMBER); },
      [&](auto sentence, const double* scores, Worker& worker) {
        ScoreDirections directions{sentence.compact(first, worker.first), nullptr};
        if (second) directions.second = sentence.compact(second, worker.second);
        double* results = sentence.results(derivatives, worker.results);
        if (marginal_derivatives(scores, sentence.n, batch.trees, directions, results, worker.derivatives,
                                 sentence.spans()))
          sentence.place(results, derivatives);
        else
          sentence.fill(derivatives, NOT_A_NUMBER);
      });
}

template <typename Real>
void padded_decode(const PaddedBatch<Real>& batch, int64_t* heads, Real* values) {
  const size_t side = batch.side();
  const auto without_tree = [&](size_t b, double value) {
    std::fill_n(heads + b * side, side, -1);
    values[b] = static_cast<Real>(value);
  };
  for_each_sentence(
      batch, 1, [&](size_t b) { without_tree(b, 0); },
      [&](auto sentence) { without_tree(sentence.number, NOT_A_NUMBER); },
      [&](auto sentence, const double* scores, Worker& worker) {
        const size_t b = sentence.number;
        worker.heads.resize(sentence.side());
        const double value =
            worker.inference.decode(scores, sentence.n, batch.trees, worker.heads.data(), sentence.spans());
        if (value == MINUS_INFINITY) return without_tree(b, value);
        values[b] = static_cast<Real>(value);
        place_heads(worker.heads.data(), sentence.n, side, heads + b * side);
      });
}

template <typename Real>
void padded_k_best(const PaddedBatch<Real>& batch, int k, int64_t* heads, Real* values) {
  const size_t side = batch.side();
  // Fills the rows from `rank` on.
  const auto fill_rest = [&](size_t b, int rank, double value) {
    std::fill(heads + (b * k + rank) * side, heads + (b + 1) * k * side, -1);
    std::fill(values + b * k + rank, values + (b + 1) * k, static_cast<Real>(value));
  };
  for_each_sentence(
      batch, k,
      [&](size_t b) {
        fill_rest(b, 0, MINUS_INFINITY);
        values[b * k] = 0;
      },
      [&](auto sentence) { fill_rest(sentence.number, 0, NOT_A_NUMBER); },
      [&](auto sentence, const double* scores, Worker& worker) {
        const size_t b = sentence.number;
        worker.heads.resize(k * sentence.side());
        worker.values.resize(k);
        const int found = worker.inference.k_best(scores, sentence.n, batch.trees, k, worker.heads.data(),
                                                  worker.values.data(), sentence.spans());
        for (int rank = 0; rank < found; ++rank) {
          values[b * k + rank] = static_cast<Real>(worker.values[rank]);
          place_heads(&worker.heads[rank * sentence.side()], sentence.n, side, heads + (b * k + rank) * side);
        }
        fill_rest(b, found, MINUS_INFINITY);
      });
}

template <typename Real>
void padded_sample(const PaddedBatch<Real>& batch, int count, uint64_t seed, int64_t* heads) {
  const size_t side = batch.side();
  const auto place = [&](size_t b, int draw) { return heads + (draw * batch.sentences + b) * side; };
  const auto without_tree = [&](size_t b) {
    for (int draw = 0; draw < count; ++draw) std::fill_n(place(b, draw), side, -1);
  };
  for_each_sentence(
      batch, count, without_tree, [&](auto sentence) { without_tree(sentence.number); },
      [&](auto sentence, const double* scores, Worker& worker) {
        const size_t b = sentence.number;
        Random random(seed, b);
        worker.heads.resize(count * sentence.side());
        if (worker.inference.sample(scores, sentence.n, batch.trees, count, random, worker.heads.data(),
                                    sentence.spans()) == MINUS_INFINITY)
          return without_tree(b);
        for (int draw = 0; draw < count; ++draw)
          place_heads(&worker.heads[draw * sentence.side()], sentence.n, side, place(b, draw));
      });
}

template void padded_log_partition(const PaddedBatch<float>&, float*);
template void padded_marginals(const PaddedBatch<float>&, float*, float*);
template void padded_marginal_derivatives(const PaddedBatch<float>&, const float*, const float*, float*);
template void padded_decode(const PaddedBatch<float>&, int64_t*, float*);
template void padded_k_best(const PaddedBatch<float>&, int, int64_t*, float*);
template void padded_sample(const PaddedBatch<float>&, int, uint64_t, int64_t*);

template void padded_log_partition(const PaddedBatch<double>&, double*);
template void padded_marginals(const PaddedBatch<double>&, double*, double*);
template void padded_marginal_derivatives(const PaddedBatch<double>&, const double*, const double*, double*);
template void padded_decode(const PaddedBatch<double>&, int64_t*, double*);
template void padded_k_best(const PaddedBatch<double>&, int, int64_t*, double*);
template void padded_sample(const PaddedBatch<double>&, int, uint64_t, int64_t*);

}  // namespace arcwise
