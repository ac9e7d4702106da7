// The program as a newcomer meets it: help, wrong inputs, exit codes, and the JSON that programs read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/scratch.h"

namespace fulcrum::test {
namespace {

using nlohmann::json;

const std::string kSource = FULCRUM_SOURCE_DIR;
const std::string kProfile = kSource + "/configs/profiles/example.yaml";
const std::string kPolicy = kSource + "/configs/dram_nvme.yaml";
const std::string kTrace = kSource + "/data/mooncake_conversation/conversation_cut.jsonl.zst";

json read_json(const std::string& path) {
  return json::parse(std::ifstream(path));
}

std::string with_line_replaced(const std::string& path, const std::string& from, const std::string& to) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << path;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(Cli, EverySubcommandExplainsItself) {
  EXPECT_TRUE(says(run_program({"--help"}), 0, "calibrate"));
  for (const char* command : {"calibrate", "breakeven", "check", "replay", "explain"}) {
    EXPECT_TRUE(says(run_program({command, "--help"}), 0, "--")) << command;
  }
  EXPECT_TRUE(says(run_program({"--version"}), 0, "0."));
}

TEST(Cli, WrongArgumentsAreBadInput) {
  EXPECT_TRUE(says(run_program({}), 2, "subcommand"));
  EXPECT_TRUE(says(run_program({"breakeven", "--profil", kProfile}), 2, ""));
  EXPECT_TRUE(says(run_program({"replay", "--trace", kTrace, "--replicas", "-3"}), 2, "replicas"));
}

TEST(Cli, MissingFilesAreNamed) {
  EXPECT_TRUE(
      says(run_program({"breakeven", "--profile", "/nowhere/machine.yaml"}), 2, "/nowhere/machine.yaml"));
  EXPECT_TRUE(says(run_program({"check", "--policy", "/nowhere/policy.yaml"}), 2, "/nowhere/policy.yaml"));
  EXPECT_TRUE(says(run_program({"replay", "--trace", "/nowhere/trace.jsonl"}), 2, "/nowhere/trace.jsonl"));
  EXPECT_TRUE(says(run_program({"explain", "/nowhere/decisions.log"}), 2, "/nowhere/decisions.log"));
  const ScratchDirectory scratch;
  EXPECT_TRUE(
      says(run_program({"calibrate", "--path", "/nowhere", "--out", scratch.path("m.yaml")}), 2, "/nowhere"));
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, ADirectoryThatCannotBeWrittenIsRefusedBeforeMeasuring) {
  const ScratchDirectory scratch;
  const Said said = run_program({"calibrate", "--path", "/proc", "--out", scratch.path("m.yaml")});
  EXPECT_TRUE(says(said, said.exit_code == 1 ? 1 : 2, "/proc"));
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, AMisspeltPolicyKeyIsReportedWithPlaceAndNearestKey) {
  const ScratchDirectory scratch;
  const std::string policy = scratch.write("p.yaml", with_line_replaced(kPolicy, "capacity:", "capacty:"));
  const Said said = run_program({"check", "--policy", policy});
  EXPECT_TRUE(says(said, 2, "p.yaml:"));
  EXPECT_TRUE(says(said, 2, "'capacity'"));
}

TEST(Cli, APolicyThatContradictsItsProfileIsRefused) {
  const ScratchDirectory scratch;
  const std::string policy = scratch.write(
      "p.yaml", "version: 1\ntiers:\n  - {name: dram, capacity: 1 GiB}\n  - {name: tape, capacity: 1 TiB}\n");
  EXPECT_TRUE(says(run_program({"check", "--policy", policy, "--profile", kProfile}), 2, "tape"));
  EXPECT_TRUE(
      says(run_program({"replay", "--policy", policy, "--profile", kProfile, "--trace", kTrace}), 2, "tape"));
}

TEST(Cli, AProfileOfAnotherSchemaIsRefused) {
  const ScratchDirectory scratch;
  const std::string profile =
      scratch.write("m.yaml", with_line_replaced(kProfile, "schema: 1", "schema: 99"));
  EXPECT_TRUE(says(run_program({"breakeven", "--profile", profile}), 2, "99"));
}

TEST(Cli, ABrokenTraceLineIsNamedAndCanBeSkipped) {
  const ScratchDirectory scratch;
  const std::string good = R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})";
  const std::string trace = scratch.write("t.jsonl", good + "\n{\"timestamp\": oops}\n" + good + "\n");
  EXPECT_TRUE(says(run_program({"replay", "--trace", trace, "--profile", kProfile, "--policy", kPolicy}), 2,
                   "t.jsonl:2"));
  EXPECT_TRUE(says(
      run_program({"replay", "--trace", trace, "--profile", kProfile, "--policy", kPolicy, "--skip-bad"}), 0,
      "1 "));
}

