// Arc scores of a batch of sentences, as passed from Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/base/parallel.hpp"

namespace arcwise {

// Concatenated matrices: matrix s is the (n+1)² numbers from offsets[s], n = lengths[s].
struct ArcMatrices {
  ArcMatrices(const bindings::Array<double>& scores, const bindings::Array<int64_t>& offsets,
              const bindings::Array<int32_t>& lengths)
      : scores(scores.data()), offsets(offsets.data()), lengths(lengths.data()), sentences(lengths.shape(0)) {
    if (offsets.shape(0) != sentences) throw nanobind::value_error("as many offsets as lengths are needed");
    head_starts.resize(sentences + 1);
    for (size_t s = 0; s < sentences; ++s) {
      if (this->lengths[s] < 1) throw nanobind::value_error("every sentence needs a word");
      const int64_t side = int64_t{this->lengths[s]} + 1;
      const int64_t start = this->offsets[s];
      if (start < 0 || start + side * side > static_cast<int64_t>(scores.shape(0)))
        throw nanobind::value_error("a matrix lies outside the scores");
      head_starts[s + 1] = head_starts[s] + side;
      work += static_cast<double>(side) * side * side;
    }
  }

  const double* matrix(size_t sentence) const { return scores + offsets[sentence]; }
  int words(size_t sentence) const { return lengths[sentence]; }

  const double* scores;
  const int64_t* offsets;
  const int32_t* lengths;
  size_t sentences;
  double work = 0;                   // Σ (n+1)³, the cost of inference over trees
  std::vector<int64_t> head_starts;  // start of each sentence's heads in a flat array of n+1 each
};

// Calls work(sentence, workspace) for every sentence, without the GIL and with one workspace per thread;
// starts only as many threads as pay off. trees: number of trees requested per sentence.
template <typename Workspace, typename Work>
void for_each_sentence(const ArcMatrices& batch, int threads, Work work, int trees = 1) {
  nanobind::gil_scoped_release release;
  const int workers = workers_for(batch.work * trees, threads);
  std::vector<Workspace> workspaces(workers);
  parallel_for(batch.sentences, workers,
               [&](size_t sentence, size_t worker) { work(sentence, workspaces[worker]); });
}

}  // namespace arcwise
