// Units that do not mix: Tokens, Bytes, Seconds, BytesPerSecond, BytesPerToken.
//
// A quantity is built explicitly from a raw number and only combines with quantities where the
// physics agrees: Bytes / BytesPerSecond is Seconds, Tokens * BytesPerToken is Bytes, and Tokens +
// Bytes does not compile. Everything here is constexpr, trivially copyable and free of allocation.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

namespace fulcrum {

/// A number with a unit. `Tag` names the unit, `Rep` is the raw representation.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep raw) : raw_(raw) {}

  /// The raw number, in the unit that the type names.
  [[nodiscard]] constexpr Rep value() const { return raw_; }

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a pointer in the comparison with 0 behind it
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    raw_ += other.raw_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    raw_ -= other.raw_;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.raw_ + b.raw_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.raw_ - b.raw_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.raw_); }
  friend constexpr Quantity operator*(Quantity a, Rep n) { return Quantity(a.raw_ * n); }
  friend constexpr Quantity operator*(Rep n, Quantity a) { return Quantity(n * a.raw_); }
  friend constexpr Quantity operator/(Quantity a, Rep n) { return Quantity(a.raw_ / n); }

  /// How many times `b` fits into `a`: a pure number.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.raw_) / static_cast<double>(b.raw_);
  }

 private:
  Rep raw_{};
};

/// Positions and lengths in a prompt.
using Tokens = Quantity<struct TokensTag, std::int64_t>;
/// Sizes in memory and on devices.
using Bytes = Quantity<struct BytesTag, std::int64_t>;
/// Durations, and points in time measured from an arbitrary monotonic origin.
using Seconds = Quantity<struct SecondsTag, double>;
/// Bandwidth.
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
/// KV cache bytes that one token adds (kappa in docs/break_even.md).
using BytesPerToken = Quantity<struct BytesPerTokenTag, double>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds(static_cast<double>(bytes.value()) / rate.value());
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return BytesPerSecond(static_cast<double>(bytes.value()) / time.value());
}
inline Bytes operator*(BytesPerSecond rate, Seconds time) {
  return Bytes(std::llround(rate.value() * time.value()));
}
inline Bytes operator*(Tokens tokens, BytesPerToken density) {
  return Bytes(std::llround(static_cast<double>(tokens.value()) * density.value()));
}
inline Bytes operator*(BytesPerToken density, Tokens tokens) {
  return tokens * density;
}

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n));
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n << 10));
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n << 20));
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n << 30));
}
constexpr Tokens operator""_tok(unsigned long long n) {
  return Tokens(static_cast<std::int64_t>(n));
}
constexpr Seconds operator""_s(unsigned long long n) {
  return Seconds(static_cast<double>(n));
}
constexpr Seconds operator""_s(long double n) {
  return Seconds(static_cast<double>(n));
}
constexpr Seconds operator""_ms(unsigned long long n) {
  return Seconds(static_cast<double>(n) * 1e-3);
}
constexpr Seconds operator""_us(unsigned long long n) {
  return Seconds(static_cast<double>(n) * 1e-6);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
  return BytesPerSecond(static_cast<double>(n) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(long double n) {
  return BytesPerSecond(static_cast<double>(n) * 1e9);
}
constexpr BytesPerSecond operator""_MBps(unsigned long long n) {
  return BytesPerSecond(static_cast<double>(n) * 1e6);
}
}  // namespace literals

}  // namespace fulcrum
