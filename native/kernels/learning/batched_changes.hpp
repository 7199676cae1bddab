// Mini-batch learning: the sentences of a batch are learned from in parallel with the same weights, and their
// changes are then combined. A cell that k sentences change gets the sum of their changes divided by √k: a
// change that only one sentence makes counts in full, whereas changes that many sentences make from the same
// weights are partly redundant.
//
// Results depend on the batches but not on the number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/base/parallel.hpp"
#include "kernels/learning/sparse_vector.hpp"

namespace arcwise {

// The changes of the sentences of a batch, in groups of cells; each thread combines its own groups.
class BatchedChanges {
 public:
  static constexpr size_t GROUPS = 64;

  explicit BatchedChanges(size_t sentences) : changes_(sentences * GROUPS) {}

  void clear(size_t sentence) {
    for (size_t group = 0; group < GROUPS; ++group) changes_[sentence * GROUPS + group].clear();
  }
  // A sentence changes a cell at most once.
  void add(size_t sentence, uint32_t place, double change) {
    changes_[sentence * GROUPS + group_of(place)].push_back({place, change});
  }

  struct Workspace {
    SparseVector sums;
    std::vector<uint32_t> counts;
  };
  // Calls make(place, change) for each cell of the group changed by any of the first `sentences`.
  template <typename Make>
  void put_together(size_t group, size_t sentences, Workspace& own, Make make) const {
    own.sums.clear();
    own.counts.clear();
    for (size_t sentence = 0; sentence < sentences; ++sentence)
      for (const auto& [place, change] : changes_[sentence * GROUPS + group]) {
        const uint32_t number = own.sums.add(place, change);
        if (number == own.counts.size()) own.counts.push_back(0);
        ++own.counts[number];
      }
    const auto& entries = own.sums.entries();
    for (size_t i = 0; i < entries.size(); ++i)
      make(entries[i].place, entries[i].value / std::sqrt(own.counts[i]));
  }

 private:
  // Neighbouring cells belong to one group, so that threads do not share cache lines.
  static size_t group_of(uint32_t place) { return (place >> 5) * 0x9E3779B1u >> 26; }

  std::vector<std::vector<SparseVector::Entry>> changes_;
};

constexpr size_t BATCH_WINDOW = 16;  // batches

// The order in which items 0..count-1 are learned from, batch by batch. Items of a batch have about the same
// length, so that threads finish together: within a window of several batches, the longest items form a
// batch, and so on; the batch with the earliest item comes first. An incomplete batch comes last.
template <typename Length>
std::vector<size_t> arranged_batches(size_t count, size_t batch, Length length) {
  std::vector<size_t> order(count), arranged;
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t start = 0; start < count; start += BATCH_WINDOW * batch) {
    const size_t end = std::min(start + BATCH_WINDOW * batch, count);
    std::stable_sort(order.data() + start, order.data() + end,
                     [&](size_t a, size_t b) { return length(a) > length(b); });
    std::vector<std::pair<size_t, size_t>> batches;  // (earliest item, start)
    for (size_t first = start; first < end; first += batch) {
      const bool full = first + batch <= end;
      const size_t* items = order.data() + first;
      batches.emplace_back(full ? *std::min_element(items, items + batch) : count, first);
    }
    std::sort(batches.begin(), batches.end());
    for (const auto& [earliest, first] : batches)
      arranged.insert(arranged.end(), order.data() + first, order.data() + std::min(first + batch, end));
  }
  return arranged;
}

// For each batch in turn: calls learn(item, worker) in parallel for its items first..last-1, then put(group,
// first, last, worker) in parallel for all groups.
template <typename Learn, typename Put>
void batched_steps(size_t count, size_t batch, int threads, Learn learn, Put put) {
  const size_t batches = (count + batch - 1) / batch;
  const size_t workers = std::min<size_t>(std::max(threads, 1), batch);
  std::vector<std::atomic<size_t>> sentences(batches), groups(batches);
  std::barrier together(static_cast<std::ptrdiff_t>(workers));
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto guarded = [&](auto work) {
    if (failed) return;
    try {
      work();
    } catch (...) {
      std::lock_guard<std::mutex> hold(failure_lock);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  };
  auto run = [&](size_t worker) {
    for (size_t b = 0; b < batches; ++b) {
      const size_t first = b * batch, last = std::min(first + batch, count);
      guarded([&] {
        for (size_t i; (i = first + sentences[b].fetch_add(1)) < last;) learn(i, worker);
      });
      together.arrive_and_wait();
      guarded([&] {
        for (size_t group; (group = groups[b].fetch_add(1)) < BatchedChanges::GROUPS;)
          put(group, first, last, worker);
      });
      together.arrive_and_wait();
    }
  };
  at_the_same_time(workers, run);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace arcwise
