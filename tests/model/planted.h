// A prefill law that the tests know the truth of, and noisy timings of it.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.h"
#include "fulcrum/cost.h"

namespace fulcrum::test {

/// An 8B model on one large GPU, in round numbers.
inline PrefillLaw planted_law() {
  PrefillLaw law;
  law.theta = {6e-3, 0, 26e-6, 0.9e-9, 0, 0};
  law.knee_tokens = 256;
  law.tile_tokens = 128;
  return law;
}

/// Corners of the (new, cached) plane, `repeats` times, with relative normal noise.
inline std::vector<PrefillSample> timings(const PrefillLaw& law, double noise, int repeats, Random& random) {
  constexpr std::int64_t kShapes[][2] = {{256, 0},      {1024, 0},     {4096, 0},
                                         {16384, 0},    {1024, 16384}, {4096, 16384},
                                         {1024, 61440}, {4096, 61440}, {16384, 49152}};
  std::vector<PrefillSample> samples;
  for (int r = 0; r < repeats; ++r) {
    for (const auto& [fresh, cached] : kShapes) {
      const double factor = std::max(0.1, 1 + noise * random.normal());
      samples.push_back({Tokens(fresh), Tokens(cached), law.time(Tokens(fresh), Tokens(cached)) * factor});
    }
  }
  return samples;
}

}  // namespace fulcrum::test
