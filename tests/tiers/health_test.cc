// The way between healthy, degraded, disabled and dead.
#include "tiers/health.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/errors.h"

namespace fulcrum {
namespace {

Result<void> failure(int code) {
  return os_error(code, "write", "test");
}

const HealthLimits kLimits{
    .failures = 3, .window = Seconds(10), .probe_first = Seconds(1), .probe_longest = Seconds(8)};

TEST(HealthMonitor, IsDegradedByARefusedWriteAndHealedByAProbe) {
  for (const int code : {ENOSPC, EDQUOT, EROFS}) {
    HealthMonitor monitor(kLimits);
    monitor.on_write(failure(code), Seconds(100));
    EXPECT_EQ(monitor.health(), Health::degraded);
    EXPECT_FALSE(monitor.reason().empty());
    ASSERT_TRUE(monitor.probe_at().has_value());
    EXPECT_EQ(*monitor.probe_at(), Seconds(code == EROFS ? 108 : 101));
    monitor.on_probe_started(Seconds(108));
    monitor.on_probe({}, Seconds(108));
    EXPECT_EQ(monitor.health(), Health::healthy);
    EXPECT_TRUE(monitor.reason().empty());
    EXPECT_FALSE(monitor.probe_at().has_value());
    EXPECT_EQ(monitor.changes(), 2U);
  }
}

TEST(HealthMonitor, IsDisabledByFailuresWithinTheWindowOnly) {
  HealthMonitor monitor(kLimits);
  monitor.on_read(failure(EIO), Seconds(0));
  monitor.on_read(failure(EIO), Seconds(9));
  monitor.on_read(failure(EIO), Seconds(19.5));
  EXPECT_EQ(monitor.health(), Health::healthy) << "three, but not within 10 s";
  monitor.on_write(failure(EIO), Seconds(20));
  monitor.on_read(failure(EIO), Seconds(21));
  EXPECT_EQ(monitor.health(), Health::disabled);
}

TEST(HealthMonitor, DoesNotBlameTheDeviceForWrongChecksumsMissesOrCancelledJobs) {
  HealthMonitor monitor(kLimits);
  for (const ErrorKind kind :
       {ErrorKind::corrupt, ErrorKind::not_found, ErrorKind::interrupted, ErrorKind::busy}) {
    for (int i = 0; i < 10; ++i) monitor.on_read(make_error(kind, "read", "test", "it"), Seconds(0));
  }
  EXPECT_EQ(monitor.health(), Health::healthy);
}

TEST(HealthMonitor, ComesBackFromDisabledByWayOfDegraded) {
  HealthMonitor monitor(kLimits);
  for (int i = 0; i < 3; ++i) monitor.on_write(failure(EIO), Seconds(0));
  ASSERT_EQ(monitor.health(), Health::disabled);
  monitor.on_probe_started(Seconds(1));
  monitor.on_probe({}, Seconds(1));
  EXPECT_EQ(monitor.health(), Health::degraded);
  ASSERT_TRUE(monitor.probe_at().has_value());
  monitor.on_probe_started(*monitor.probe_at());
  monitor.on_probe({}, *monitor.probe_at());
  EXPECT_EQ(monitor.health(), Health::healthy);
}

TEST(HealthMonitor, ProbesAtGrowingIntervalsAndDoesNotFlap) {
  HealthMonitor monitor(kLimits);
  monitor.on_write(failure(ENOSPC), Seconds(0));
  std::vector<double> gaps;
  Seconds now(0);
  for (int i = 0; i < 6; ++i) {
    const Seconds at = *monitor.probe_at();
    gaps.push_back((at - now).value());
    now = at;
    monitor.on_probe_started(now);
    monitor.on_probe(failure(ENOSPC), now);
  }
  EXPECT_EQ(gaps, (std::vector<double>{1, 2, 4, 8, 8, 8}));
  monitor.on_probe_started(now);
  monitor.on_probe({}, now);
  ASSERT_EQ(monitor.health(), Health::healthy);
  monitor.on_write(failure(ENOSPC), now + Seconds(1));
  EXPECT_EQ(*monitor.probe_at() - (now + Seconds(1)), Seconds(8)) << "it fell ill again at once";
  monitor.on_probe_started(now + Seconds(9));
  monitor.on_probe({}, now + Seconds(9));
  monitor.on_write(failure(ENOSPC), now + Seconds(60));
  EXPECT_EQ(*monitor.probe_at() - (now + Seconds(60)), Seconds(1)) << "it was well for long";
}

TEST(HealthMonitor, StaysDeadWhateverHappens) {
  HealthMonitor monitor(kLimits);
  monitor.on_dead("unplugged");
  monitor.on_probe({}, Seconds(1));
  monitor.on_read({}, Seconds(1));
  monitor.on_write(failure(ENOSPC), Seconds(2));
  EXPECT_EQ(monitor.health(), Health::dead);
  EXPECT_EQ(monitor.reason(), "unplugged");
  EXPECT_FALSE(monitor.probe_at().has_value());
}

}  // namespace
}  // namespace fulcrum
