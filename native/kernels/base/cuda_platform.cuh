// The subset of CUDA that the kernels in *.cu use. The same source is compiled by NVRTC for a GPU
// (src/arcwise/torch/cuda) and by any C++20 compiler for tests without one, where a block has one thread, or
// several with a barrier.
//
// A kernel is a function  KERNEL name(Arguments arguments)  where Arguments is a plain struct of pointers and
// numbers; Python fills a ctypes.Structure with the same fields.
#pragma once

#ifdef __CUDACC_RTC__

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
#define CONSTANT __device__ constexpr
#define CONSTANT_MEMORY __constant__  // outside the code, so that constants are not immediates
#define THREADS_AT_MOST(count) __launch_bounds__(count)
#define UNROLL _Pragma("unroll UNROLLED")  // unrolls the next loop UNROLLED times (a constant in scope)

namespace arcwise {

constexpr int WARP_LANES = 32, MOST_THREADS = 1024;

DEVICE int block_index() { return blockIdx.x; }
DEVICE int block_count() { return gridDim.x; }
DEVICE int thread_index() { return threadIdx.x; }
DEVICE int thread_count() { return blockDim.x; }
DEVICE void sync_block() { __syncthreads(); }
DEVICE void sync_warp() { __syncwarp(); }
DEVICE bool any_in_warp(bool is_so) { return __any_sync(0xFFFFFFFFu, is_so); }

// The shared memory of a block, of the size given at launch.
DEVICE char* shared_memory() {
  extern __shared__ double2 arcwise_shared[];
  return reinterpret_cast<char*>(arcwise_shared);
}

DEVICE int64_t bits_of(double x) { return __double_as_longlong(x); }
DEVICE double from_bits(int64_t bits) { return __longlong_as_double(bits); }
DEVICE double minus_infinity() { return from_bits(static_cast<int64_t>(0xFFF0000000000000ull)); }
DEVICE double not_a_number() { return from_bits(0x7FF8000000000000ll); }

// The value of the lane whose index is this lane's XOR mask; every lane of the warp must call it.
template <typename Value>
DEVICE Value from_lane_across(Value value, int mask) {
  static_assert(sizeof(Value) % 4 == 0);
  int words[sizeof(Value) / 4];
  memcpy(words, &value, sizeof(Value));
  for (int& word : words) word = __shfl_xor_sync(0xFFFFFFFFu, word, mask);
  Value there;
  memcpy(&there, words, sizeof(Value));
  return there;
}

}  // namespace arcwise

#else  // on the CPU, for tests

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#define KERNEL extern "C" void
#define DEVICE inline
#define CONSTANT inline constexpr
#define CONSTANT_MEMORY inline constexpr
#define THREADS_AT_MOST(count)
#define UNROLL

namespace arcwise {

// A warp has one lane, or EMULATED_LANES; in that case a block is one warp, so that the block's barrier also
// serves as the warp's.
#ifndef EMULATED_LANES
#define EMULATED_LANES 1
#endif
// The number of threads that a kernel may assume when it is compiled for a fixed number.
#ifndef EMULATED_THREADS
#define EMULATED_THREADS EMULATED_LANES
#endif
constexpr int WARP_LANES = EMULATED_LANES, MOST_THREADS = EMULATED_THREADS;

struct EmulatedThread {
  int block = 0, blocks = 1, thread = 0, threads = 1;
  char* shared = nullptr;
  std::barrier<>* barrier = nullptr;
};
inline thread_local EmulatedThread emulated;

inline int block_index() { return emulated.block; }
inline int block_count() { return emulated.blocks; }
inline int thread_index() { return emulated.thread; }
inline int thread_count() { return emulated.threads; }
inline void sync_block() {
  if (emulated.barrier) emulated.barrier->arrive_and_wait();
}
inline void sync_warp() {
  if (WARP_LANES > 1) sync_block();
}
inline char* shared_memory() { return emulated.shared; }
inline int64_t bits_of(double x) { return std::bit_cast<int64_t>(x); }
inline double from_bits(int64_t bits) { return std::bit_cast<double>(bits); }
inline double minus_infinity() { return -std::numeric_limits<double>::infinity(); }
inline double not_a_number() { return std::numeric_limits<double>::quiet_NaN(); }
// Returns use(values of all lanes) in every lane.
template <typename Value, typename Use>
inline auto of_all_lanes(const Value& value, Use use) {
  static Value values[WARP_LANES];
  values[thread_index() % WARP_LANES] = value;
  sync_warp();
  const auto answer = use(values);
  sync_warp();
  return answer;
}
template <typename Value>
inline Value from_lane_across(Value value, int mask) {
  if (WARP_LANES == 1) return value;
  return of_all_lanes(value, [=](const Value* values) { return values[thread_index() ^ mask]; });
}
inline bool any_in_warp(bool is_so) {
  if (WARP_LANES == 1) return is_so;
  return of_all_lanes(
      is_so, [](const bool* values) { return std::any_of(values, values + WARP_LANES, std::identity()); });
}
using std::exp, std::exp2, std::fabs, std::fma, std::isnan, std::log, std::nearbyint, std::sqrt;

}  // namespace arcwise

#endif

namespace arcwise {

// The work of a sentence is split into pieces, each done by LANES neighbouring lanes of a warp (a power of
// two).
template <int LANES>
struct Lanes {
  static constexpr int COUNT = LANES < WARP_LANES ? LANES : WARP_LANES;
  static DEVICE int lane() { return thread_index() % COUNT; }
  static DEVICE int group() { return thread_index() / COUNT; }
  static DEVICE int groups() { return thread_count() / COUNT; }
  // The sum over the lanes of the group, in every lane, in a fixed order, so that runs are reproducible.
  template <typename Value>
  static DEVICE Value sum(Value value) {
    for (int mask = COUNT / 2; mask > 0; mask /= 2) value = value + from_lane_across(value, mask);
    return value;
  }
  static DEVICE double largest(double value) {
    for (int mask = COUNT / 2; mask > 0; mask /= 2) {
      const double other = from_lane_across(value, mask);
      value = other > value ? other : value;
    }
    return value;
  }
};

}  // namespace arcwise
