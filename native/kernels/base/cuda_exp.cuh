// exp for kernels that call it often: a third of the instructions of the library function, for arguments that
// are never large.
#pragma once
#include "kernels/base/cuda_number.cuh"

namespace arcwise {

// (exp(r) - 1 - r) / r², |r| <= ln 2 / 2, interpolated at Chebyshev points; then the constants of the range
// reduction.
CONSTANT_MEMORY double EXP_PARTS[14] = {0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22, 0x1.71de0dae63bb3p-19,
                                        0x1.a019b90d2ae7ap-16, 0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10,
                                        0x1.11111111109b3p-7,  0x1.5555555553d63p-5,  0x1.5555555555556p-3,
                                        0x1.0000000000001p-1,  1.4426950408889634,    0x1.8p52,
                                        -0x1.62e42feep-1,      -0x1.a39ef35793c76p-33};

// exp(x) for x < 700, to the last digit but one; 0 below -708; undefined for nan.
DEVICE double small_exp(double x) {
  constexpr double LOWEST = -708;
  const double* part = EXP_PARTS;
  const double shifted = fma(x, part[10], part[11]);  // the nearest integer is in the low bits
  const double whole = shifted - part[11];
  const double r = fma(whole, part[13], fma(whole, part[12], x));
  double sum = part[0];
  [[maybe_unused]] constexpr int UNROLLED = 9;
  UNROLL
  for (int i = 1; i <= 9; ++i) sum = fma(sum, r, part[i]);
  sum = fma(fma(sum, r, 1.0), r, 1.0);
  const int64_t scaled = bits_of(sum) + (bits_of(shifted) << 52);
  return x > LOWEST ? from_bits(scaled) : 0;
}

}  // namespace arcwise
