// How a transfer takes what the system answers: short, interrupted, at the end of a file, broken.
#include "tiers/transfer.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "base/random.h"
#include "tiers/file_set.h"

namespace fulcrum {
namespace {

using Next = Transfer::Next;

/// A place for messages only.
class NoFiles final : public FileSet {
 public:
  NoFiles() : FileSet("the directory", 1_MiB, 0_B, 0_B) { add(-1); }

 private:
  [[nodiscard]] std::string path_of(std::size_t /*index*/) const override { return directory(); }
};

class TransferTest : public testing::Test {
 protected:
  [[nodiscard]] Transfer transfer(std::size_t step) {
    return Transfer({IoKind::read, 4096, memory_, 7}, step, Seconds(1));
  }
  const NoFiles files_;
  alignas(4096) std::array<std::byte, 8192> memory_{};
};

TEST_F(TransferTest, EndsWhenAllBytesHaveMoved) {
  Transfer one = transfer(512);
  EXPECT_EQ(one.advance(8192), Next::finished);
  const IoCompletion done = one.completion(Seconds(3), files_);
  EXPECT_FALSE(done.result.has_error());
  EXPECT_EQ(done.bytes, 8192U);
  EXPECT_EQ(done.tag, 7U);
  EXPECT_EQ(done.latency, Seconds(2));
}

TEST_F(TransferTest, GoesOnWhereAShortOneStopped) {
  Transfer one = transfer(1);
  EXPECT_EQ(one.advance(100), Next::again);
  EXPECT_EQ(one.rest().data(), memory_.data() + 100);
  EXPECT_EQ(one.rest_offset(), 4196);
  EXPECT_EQ(one.advance(8092), Next::finished);
  EXPECT_EQ(one.resumed(), 1U);
}

TEST_F(TransferTest, GoesOnFromAnAlignedPlaceInDirectMode) {
  Transfer one = transfer(512);
  EXPECT_EQ(one.advance(1100), Next::again);
  EXPECT_EQ(one.rest_offset(), 4096 + 1024);
  EXPECT_EQ(one.rest().size(), 8192U - 1024U);
}

TEST_F(TransferTest, CallsNoProgressTheEndOfTheFileAndStops) {
  for (const std::int64_t last : {std::int64_t{0}, std::int64_t{300}}) {  // 300: an end inside a sector
    Transfer one = transfer(512);
    EXPECT_EQ(one.advance(4096), Next::again);
    EXPECT_EQ(one.advance(last), Next::finished);
    const IoCompletion done = one.completion(Seconds(1), files_);
    ASSERT_TRUE(done.result.has_error());
    EXPECT_EQ(done.result.error().kind, ErrorKind::device);
    EXPECT_EQ(done.bytes, 4096U);
    EXPECT_NE(done.result.error().message().find("past the end"), std::string::npos);
  }
}

TEST_F(TransferTest, TriesAgainAfterInterruptionsButNotForEver) {
  for (const int code : {EINTR, EAGAIN}) {
    Transfer one = transfer(512);
    for (int i = 0; i < Transfer::kFruitlessMax; ++i) ASSERT_EQ(one.advance(-code), Next::again) << i;
    EXPECT_EQ(one.advance(-code), Next::finished);
    EXPECT_EQ(one.completion(Seconds(1), files_).result.error().os_error, code);
  }
}

TEST_F(TransferTest, ProgressRenewsItsPatience) {
  Transfer one = transfer(512);
  for (int i = 0; i < Transfer::kFruitlessMax; ++i) one.advance(-EINTR);
  EXPECT_EQ(one.advance(512), Next::again);
  EXPECT_EQ(one.fruitless(), 0);
  for (int i = 0; i < Transfer::kFruitlessMax; ++i) ASSERT_EQ(one.advance(-EINTR), Next::again);
}

TEST_F(TransferTest, PassesOtherErrorsOnAtOnce) {
  Transfer one = transfer(512);
  EXPECT_EQ(one.advance(-ENOSPC), Next::finished);
  EXPECT_EQ(one.completion(Seconds(1), files_).result.error().kind, ErrorKind::no_space);
}

TEST_F(TransferTest, NamesWhatFailedWhereAndWhy) {
  Transfer one = transfer(512);
  one.advance(1024);
  one.advance(-EIO);
  const std::string text = one.completion(Seconds(1), files_).result.error().message();
  EXPECT_NE(text.find("cannot read the directory at offset 5120"), std::string::npos) << text;
}

TEST_F(TransferTest, AllocationsAndSyncsEndWithTheFirstAnswer) {
  Transfer space({IoKind::allocate, 0, {}, 1, 65536}, 512, Seconds(0));
  EXPECT_EQ(space.advance(-EINTR), Next::again);
  EXPECT_EQ(space.advance(0), Next::finished);
  EXPECT_EQ(space.completion(Seconds(1), files_).bytes, 65536U);
  Transfer full({IoKind::allocate, 0, {}, 1, 65536}, 512, Seconds(0));
  EXPECT_EQ(full.advance(-ENOSPC), Next::finished);
  EXPECT_EQ(full.completion(Seconds(1), files_).result.error().kind, ErrorKind::no_space);
  Transfer sync({IoKind::sync, 0, {}, 1, 0}, 512, Seconds(0));
  EXPECT_EQ(sync.advance(0), Next::finished);
  EXPECT_FALSE(sync.completion(Seconds(1), files_).result.has_error());
}

TEST_F(TransferTest, AFilesystemThatCannotSetSpaceAsideIsNoFailure) {
  Transfer space({IoKind::allocate, 0, {}, 1, 65536}, 512, Seconds(0));
  EXPECT_EQ(space.advance(-EOPNOTSUPP), Next::finished);
  EXPECT_FALSE(space.completion(Seconds(1), files_).result.has_error());
  Transfer read = transfer(512);
  EXPECT_EQ(read.advance(-EOPNOTSUPP), Next::finished);
  EXPECT_TRUE(read.completion(Seconds(1), files_).result.has_error());
}

// Law: whatever lengths the answers have, the pieces asked for follow one another without gap or overlap
// (from aligned places) and end exactly at the end of the request.
TEST_F(TransferTest, AnyChainOfShortAnswersCoversTheRequestOnce) {
  constexpr std::uint64_t kSeed = 11;
  Random random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t step = random.below(2) == 0 ? 1 : 512;
    Transfer one = transfer(step);
    std::int64_t reached = 4096;
    for (;;) {
      ASSERT_EQ(one.rest_offset(), reached) << "seed " << kSeed << " round " << round;
      ASSERT_EQ(one.rest().data(), memory_.data() + (reached - 4096));
      const std::size_t most = one.rest().size();
      const std::size_t least = std::min(step, most);
      const std::size_t moved = least + random.below(most - least + 1);
      const bool whole = moved == most;
      ASSERT_EQ(one.advance(static_cast<std::int64_t>(moved)), whole ? Next::finished : Next::again);
      if (whole) break;
      reached += static_cast<std::int64_t>(moved / step * step);
    }
    ASSERT_EQ(one.completion(Seconds(1), files_).bytes, 8192U);
  }
}

}  // namespace
}  // namespace fulcrum
