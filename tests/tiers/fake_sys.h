// A /sys of its own: files and links below a scratch directory, as the kernel lays them out.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/scratch.h"

namespace fulcrum::test {

class FakeSys : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(root_.path()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// `link` leads to `target`; both are seen from the root.
  void link(const std::string& link, const std::string& target) {
    const std::filesystem::path root(root_.path());
    std::filesystem::create_directories((root / link).parent_path());
    std::filesystem::create_directory_symlink(root / target, root / link);
  }
  /// A drive with one partition, 259:0 and 259:1.
  void put_drive(const std::string& name, const std::string& rotational) {
    const std::string drive = "devices/block/" + name;
    put(drive + "/queue/rotational", rotational + "\n");
    put(drive + "/queue/scheduler", "none [mq-deadline] kyber\n");
    put(drive + "/device/model", "ACME Flash 2000      \n");
    put(drive + "/device/serial", "S123456\n");
    put(drive + "/stat", "10 0 100 0 20 0 200 0 0 0 0\n");
    put(drive + "/p1/partition", "1\n");
    put(drive + "/p1/stat", " 1 0 8 0 2 0 16 0 0 0 0 0 0 0 0 0 0\n");
    link("dev/block/259:0", drive);
    link("dev/block/259:1", drive + "/p1");
  }
  ScratchDirectory root_;
};

}  // namespace fulcrum::test
