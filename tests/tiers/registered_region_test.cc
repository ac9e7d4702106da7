// Which registered piece a buffer lies in: a wrong answer would send a transfer to other memory.
#include "tiers/registered_region.h"

#include <gtest/gtest.h>

#include <array>

namespace fulcrum {
namespace {

class RegisteredRegionTest : public testing::Test {
 protected:
  [[nodiscard]] std::span<std::byte> part(std::size_t begin, std::size_t size) {
    return std::span(memory_).subspan(begin, size);
  }
  std::array<std::byte, 100> memory_{};
  // Ten bytes on either side are not registered; pieces are 32, 32 and 16 bytes.
  RegisteredRegion region_{std::span(memory_).subspan(10, 80), 32};
};

TEST_F(RegisteredRegionTest, EveryBufferIsInsideThePieceThatIsNamedOrInNone) {
  const auto pieces = region_.pieces();
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[2].size(), 16U);
  for (std::size_t begin = 0; begin < memory_.size(); ++begin) {
    for (std::size_t size = 1; begin + size <= memory_.size(); ++size) {
      int expected = -1;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto first = static_cast<std::size_t>(pieces[i].data() - memory_.data());
        if (begin >= first && begin + size <= first + pieces[i].size()) expected = static_cast<int>(i);
      }
      ASSERT_EQ(region_.piece_of(part(begin, size)), expected) << begin << " + " << size;
    }
  }
}

TEST_F(RegisteredRegionTest, AnEmptyRegionAndAnEmptyBufferMatchNothing) {
  EXPECT_EQ(RegisteredRegion().piece_of(part(0, 4)), -1);
  EXPECT_TRUE(RegisteredRegion().pieces().empty());
  EXPECT_EQ(region_.piece_of(part(12, 0)), -1);
}

}  // namespace
}  // namespace fulcrum
