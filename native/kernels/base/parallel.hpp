// Work distributed over threads. Each item is done by exactly one worker and writes only its own results, so
// results do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>
#ifndef __wasm__
#include <mutex>
#include <thread>
#endif

#include "kernels/base/interruption.hpp"

namespace arcwise {

// Work, as Σ (n+1)³ over sentences, that justifies another thread: less is finished before the thread starts.
constexpr double WORK_PER_THREAD = 300'000;

// How many of the allowed threads are worth starting.
inline int workers_for(double work, int threads) {
  return static_cast<int>(std::clamp(work / WORK_PER_THREAD, 1.0, std::max(threads, 1) * 1.0));
}

#ifdef __wasm__  // one thread, and no exceptions

template <typename Work>
void parallel_for(size_t items, int, Work work) {
  for (size_t item = 0; item < items; ++item) work(item, size_t{0});
}

#else

// Calls run(worker) for worker = 0..workers-1, the first on this thread and each other on its own; run must
// not throw.
template <typename Run>
void at_the_same_time(size_t workers, Run run) {
  std::vector<std::thread> pool;
  for (size_t worker = 1; worker < workers; ++worker) pool.emplace_back(run, worker);
  run(size_t{0});
  for (std::thread& thread : pool) thread.join();
}

// Calls work(item, worker) for item = 0..items-1, with worker in 0..threads-1, so that callers can keep a
// workspace per worker. All workers run under the calling thread's limit.
template <typename Work>
void parallel_for(size_t items, int threads, Work work) {
  size_t workers = std::min<size_t>(std::max(threads, 1), std::max<size_t>(items, 1));
  if (workers == 1) {
    for (size_t item = 0; item < items; ++item) {
      check_work_limit();
      work(item, size_t{0});
    }
    return;
  }
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto run = [&, limit = current_work_limit](size_t worker) {
    WorkLimitScope scope(limit);
    try {
      for (size_t item; (item = next.fetch_add(1)) < items;) {
        check_work_limit();
        work(item, worker);
      }
    } catch (...) {
      std::lock_guard<std::mutex> hold(failure_lock);
      if (!failure) failure = std::current_exception();
      next = items;
    }
  };
  at_the_same_time(workers, run);
  if (failure) std::rethrow_exception(failure);
}

#endif

}  // namespace arcwise
