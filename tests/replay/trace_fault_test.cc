// Bad input to the trace readers: a clear message with the line, never a crash, never a silent loss.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "replay/trace.h"
#include "replay/zstd_file.h"
#include "tests/support/scratch.h"

namespace fulcrum::replay {
namespace {

const std::string kClaude = FULCRUM_TEST_DATA "/claude_code/sessions_cut.jsonl.zst";
const std::string kCut = FULCRUM_SOURCE_DIR "/data/mooncake_conversation/conversation_cut.jsonl.zst";

std::string write(const std::string& name, const std::string& text) {
  const std::string path = test::temp_path(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& path, std::size_t count) {
  auto reader = LineReader::open(path);
  std::vector<std::string> lines;
  std::string_view line;
  while (lines.size() < count && *reader->next(line)) lines.emplace_back(line);
  return lines;
}

std::string message_of(const std::string& path, const TraceOptions& options = {}) {
  auto trace = read_trace(path, options);
  return trace.has_error() ? trace.error().message() : "";
}

constexpr const char* kGoodLine = R"({"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[1,2]})";

TEST(TraceFaults, ABrokenLineIsNamedByItsNumber) {
  const std::string path =
      write("line3", std::string(kGoodLine) + "\n\n{\"timestamp\": 1,\n" + kGoodLine + "\n");
  auto trace = read_trace(path, {});
  ASSERT_TRUE(trace.has_error());
  EXPECT_EQ(trace.error().kind, ErrorKind::bad_input);
  EXPECT_NE(trace.error().message().find(path + ":3"), std::string::npos) << trace.error().message();
}

TEST(TraceFaults, SkipBadCountsWhatItLeavesOut) {
  const std::string path =
      write("skip", std::string(kGoodLine) + "\nrubbish\n{}\n" + kGoodLine + "\n[1]\n" + kGoodLine);
  TraceOptions options;
  options.skip_bad = true;
  auto trace = read_trace(path, options);
  ASSERT_TRUE(trace.has_value()) << trace.error().message();
  EXPECT_EQ(trace->requests.size(), 3U);
  EXPECT_EQ(trace->skipped_lines, 3U);
}

TEST(TraceFaults, AFileWithNothingGoodIsRefusedEvenWhenSkipping) {
  TraceOptions options;
  options.skip_bad = true;
  options.format = TraceFormat::mooncake;
  EXPECT_NE(message_of(write("none", "rubbish\n"), options).find(":1: this is not JSON"), std::string::npos);
  EXPECT_NE(message_of(write("empty", "")).find("holds no requests"), std::string::npos);
}

TEST(TraceFaults, AnUnknownFormatIsAnsweredWithTheKnownOnes) {
  const std::string message = message_of(write("unknown", "time;tokens\n1;2\n"));
  EXPECT_NE(message.find("not recognised"), std::string::npos) << message;
  EXPECT_NE(message.find("ContextTokens"), std::string::npos) << message;
}

TEST(TraceFaults, EveryBadFieldIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"input_length":600,"output_length":1,"hash_ids":[1,2]})", "timestamp is missing"},
      {R"({"timestamp":-1,"input_length":600,"output_length":1,"hash_ids":[1,2]})",
       "timestamp is not within"},
      {R"({"timestamp":1e300,"input_length":600,"output_length":1,"hash_ids":[1,2]})",
       "timestamp is not within"},
      {R"({"timestamp":"0","input_length":600,"output_length":1,"hash_ids":[1,2]})",
       "timestamp is not a number"},
      {R"({"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]})", "input_length is not within"},
      {R"({"timestamp":0,"input_length":6.5,"output_length":1,"hash_ids":[1]})",
       "input_length is not a whole"},
      {R"({"timestamp":0,"input_length":18446744073709551615,"output_length":1,"hash_ids":[1]})",
       "input_length"},
      {R"({"timestamp":0,"input_length":600,"output_length":-2,"hash_ids":[1,2]})",
       "output_length is not within"},
      {R"({"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[1]})", "hash_ids has 1 ids"},
      {R"({"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[1,-2]})", "not an id"},
      {R"({"timestamp":0,"input_length":600,"output_length":1,"hash_ids":7})", "hash_ids is not a list"},
      {R"({"timestamp":NaN,"input_length":600,"output_length":1,"hash_ids":[1,2]})", "not JSON"},
  };
  for (const auto& [line, wanted] : cases) {
    const std::string message = message_of(write("field", std::string(kGoodLine) + "\n" + line));
    EXPECT_NE(message.find(wanted), std::string::npos) << line << "\n" << message;
    EXPECT_NE(message.find(":2: "), std::string::npos) << message;
  }
}

TEST(TraceFaults, ABadSessionLeavesNothingBehind) {
  const std::string good =
      R"({"block_size":64,"hash_id_scope":"local","requests":[{"t":0,"in":64,"out":1,"hash_runs":[[1,1]]}]})";
  const std::string bad =
      R"({"block_size":64,"hash_id_scope":"local","requests":[{"t":0,"in":64,"out":1,"hash_runs":[[1,1]]},)"
      R"({"t":0,"in":64,"out":1,"hash_runs":[[1,99999999999]]}]})";
  const std::string path = write("session", good + "\n" + bad + "\n" + good);
  const std::string message = message_of(path);
  EXPECT_NE(message.find(":2: requests[1].hash_runs covers more tokens"), std::string::npos) << message;
  TraceOptions options;
  options.skip_bad = true;
  auto trace = read_trace(path, options);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->requests.size(), 2U);
  EXPECT_EQ(trace->keys.size(), 2U);
}

