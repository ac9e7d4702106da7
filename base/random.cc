#include "base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/check.h"
#include "base/checksum.h"

namespace fulcrum {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): turns any seed, zero included, into a good starting state.
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_{}, seed_(seed) {
  std::uint64_t mix = seed;
  for (std::uint64_t& word : state_) word = split_mix(mix);
}

Random Random::split(std::string_view part) const {
  return Random(hash64(part, seed_));
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t n) {
  FULCRUM_CHECK(n > 0, "below(0) has no answer");
  // 2^64 mod n values at the bottom would make small results likelier: draw again.
  const std::uint64_t unfair = (0 - n) % n;
  std::uint64_t draw = next();
  while (draw < unfair) draw = next();
  return draw % n;
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Random::normal() {
  // Box-Muller; 1 - u is never 0. The second value is not kept, so that a draw costs the same every time.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Random::exponential() {
  return -std::log1p(-uniform());
}

void Random::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const std::uint64_t word = next();
    const std::size_t count = std::min(out.size(), sizeof word);
    std::memcpy(out.data(), &word, count);
    out = out.subspan(count);
  }
}

}  // namespace fulcrum
