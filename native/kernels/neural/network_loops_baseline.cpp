// The loops for any machine: vectors of 16 bytes.
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "kernels/neural/network_loops.hpp"

namespace arcwise {
namespace {

constexpr int WIDTH = 4, ROWS = 3, GROUP = 2, OFFSET = 0;
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
typedef int16_t Activation;
typedef int16_t ByteWeights __attribute__((vector_size(16)));

inline Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
inline Ints load_weights(const char* from) {
  Ints out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
inline Ints spread_inputs(const Activation* from) {
  int32_t both;
  __builtin_memcpy(&both, from, sizeof both);
  return both - Ints{};
}
inline Ints dot(Ints sum, Ints inputs, Ints weights) {
#if defined(__SSE2__)
  return sum + (Ints)_mm_madd_epi16((__m128i)inputs, (__m128i)weights);
#elif defined(__wasm_simd128__)
  return sum + (Ints)wasm_i32x4_dot_i16x8((v128_t)inputs, (v128_t)weights);
#else
  const ByteWeights x = (ByteWeights)inputs, w = (ByteWeights)weights;
  for (int i = 0; i < WIDTH; ++i) sum[i] += x[2 * i] * w[2 * i] + x[2 * i + 1] * w[2 * i + 1];
  return sum;
#endif
}

}  // namespace
}  // namespace arcwise

#include "kernels/neural/network_loops_inner.hpp"

namespace arcwise {

const NetworkLoops& baseline_loops() {
  static constexpr NetworkLoops loops = loops_of(Instructions::baseline);
  return loops;
}

}  // namespace arcwise
