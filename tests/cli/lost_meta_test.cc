// The file `meta` missing, emptied, cut or overwritten: engine, inspect and fsck say the same about it, and
// nobody starts silently over blocks that are there.
#include "base/log.h"
#include "tests/cli/store_fixture.h"

namespace fulcrum::test {
namespace {

namespace fs = std::filesystem;

class LostMeta : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_);
    make_store(directory_);
  }
  [[nodiscard]] std::string meta() const { return directory_ + "/meta"; }
  Said tool(const std::string& name) { return run_program({name, directory_}); }
  Result<FileStore> open(bool replace = false) {
    FileStoreOptions options = store_options();
    options.replace_foreign = replace;
    return open_file_store(directory_, options, clock_);
  }
  /// All three refuse, with the same advice, and change nothing.
  void expect_refused(const std::string& what) {
    SCOPED_TRACE(what);
    const auto opened = open();
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().kind, ErrorKind::corrupt) << opened.error().message();
    EXPECT_NE(opened.error().message().find("put its file 'meta' back"), std::string::npos)
        << opened.error().message();
    // The engine has made the file whole again in size: the tools still see that it holds no superblock.
    for (const char* name : {"inspect", "fsck"}) {
      EXPECT_TRUE(says(tool(name), 2, "put its file 'meta' back")) << name;
    }
    EXPECT_TRUE(open().has_error()) << "the second start is no other";
  }

  SteadyClock clock_;
  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path("store");
};

TEST_F(LostMeta, MissingEmptiedBlankedOrOverwrittenIsRefusedByAll) {
  const auto size = fs::file_size(meta());
  fs::rename(meta(), scratch_.path("kept"));
  for (const char* name : {"inspect", "fsck"}) {
    EXPECT_TRUE(says(tool(name), 2, "there is no file 'meta', and")) << name;
  }
  expect_refused("missing");
  fs::resize_file(meta(), 0);
  expect_refused("emptied");
  fs::resize_file(meta(), size);
  expect_refused("blanked");
  {
    std::ofstream out(meta(), std::ios::binary | std::ios::trunc);
    for (std::uintmax_t i = 0; i < size; ++i) out.put('x');
  }
  expect_refused("overwritten");
  fs::rename(scratch_.path("kept"), meta());
  LiveStore store(directory_);
  EXPECT_EQ(store.served(0), kStoreBlocks) << "what was put back is served";
}

TEST_F(LostMeta, TheStoreIsReplacedWhereThePolicySaysSo) {
  fs::remove(meta());
  ASSERT_TRUE(open().has_error());
  const auto opened = open(true);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(opened->tier->recovery().fresh);
  EXPECT_EQ(opened->tier->status().blocks, 0U);
}

TEST_F(LostMeta, CutBehindItsSuperblocksIsToldByAllAndWhatIsLeftIsServed) {
  set_log_level(LogLevel::warn);
  for (const std::int64_t left : {8192, 100000}) {
    fs::resize_file(meta(), static_cast<std::uintmax_t>(left));
    EXPECT_TRUE(says(tool("fsck"), 1, "'meta' was cut short")) << left;
    EXPECT_TRUE(says(tool("inspect"), 0, "'meta' was cut short")) << left;
    testing::internal::CaptureStderr();
    const auto opened = open();
    const std::string logged = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_TRUE(opened->damaged);
    EXPECT_NE(logged.find("'meta' was cut short"), std::string::npos) << logged;
    EXPECT_FALSE(opened->tier->recovery().fresh);
  }
  set_log_level(LogLevel::off);
}

TEST_F(LostMeta, AWholeStoreIsNotCalledDamaged) {
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_FALSE(opened->damaged);
}

TEST_F(LostMeta, AnInterruptedBeginningIsNoDamage) {
  // Segments as they are made, and a head that nothing was written to.
  const std::string fresh = scratch_.path("fresh");
  fs::create_directory(fresh);
  { const LiveStore store(fresh); }
  const auto size = fs::file_size(fresh + "/meta");
  fs::resize_file(fresh + "/meta", 0);
  fs::resize_file(fresh + "/meta", size);
  EXPECT_TRUE(says(run_program({"inspect", fresh}), 2, "holds no store"));
  LiveStore store(fresh);
  EXPECT_TRUE(store.tier().recovery().fresh);
  EXPECT_EQ(store.write(0), kStoreBlocks);
}

}  // namespace
}  // namespace fulcrum::test
