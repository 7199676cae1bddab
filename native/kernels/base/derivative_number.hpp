// Numbers that carry derivatives: the sums that compute marginals, run on these numbers, also compute the
// derivatives of the marginals. Shared by CPU and GPU.
//
// A derivative is stored relative to its number, slope = x'/x, so it has ordinary size even where x is far
// outside the range of a double, and the slope of a sum is a weighted mean (the expectation semiring of Li &
// Eisner 2009).
#pragma once
#ifndef DEVICE
#define DEVICE inline
#endif

namespace arcwise {

DEVICE bool is_zero(double x) { return x == 0; }
DEVICE double as_double(double x) { return x; }
DEVICE double share_of(double part, double whole) { return part / whole; }
DEVICE double answer_of(double x) { return x; }

// x + x' ε, ε² = 0. Number needs +, *, /, is_zero(x) and share_of(part, whole) = part / whole as a double.
template <typename Number>
struct Dual {
  Number value{};
  double slope = 0;  // x'/x

  friend DEVICE Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.slope + b.slope};
  }
  friend DEVICE Dual operator/(const Dual& a, const Dual& b) {
    return {a.value / b.value, a.slope - b.slope};
  }
  friend DEVICE Dual operator+(const Dual& a, const Dual& b) {
    if (is_zero(a.value)) return b;
    if (is_zero(b.value)) return a;
    const Number total = a.value + b.value;
    const double own = share_of(a.value, total), other = share_of(b.value, total);
    return {total, own * a.slope + other * b.slope};
  }
  DEVICE Dual& operator+=(const Dual& other) { return *this = *this + other; }
  DEVICE Dual& operator*=(const Dual& other) { return *this = *this * other; }
  friend DEVICE bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
};

template <typename Number>
DEVICE bool is_zero(const Dual<Number>& x) {
  return is_zero(x.value);
}

// x + x₁ ε + x₂ δ + x₁₂ εδ, ε² = δ² = 0.
template <typename Number>
struct HyperDual {
  Number value{};
  double first = 0, second = 0, both = 0;  // x₁/x, x₂/x, x₁₂/x

  friend DEVICE HyperDual operator*(const HyperDual& a, const HyperDual& b) {
    return {a.value * b.value, a.first + b.first, a.second + b.second,
            a.both + b.both + a.first * b.second + a.second * b.first};
  }
  // (log x)₁₂ = x₁₂/x - (x₁/x)(x₂/x), and division subtracts logarithms.
  friend DEVICE HyperDual operator/(const HyperDual& a, const HyperDual& b) {
    const double first = a.first - b.first, second = a.second - b.second;
    const double both = (a.both - a.first * a.second) - (b.both - b.first * b.second);
    return {a.value / b.value, first, second, both + first * second};
  }
  friend DEVICE HyperDual operator+(const HyperDual& a, const HyperDual& b) {
    if (is_zero(a.value)) return b;
    if (is_zero(b.value)) return a;
    const Number total = a.value + b.value;
    const double own = share_of(a.value, total), other = share_of(b.value, total);
    return {total, own * a.first + other * b.first, own * a.second + other * b.second,
            own * a.both + other * b.both};
  }
  DEVICE HyperDual& operator+=(const HyperDual& other) { return *this = *this + other; }
  DEVICE HyperDual& operator*=(const HyperDual& other) { return *this = *this * other; }
  friend DEVICE bool operator==(const HyperDual& a, const HyperDual& b) { return a.value == b.value; }
};

template <typename Number>
DEVICE bool is_zero(const HyperDual<Number>& x) {
  return is_zero(x.value);
}

DEVICE double log_of(double x);  // number_functions.hpp, cuda_number.cuh
template <typename Number>
DEVICE double log_of(const Dual<Number>& x) {
  return log_of(x.value);
}
template <typename Number>
DEVICE double log_of(const HyperDual<Number>& x) {
  return log_of(x.value);
}

// The value that a kernel writes for a number: the number itself, or the requested derivative.
template <typename Number>
DEVICE double answer_of(const Dual<Number>& x) {
  return is_zero(x) ? 0 : as_double(x.value) * x.slope;
}
template <typename Number>
DEVICE double answer_of(const HyperDual<Number>& x) {
  return is_zero(x) ? 0 : as_double(x.value) * x.both;
}

}  // namespace arcwise
