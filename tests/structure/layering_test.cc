// Holds every #include of the house against the edges that docs/architecture.md allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// A room may include itself, the front door, and these rooms.
const std::map<std::string, std::set<std::string>> kAllowedRooms = {
    {"include", {}},
    {"base", {}},
    {"model", {"base"}},
    {"policy", {"base", "model"}},
    {"tiers", {"base"}},
    {"engine", {"base", "model", "policy", "tiers"}},
    {"calibrate", {"base", "model", "tiers"}},
    {"replay", {"base", "model", "policy"}},
    {"cli", {"base", "model", "policy", "tiers", "engine", "calibrate", "replay"}},
    {"examples", {}},
};

// A third-party header may appear only in files whose path starts with one of these.
const std::vector<std::pair<std::string, std::vector<std::string>>> kThirdParty = {
    {"boost/system/result.hpp", {"include/fulcrum/result.h"}},
    {"boost/", {"calibrate/prefill_http", "engine/engine_thread.cc", "engine/pool_copier.cc"}},
    {"yaml-cpp/", {"base/document.cc"}},
    {"xxhash.h", {"base/checksum.cc"}},
    {"spdlog/", {"base/log.cc"}},
    {"Eigen/", {"model/"}},
    {"liburing.h", {"tiers/uring"}},
    {"nlohmann/", {"replay/", "calibrate/", "cli/"}},
    {"zstd.h", {"replay/"}},
    {"CLI/", {"cli/"}},
    {"cuda", {}},
};

std::string room_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

std::vector<std::string> includes_of(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line.compare(start, 8, "#include") != 0) continue;
    const auto open = line.find_first_of("<\"", start);
    if (open == std::string::npos) continue;
    const auto close = line.find_first_of(">\"", open + 1);
    if (close != std::string::npos) found.push_back(line.substr(open + 1, close - open - 1));
  }
  return found;
}

// Empty when `file` may include `header`, otherwise why not.
std::string forbidden(const std::string& file, const std::string& header) {
  const std::string room = room_of(file);
  if (header.rfind("fulcrum/", 0) == 0) return {};
  const std::string target = room_of(header);
  if (kAllowedRooms.count(target) != 0 && target != "include") {
    if (target == room || kAllowedRooms.at(room).count(target) != 0) return {};
    return file + " includes " + header + ": " + room + " must not know " + target;
  }
  for (const auto& [prefix, homes] : kThirdParty) {
    if (header.rfind(prefix, 0) != 0) continue;
    for (const auto& home : homes) {
      if (file.rfind(home, 0) == 0) return {};
    }
    const bool specific = prefix == "boost/system/result.hpp";
    if (specific) continue;
    return file + " includes <" + header + ">, which belongs behind another file";
  }
  return {};
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const auto& [room, allowed] : kAllowedRooms) {
    const fs::path folder = fs::path(FULCRUM_SOURCE_DIR) / room;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc") found.push_back(entry.path());
    }
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string house_path(const fs::path& path) {
  return fs::relative(path, FULCRUM_SOURCE_DIR).generic_string();
}

TEST(Layering, NoFileIncludesWhatItsRoomMustNotKnow) {
  const auto files = sources();
  ASSERT_GT(files.size(), 50U) << "the test does not see the sources";
  for (const auto& path : files) {
    for (const auto& header : includes_of(read(path))) {
      const std::string problem = forbidden(house_path(path), header);
      EXPECT_TRUE(problem.empty()) << problem;
    }
  }
}

TEST(Layering, AForbiddenIncludeIsCaught) {
  EXPECT_FALSE(forbidden("policy/planner.cc", "tiers/device.h").empty());
  EXPECT_FALSE(forbidden("tiers/file_device.cc", "model/fit.h").empty());
  EXPECT_FALSE(forbidden("base/document.h", "yaml-cpp/yaml.h").empty());
  EXPECT_FALSE(forbidden("include/fulcrum/cost.h", "base/check.h").empty());
  EXPECT_FALSE(forbidden("include/fulcrum/key.h", "boost/asio.hpp").empty());
  EXPECT_FALSE(forbidden("model/shape.cc", "nlohmann/json.hpp").empty());
  EXPECT_TRUE(forbidden("policy/planner.cc", "model/profile_match.h").empty());
  EXPECT_TRUE(forbidden("include/fulcrum/result.h", "boost/system/result.hpp").empty());
}

