// The seeds' experiments: what must come out, and what must be refused.
#include "replay/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/atomic_file.h"
#include "tests/support/scratch.h"

namespace fulcrum::replay {
namespace {

const std::string kScenarios = std::string(FULCRUM_SOURCE_DIR) + "/configs/scenarios/";

ScenarioReport run(const std::string& name) {
  auto report = run_scenario(kScenarios + name);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message());
  return report ? *report : ScenarioReport{};
}

double simulated(const ScenarioReport& report, const std::string& quantity) {
  for (const ScenarioFigure& figure : report.figures) {
    if (figure.quantity == quantity) return figure.simulated;
  }
  ADD_FAILURE() << quantity << " is not simulated";
  return 0;
}

TEST(Scenario, TheSharedPoolComesOutAsPublishedAndTheGateHelpsUnderLoad) {
  const ScenarioReport report = run("shared_ssd_pool.yaml");
  for (const ScenarioFigure& figure : report.figures) {
    if (!figure.published) continue;
    const double ratio = figure.simulated / *figure.published;
    EXPECT_NEAR(ratio, 1, figure.role == FigureRole::input ? 0.02 : 0.25) << figure.quantity;
  }
  ASSERT_EQ(report.changes.size(), 4U);
  const ScenarioChange& last = report.changes[3];
  EXPECT_GT(last.without_gate, 38);
  EXPECT_LT(last.with_gate, 20);
  EXPECT_LE(report.changes[2].with_gate, 0.35 * report.changes[2].without_gate) << "mean of 32";
}

TEST(Scenario, TheBreakEvenOfAnH100IsCloseAndMostlySetUp) {
  const ScenarioReport report = run("break_even_h100.yaml");
  EXPECT_NEAR(simulated(report, "dram_break_even_tokens"), 825, 32);
  const double ssd = simulated(report, "ssd_break_even_tokens");
  EXPECT_GT(ssd, 0.7 * 6203);
  EXPECT_LT(ssd, 1.3 * 6203);
  EXPECT_NEAR(ssd, simulated(report, "ssd_closed_form_tokens"), 17) << "to a block";
  EXPECT_NEAR(ssd, simulated(report, "ssd_fulcrum_loads_from"), 17) << "exact costs: the decider finds it";
  EXPECT_LT(simulated(report, "ssd_at_setup_1 ms"), 0.5 * ssd);
}

TEST(Scenario, JsonHoldsEveryRow) {
  const ScenarioReport report = run("break_even_h100.yaml");
  const auto json = nlohmann::json::parse(scenario_json(report));
  EXPECT_EQ(json["figures"].size(), report.figures.size());
  EXPECT_EQ(json["gate"].size(), report.changes.size());
  EXPECT_EQ(json["figures"][0]["published"], 825);
}

TEST(Scenario, BrokenFilesAreRefusedWithTheirPlace) {
  std::ifstream in(kScenarios + "break_even_h100.yaml");
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const std::string path = test::temp_path("scenario.yaml");
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_TRUE(write_file_atomically(path, text).has_value());
    const auto report = run_scenario(path);
    return report ? std::string("accepted") : report.error().message();
  };
  EXPECT_NE(message("read: 53 GB/s", "read: 53 GiB").find("read"), std::string::npos);
  EXPECT_NE(message("longest_tokens", "longest_token").find("longest_tokens"), std::string::npos);
  EXPECT_NE(message("quantity: ssd_break_even_tokens", "quantity: ssd_break_even_token").find("did you mean"),
            std::string::npos);
  EXPECT_NE(message("unit: tokens", "unit: bytes").find("tokens"), std::string::npos);
  EXPECT_NE(message("kind: break_even", "kind: magic").find("kind"), std::string::npos);
  const auto missing = run_scenario("/nowhere/scenario.yaml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fulcrum::replay
