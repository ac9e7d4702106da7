#include "base/clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>

namespace fulcrum {
namespace {

constexpr long kNanosPerSecond = 1'000'000'000;

timespec read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now;
}

}  // namespace

void Clock::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& signal, Seconds duration) {
  constexpr double kLongest = 86400;  // the system's clock type overflows on an endless wait
  const double seconds = std::min(duration.value(), kLongest);
  if (seconds > 0) signal.wait_for(lock, std::chrono::duration<double>(seconds));
}

Seconds SteadyClock::now() const {
  const timespec now = read_clock(CLOCK_MONOTONIC);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

void SteadyClock::sleep(Seconds duration) {
  if (!(duration > Seconds(0))) return;
  timespec until = read_clock(CLOCK_MONOTONIC);
  const double whole = std::floor(duration.value());
  until.tv_sec += static_cast<time_t>(whole);
  until.tv_nsec += static_cast<long>((duration.value() - whole) * 1e9);
  if (until.tv_nsec >= kNanosPerSecond) {
    until.tv_nsec -= kNanosPerSecond;
    ++until.tv_sec;
  }
  // An absolute deadline does not drift when signals interrupt the wait.
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::string utc_stamp() {
  const timespec now = read_clock(CLOCK_REALTIME);
  std::tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), length};
}

}  // namespace fulcrum
