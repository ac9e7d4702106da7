// The seeds of the fuzz targets and mutants of them, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fuzz/mutator.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace fulcrum::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(FULCRUM_SOURCE_DIR) / "tests/fuzz/corpus";

Bits read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::map<std::string, Bits> seeds_of(std::string_view target) {
  std::map<std::string, Bits> out;
  for (const auto& entry : fs::directory_iterator(kCorpus / target))
    out[entry.path().filename().string()] = read(entry.path());
  return out;
}

class Fuzz : public ::testing::TestWithParam<Target> {};

TEST_P(Fuzz, SeedsKeepTheLawsAndAreTakenOrRefusedAsTheirNamesSay) {
  std::size_t good = 0;
  std::size_t bad = 0;
  for (const auto& [name, bytes] : seeds_of(GetParam().name)) {
    SCOPED_TRACE(name);
    const bool wanted = name.rfind("good", 0) == 0;
    ASSERT_TRUE(wanted || name.rfind("bad", 0) == 0) << "a seed is good or bad";
    try {
      EXPECT_EQ(GetParam().run(bytes), wanted);
    } catch (const LawBroken& broken) {
      ADD_FAILURE() << broken.what();
    }
    (wanted ? good : bad) += 1;
  }
  EXPECT_GT(good, 0U);
  EXPECT_GT(bad, 0U);
}

TEST_P(Fuzz, MutantsOfSeedsKeepTheLaws) {
  std::vector<Bits> seeds;
  for (const auto& [name, bytes] : seeds_of(GetParam().name)) seeds.push_back(bytes);
  ASSERT_FALSE(seeds.empty());
  for (std::uint64_t seed = 1; seed <= GetParam().mutants; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Bits& first = seeds[random.below(seeds.size())];
    const Bits mutant = mutated(first, seeds[random.below(seeds.size())], random);
    ASSERT_NO_THROW(GetParam().run(mutant));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(FuzzCorpus, HoldsTheBinarySeedsOfThisVersion) {
  for (const auto& [name, bytes] : binary_seeds())
    EXPECT_EQ(read(kCorpus / name), bytes) << name << ": run fuzz_write_corpus tests/fuzz/corpus";
}

}  // namespace
}  // namespace fulcrum::fuzz