TEST(Layering, NoHeaderButTheResultPullsInALibrary) {
  for (const auto& path : sources()) {
    if (path.extension() != ".h" || house_path(path) == "include/fulcrum/result.h") continue;
    for (const auto& header : includes_of(read(path))) {
      for (const auto& [prefix, homes] : kThirdParty) {
        EXPECT_NE(header.rfind(prefix, 0), 0U) << house_path(path) << " includes <" << header << ">";
      }
    }
  }
}

// The word behind `prefix` if the line opens a type there: "struct Name {", "class [[nodiscard]] Name : ...".
std::string type_opened_by(const std::string& line) {
  for (const std::string prefix : {"class [[nodiscard]] ", "enum class ", "class ", "struct "}) {
    if (line.rfind(prefix, 0) != 0) continue;
    const auto brace = line.find('{');
    if (brace == std::string::npos || line.find(';') < brace) return {};
    return line.substr(prefix.size(), line.find_first_of(" {", prefix.size()) - prefix.size());
  }
  return {};
}

// "namespace::Type" of every type that a file defines for others to see: not in an unnamed namespace.
std::vector<std::string> types_of(const std::string& text) {
  std::vector<std::string> found;
  std::string space;
  bool unnamed = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "namespace {") {
      unnamed = true;
    } else if (line == "}  // namespace") {
      unnamed = false;
    } else if (line.rfind("namespace ", 0) == 0) {
      space = line.substr(10, line.find(" {") - 10);
    } else if (const std::string type = type_opened_by(line); !type.empty() && !unnamed) {
      found.push_back(space + "::" + type);
    }
  }
  return found;
}

// Two types of one name in one namespace compile apart and break together, in the linker's silence.
TEST(Structure, NoTypeIsDefinedTwice) {
  std::map<std::string, std::string> homes;
  for (const auto& path : sources()) {
    for (const auto& type : types_of(read(path))) {
      const auto [at, fresh] = homes.emplace(type, house_path(path));
      EXPECT_TRUE(fresh) << type << " is defined in " << at->second << " and in " << house_path(path);
    }
  }
  EXPECT_GT(homes.size(), 100U) << "the test does not see the types";
}

TEST(Structure, ATypeDefinedTwiceIsCaught) {
  EXPECT_EQ(types_of("namespace fulcrum {\nstruct Node {\n};\n}  // namespace fulcrum\n"),
            std::vector<std::string>{"fulcrum::Node"});
  EXPECT_TRUE(types_of("namespace fulcrum {\nnamespace {\nstruct Node {\n};\n}  // namespace\nstruct Node;\n")
                  .empty());
}

TEST(Structure, OnlyTheClockAsksTheSystemForTheTime) {
  const std::vector<std::string> banned = {"steady_clock::now", "system_clock::now", "clock_gettime",
                                           "std::time(", "gettimeofday"};
  for (const auto& path : sources()) {
    if (house_path(path) == "base/clock.cc") continue;
    const std::string text = read(path);
    for (const auto& call : banned)
      EXPECT_EQ(text.find(call), std::string::npos) << house_path(path) << ": " << call;
  }
}

TEST(Structure, EveryFileOpensWithWhatItIs) {
  for (const auto& path : sources()) {
    if (path.extension() != ".h") continue;
    EXPECT_EQ(read(path).rfind("//", 0), 0U) << house_path(path) << " does not say what it is for";
  }
}

// What stands between the fences behind <!-- name --> in a document.
std::string block_of(const std::string& document, const std::string& name) {
  const auto marker = document.find("<!-- " + name + " -->");
  if (marker == std::string::npos) return {};
  const auto begin = document.find('\n', document.find("```", marker)) + 1;
  return document.substr(begin, document.find("```", begin) - begin);
}

TEST(Documents, TheReadmeShowsTheExampleAndWhatRunPrinted) {
  const std::string readme = read(fs::path(FULCRUM_SOURCE_DIR) / "README.md");
  const std::string example = read(fs::path(FULCRUM_SOURCE_DIR) / "examples/decide_once.cc");
  EXPECT_EQ(block_of(readme, "decide_once"), example.substr(example.find("#include")));
  EXPECT_NE(block_of(readme, "run").find("break_even"), std::string::npos)
      << "scripts/update_readme.py fills it";
}

TEST(Structure, FilesStaySmallEnoughToRead) {
  for (const auto& path : sources()) {
    const std::string text = read(path);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_LE(lines, 400) << house_path(path) << " asks to be two files";
  }
}

}  // namespace
