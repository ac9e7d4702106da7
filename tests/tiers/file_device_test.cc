// FileDevice in all its modes: the device contract, choice of mode, registered buffers, evidence.
#include "tiers/file_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "base/random.h"
#include "tests/support/devices.h"
#include "tests/support/scratch.h"
#include "tests/tiers/device_contract.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

constexpr Seconds kPatience = Seconds(20);

FileDeviceOptions options(EngineChoice engine, DirectChoice direct, Bytes size = 2_MiB) {
  return {.size = size, .direct = direct, .engine = engine, .depth_max = 32, .threads_max = 8};
}

// The directory may go at once: the file in it has no name.
Result<std::unique_ptr<Device>> make_file(EngineChoice engine, DirectChoice direct) {
  const ScratchDirectory directory;
  auto opened = FileDevice::open(directory.path(), options(engine, direct));
  if (opened.has_error()) return opened.error();
  return std::unique_ptr<Device>(std::move(*opened));
}

Result<std::unique_ptr<Device>> make_store(EngineChoice engine, DirectChoice direct) {
  const ScratchDirectory directory;
  auto opened = FileDevice::open_store(directory.path(), {.head = 64_KiB, .piece = 256_KiB, .pieces = 8},
                                       options(engine, direct));
  if (opened.has_error()) return opened.error();
  return std::unique_ptr<Device>(std::move(*opened));
}

DeviceFactory store(const std::string& name, EngineChoice engine, DirectChoice direct) {
  return {name, [=] { return make_store(engine, direct); }};
}

template <class Decorator, class... Arguments>
DeviceFactory decorated(const std::string& name, Arguments... arguments) {
  return {name, [=]() -> Result<std::unique_ptr<Device>> {
            auto inner = make_file(EngineChoice::automatic, DirectChoice::automatic);
            if (inner.has_error()) return inner.error();
            return std::unique_ptr<Device>(std::make_unique<Decorator>(std::move(*inner), arguments...));
          }};
}

DeviceFactory file(const std::string& name, EngineChoice engine, DirectChoice direct) {
  return {name, [=] { return make_file(engine, direct); }};
}

struct SlowOnOwnClock final : public PassThrough {
  explicit SlowOnOwnClock(std::unique_ptr<Device> inner)
      : PassThrough(std::make_unique<SlowDevice>(std::move(inner), clock(), 50_us)) {}
  static SteadyClock& clock() {
    static SteadyClock steady;
    return steady;
  }
};