TEST(Cli, BadPrefillSamplesAreNamed) {
  const ScratchDirectory scratch;
  for (const char* value : {"nan", "-1", "0", "abc"}) {
    const std::string samples =
        scratch.write("s.csv", std::string("new_tokens,cached_tokens,seconds\n1000,0,0.1\n2000,0,") + value +
                                   "\n4000,0,0.4\n");
    const Said said =
        run_program({"calibrate", "--path", scratch.path(), "--prefill", samples, "--model",
                     kSource + "/configs/models/Qwen3-8B.json", "--out", scratch.path("m.yaml")});
    EXPECT_TRUE(says(said, 2, "s.csv:3")) << value;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path("m.yaml")));
}

TEST(Cli, AServerThatIsNotThereIsReportedBeforeMeasuring) {
  const ScratchDirectory scratch;
  const Said said =
      run_program({"calibrate", "--path", scratch.path(), "--prefill-server", "http://127.0.0.1:1", "--model",
                   kSource + "/configs/models/Qwen3-8B.json", "--out", scratch.path("m.yaml")});
  EXPECT_TRUE(says(said, 1, "127.0.0.1:1"));
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, AMissingKeyFileIsNamed) {
  const ScratchDirectory scratch;
  const Said said = run_program({"calibrate", "--path", scratch.path(), "--prefill-server",
                                 "http://127.0.0.1:1", "--server-key-file", "/nowhere/key", "--model",
                                 kSource + "/configs/models/Qwen3-8B.json", "--out", scratch.path("m.yaml")});
  EXPECT_TRUE(says(said, 2, "/nowhere/key"));
}

TEST(Cli, ADryRunShowsTheBudgetAndTouchesNothing) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(says(run_program({"calibrate", "--path", scratch.path(), "--dry-run"}), 0, "write"));
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, CtrlCLeavesNothingBehind) {
  const ScratchDirectory scratch;
  const Said said =
      run_program({"calibrate", "--path", scratch.path(), "--out", scratch.path("m.yaml")}, 1.5);
  EXPECT_EQ(said.exit_code, 130) << said.out << said.err;
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, BreakevenJsonHasTheDocumentedKeys) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(
      says(run_program({"breakeven", "--profile", kProfile, "--json", scratch.path("b.json")}), 0, "dram"));
  const json report = read_json(scratch.path("b.json"));
  ASSERT_FALSE(report["tiers"].empty());
  for (const auto& tier : report["tiers"]) {
    EXPECT_TRUE(tier["name"].is_string());
    for (const char* key : {"value", "low", "high"})
      EXPECT_TRUE(tier["break_even_tokens"].contains(key)) << key;
    EXPECT_FALSE(tier["bandwidth_needed_Bps"].empty());
  }
}

