// Random: a seeded generator (xoshiro256**), equal on every platform, split per component.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fulcrum {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  /// An independent stream for a named part, so that adding draws in one part moves no other.
  [[nodiscard]] Random split(std::string_view part) const;

  std::uint64_t next();
  /// Uniform in [0, n). n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Uniform in [0, 1).
  double uniform();
  /// Normal with mean 0 and deviation 1.
  double normal();
  /// Exponential with mean 1.
  double exponential();
  /// Incompressible bytes.
  void fill(std::span<std::byte> out);

 private:
  std::array<std::uint64_t, 4> state_;
  std::uint64_t seed_;
};

}  // namespace fulcrum