INSTANTIATE_TEST_SUITE_P(FileDevice, DeviceContract,
                         testing::Values(file("uring_direct", EngineChoice::uring, DirectChoice::direct),
                                         file("uring_buffered", EngineChoice::uring, DirectChoice::buffered),
                                         file("threads_direct", EngineChoice::threads, DirectChoice::direct),
                                         file("threads_buffered", EngineChoice::threads,
                                              DirectChoice::buffered)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Store, DeviceContract,
                         testing::Values(store("uring_direct", EngineChoice::uring, DirectChoice::direct),
                                         store("uring_buffered", EngineChoice::uring, DirectChoice::buffered),
                                         store("threads_direct", EngineChoice::threads, DirectChoice::direct),
                                         store("threads_buffered", EngineChoice::threads,
                                               DirectChoice::buffered)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Decorators, DeviceContract,
                         testing::Values(decorated<PassThrough>("pass_through"),
                                         decorated<CountingDevice>("counting"),
                                         decorated<FaultyDevice>("faulty_but_spared", FaultPlan{}),
                                         decorated<SlowOnOwnClock>("slow")),
                         factory_name);

std::unique_ptr<FileDevice> open(const std::string& directory, const FileDeviceOptions& wanted) {
  auto opened = FileDevice::open(directory, wanted);
  EXPECT_FALSE(opened.has_error()) << opened.error().message();
  return opened.has_error() ? nullptr : std::move(*opened);
}

IoCompletion run(Device& device, IoKind kind, std::int64_t offset, std::span<std::byte> buffer) {
  IoCompletion completion;
  const Result<void> started = device.submit({kind, offset, buffer, 1});
  EXPECT_FALSE(started.has_error()) << started.error().message();
  EXPECT_EQ(*device.poll({&completion, 1}, kPatience), 1U);
  return completion;
}

TEST(FileDevice, LeavesNoNameInItsDirectory) {
  const ScratchDirectory directory;
  const auto device = open(directory.path(), options(EngineChoice::automatic, DirectChoice::automatic));
  EXPECT_TRUE(directory.empty());
}

TEST(FileDevice, SaysWhatItUsesAndWhyItIsLess) {
  const ScratchDirectory directory;
  const auto weak = open(directory.path(), options(EngineChoice::threads, DirectChoice::buffered));
  EXPECT_EQ(weak->mode(), (IoMode{.uring = false, .direct = false}));
  EXPECT_EQ(weak->fallback_reason(), "io_uring: not asked for; O_DIRECT: not asked for");
  const auto best = open(directory.path(), options(EngineChoice::automatic, DirectChoice::automatic));
  EXPECT_EQ(best->fallback_reason().empty(), best->mode() == (IoMode{.uring = true, .direct = true}))
      << best->fallback_reason();
}

TEST(FileDevice, RefusesSizesAndDepthsThatMakeNoSense) {
  const ScratchDirectory directory;
  const auto kind_of = [&](const FileDeviceOptions& wrong) {
    return FileDevice::open(directory.path(), wrong).error().kind;
  };
  EXPECT_EQ(kind_of({.size = 0_B}), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({.size = Bytes(-4096)}), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({.size = 4097_B}), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({.size = 1_MiB, .depth_max = 0}), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({.size = 1_MiB, .depth_max = 5000}), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({.size = 1_MiB, .threads_max = 0}), ErrorKind::bad_input);
}

TEST(FileDevice, WorksAtTheSmallestSizeAndTheLargestDepth) {
  const ScratchDirectory directory;
  FileDeviceOptions wanted = options(EngineChoice::automatic, DirectChoice::automatic, 4096_B);
  wanted.depth_max = 4096;
  const auto device = open(directory.path(), wanted);
  ASSERT_NE(device, nullptr);
  auto memory = AlignedBuffer::allocate(4096);
  EXPECT_FALSE(run(*device, IoKind::write, 0, memory->span()).result.has_error());
}

TEST(FileDevice, MayBeHandedToAnotherThread) {
  const ScratchDirectory directory;
  const auto device = open(directory.path(), options(EngineChoice::automatic, DirectChoice::automatic));
  auto memory = AlignedBuffer::allocate(4096);
  run(*device, IoKind::write, 0, memory->span());
  std::thread other([&] { EXPECT_FALSE(run(*device, IoKind::read, 0, memory->span()).result.has_error()); });
  other.join();
  EXPECT_FALSE(run(*device, IoKind::read, 0, memory->span()).result.has_error());
}

TEST(FileDevice, SparesUnwrittenSpaceWhereItIsToldTo) {
  const ScratchDirectory directory;
  FileDeviceOptions wanted = options(EngineChoice::automatic, DirectChoice::automatic, 1024_GiB);
  wanted.preallocate = false;  // a TiB: no test machine has it to give
  const auto device = open(directory.path(), wanted);
  ASSERT_NE(device, nullptr);
  auto memory = AlignedBuffer::allocate(4096);
  EXPECT_FALSE(run(*device, IoKind::write, (1024_GiB - 4096_B).value(), memory->span()).result.has_error());
}

TEST(FileDevice, RegisteredBuffersMoveTheSameBytes) {
  const ScratchDirectory directory;
  auto opened = FileDevice::open(directory.path(), options(EngineChoice::uring, DirectChoice::automatic));
  if (opened.has_error()) GTEST_SKIP() << opened.error().message();
  FileDevice& device = **opened;
  auto region = AlignedBuffer::allocate(std::size_t{64} << 10);
  auto outside = AlignedBuffer::allocate(std::size_t{64} << 10);
  ASSERT_FALSE(device.register_buffers(region->span()).has_error());
  Random(3).fill(region->span());
  run(device, IoKind::write, 0, region->span());
  run(device, IoKind::read, 0, outside->span());
  EXPECT_TRUE(std::ranges::equal(region->span(), outside->span()));
  Random(4).fill(outside->span());
  run(device, IoKind::write, 0, outside->span());
  run(device, IoKind::read, 0, region->span());
  EXPECT_TRUE(std::ranges::equal(region->span(), outside->span()));

  ASSERT_FALSE(device.submit({IoKind::read, 0, region->span(), 1}).has_error());
  EXPECT_EQ(device.register_buffers(outside->span()).error().kind, ErrorKind::busy);
  IoCompletion out;
  ASSERT_EQ(*device.poll({&out, 1}, kPatience), 1U);
  EXPECT_FALSE(device.register_buffers(outside->span()).has_error());
  EXPECT_FALSE(device.register_buffers({}).has_error());
}

TEST(FileDevice, ThreadsKnowNoRegisteredBuffers) {
  const ScratchDirectory directory;
  const auto device = open(directory.path(), options(EngineChoice::threads, DirectChoice::automatic));
  auto memory = AlignedBuffer::allocate(4096);
  EXPECT_EQ(device->register_buffers(memory->span()).error().kind, ErrorKind::unsupported);
}

struct Seen {
  double resident = 0;
  Bytes process_read{};
  Bytes device_read{};
};

/// Writes 8 MiB, makes them durable, reads them back, and reports what the reads moved below the file.
std::optional<Seen> read_after_write(DirectChoice direct, bool drop) {
  const ScratchDirectory directory;
  auto opened = FileDevice::open(directory.path(), options(EngineChoice::automatic, direct, 8_MiB));
  if (opened.has_error()) return std::nullopt;
  FileDevice& device = **opened;
  if (!device.evidence().known) return std::nullopt;
  auto memory = AlignedBuffer::allocate(std::size_t{8} << 20);
  Random(5).fill(memory->span());
  run(device, IoKind::write, 0, memory->span());
  EXPECT_FALSE(device.sync().has_error());
  EXPECT_FALSE(drop && device.drop_cache().has_error());
  const DeviceEvidence before = device.evidence();
  run(device, IoKind::read, 0, memory->span());
  const DeviceEvidence after = device.evidence();
  return Seen{before.resident_share, after.process_read - before.process_read,
              after.device_read - before.device_read};
}

TEST(FileDeviceEvidence, ShowsThatDirectReadsReachTheDrive) {
  const auto seen = read_after_write(DirectChoice::direct, false);
  if (!seen) GTEST_SKIP() << "no direct I/O here, or the system keeps no counters for this path";
  EXPECT_LT(seen->resident, 0.01);
  EXPECT_GE(seen->process_read, 8_MiB);
  EXPECT_GE(seen->device_read, 8_MiB);
}

TEST(FileDeviceEvidence, ShowsThatCachedReadsDoNot) {
  const auto seen = read_after_write(DirectChoice::buffered, false);
  if (!seen) GTEST_SKIP() << "the system keeps no counters for this path";
  EXPECT_GT(seen->resident, 0.99);
  EXPECT_LT(seen->process_read, 1_MiB);
}

TEST(FileDeviceEvidence, ShowsThatADroppedCacheIsReadAgain) {
  const auto seen = read_after_write(DirectChoice::buffered, true);
  if (!seen) GTEST_SKIP() << "the system keeps no counters for this path";
  EXPECT_LT(seen->resident, 0.01);
  EXPECT_GE(seen->process_read, 8_MiB);
}

TEST(FileDevice, NamesFilesystemAndDirectory) {
  const ScratchDirectory directory;
  const auto device = open(directory.path(), options(EngineChoice::automatic, DirectChoice::automatic));
  const DeviceIdentity identity = device->identity();
  EXPECT_EQ(identity.path, directory.path());
  EXPECT_FALSE(identity.filesystem.empty());
}

}  // namespace
}  // namespace fulcrum::test
