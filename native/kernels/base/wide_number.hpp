// WideNumber: a non-negative number stored as an integer exponent and a double mantissa in [1, 2). It keeps
// the precision of a double at any size: products of weights whose scores are thousands apart neither
// underflow nor lose digits, and sums need no logarithm. TallNumber is the same with an unbounded exponent:
// it holds the exponential of every finite double, to the last place.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/tall_integer.hpp"

namespace arcwise {

template <typename Exponent>
class ScaledNumber {
 public:
  // exp is accurate to a few units in the last place for |x| up to here.
  static constexpr double LARGEST_LOG = std::is_same_v<Exponent, TallInteger> ? 1e300 : 7e5;

  constexpr ScaledNumber() = default;
  explicit constexpr ScaledNumber(double value) { *this = normal(value, 0); }

  // exp(x), also outside the range of a double; exp(-inf) = 0.
  static ScaledNumber exp(double x) {
    if (x == MINUS_INFINITY) return {};
    if constexpr (std::is_same_v<Exponent, TallInteger>) {
      if (!(std::fabs(x) < ScaledNumber<int64_t>::LARGEST_LOG)) {
        const BinaryLogarithm power = binary_logarithm_of_exp(x);
        return normal(std::exp2(power.part), power.whole);
      }
    }
    const double whole = std::nearbyint(x * LOG2_E);
    // ln 2 in two parts, the first with trailing zeros: whole * LN2_HIGH is exact.
    const double rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    return normal(std::exp(rest), static_cast<int64_t>(whole));
  }

  double log() const {
    if (mantissa_ == 0) return MINUS_INFINITY;
    const auto exponent = static_cast<double>(exponent_);
    return std::log(mantissa_) + exponent * LN2_LOW + exponent * LN2_HIGH;
  }

  explicit operator double() const {
    const int64_t exponent = within(exponent_, 2000);
    if (exponent > -BIAS && exponent < BIAS)
      return mantissa_ * std::bit_cast<double>((exponent + BIAS) << 52);
    return exponent < -1074 ? 0 : std::ldexp(mantissa_, static_cast<int>(exponent));
  }

  friend ScaledNumber operator*(const ScaledNumber& a, const ScaledNumber& b) {
    return normal(a.mantissa_ * b.mantissa_, a.exponent_ + b.exponent_);
  }
  friend ScaledNumber operator/(const ScaledNumber& a, const ScaledNumber& b) {
    return normal(a.mantissa_ / b.mantissa_, a.exponent_ - b.exponent_);
  }
  friend ScaledNumber operator+(const ScaledNumber& a, const ScaledNumber& b) {
    const int64_t apart = within(a.exponent_ - b.exponent_, FAR);
    return apart < 0 ? sum(b, a, -apart) : sum(a, b, apart);
  }
  ScaledNumber& operator+=(const ScaledNumber& other) { return *this = *this + other; }
  ScaledNumber& operator*=(const ScaledNumber& other) { return *this = *this * other; }
  friend bool operator==(const ScaledNumber& a, const ScaledNumber& b) {
    return a.mantissa_ == b.mantissa_ && a.exponent_ == b.exponent_;
  }
  bool is_zero() const { return mantissa_ == 0; }

 private:
  static constexpr int64_t BIAS = 1023, FAR = int64_t{1} << 62;
  static constexpr double LOG2_E = 1.4426950408889634;
  static constexpr double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;

  static constexpr int64_t within(int64_t exponent, int64_t limit) {
    return exponent < -limit ? -limit : exponent > limit ? limit : exponent;
  }
  static constexpr int64_t within(const TallInteger& exponent, int64_t limit) {
    return exponent.within(limit);
  }

  // Far below every nonzero number.
  static constexpr Exponent zero_exponent() {
    if constexpr (std::is_same_v<Exponent, TallInteger>) {
      TallInteger::Limbs limbs{};
      limbs[TallInteger::LIMBS - 1] = uint64_t{0xFF} << 56;  // -2^(64 · LIMBS - 8)
      return TallInteger(limbs);
    } else {
      return -(int64_t{1} << 60);
    }
  }

  // mantissa * 2^exponent, for a mantissa that is zero or a normal double.
  static constexpr ScaledNumber normal(double mantissa, const Exponent& exponent) {
    ScaledNumber out;
    if (mantissa == 0) return out;
    const int64_t bits = std::bit_cast<int64_t>(mantissa);
    const int64_t shift = (bits >> 52) - BIAS;
    out.mantissa_ = std::bit_cast<double>(bits - (shift << 52));
    out.exponent_ = exponent + shift;
    return out;
  }

  // a + b, where the exponent of b is `apart` below that of a.
  static ScaledNumber sum(const ScaledNumber& a, const ScaledNumber& b, int64_t apart) {
    if (apart > 60) return a;
    return normal(a.mantissa_ + b.mantissa_ * std::bit_cast<double>((BIAS - apart) << 52), a.exponent_);
  }

  double mantissa_ = 0;
  Exponent exponent_ = zero_exponent();
};

using WideNumber = ScaledNumber<int64_t>;
using TallNumber = ScaledNumber<TallInteger>;

}  // namespace arcwise
