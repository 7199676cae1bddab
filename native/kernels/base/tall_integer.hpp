// TallInteger: a signed integer of up to 1,150 bits. Large enough for the binary logarithm of exp(x) for
// every double x, and for sums of millions of them.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace arcwise {

class TallInteger {
 public:
  static constexpr int LIMBS = 18;
  using Limbs = std::array<uint64_t, LIMBS>;  // two's complement, least significant limb first

  constexpr TallInteger() = default;
  constexpr TallInteger(int64_t value) {
    limbs_.fill(value < 0 ? ~uint64_t{0} : 0);
    limbs_[0] = static_cast<uint64_t>(value);
  }
  explicit constexpr TallInteger(const Limbs& limbs) : limbs_(limbs) {}

  constexpr bool is_negative() const { return limbs_[LIMBS - 1] >> 63; }

  friend constexpr TallInteger operator+(TallInteger a, const TallInteger& b) {
    return added(a, b.limbs_, 0, 0);
  }
  // a - b = a + ~b + 1
  friend constexpr TallInteger operator-(TallInteger a, const TallInteger& b) {
    return added(a, b.limbs_, ~uint64_t{0}, 1);
  }
  constexpr TallInteger operator-() const { return TallInteger() - *this; }
  friend constexpr bool operator==(const TallInteger& a, const TallInteger& b) = default;

  // The number clamped to [-limit, limit].
  constexpr int64_t within(int64_t limit) const {
    const uint64_t sign = is_negative() ? ~uint64_t{0} : 0;
    for (int i = 1; i < LIMBS; ++i)
      if (limbs_[i] != sign) return sign ? -limit : limit;
    const auto low = static_cast<int64_t>(limbs_[0]);
    if ((low < 0) != (sign != 0)) return sign ? -limit : limit;
    return low < -limit ? -limit : low > limit ? limit : low;
  }

  explicit operator double() const {
    if (is_negative()) return -static_cast<double>(-*this);
    double value = 0;
    for (int i = LIMBS - 1; i >= 0; --i) value = value * 0x1p64 + static_cast<double>(limbs_[i]);
    return value;
  }

 private:
  static constexpr TallInteger added(TallInteger a, const Limbs& b, uint64_t flipped, uint64_t carry) {
    for (int i = 0; i < LIMBS; ++i) {
      const unsigned __int128 sum = static_cast<unsigned __int128>(a.limbs_[i]) + (b[i] ^ flipped) + carry;
      a.limbs_[i] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    return a;
  }

  Limbs limbs_{};
};

// x · log2(e) = whole + part, 0 <= part < 1, for any finite double with |x| >= 1: part is accurate to the
// last place however large x is (Payne & Hanek 1983 reduce angles this way). x is an integer M times a power
// of 2; M is multiplied by all 1,089 bits of log2(e).
struct BinaryLogarithm {
  TallInteger whole;
  double part;
};
inline BinaryLogarithm binary_logarithm_of_exp(double x) {
  constexpr int POINT = 1088;  // log2(e) = LOG2_E / 2^POINT
  static constexpr TallInteger::Limbs LOG2_E = {0x4ca16da20b1d74a1u, 0xc25e11f75c6142e6u, 0x9cfc406b19abb71eu,
                                                0x4f199e108cf39281u, 0x33352906deb692ceu, 0x1a39e8af56c64a78u,
                                                0x16bd777e75050a8du, 0x643687aaf3ab440cu, 0x5fc529264c2fb3abu,
                                                0x897f5e06a7be7366u, 0xd52173cc1895213fu, 0x49b25eeb82d7c167u,
                                                0xbc3887eeaa2ed9acu, 0x164a2cd9a342648fu, 0xd6aef551bad2b4b1u,
                                                0x7d0ffda0d23a7d11u, 0x71547652b82fe177u, 0x1u};
  int power;
  const double magnitude = std::frexp(std::fabs(x), &power);  // |x| = magnitude · 2^power
  const auto digits = static_cast<uint64_t>(std::ldexp(magnitude, 53));
  std::array<uint64_t, TallInteger::LIMBS + 1> product{};
  uint64_t carry = 0;
  for (int i = 0; i < TallInteger::LIMBS; ++i) {
    const unsigned __int128 sum = static_cast<unsigned __int128>(digits) * LOG2_E[i] + carry;
    product[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
  product[TallInteger::LIMBS] = carry;
  // The 64 bits starting at bit `at`.
  const auto bits_at = [&](int at) -> uint64_t {
    const int limb = at >> 6, shift = at & 63;
    const auto limb_at = [&](int i) -> uint64_t { return i < 0 || i > TallInteger::LIMBS ? 0 : product[i]; };
    return shift == 0 ? limb_at(limb) : limb_at(limb) >> shift | limb_at(limb + 1) << (64 - shift);
  };
  const int point = POINT + 53 - power;
  TallInteger::Limbs whole{};
  for (int i = 0; i < TallInteger::LIMBS; ++i) whole[i] = bits_at(point + 64 * i);
  const double part = static_cast<double>(bits_at(point - 64) >> 11) * 0x1p-53;
  if (x >= 0) return {TallInteger(whole), part};
  const TallInteger below = -TallInteger(whole);
  return part == 0 ? BinaryLogarithm{below, 0.0} : BinaryLogarithm{below - 1, 1 - part};
}

}  // namespace arcwise
