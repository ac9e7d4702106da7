// The contract of Tier, as laws that say what is wrong. An implementation joins with one line in its own
// test file:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, TierContract, on_all_laws({"plain", make_mine}), law_name);
//
// The tier made must be empty, with rows of at most 64 KiB that are no multiple of 4096, room for 48 to 1024
// blocks, and at most 1024 jobs. Where this machine cannot make it (io_uring forbidden, no direct I/O), the
// tests are skipped with the reason. Laws are functions, so that a tier that breaks them can be held to them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tiers/tier.h"

namespace fulcrum::test {

struct TierUnderTest {
  std::shared_ptr<void> keeps;  ///< what must outlive the tier: a clock, a directory
  std::unique_ptr<Tier> tier;
};

struct TierFactory {
  std::string name;
  std::function<Result<TierUnderTest>()> make;
};

/// What a tier did that it must not; empty where all is well.
using Violations = std::vector<std::string>;

struct TierLaw {
  std::string name;
  Violations (*check)(Tier& fresh) = nullptr;
};

[[nodiscard]] const std::vector<TierLaw>& tier_laws();
/// Holds a fresh tier to one law.
[[nodiscard]] Violations violations(const TierFactory& factory, const TierLaw& law);

using TierCase = std::tuple<TierFactory, TierLaw>;
class TierContract : public testing::TestWithParam<TierCase> {};

inline auto on_all_laws(TierFactory factory) {
  return testing::Combine(testing::Values(std::move(factory)), testing::ValuesIn(tier_laws()));
}
inline std::string law_name(const testing::TestParamInfo<TierCase>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}
inline void PrintTo(const TierFactory& factory, std::ostream* out) {
  *out << factory.name;
}
inline void PrintTo(const TierLaw& law, std::ostream* out) {
  *out << law.name;
}

}  // namespace fulcrum::test
