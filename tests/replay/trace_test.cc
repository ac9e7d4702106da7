#include "replay/trace.h"
#include "tests/support/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace fulcrum::replay {
namespace {

const std::string kClaude = FULCRUM_TEST_DATA "/claude_code/sessions_cut.jsonl.zst";
const std::string kAzure = FULCRUM_TEST_DATA "/azure_llm/code_cut.csv";
const std::string kConversation =
    FULCRUM_SOURCE_DIR "/data/mooncake_conversation/conversation_trace.jsonl.zst";
const std::string kCut = FULCRUM_SOURCE_DIR "/data/mooncake_conversation/conversation_cut.jsonl.zst";

/// A file in the test's own folder.
std::string write(const std::string& name, const std::string& text) {
  const std::string path = test::temp_path(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

Trace read_good(const std::string& path, const TraceOptions& options = {}) {
  auto trace = read_trace(path, options);
  EXPECT_TRUE(trace.has_value()) << (trace.has_error() ? trace.error().message() : "");
  return trace.has_value() ? std::move(*trace) : Trace{};
}

Error read_bad(const std::string& path, const TraceOptions& options = {}) {
  auto trace = read_trace(path, options);
  EXPECT_TRUE(trace.has_error());
  return trace.has_error() ? trace.error() : Error{};
}

std::string mooncake_line(int timestamp, int tokens, const std::string& ids) {
  return "{\"timestamp\": " + std::to_string(timestamp) + ", \"input_length\": " + std::to_string(tokens) +
         ", \"output_length\": 7, \"hash_ids\": [" + ids + "]}\n";
}

std::size_t unique_keys(const Trace& trace) {
  return std::set<BlockKey>(trace.keys.begin(), trace.keys.end()).size();
}

TEST(MooncakeTrace, IsReadWhole) {
  const Trace trace = read_good(kConversation);
  std::size_t accesses = 0;
  for (const TraceRequest& request : trace.requests) accesses += request.key_count;
  EXPECT_EQ(trace.name, "conversation_trace");
  EXPECT_EQ(trace.block_tokens, Tokens(512));
  EXPECT_EQ(trace.requests.size(), 12'031U);
  EXPECT_EQ(accesses, 288'500U);
  EXPECT_EQ(unique_keys(trace), 182'790U);
  EXPECT_EQ(trace.requests.front().prompt, Tokens(6'758));
  EXPECT_EQ(trace.requests.front().output, Tokens(500));
  EXPECT_EQ(trace.skipped_lines, 0U);
}

TEST(MooncakeTrace, CutIsTheHeadOfTheWhole) {
  const Trace whole = read_good(kConversation);
  const Trace cut = read_good(kCut);
  ASSERT_EQ(cut.requests.size(), 2'728U);
  for (std::size_t i = 0; i < cut.requests.size(); ++i) {
    ASSERT_TRUE(std::ranges::equal(cut.blocks(cut.requests[i]), whole.blocks(whole.requests[i]))) << i;
  }
}

TEST(MooncakeTrace, SpreadsATickEvenlyUntilTheNextOne) {
  const std::string path =
      write("ticks", mooncake_line(0, 10, "1") + mooncake_line(0, 10, "2") + mooncake_line(0, 10, "3") +
                         mooncake_line(3000, 10, "4") + mooncake_line(3000, 10, "5"));
  const Trace spread = read_good(path);
  const std::vector<double> wanted = {0, 1, 2, 3, 4.5};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(spread.requests[i].arrival.value(), wanted[i], 1e-12) << i;
  }
  TraceOptions burst;
  burst.spread_ticks = false;
  EXPECT_EQ(read_good(path, burst).requests[2].arrival, Seconds(0));
}

TEST(MooncakeTrace, CoarserBlocksTakeTheIdThatEndsThem) {
  const std::string path =
      write("coarse", mooncake_line(0, 2100, "1, 2, 3, 4, 5") + mooncake_line(1000, 2048, "1, 2, 3, 4") +
                          mooncake_line(2000, 2048, "1, 2, 9, 10"));
  TraceOptions options;
  options.block_tokens = Tokens(1024);
  const Trace trace = read_good(path, options);
  const auto first = trace.blocks(trace.requests[0]);
  const auto head = trace.blocks(trace.requests[1]);
  const auto branch = trace.blocks(trace.requests[2]);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(first.first(2), head));
  EXPECT_EQ(first[0], branch[0]);
  EXPECT_NE(first[1], branch[1]);

  options.block_tokens = Tokens(700);
  EXPECT_NE(read_bad(path, options).message().find("multiple of 512"), std::string::npos);
}

TEST(ClaudeTrace, KeepsTheIdsOfASessionTogetherAndOfTwoSessionsApart) {
  const Trace trace = read_good(kClaude);
  ASSERT_EQ(trace.requests.size(), 180U);
  EXPECT_EQ(trace.block_tokens, Tokens(64));
  std::map<BlockKey, std::uint32_t> owners;
  for (const TraceRequest& request : trace.requests) {
    EXPECT_EQ(request.key_count, request.prompt.value() / 64);
    for (const BlockKey& key : trace.blocks(request)) {
      EXPECT_EQ(owners.try_emplace(key, request.session).first->second, request.session);
    }
  }
  const auto sessions = std::ranges::max(trace.requests, {}, &TraceRequest::session).session;
  EXPECT_EQ(sessions, 7U);
}

TEST(ClaudeTrace, CountsASubAgentsTimeFromItsEntryAndSharesItsParentsKeys) {
  const std::string path =
      write("subagent",
            R"({"block_size":64,"hash_id_scope":"local","requests":[)"
            R"({"t":0,"in":130,"out":5,"hash_runs":[[1,2]],"api_time":3.5,"think_time":0},)"
            R"({"t":10,"type":"subagent","requests":[{"t":2.5,"in":192,"out":5,"hash_runs":[[1,2],[7,1]]}]},)"
            R"({"t":20,"in":128,"out":5,"hash_runs":[[1,1],[9,1]],"think_time":4}]})");
  const Trace trace = read_good(path);
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_EQ(trace.requests[1].arrival, Seconds(12.5));
  EXPECT_EQ(trace.requests[0].served, Seconds(3.5));
  EXPECT_EQ(trace.requests[2].think, Seconds(4));
  const auto parent = trace.blocks(trace.requests[0]);
  const auto agent = trace.blocks(trace.requests[1]);
  const auto later = trace.blocks(trace.requests[2]);
  EXPECT_TRUE(std::ranges::equal(parent, agent.first(2)));
  EXPECT_EQ(later[0], parent[0]);
  EXPECT_NE(later[1], parent[1]);
}

TEST(ClaudeTrace, CoarseKeysAgreeExactlyWhereTheirPrefixesAgree) {
  TraceOptions options;
  options.block_tokens = Tokens(512);
  const Trace fine = read_good(kClaude);
  const Trace coarse = read_good(kClaude, options);
  ASSERT_EQ(fine.requests.size(), coarse.requests.size());
  EXPECT_EQ(coarse.block_tokens, Tokens(512));
  std::map<BlockKey, BlockKey> ends;  // last fine key of a coarse block; chained, so it names the prefix
  for (std::size_t i = 0; i < fine.requests.size(); ++i) {
    const auto small = fine.blocks(fine.requests[i]);
    const auto large = coarse.blocks(coarse.requests[i]);
    ASSERT_EQ(large.size(), small.size() / 8);
    for (std::size_t b = 0; b < large.size(); ++b) {
      ASSERT_EQ(ends.try_emplace(large[b], small[8 * b + 7]).first->second, small[8 * b + 7]);
    }
  }
  std::set<BlockKey> distinct;
  for (const auto& [large, small] : ends) distinct.insert(small);
  EXPECT_EQ(distinct.size(), ends.size());
}

TEST(ClaudeTrace, StoresAChainThatContinuesTheOneBeforeOnlyOnce) {
  const Trace trace = read_good(kClaude);
  std::size_t accesses = 0;
  for (const TraceRequest& request : trace.requests) accesses += request.key_count;
  EXPECT_LT(trace.keys.size() * 5, accesses);
}

TEST(ClaudeTrace, SessionsStartTogetherOrByAPoissonProcessOfTheGivenRate) {
  const auto starts = [](const Trace& trace) {
    std::map<std::uint32_t, Seconds> first;
    for (const TraceRequest& request : trace.requests) first.try_emplace(request.session, request.arrival);
    return first;
  };
  TraceOptions options;
  options.spread_ticks = false;
  for (const auto& [session, start] : starts(read_good(kClaude, options)))
    EXPECT_EQ(start, Seconds(0)) << session;

  std::string text;
  for (int i = 0; i < 2'000; ++i) {
    text += R"({"block_size":64,"hash_id_scope":"local","requests":[{"t":0,"in":9,"out":1,"hash_runs":[]}]})"
            "\n";
  }
  const std::string path = write("starts", text);
  options.session_start_rate = 0.5;
  options.seed = 7;
  const Trace trace = read_good(path, options);
  const double mean_gap = trace.requests.back().arrival.value() / 1'999;
  EXPECT_NEAR(mean_gap, 2.0, 4 * 2.0 / std::sqrt(2'000.0));
  EXPECT_EQ(read_good(path, options).requests[99].arrival, trace.requests[99].arrival);
  options.seed = 8;
  EXPECT_NE(read_good(path, options).requests[99].arrival, trace.requests[99].arrival);
}

TEST(CsvTrace, ReadsAzureTimes) {
  const Trace trace = read_good(kAzure);
  ASSERT_EQ(trace.requests.size(), 40U);
  EXPECT_EQ(trace.requests[0].arrival, Seconds(0));
  EXPECT_NEAR(trace.requests[1].arrival.value(), 0.052, 1e-6);
  EXPECT_EQ(trace.requests[0].prompt, Tokens(4'808));
  EXPECT_EQ(trace.requests[0].output, Tokens(10));
  EXPECT_EQ(unique_keys(trace), trace.keys.size()) << "lengths alone show no reuse";
}

TEST(CsvTrace, CarriesOnOverMidnightOfALeapYearsFebruary) {
  const Trace trace = read_good(write("leap",
                                      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                      "2024-02-28 23:59:59.5,10,1\n2024-02-29 00:00:00.5,10,1\n"
                                      "2024-03-01T00:00:00.5,10,1\n"));
  EXPECT_NEAR(trace.requests[1].arrival.value(), 1, 1e-6);
  EXPECT_NEAR(trace.requests[2].arrival.value(), 86'401, 1e-6);
}

TEST(CsvTrace, SortsByArrivalAndNamesSessions) {
  const Trace trace = read_good(write("sessions",
                                      "# made here\nsession,arrival_s,prompt_tokens,output_tokens,note\n"
                                      "anna,7.5,1000,3,x\nbert,5,512,3,\n\nanna,9,513,3,x\n"));
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_EQ(trace.requests[0].prompt, Tokens(512));
  EXPECT_EQ(trace.requests[1].arrival, Seconds(2.5));
  EXPECT_EQ(trace.requests[1].session, trace.requests[2].session);
  EXPECT_NE(trace.requests[0].session, trace.requests[1].session);
  EXPECT_EQ(trace.requests[2].key_count, 2U);
}

TEST(TraceOptions, RequestsMaxKeepsTheFirstOnes) {
  TraceOptions options;
  options.requests_max = 100;
  const Trace trace = read_good(kCut, options);
  EXPECT_EQ(trace.requests.size(), 100U);
  EXPECT_EQ(trace.requests.front().prompt, Tokens(6'758));
}

TEST(TraceOptions, KeysMaxBoundsMemory) {
  TraceOptions options;
  options.keys_max = 1'000;
  const Error error = read_bad(kCut, options);
  EXPECT_EQ(error.kind, ErrorKind::no_memory);
  EXPECT_NE(error.message().find("1000 block keys"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace fulcrum::replay
