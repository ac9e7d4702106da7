// What goes to the device next, and how much of it.
#include "tiers/io_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/devices.h"
#include "tests/support/test_device.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::test {
namespace {

constexpr std::int64_t kPages = 4096;
constexpr std::size_t kPageSize = 4096;

struct Queue : IoClient {
  ManualClock clock;
  CountingDevice device;
  IoQueue queue;
  AlignedBuffer memory = std::move(*AlignedBuffer::allocate(1 << 20));
  std::vector<IoPiece> ended;

  explicit Queue(const IoQueueOptions& options)
      : device(std::make_unique<TestDevice>(Geometry{.capacity = Bytes(8 << 20), .depth_max = 16}, clock)),
        queue(device, options) {}
  void on_piece(const IoPiece& piece, const Result<void>& result) override {
    EXPECT_FALSE(result.has_error());
    ended.push_back(piece);
  }
  void push(IoRank rank, IoKind kind, std::int64_t offset, std::size_t size, std::uint64_t job = 0) {
    IoPiece piece;
    piece.rank = rank;
    piece.request.kind = kind;
    piece.request.offset = offset;
    piece.request.buffer = memory.span().first(size);
    piece.client = this;
    piece.job = job;
    queue.push(piece);
  }
  void run() {
    do queue.pump();
    while (*queue.collect(Seconds(0)) > 0 || queue.queued() > 0);
  }
};

TEST(IoQueue, CutsRequestsIntoPiecesAndKeepsToItsBudget) {
  Queue rig({.io_size = 8192, .budget = 6 * kPages});
  rig.push(IoRank::load, IoKind::read, 0, 9 * kPageSize);
  EXPECT_EQ(rig.queue.queued(), 5U);
  rig.queue.pump();
  EXPECT_EQ(rig.device.in_flight(), 3U);
  rig.run();
  ASSERT_EQ(rig.device.requests().size(), 5U);
  EXPECT_EQ(rig.device.requests()[4].buffer.size(), 4096U);
  EXPECT_EQ(rig.device.in_flight_peak(), 3U);
  EXPECT_EQ(rig.ended.size(), 5U);
}

TEST(IoQueue, ServesLoadsBeforePreloadsBeforeWritesAndBookkeepingFirst) {
  Queue rig({.io_size = 4096, .budget = 4096});
  rig.push(IoRank::write_back, IoKind::write, 0, 4096);
  rig.push(IoRank::preload, IoKind::read, 4096, 4096);
  rig.push(IoRank::load, IoKind::read, 8192, 4096);
  rig.push(IoRank::meta, IoKind::write, 12288, 4096);
  rig.run();
  std::vector<IoRank> order;
  for (const IoPiece& piece : rig.ended) order.push_back(piece.rank);
  EXPECT_EQ(order, (std::vector{IoRank::meta, IoRank::load, IoRank::preload, IoRank::write_back}));
}

TEST(IoQueue, NeverStarvesWritesAndNeverGivesThemMoreThanTheirShareOfABusyDevice) {
  Queue rig({.io_size = 4096, .budget = 4 * kPages, .write_turn = 4096});
  for (std::int64_t i = 0; i < 200; ++i) rig.push(IoRank::load, IoKind::read, i * 4096, 4096);
  for (std::int64_t i = 0; i < 100; ++i) rig.push(IoRank::write_back, IoKind::write, (500 + i) * 4096, 4096);
  std::size_t writes = 0;
  for (std::size_t i = 0; i < 180; ++i) {
    while (rig.ended.size() <= i) {
      rig.queue.pump();
      ASSERT_FALSE(rig.queue.collect(Seconds(0)).has_error());
    }
    writes += rig.ended[i].rank == IoRank::write_back ? 1U : 0U;
  }
  EXPECT_GE(writes, 15U);
  EXPECT_LE(writes, 30U);
}

TEST(IoQueue, LeavesRoomForLoadsBesideWritesAndPreloads) {
  Queue rig({.io_size = 4096, .budget = 8 * kPages});
  for (std::int64_t i = 0; i < 20; ++i) rig.push(IoRank::write_back, IoKind::write, i * 4096, 4096);
  for (std::int64_t i = 0; i < 20; ++i) rig.push(IoRank::preload, IoKind::read, (50 + i) * 4096, 4096);
  rig.queue.pump();
  const std::size_t before = rig.device.in_flight();
  EXPECT_LE(before, 6U);
  rig.push(IoRank::load, IoKind::read, 1638400, 4096);
  rig.queue.pump();
  EXPECT_EQ(rig.device.in_flight(), before + 1);
}

TEST(IoQueue, ServesATurningDiskByPlaceInOneDirection) {
  Queue rig({.io_size = 4096, .budget = 4096, .turning = true});
  for (const std::int64_t page : {50, 10, 90, 30, 70})
    rig.push(IoRank::load, IoKind::read, page * 4096, 4096);
  rig.queue.pump();
  rig.push(IoRank::load, IoKind::read, 20480, 4096);
  rig.push(IoRank::load, IoKind::read, 81920, 4096);
  rig.run();
  std::vector<std::int64_t> order;
  for (const IoPiece& piece : rig.ended) order.push_back(piece.request.offset / 4096);
  EXPECT_EQ(order, (std::vector<std::int64_t>{10, 20, 30, 50, 70, 90, 5}));
}

TEST(IoQueue, GivesATurningDiskItsWritesInWholeCommits) {
  Queue rig({.io_size = 4096, .budget = 4096, .write_turn = 10 * kPages, .turning = true});
  for (std::int64_t i = 0; i < 150; ++i) rig.push(IoRank::load, IoKind::read, i * 4096, 4096);
  for (std::int64_t i = 0; i < 20; ++i) rig.push(IoRank::write_back, IoKind::write, (600 + i) * 4096, 4096);
  rig.run();
  std::vector<std::size_t> bursts;
  bool writing = false;
  for (const IoPiece& piece : rig.ended) {
    const bool writes = piece.rank == IoRank::write_back;
    if (writes && !writing) bursts.push_back(0);
    if (writes) ++bursts.back();
    writing = writes;
  }
  EXPECT_EQ(bursts, (std::vector<std::size_t>{10, 10}));
}

TEST(IoQueue, DropsWhatHasNotGoneToTheDevice) {
  Queue rig({.io_size = 4096, .budget = 2 * kPages});
  rig.push(IoRank::load, IoKind::read, 0, 5 * kPageSize, 7);
  rig.push(IoRank::load, IoKind::read, 1 << 20, 4096, 8);
  rig.queue.pump();
  std::int64_t bytes = 0;
  EXPECT_EQ(rig.queue.drop(&rig, 7, &bytes), 3U);
  EXPECT_EQ(bytes, 3 * 4096);
  rig.run();
  EXPECT_EQ(rig.ended.size(), 3U);
}

}  // namespace
}  // namespace fulcrum::test
