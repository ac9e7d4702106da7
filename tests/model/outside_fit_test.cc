// The law against timings that nobody here made. Figures: docs/break_even.md, printed by bench/outside_fit.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/outside_data.h"

namespace fulcrum {
namespace {

const std::string kData = FULCRUM_TEST_DATA;

TEST(OutsideFit, ExplainsFullPrefillsOfEverySetUp) {
  const auto all = test::ucm_series(kData);
  ASSERT_EQ(all.size(), 4u);
  for (const auto& series : all) {
    const auto errors = test::summary(test::fit_errors(series));
    EXPECT_GE(errors.points, 4) << series.name;
    EXPECT_LT(errors.median, 0.05) << series.name;
  }
}

TEST(OutsideFit, ForetellsTheCleanestSetUpWithinThreePercent) {
  for (const auto& series : test::ucm_series(kData)) {
    if (series.name != "QwQ-32B, 2 x H20") continue;
    const auto errors = test::summary(test::held_out_errors(series, false));
    EXPECT_EQ(errors.points, 5);
    EXPECT_LT(errors.worst, 0.03);
    return;
  }
  FAIL() << "the set-up is missing";
}

TEST(OutsideFit, ForetellsKernelSumsFromOtherLengths) {
  const auto series = test::kernel_series(kData);
  ASSERT_GE(series.samples.size(), 12u);
  const auto fit = test::summary(test::fit_errors(series));
  const auto held_out = test::summary(test::held_out_errors(series, true));
  EXPECT_LT(fit.median, 0.04);
  EXPECT_LT(fit.p95, 0.08);
  EXPECT_LT(held_out.median, 0.05);
  EXPECT_LT(held_out.p95, 0.12);
}

TEST(OutsideFit, NeedsTheAttentionTermForLongPrompts) {
  // The bounds bite: a law without attention misses them by far.
  auto series = test::kernel_series(kData);
  const auto fit = fit_prefill(series.samples, {.tile_tokens = 1});
  ASSERT_TRUE(fit.has_value());
  PrefillLaw linear = fit->law;
  linear.theta[3] = 0;
  const PrefillSample& longest = series.samples.back();
  EXPECT_LT(linear.time(longest.fresh, longest.cached) / longest.time, 0.8);
}

TEST(OutsideFit, ExplainsTheMeasuredH200) {
  for (const auto& series : test::h200_series()) {
    EXPECT_LT(test::summary(test::fit_errors(series)).worst, 0.01) << series.name;
    for (const auto& sheet : test::datasheet_errors(series, kData)) {
      EXPECT_TRUE(sheet.held) << series.name;
      EXPECT_LT(sheet.error, 0.25) << series.name;
    }
  }
}

TEST(OutsideFit, HoldsMostHeldOutTimesInItsIntervals) {
  int held = 0;
  int asked = 0;
  auto all = test::ucm_series(kData);
  all.push_back(test::kernel_series(kData));
  for (const auto& series : all) {
    const auto [h, a] = test::held_out_coverage(series);
    held += h;
    asked += a;
  }
  EXPECT_GE(asked, 30);
  EXPECT_GE(held, asked * 8 / 10);
}

}  // namespace
}  // namespace fulcrum
