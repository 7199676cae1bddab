// The number types of the kernels in *.cu: doubles, and WideNumber, a double with a separate exponent for
// weights outside the range of a double; each also with derivatives (derivative_number.hpp).
//
// Functions for every number: as<Number>::exp(x) creates exp(x); is_zero, as_double, log_of, share_of read
// it.
#pragma once
#include "kernels/base/cuda_platform.cuh"
#include "kernels/base/derivative_number.hpp"

namespace arcwise {

DEVICE double log_of(double x) { return log(x); }

// mantissa · 2^exponent, mantissa in [1, 2), or 0.
struct WideNumber {
  double mantissa = 0;
  int64_t exponent = ZERO_EXPONENT;

  static constexpr int64_t ZERO_EXPONENT = -(1ll << 60);  // far below every nonzero number
  static constexpr int64_t BIAS = 1023;

  // For a mantissa that is zero or a normal double.
  static DEVICE WideNumber normal(double mantissa, int64_t exponent) {
    if (mantissa == 0) return {};
    const int64_t bits = bits_of(mantissa), shift = (bits >> 52) - BIAS;
    return {from_bits(bits - (shift << 52)), exponent + shift};
  }
  friend DEVICE WideNumber operator*(const WideNumber& a, const WideNumber& b) {
    return normal(a.mantissa * b.mantissa, a.exponent + b.exponent);
  }
  friend DEVICE WideNumber operator/(const WideNumber& a, const WideNumber& b) {
    return normal(a.mantissa / b.mantissa, a.exponent - b.exponent);
  }
  friend DEVICE WideNumber operator+(const WideNumber& a, const WideNumber& b) {
    return a.exponent < b.exponent ? sum(b, a) : sum(a, b);
  }
  DEVICE WideNumber& operator+=(const WideNumber& other) { return *this = *this + other; }
  DEVICE WideNumber& operator*=(const WideNumber& other) { return *this = *this * other; }
  friend DEVICE bool operator==(const WideNumber& a, const WideNumber& b) {
    return a.mantissa == b.mantissa && (a.mantissa == 0 || a.exponent == b.exponent);
  }

 private:
  // a + b, where b's exponent is at most a's.
  static DEVICE WideNumber sum(const WideNumber& a, const WideNumber& b) {
    const int64_t apart = a.exponent - b.exponent;
    if (apart > 60) return a;
    return normal(a.mantissa + b.mantissa * from_bits((BIAS - apart) << 52), a.exponent);
  }
};

DEVICE bool is_zero(const WideNumber& x) { return x.mantissa == 0; }
DEVICE double as_double(const WideNumber& x) {
  if (x.mantissa == 0 || x.exponent < -1022) return 0;
  return x.mantissa * from_bits(((x.exponent > 1023 ? 1023 : x.exponent) + WideNumber::BIAS) << 52);
}
// ln 2 in two parts, the first with trailing zeros: products with integers up to 2^21 are exact, and fma
// compensates beyond that.
CONSTANT double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
DEVICE double log_of(const WideNumber& x) {
  if (x.mantissa == 0) return minus_infinity();
  const double exponent = static_cast<double>(x.exponent);
  return fma(exponent, LN2_HIGH, fma(exponent, LN2_LOW, log(x.mantissa)));
}
DEVICE double share_of(const WideNumber& part, const WideNumber& whole) { return as_double(part / whole); }
DEVICE double answer_of(const WideNumber& x) { return as_double(x); }

// exp(x) as a number, for |x| up to |LOWEST_SCORE|; exp(-inf) = 0.
CONSTANT double LOWEST_SCORE = -1e15;
template <typename Number>
struct as;
template <>
struct as<double> {
  static DEVICE double exp(double x) { return ::exp(x); }
};
template <>
struct as<WideNumber> {
  static DEVICE WideNumber exp(double x) {
    if (x == minus_infinity()) return {};
    const double whole = nearbyint(x * 1.4426950408889634);
    const double rest = fma(-whole, LN2_LOW, fma(-whole, LN2_HIGH, x));
    return WideNumber::normal(::exp(rest), static_cast<int64_t>(whole));
  }
};

}  // namespace arcwise
