// Holds docs/faults.md to the tests: no promise and no class of fault without one, no name of a test that is
// not there.
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

const std::vector<std::string> kPromises = {"P1", "P2", "P3", "P4", "P5", "P6", "P7"};

// Classes, as the first column of the table names them. There is no GPU tier yet.
const std::vector<std::string> kClasses = {"torn write",
                                           "bit rot, misdirected or stale write",
                                           "short read or write",
                                           "EIO",
                                           "ENOSPC",
                                           "EDQUOT",
                                           "read-only remount",
                                           "timeout or lost completion",
                                           "slow disk",
                                           "crash at any point",
                                           "two writers",
                                           "clock jump",
                                           "descriptor exhaustion",
                                           "memlock and registered buffers",
                                           "out of memory",
                                           "GPU error",
                                           "kill -9",
                                           "version skew on disk",
                                           "typos in policy and profile"};
const std::set<std::string> kWithoutTest = {"GPU error"};

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "Suite.Name" of each test in a source. The macro may run over two lines.
std::set<std::string> tests_in(const std::string& text) {
  std::set<std::string> found;
  for (const std::string macro : {"\nTEST(", "\nTEST_F(", "\nTEST_P("}) {
    for (auto at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
      const auto begin = at + macro.size();
      std::string inside = text.substr(begin, text.find(')', begin) - begin);
      std::erase_if(inside, [](char c) { return c == ' ' || c == '\n'; });
      if (const auto comma = inside.find(','); comma != std::string::npos) {
        found.insert(inside.replace(comma, 1, "."));
      }
    }
  }
  return found;
}

/// Names in backquotes that look like tests: "Suite.Name" with a capital behind the dot.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> found;
  for (auto open = text.find('`'); open != std::string::npos;) {
    const auto close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto dot = name.find('.');
    if (dot != std::string::npos && dot + 1 < name.size() && name[dot + 1] >= 'A' && name[dot + 1] <= 'Z' &&
        name.find('/') == std::string::npos) {
      found.push_back(name);
    }
    open = text.find('`', close + 1);
  }
  return found;
}

/// First cell of each row of the tables, and the tests of that row.
std::map<std::string, std::vector<std::string>> rows_in(const std::string& document) {
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    rows[line.substr(2, line.find(" |", 2) - 2)] = names_in(line);
  }
  return rows;
}

/// Tests that the row needs and has not; empty where all is well.
std::string problem_of(const std::string& row, const std::vector<std::string>& names,
                       const std::set<std::string>& tests) {
  if (names.empty() && kWithoutTest.count(row) == 0) return row + ": no test";
  for (const std::string& name : names) {
    if (tests.count(name) == 0) return row + ": there is no test " + name;
  }
  return {};
}

std::set<std::string> all_tests() {
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(FULCRUM_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() == ".cc") tests.merge(tests_in(read(entry.path())));
  }
  return tests;
}

TEST(FaultList, EveryPromiseAndEveryClassNamesTestsThatExist) {
  const auto rows = rows_in(read(fs::path(FULCRUM_SOURCE_DIR) / "docs/faults.md"));
  const std::set<std::string> tests = all_tests();
  ASSERT_GT(tests.size(), 300U) << "the test does not see the tests";
  for (const std::string& name : kClasses) {
    ASSERT_EQ(rows.count(name), 1U) << "docs/faults.md does not list: " << name;
    EXPECT_EQ(problem_of(name, rows.at(name), tests), "");
  }
  for (const std::string& promise : kPromises) {
    const auto row =
        std::ranges::find_if(rows, [&](const auto& each) { return each.first.rfind(promise, 0) == 0; });
    ASSERT_NE(row, rows.end()) << "docs/faults.md does not list " << promise;
    EXPECT_EQ(problem_of(row->first, row->second, tests), "");
  }
}

TEST(FaultList, ANameWithoutATestIsCaughtAndSoIsARowWithoutAName) {
  const auto rows =
      rows_in("| EIO | it fails | `Suite.IsThere`, `base/clock.cc` |\n| ENOSPC | none | (none) |\n");
  EXPECT_EQ(rows.at("EIO"), std::vector<std::string>{"Suite.IsThere"});
  const auto tests = tests_in("\nTEST_F(Suite,\n     IsThere) {\n");
  EXPECT_EQ(problem_of("EIO", rows.at("EIO"), tests), "");
  EXPECT_NE(problem_of("EIO", rows.at("EIO"), {}), "");
  EXPECT_NE(problem_of("ENOSPC", rows.at("ENOSPC"), tests), "");
}

}  // namespace
