// WideNumber: a non-negative number whose binary logarithm is stored as a whole part and a double in [1, 2).
// It keeps the precision of a double at any size: products of weights whose scores lie thousands apart
// neither underflow nor lose digits, and sums need no logarithm.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/base/minus_infinity.hpp"

namespace arcwise {

class WideNumber {
 public:
  constexpr WideNumber() = default;
  explicit constexpr WideNumber(double value) { *this = normal(value, 0); }

  // exp(x), also where that is no double; exp(-inf) = 0.
  static WideNumber exp(double x) {
    if (x == MINUS_INFINITY) return {};
    const double whole = std::nearbyint(x * LOG2_E);
    // ln 2 in two parts, the first with zeros at the end: whole * LN2_HIGH is exact.
    const double rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    return normal(std::exp(rest), static_cast<int64_t>(whole));
  }

  double log() const {
    if (mantissa_ == 0) return MINUS_INFINITY;
    return std::log(mantissa_) + static_cast<double>(exponent_) * LN2_LOW +
           static_cast<double>(exponent_) * LN2_HIGH;
  }

  explicit operator double() const {
    if (exponent_ < -1074) return 0;
    return std::ldexp(mantissa_, static_cast<int>(std::min<int64_t>(exponent_, 2000)));
  }

  friend WideNumber operator*(WideNumber a, WideNumber b) {
    return normal(a.mantissa_ * b.mantissa_, a.exponent_ + b.exponent_);
  }
  friend WideNumber operator/(WideNumber a, WideNumber b) {
    return normal(a.mantissa_ / b.mantissa_, a.exponent_ - b.exponent_);
  }
  friend WideNumber operator+(WideNumber a, WideNumber b) {
    if (a.exponent_ < b.exponent_) std::swap(a, b);
    const int64_t apart = a.exponent_ - b.exponent_;
    if (apart > 60) return a;
    return normal(a.mantissa_ + b.mantissa_ * std::bit_cast<double>((BIAS - apart) << 52), a.exponent_);
  }
  WideNumber& operator+=(WideNumber other) { return *this = *this + other; }
  WideNumber& operator*=(WideNumber other) { return *this = *this * other; }
  friend bool operator==(WideNumber a, WideNumber b) {
    return a.mantissa_ == b.mantissa_ && a.exponent_ == b.exponent_;
  }

 private:
  static constexpr int64_t BIAS = 1023;
  static constexpr int64_t ZERO_EXPONENT = -(int64_t{1} << 60);  // far below everything that is not zero
  static constexpr double LOG2_E = 1.4426950408889634;
  static constexpr double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;

  // mantissa * 2^exponent, for a mantissa that is zero or a normal double.
  static constexpr WideNumber normal(double mantissa, int64_t exponent) {
    WideNumber out;
    if (mantissa == 0) return out;
    const int64_t bits = std::bit_cast<int64_t>(mantissa);
    const int64_t shift = (bits >> 52) - BIAS;
    out.mantissa_ = std::bit_cast<double>(bits - (shift << 52));
    out.exponent_ = exponent + shift;
    return out;
  }

  double mantissa_ = 0;
  int64_t exponent_ = ZERO_EXPONENT;
};

}  // namespace arcwise
