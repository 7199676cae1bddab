// The loops for AVX2 and FMA (this file is compiled for them). 8-bit products are widened to 16 bits, so that none is cut off.
#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/neural/network_loops.hpp"

namespace arcwise {
namespace {

constexpr int WIDTH = 8, ROWS = 3, GROUP = 2, OFFSET = 0;
typedef float Floats __attribute__((vector_size(32)));
typedef int32_t Ints __attribute__((vector_size(32)));
typedef int16_t Activation;
typedef int8_t ByteWeights __attribute__((vector_size(16)));

inline Floats multiply_add(Floats a, Floats b, Floats c) { return (Floats)_mm256_fmadd_ps(a, b, c); }
inline Ints load_weights(const char* from) {
  return (Ints)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Ints spread_inputs(const Activation* from) {
  int32_t both;
  __builtin_memcpy(&both, from, sizeof both);
  return both - Ints{};
}
inline Ints dot(Ints sum, Ints inputs, Ints weights) {
  return sum + (Ints)_mm256_madd_epi16((__m256i)inputs, (__m256i)weights);
}

}  // namespace
}  // namespace arcwise

#include "kernels/neural/network_loops_inner.hpp"

namespace arcwise {

const NetworkLoops& avx2_loops() {
  static constexpr NetworkLoops loops = loops_of(Instructions::avx2);
  return loops;
}

}  // namespace arcwise
#endif