TEST(Cli, ReplayJsonHasTheDocumentedKeys) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(says(run_program({"replay", "--trace", kTrace, "--profile", kProfile, "--policy", kPolicy,
                                "--requests", "300", "--json", scratch.path("r.json")}),
                   0, "break_even"));
  const json report = read_json(scratch.path("r.json"));
  ASSERT_GE(report["policies"].size(), 4U);
  for (const auto& policy : report["policies"]) {
    EXPECT_TRUE(policy["name"].is_string());
    for (const char* key : {"mean", "p50", "p95", "p99"})
      EXPECT_TRUE(policy["ttft_s"][key].is_number()) << key;
    for (const char* key : {"gpu_seconds", "gpu_seconds_saved", "harmful_reads", "harm_p999"}) {
      EXPECT_TRUE(policy[key].is_number()) << key;
    }
    for (const char* key : {"bytes_written", "bytes_read"}) EXPECT_TRUE(policy[key].is_object()) << key;
  }
}

TEST(Cli, NumbersThatAreNoneAreRefused) {
  for (const char* option : {"--speed", "--decode-share"}) {
    for (const char* value : {"nan", "inf", "-1", "1e400"}) {
      EXPECT_TRUE(says(run_program({"replay", "--trace", kTrace, option, value}), 2, option)) << value;
    }
  }
  EXPECT_TRUE(
      says(run_program({"calibrate", "--path", "/tmp", "--dry-run", "--budget", "-4 GiB"}), 2, "--budget"));
}

TEST(Cli, JsonOnStandardOutputIsNothingElse) {
  const std::string scenario = kSource + "/configs/scenarios/break_even_h100.yaml";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"breakeven", "--profile", kProfile, "--json", "-"},
           {"replay", "--scenario", scenario, "--json", "-"},
           {"replay", "--trace", kTrace, "--requests", "50", "--json", "-"}}) {
    EXPECT_TRUE(json::accept(run_program(arguments).out)) << arguments[0] << ' ' << arguments[1];
  }
  EXPECT_TRUE(says(run_program({"breakeven", "--profile", kProfile, "--json", "-", "--svg", "-"}), 2,
                   "standard output"));
}

TEST(Cli, OutputsThatCannotBeWrittenAreRefusedBeforeTheWork) {
  const ScratchDirectory scratch;
  for (const std::string& path : {scratch.path(), scratch.path("missing/file")}) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"calibrate", "--path", scratch.path(), "--out", path},
                                               {"breakeven", "--profile", kProfile, "--svg", path},
                                               {"replay", "--trace", kTrace, "--decisions", path}}) {
      const Said said = run_program(arguments);
      EXPECT_TRUE(says(said, 2, path)) << arguments[0];
      EXPECT_TRUE(said.out.empty()) << "nothing was done: " << said.out;
    }
  }
  EXPECT_TRUE(scratch.empty());
}

TEST(Cli, AScenarioTakesNoOtherSettings) {
  const std::string scenario = kSource + "/configs/scenarios/break_even_h100.yaml";
  EXPECT_TRUE(says(run_program({"replay", "--scenario", scenario, "--replicas", "9"}), 2, "--replicas"));
}

TEST(Cli, ReplayIsDeterministic) {
  const ScratchDirectory scratch;
  for (const char* name : {"a.json", "b.json"}) {
    ASSERT_EQ(run_program({"replay", "--trace", kTrace, "--profile", kProfile, "--policy", kPolicy,
                           "--requests", "200", "--json", scratch.path(name)})
                  .exit_code,
              0);
  }
  json a = read_json(scratch.path("a.json"));
  json b = read_json(scratch.path("b.json"));
  EXPECT_EQ(a["policies"], b["policies"]);
}

TEST(Cli, ADecisionExplainsItselfAndReplaysFromItsLine) {
  const ScratchDirectory scratch;
  ASSERT_EQ(run_program({"replay", "--trace", kTrace, "--profile", kProfile, "--policy", kPolicy,
                         "--requests", "200", "--decisions", scratch.path("d.log")})
                .exit_code,
            0);
  EXPECT_TRUE(says(run_program({"explain", scratch.path("d.log"), "--top", "5"}), 0, "save"));
  std::ofstream(scratch.path("d.log"), std::ios::app) << "not a decision\n";
  EXPECT_TRUE(says(run_program({"explain", scratch.path("d.log")}), 2, "d.log:"));
}

}  // namespace
}  // namespace fulcrum::test
