// Cancellation of long work: a thread works under a WorkLimit, which long loops check regularly.
#pragma once
#include <atomic>
#include <chrono>
#include <exception>

namespace arcwise {

// A deadline, and a flag by which another thread can end the work sooner.
class WorkLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WorkLimit(Clock::time_point end) : end_(end) {}
  void cancel() { cancelled_ = true; }
  bool is_reached() const { return cancelled_.load(std::memory_order_relaxed) || Clock::now() > end_; }

 private:
  Clock::time_point end_;
  std::atomic<bool> cancelled_{false};
};

// Thrown out of a kernel when the limit of its thread is reached.
struct WorkInterrupted : std::exception {
  const char* what() const noexcept override { return "the work was interrupted"; }
};

// The limit of this thread, or null.
inline thread_local const WorkLimit* current_work_limit = nullptr;

// Sets the limit of this thread for the lifetime of the scope.
class WorkLimitScope {
 public:
  explicit WorkLimitScope(const WorkLimit* limit) : before_(current_work_limit) {
    current_work_limit = limit;
  }
  ~WorkLimitScope() { current_work_limit = before_; }
  WorkLimitScope(const WorkLimitScope&) = delete;
  WorkLimitScope& operator=(const WorkLimitScope&) = delete;

 private:
  const WorkLimit* before_;
};

inline void check_work_limit() {
  if (current_work_limit && current_work_limit->is_reached()) throw WorkInterrupted();
}

// Loops over the words of a sentence check the limit once per this many words: reading the clock would slow
// short sentences.
constexpr int WORDS_PER_CHECK = 64;
inline void check_work_limit(int word) {
  if (word % WORDS_PER_CHECK == WORDS_PER_CHECK - 1) check_work_limit();
}

}  // namespace arcwise
