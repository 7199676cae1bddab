/* What __builtin_cpu_supports reads. The runtime libraries of GCC and LLVM define it; that of zig, the compiler of the
   wheels, does not (release/build_wheels.py). Only the features that arcwise asks for are filled in. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Bits are numbered as in the headers of both compilers; from 32 on they are in the second array. */
enum {
  AVX2 = 10,
  FMA = 14,
  AVX512F = 15,
  BMI = 16,
  BMI2 = 17,
  AVX512VL = 20,
  AVX512BW = 21,
  AVX512DQ = 22,
  AVX512VNNI = 34
};

HIDDEN struct {
  unsigned vendor, type, subtype, features[1];
} __cpu_model;
HIDDEN unsigned __cpu_features2[3];

static void set(int bit, int present) {
  unsigned* word = bit < 32 ? __cpu_model.features : __cpu_features2;
  if (present) *word |= 1u << bit % 32;
}

/* What the system saves when it switches threads: without that, wide registers must not be used. */
static uint64_t saved_state(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

HIDDEN __attribute__((constructor(101))) int __cpu_indicator_init(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const uint64_t state = c & bit_OSXSAVE ? saved_state() : 0;
  const int avx = (state & 0x06) == 0x06, avx512 = (state & 0xe6) == 0xe6;
  set(FMA, avx && c & bit_FMA);
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  set(AVX2, avx && b & bit_AVX2);
  set(BMI, !!(b & bit_BMI));
  set(BMI2, !!(b & bit_BMI2));
  set(AVX512F, avx512 && b & bit_AVX512F);
  set(AVX512VL, avx512 && b & bit_AVX512VL);
  set(AVX512BW, avx512 && b & bit_AVX512BW);
  set(AVX512DQ, avx512 && b & bit_AVX512DQ);
  set(AVX512VNNI, avx512 && c & bit_AVX512VNNI);
  return 0;
}
#endif
