// Data sheets: names, what fits, and how wide an estimate is.
#include "model/datasheet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fulcrum {
namespace {

ModelShape shape_of(const std::string& file) {
  const auto shape =
      ModelShape::from_file(std::string(FULCRUM_TEST_DATA) + "/model_configs/" + file + "_config.json");
  EXPECT_TRUE(shape.has_value());
  return *shape;
}

GpuDatasheet gpu_of(const std::string& name) {
  const auto gpu = find_gpu(name);
  EXPECT_TRUE(gpu.has_value()) << name;
  return *gpu;
}

TEST(GpuTable, HoldsPlausibleFiguresUnderDistinctNames) {
  std::set<std::string_view> names;
  for (const GpuDatasheet& gpu : gpu_table()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_GT(gpu.bf16_flops, 1e14) << gpu.name;
    EXPECT_LT(gpu.bf16_flops, 1e16) << gpu.name;
    EXPECT_TRUE(gpu.fp8_flops == 0 || gpu.fp8_flops >= 1.9 * gpu.bf16_flops) << gpu.name;
    EXPECT_GE(gpu.memory_bandwidth, 300_GBps) << gpu.name;
    EXPECT_GE(gpu.memory, 24_GiB) << gpu.name;
    EXPECT_GE(gpu.host_link, 32_GBps) << gpu.name;
  }
}

TEST(GpuTable, FindsAGpuHoweverItIsSpelt) {
  for (const char* name : {"H100 SXM", "h100-sxm", "NVIDIA H100 SXM", "h100", "H100_SXM"}) {
    EXPECT_EQ(gpu_of(name).name, "H100 SXM") << name;
  }
  EXPECT_EQ(gpu_of("h100 pcie").name, "H100 PCIe");
  EXPECT_EQ(gpu_of("L4").name, "L4");
  EXPECT_EQ(gpu_of("rtx pro 6000").name, "RTX PRO 6000");
}

TEST(GpuTable, SuggestsTheNearestName) {
  const auto gpu = find_gpu("H300 SXM");
  ASSERT_TRUE(gpu.has_error());
  EXPECT_EQ(gpu.error().kind, ErrorKind::bad_input);
  EXPECT_NE(gpu.error().message().find("did you mean '"), std::string::npos) << gpu.error().message();
  EXPECT_NE(gpu.error().message().find("RTX PRO 6000"), std::string::npos) << gpu.error().message();
  EXPECT_TRUE(find_gpu("").has_error());
  EXPECT_TRUE(find_gpu("abacus").has_error());
}

TEST(Datasheet, IsWideAndSaysThatItIsAnEstimate) {
  const auto cost = prefill_from_datasheet(shape_of("facts--Llama-3.1-8B"), gpu_of("H200"));
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->verdict, Verdict::estimated);
  const Seconds value = cost->time(Tokens(2048), Tokens(0));
  const auto range = cost->predict(Tokens(2048), Tokens(0));
  EXPECT_NEAR(range.low / value, 1 / 1.6, 0.08);
  EXPECT_NEAR(range.high / value, 1.6, 0.15);
}

TEST(Datasheet, TakesAsLongAsTheWeightsForAShortCall) {
  const ModelShape shape = shape_of("facts--Llama-3.1-8B");
  const GpuDatasheet gpu = gpu_of("H200");
  const auto cost = prefill_from_datasheet(shape, gpu);
  ASSERT_TRUE(cost.has_value());
  const double stream = shape.weight_bytes() / gpu.memory_bandwidth / Seconds(0.8);
  const double overhead = cost->law.theta[0];
  EXPECT_NEAR((cost->time(Tokens(1), Tokens(0)).value() - overhead) / stream, 1, 0.02);
  EXPECT_NEAR((cost->time(Tokens(64), Tokens(0)).value() - overhead) / stream, 1, 0.02);
}

TEST(Datasheet, MakesWindowedAndSparseAttentionCheapInDepth) {
  const GpuDatasheet gpu = gpu_of("H200");
  const auto relative_depth = [&](const std::string& file) {
    const auto cost = prefill_from_datasheet(shape_of(file), gpu);
    EXPECT_TRUE(cost.has_value());
    return cost->law.beta() / cost->law.alpha();
  };
  EXPECT_LT(relative_depth("facts--Gemma-3-12B"), 0.4 * relative_depth("facts--Llama-3.1-8B"));
  EXPECT_LT(relative_depth("deepseek-ai--DeepSeek-V3.2"), 0.4 * relative_depth("deepseek-ai--DeepSeek-V3"));
}

TEST(Datasheet, TakesTheFewestGpusThatHoldTheWeights) {
  const ModelShape large = shape_of("facts--Llama-3.3-70B");
  EXPECT_EQ(gpus_needed(large, gpu_of("H100")), 2);
  EXPECT_EQ(gpus_needed(large, gpu_of("L4")), 8);
  EXPECT_EQ(gpus_needed(shape_of("moonshotai--Kimi-K2-Instruct"), gpu_of("L4")), 0);
  const auto two = prefill_from_datasheet(large, gpu_of("H100"));
  const auto four = prefill_from_datasheet(large, gpu_of("H100"), {.gpus = 4});
  ASSERT_TRUE(two.has_value() && four.has_value());
  EXPECT_NEAR(two->law.alpha() / four->law.alpha(), 2, 1e-9);
}

TEST(Datasheet, RefusesWeightsThatDoNotFit) {
  const auto cost = prefill_from_datasheet(shape_of("facts--Llama-3.3-70B"), gpu_of("L4"), {.gpus = 1});
  ASSERT_TRUE(cost.has_error());
  EXPECT_EQ(cost.error().kind, ErrorKind::bad_input);
  EXPECT_NE(cost.error().message().find("at least 8"), std::string::npos) << cost.error().message();
  EXPECT_TRUE(prefill_from_datasheet(shape_of("moonshotai--Kimi-K2-Instruct"), gpu_of("L4")).has_error());
}

}  // namespace
}  // namespace fulcrum
