// Four doubles at a time. Written with the vector types of GCC and Clang, so that the same source (and the
// same order of additions) becomes AVX2, SSE2 or NEON code.
#pragma once
#include <cstdint>
#include <cstring>

namespace arcwise {

constexpr int LANES = 4;
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef uint64_t LaneBits __attribute__((vector_size(LANES * sizeof(uint64_t))));

inline Lanes load(const double* from) {
  Lanes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

inline void store(double* to, Lanes value) { std::memcpy(to, &value, sizeof value); }

inline Lanes spread(double x) { return Lanes{x, x, x, x}; }

inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }

inline double sum_of(Lanes a) { return (a[0] + a[2]) + (a[1] + a[3]); }

inline double largest_of(Lanes a) {
  const double even = a[0] > a[2] ? a[0] : a[2], odd = a[1] > a[3] ? a[1] : a[3];
  return even > odd ? even : odd;
}

// exp(x) for x <= 0, -inf included, to about one unit in the last place; 0 below -708. Cody & Waite (1980):
//   x = k · ln 2 + r  with |r| <= ln 2 / 2,   exp(x) = 2^k · exp(r),
// exp(r) by its Taylor polynomial of degree 13.
inline Lanes exp_of_nonpositive(Lanes x) {
  const Lanes lowest = spread(-708.0);
  const Lanes inside = larger(x, lowest);
  const Lanes shifter = spread(0x1.8p52 + 1023);  // adding it leaves k + 1023 in the low bits
  const Lanes shifted = inside * 0x1.71547652b82fep0 + shifter;
  const Lanes k = shifted - shifter;
  const Lanes r = (inside - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
  const Lanes power = (Lanes)((LaneBits)shifted << 52);
  const Lanes r2 = r * r, r4 = r2 * r2;
  const Lanes p0 = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const Lanes p4 = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const Lanes p8 = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  const Lanes p12 = 1.0 / 479001600 + r * (1.0 / 6227020800);
  const Lanes value = power * (p0 + r4 * (p4 + r4 * (p8 + r4 * p12)));
  return x < lowest ? spread(0.0) : value;
}

}  // namespace arcwise
