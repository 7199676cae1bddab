// The functions of a number that sums over trees need: is_zero, as_double, share_of, log_of, answer_of, unit.
// For doubles, for numbers with members of these names (wide_number.hpp), and for their variants with
// derivatives (derivative_number.hpp).
#pragma once
#include <cmath>

#include "kernels/base/derivative_number.hpp"
#include "kernels/base/wide_number.hpp"

namespace arcwise {

template <typename Number>
concept KnowsItsSize = requires(const Number& x) {
  x.is_zero();
  x.log();
};

template <KnowsItsSize Number>
bool is_zero(const Number& x) {
  return x.is_zero();
}
template <KnowsItsSize Number>
double as_double(const Number& x) {
  return static_cast<double>(x);
}
template <KnowsItsSize Number>
double share_of(const Number& part, const Number& whole) {
  return static_cast<double>(part / whole);
}
template <KnowsItsSize Number>
double answer_of(const Number& x) {
  return static_cast<double>(x);
}
template <KnowsItsSize Number>
double log_of(const Number& x) {
  return x.log();
}

inline double log_of(double x) { return std::log(x); }

// x + x' ε, ε² = 0, with x' itself: faster than Dual, for numbers within the range of a double. Nested, it
// also carries the second derivative: Tangent<Tangent<double>> is x + x₁ ε + (x₂ + x₁₂ ε) δ.
template <typename Number>
struct Tangent {
  Number value{}, change{};

  friend Tangent operator*(const Tangent& a, const Tangent& b) {
    return {a.value * b.value, a.value * b.change + a.change * b.value};
  }
  // q = a/b, q' = (a' - q b') / b
  friend Tangent operator/(const Tangent& a, const Tangent& b) {
    const Number quotient = a.value / b.value;
    return {quotient, (a.change - quotient * b.change) / b.value};
  }
  friend Tangent operator+(const Tangent& a, const Tangent& b) {
    return {a.value + b.value, a.change + b.change};
  }
  friend Tangent operator-(const Tangent& a, const Tangent& b) {
    return {a.value - b.value, a.change - b.change};
  }
  Tangent& operator+=(const Tangent& other) { return *this = *this + other; }
  Tangent& operator*=(const Tangent& other) { return *this = *this * other; }
  friend bool operator==(const Tangent& a, const Tangent& b) { return a.value == b.value; }
};

template <typename Number>
bool is_zero(const Tangent<Number>& x) {
  return is_zero(x.value);
}
template <typename Number>
double log_of(const Tangent<Number>& x) {
  return log_of(x.value);
}
template <typename Number>
double answer_of(const Tangent<Number>& x) {
  return answer_of(x.change);
}

// The number 1.
template <typename Number>
struct Unit {
  static Number value() { return Number(1.0); }
};
template <typename Number>
struct Unit<Dual<Number>> {
  static Dual<Number> value() { return {Unit<Number>::value(), 0}; }
};
template <typename Number>
struct Unit<HyperDual<Number>> {
  static HyperDual<Number> value() { return {Unit<Number>::value(), 0, 0, 0}; }
};
template <typename Number>
struct Unit<Tangent<Number>> {
  static Tangent<Number> value() { return {Unit<Number>::value(), Number{}}; }
};
template <typename Number>
Number unit() {
  return Unit<Number>::value();
}

}  // namespace arcwise
