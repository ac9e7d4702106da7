// One owner a directory: in this process, in others, after a kill; and whoever is second learns who is first.
#include "tiers/owner_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/support/scratch.h"

namespace fulcrum::test {
namespace {

using Share = OwnerLock::Share;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string refusal(const std::string& directory, Share share = Share::exclusive) {
  const auto lock = OwnerLock::take(directory, share);
  if (lock.has_value()) return "taken";
  return lock.error().kind == ErrorKind::busy ? lock.error().message()
                                              : "wrong kind: " + lock.error().message();
}

/// A child process that holds the lock until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& directory) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      const auto lock = OwnerLock::take(directory, Share::exclusive);
      const char told = lock.has_value() ? 'y' : 'n';
      if (write(ends[1], &told, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char told = 'n';
    EXPECT_EQ(read(ends[0], &told, 1), 1);
    EXPECT_EQ(told, 'y');
    close(ends[0]);
    close(ends[1]);
  }
  ~Holder() { kill_it(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  [[nodiscard]] pid_t pid() const { return child_; }
  void kill_it() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

TEST(OwnerLock, ASecondOwnerInTheSameProcessIsToldOfTheFirst) {
  const ScratchDirectory directory;
  auto first = OwnerLock::take(directory.path(), Share::exclusive);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const std::string text = refusal(directory.path());
  EXPECT_NE(text.find("held by pid " + std::to_string(getpid()) + " on host "), std::string::npos) << text;
  EXPECT_NE(text.find(" since 20"), std::string::npos) << text;
  first->reset();
  EXPECT_EQ(refusal(directory.path()), "taken");
}

TEST(OwnerLock, ASecondOwnerUnderAnotherNameOfTheDirectoryIsRefusedToo) {
  const ScratchDirectory directory;
  const std::string other = directory.path("link");
  std::filesystem::create_directory_symlink(directory.path(), other);
  const auto first = OwnerLock::take(directory.path(), Share::exclusive);
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(refusal(other).find("held by"), std::string::npos);
}

TEST(OwnerLock, AnOwnerInAnotherProcessIsNamedAndAKilledOneIsNoObstacle) {
  const ScratchDirectory directory;
  Holder holder(directory.path());
  const std::string text = refusal(directory.path());
  EXPECT_NE(text.find("held by pid " + std::to_string(holder.pid())), std::string::npos) << text;
  holder.kill_it();
  EXPECT_NE(text_of(directory.path("LOCK")).find("pid "), std::string::npos) << "the record is still there";
  EXPECT_EQ(refusal(directory.path()), "taken");
}

TEST(OwnerLock, OfManyThreadsOneAtATimeHoldsIt) {
  const ScratchDirectory directory;
  std::atomic<int> holders{0};
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        auto lock = OwnerLock::take(directory.path(), Share::exclusive);
        if (lock.has_error()) continue;
        EXPECT_EQ(++holders, 1);
        ++taken;
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(taken, 0);
}

TEST(OwnerLock, EachHoldingHasItsOwnRecordAndLeavesNone) {
  const ScratchDirectory directory;
  auto first = OwnerLock::take(directory.path(), Share::exclusive);
  const std::uint64_t nonce = (*first)->record().nonce;
  EXPECT_EQ((*first)->record().pid, getpid());
  EXPECT_FALSE((*first)->record().boot.empty());
  EXPECT_NE(text_of(directory.path("LOCK")).find("boot " + (*first)->record().boot), std::string::npos);
  EXPECT_EQ(std::filesystem::status(directory.path("LOCK")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  first->reset();
  EXPECT_EQ(text_of(directory.path("LOCK")).find("pid"), std::string::npos);
  const auto second = OwnerLock::take(directory.path(), Share::exclusive);
  EXPECT_NE((*second)->record().nonce, nonce);
}

TEST(OwnerLock, ReadersShareAndExcludeOwners) {
  const ScratchDirectory directory;
  { const auto owner = OwnerLock::take(directory.path(), Share::exclusive); }
  const auto one = OwnerLock::take(directory.path(), Share::reading);
  const auto two = OwnerLock::take(directory.path(), Share::reading);
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_NE(refusal(directory.path()).find("another process is reading it"), std::string::npos);
}

TEST(OwnerLock, ReadersAreRefusedWhereThereIsAnOwnerAndNeedNoLockWhereThereNeverWasOne) {
  const ScratchDirectory directory;
  EXPECT_TRUE(OwnerLock::take(directory.path(), Share::reading).has_value());
  EXPECT_TRUE(directory.empty()) << "a reader changes nothing";
  const Holder holder(directory.path());
  EXPECT_NE(refusal(directory.path(), Share::reading).find("held by pid"), std::string::npos);
}

TEST(OwnerLock, ARecordOfNonsenseIsNoObstacle) {
  const ScratchDirectory directory;
  ASSERT_FALSE(directory.write("LOCK", std::string(5000, '\xff')).empty());
  EXPECT_EQ(refusal(directory.path()), "taken");
  const auto owner = OwnerLock::take(directory.path(), Share::exclusive);
  ASSERT_TRUE(owner.has_value());
  EXPECT_NE(refusal(directory.path()).find("held by pid"), std::string::npos);
}

TEST(OwnerLock, DeletingTheLockFileLetsNobodyIn) {
  const ScratchDirectory directory;
  ASSERT_FALSE(directory.write("meta", "a store").empty());
  Holder holder(directory.path());
  for (const Share share : {Share::exclusive, Share::reading}) {
    ASSERT_TRUE(std::filesystem::remove(directory.path("LOCK")) || share == Share::reading);
    const std::string text = refusal(directory.path(), share);
    EXPECT_NE(text.find("LOCK was deleted"), std::string::npos) << text;
    EXPECT_NE(text.find("fuser " + directory.path("meta")), std::string::npos) << text;
  }
  holder.kill_it();
  EXPECT_EQ(refusal(directory.path()), "taken");
}

TEST(OwnerLock, DeletingTheLockFileLetsNobodyIntoAStoreThatWasMadeSince) {
  const ScratchDirectory directory;
  const auto owner = OwnerLock::take(directory.path(), Share::exclusive);
  ASSERT_TRUE(owner.has_value()) << owner.error().message();
  ASSERT_FALSE(directory.write("meta", "a store").empty());
  ASSERT_FALSE((*owner)->cover_meta().has_error());
  ASSERT_TRUE(std::filesystem::remove(directory.path("LOCK")));
  EXPECT_NE(refusal(directory.path()).find("LOCK was deleted"), std::string::npos);
}

TEST(OwnerLock, WhatIsNoFileInItsPlaceIsNamed) {
  const ScratchDirectory directory;
  const auto expect_named = [&](const char* what) {
    const auto lock = OwnerLock::take(directory.path(), Share::exclusive);
    ASSERT_TRUE(lock.has_error()) << what;
    EXPECT_EQ(lock.error().kind, ErrorKind::bad_input) << what;
    EXPECT_EQ(lock.error().where, directory.path("LOCK")) << what;
    EXPECT_NE(lock.error().next_step.find("move it away"), std::string::npos) << what;
    std::filesystem::remove(directory.path("LOCK"));
  };
  std::filesystem::create_directory(directory.path("LOCK"));
  expect_named("a directory");
  std::filesystem::create_symlink("/nowhere", directory.path("LOCK"));
  expect_named("a link");
  ASSERT_EQ(mkfifo(directory.path("LOCK").c_str(), 0600), 0);
  expect_named("a pipe");
  EXPECT_EQ(refusal(directory.path()), "taken");
}

TEST(OwnerLock, ALinkInItsPlaceIsNotFollowed) {
  const ScratchDirectory directory;
  const std::string victim = directory.write("victim", "precious");
  std::filesystem::create_symlink(victim, directory.path("LOCK"));
  EXPECT_FALSE(OwnerLock::take(directory.path(), Share::exclusive).has_value());
  EXPECT_EQ(text_of(victim), "precious");
}

}  // namespace
}  // namespace fulcrum::test
