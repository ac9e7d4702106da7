// A store and the limits of its process: descriptors and file sizes. Each in a child process.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/hostile_ground.h"
#include "tests/support/scratch.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

constexpr StoreFilesOptions kLayout{.head = 64_KiB, .piece = 1_MiB, .pieces = 4};

std::string refusal(const std::string& directory, ErrorKind expected, const StoreFilesOptions& layout) {
  const auto opened = StoreFiles::open(directory, layout);
  if (opened.has_value()) return "opened";
  return opened.error().kind == expected ? opened.error().message()
                                         : "wrong kind: " + opened.error().message();
}

TEST(StoreLimits, TheDescriptorLimitIsRaisedWhereItMayBe) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 16;
    setrlimit(RLIMIT_NOFILE, &limit);
    StoreFilesOptions many = kLayout;
    many.piece = 4096_B;
    many.pieces = 200;
    const auto opened = FileDevice::open_store(directory.path(), many, {});
    if (opened.has_error()) return opened.error().message();
    auto memory = AlignedBuffer::allocate(4096);
    const IoCompletion last = run(**opened, IoKind::write, 65536 + 199 * 4096, memory->span());
    return last.result.has_error() ? last.result.error().message() : std::string("good");
  });
  EXPECT_EQ(text, "good");
}

TEST(StoreLimits, TooFewDescriptorsAreAnErrorAtTheStartWithNeedAndLimit) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    set_limit(RLIMIT_NOFILE, 64);
    StoreFilesOptions many = kLayout;
    many.piece = 4096_B;
    many.pieces = 200;
    return refusal(directory.path(), ErrorKind::file_limit, many);
  });
  EXPECT_TRUE(says(text, "may have 64") && says(text, "needs 2") && says(text, "LimitNOFILE")) << text;
}

TEST(StoreLimits, TheFileSizeLimitIsAnErrorAndNotASignal) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    set_limit(RLIMIT_FSIZE, 262144);
    return refusal(directory.path(), ErrorKind::no_space, kLayout);
  });
  EXPECT_TRUE(says(text, "262144") && says(text, "ulimit -f")) << text;
}

}  // namespace
}  // namespace fulcrum::test
