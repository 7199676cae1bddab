// The loops for AVX-512 with VNNI (this file is compiled for them), which multiplies bytes without sign by bytes with one: 128 is added
// to inputs, and its product taken away at the end.
#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/neural/network_loops.hpp"

namespace arcwise {
namespace {

constexpr int WIDTH = 16, ROWS = 6, GROUP = 4, OFFSET = 128;
typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint8_t Activation;
typedef int8_t ByteWeights __attribute__((vector_size(64)));

inline Floats multiply_add(Floats a, Floats b, Floats c) { return (Floats)_mm512_fmadd_ps(a, b, c); }
inline Ints load_weights(const char* from) {
  Ints out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
inline Ints spread_inputs(const Activation* from) {
  int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return four - Ints{};
}
inline Ints dot(Ints sum, Ints inputs, Ints weights) {
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)inputs, (__m512i)weights);
}

}  // namespace
}  // namespace arcwise

#include "kernels/neural/network_loops_inner.hpp"

namespace arcwise {

const NetworkLoops& avx512_loops() {
  static constexpr NetworkLoops loops = loops_of(Instructions::avx512);
  return loops;
}

}  // namespace arcwise
#endif
