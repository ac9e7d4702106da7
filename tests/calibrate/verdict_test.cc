// Each check is shown a recording that it must refuse and one that it must pass.
#include "calibrate/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace fulcrum::calibrate {
namespace {

constexpr IoMode kDirect{true, true};
constexpr IoMode kBuffered{true, false};

MediumProof proof(double fetched, double by_device, double resident) {
  MediumProof made;
  made.asked = 1_GiB;
  made.process_read = Bytes(static_cast<std::int64_t>(fetched * 1073741824));
  made.device_read = Bytes(static_cast<std::int64_t>(by_device * 1073741824));
  made.resident_share = resident;
  return made;
}

Verdict medium(const MediumProof& made, IoMode mode) {
  Judgement judgement;
  check_medium(made, mode, judgement);
  return judgement.verdict;
}

TEST(Verdict, BytesThatTheDeviceMovedAreGood) {
  EXPECT_EQ(medium(proof(1.0, 1.0, 0), kDirect), Verdict::good);
  EXPECT_EQ(medium(proof(1.0, 1.0, 0), kBuffered), Verdict::good);
  EXPECT_EQ(medium(proof(1.0, 0.0, 0), kDirect), Verdict::good) << "no block device below: no counter";
}

TEST(Verdict, BytesThatNobodyFetchedAreCached) {
  EXPECT_EQ(medium(proof(0.9, 0.9, 0), kDirect), Verdict::cached);
  EXPECT_EQ(medium(proof(1.0, 0.5, 0), kDirect), Verdict::cached);
  EXPECT_EQ(medium(proof(1.0, 1.0, 0.3), kDirect), Verdict::cached);
}

TEST(Verdict, WithoutCountersOnlyDirectReadsAreBelieved) {
  MediumProof silent;
  silent.known = false;
  EXPECT_EQ(medium(silent, kDirect), Verdict::good);
  EXPECT_EQ(medium(silent, kBuffered), Verdict::cached);
}

TEST(Verdict, OthersOnTheDeviceAreMentionedOnly) {
  Judgement judgement;
  check_medium(proof(1.0, 1.4, 0), kDirect, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::good);
  EXPECT_EQ(judgement.findings.size(), 1U);
}

TEST(Verdict, WrongBytesAreInvalid) {
  Judgement judgement;
  check_data(0, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::good);
  check_data(1, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::invalid);
}

TEST(Verdict, ReadingAgainMustNotBeFaster) {
  const std::vector<double> first = {100, 102, 98, 101, 99, 100, 103, 97};
  const std::vector<double> same = {101, 99, 100, 98, 103, 102, 100, 99};
  const std::vector<double> faster = {300, 310, 290, 305, 295, 300, 320, 280};
  Judgement honest;
  check_again(first, same, honest);
  EXPECT_EQ(honest.verdict, Verdict::good);
  Judgement cached;
  check_again(first, faster, cached);
  EXPECT_EQ(cached.verdict, Verdict::cached);
}

TEST(Verdict, ABusySubmitterIsTheLimit) {
  Judgement idle;
  check_processor(0.5, idle);
  EXPECT_EQ(idle.verdict, Verdict::good);
  Judgement busy;
  check_processor(0.9, busy);
  EXPECT_EQ(busy.verdict, Verdict::cpu_bound);
}

TEST(Verdict, SlowingDownIsThrottlingAndSpeedingUpIsNoise) {
  const std::vector<double> slower = {100, 101, 99, 100, 102, 70, 71, 69, 70, 72, 70};
  const std::vector<double> faster(slower.rbegin(), slower.rend());
  Judgement throttled;
  check_drift(slower, 1, throttled);
  EXPECT_EQ(throttled.verdict, Verdict::throttled);
  Judgement noisy;
  check_drift(faster, 1, noisy);
  EXPECT_EQ(noisy.verdict, Verdict::noisy);
}

TEST(Verdict, NeverGetsBetterAgain) {
  Judgement judgement;
  judgement.lower(Verdict::cached, "first");
  judgement.lower(Verdict::noisy, "second");
  EXPECT_EQ(judgement.verdict, Verdict::cached);
  EXPECT_EQ(judgement.findings.size(), 2U);
}

}  // namespace
}  // namespace fulcrum::calibrate
