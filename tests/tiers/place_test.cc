// What a directory lies on, asked without writing there.
#include "tiers/place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch.h"
#include "tiers/file_device.h"

namespace fulcrum::test {
namespace {

TEST(Place, ADirectorySaysWhatADeviceOpenedThereSays) {
  const ScratchDirectory scratch;
  FileDeviceOptions options;
  options.size = 1_MiB;
  const auto device = FileDevice::open(scratch.path(), options);
  ASSERT_TRUE(device.has_value()) << device.error().message();
  const auto found = identity_at(scratch.path());
  ASSERT_TRUE(found.has_value()) << found.error().message();
  EXPECT_EQ(*found, (*device)->identity());
  EXPECT_FALSE(found->filesystem.empty());
}

TEST(Place, APlaceWhereNothingCanBeWrittenCanBeLookedAt) {
  const auto proc = identity_at("/proc");
  ASSERT_TRUE(proc.has_value()) << proc.error().message();
  EXPECT_EQ(proc->filesystem, "proc");
  EXPECT_TRUE(proc->device.empty());
}

TEST(Place, ManySpellingsOfADirectoryAreOnePlace) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path("d"));
  std::filesystem::create_directory_symlink("d", scratch.path("link"));
  for (const char* name : {"d/", "d/../d", "link"}) {
    const auto found = identity_at(scratch.path(name));
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(found->path, std::filesystem::canonical(scratch.path("d")).string()) << name;
  }
}

TEST(Place, WhatIsNoDirectoryIsNamed) {
  const ScratchDirectory scratch;
  for (const std::string& path : {scratch.path("absent"), scratch.write("file", "x")}) {
    const auto found = identity_at(path);
    ASSERT_TRUE(found.has_error()) << path;
    EXPECT_EQ(found.error().kind, ErrorKind::not_found);
    EXPECT_NE(found.error().message().find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace fulcrum::test