TEST(TraceFaults, ADeepNestOfSubAgentsIsRefused) {
  std::string line = R"({"block_size":64,"hash_id_scope":"local","requests":)";
  for (int i = 0; i < 5'000; ++i) line += R"([{"t":0,"requests":)";
  line += "[]";
  for (int i = 0; i < 5'000; ++i) line += "}]";
  EXPECT_NE(message_of(write("nest", line + "}")).find("nests deeper"), std::string::npos);
}

TEST(TraceFaults, CsvNamesTheCellThatIsWrong) {
  const std::string head = "arrival_s,prompt_tokens,output_tokens\n1,10,1\n";
  for (const char* row : {"x,10,1", "nan,10,1", "-1,10,1", "1,0,1", "1,1e3,1", "1,10", "1,10,1,9", "1,,1"}) {
    const std::string message = message_of(write("csv", head + row));
    EXPECT_NE(message.find(":3: "), std::string::npos) << row << ": " << message;
  }
  EXPECT_NE(message_of(write("date", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-01 00:00:00.1,1,1"))
                .find("not an arrival time"),
            std::string::npos);
}

TEST(TraceFaults, MissingFilesAndDirectoriesAreTold) {
  auto missing = read_trace("/nonexistent/trace.jsonl", {});
  ASSERT_TRUE(missing.has_error());
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  auto directory = read_trace(testing::TempDir(), {});
  ASSERT_TRUE(directory.has_error());
  EXPECT_EQ(directory.error().kind, ErrorKind::bad_input);
}

TEST(TraceFaults, ATruncatedPackedFileIsAnErrorAtEveryLength) {
  const std::string whole = contents(kClaude);
  for (std::size_t size = 4; size < whole.size(); size += 97) {
    auto trace = read_trace(write("cut.zst", whole.substr(0, size)), {});
    ASSERT_TRUE(trace.has_error()) << size;
    EXPECT_EQ(trace.error().kind, ErrorKind::corrupt) << size << ": " << trace.error().message();
  }
}

TEST(TraceFaults, FlippedBytesOfAPackedFileNeverCrash) {
  const std::string whole = contents(kClaude);
  Random random(11);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    char& byte = bytes[4 + random.below(bytes.size() - 4)];
    byte = static_cast<char>(byte ^ static_cast<char>(1 + random.below(255)));
    if (read_trace(write("flip.zst", bytes), {}).has_error()) ++refused;
  }
  EXPECT_GT(refused, 200) << "seed 11";
}

/// One to four random edits: a byte changed, removed, doubled, or the tail cut off.
std::string mutate(std::string line, Random& random) {
  for (auto edits = 1 + random.below(4); edits > 0 && !line.empty(); --edits) {
    const std::size_t at = random.below(line.size());
    switch (random.below(4)) {
      case 0:
        line[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        line.erase(at, 1);
        break;
      case 2:
        line.insert(at, 1, line[at]);
        break;
      default:
        line.resize(at);
        break;
    }
  }
  return line;
}

TEST(TraceFaults, MutatedLinesNeverCrashAndAreEitherReadOrCounted) {
  constexpr std::uint64_t kSeed = 2'024;
  Random random(kSeed);
  for (const std::string& source :
       {kCut, kClaude, std::string(FULCRUM_TEST_DATA "/azure_llm/code_cut.csv")}) {
    const auto lines = lines_of(source, 40);
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
      std::string text = lines[0] + "\n";
      std::size_t mutants = 0;
      for (const std::string& line : lines) {
        text += mutate(line, random) + "\n";
        ++mutants;
      }
      TraceOptions options;
      options.skip_bad = true;
      auto trace = read_trace(write("mutant", text), options);
      if (trace.has_error()) {
        ++refused;
        continue;
      }
      EXPECT_GT(trace->skipped_lines, 0U) << source << ", seed " << kSeed;
      EXPECT_LE(trace->skipped_lines, mutants * 2);
      for (const TraceRequest& request : trace->requests) {
        ASSERT_LE(request.first_key + request.key_count, trace->keys.size());
      }
    }
    EXPECT_LT(refused, 6) << source << ", seed " << kSeed;
  }
}

TEST(LineReader, GivesTheSameLinesPackedAndPlainWithAnyLineEnd) {
  const auto packed = lines_of(kClaude, 100);
  std::string text;
  for (const std::string& line : packed) text += line + "\r\n";
  text.resize(text.size() - 2);
  EXPECT_EQ(lines_of(write("plain", text), 100), packed);
  EXPECT_EQ(packed.size(), 7U);
}

TEST(LineReader, ReadsPackedFilesThatWereJoined) {
  const std::string once = contents(kClaude);
  EXPECT_EQ(lines_of(write("joined.zst", once + once), 100).size(), 14U);
}

}  // namespace
}  // namespace fulcrum::replay
