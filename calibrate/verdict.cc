#include "calibrate/verdict.h"

#include <algorithm>
#include <cstdio>

#include "base/document.h"
#include "calibrate/stats.h"
#include "calibrate/steady_state.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kFetchedLeast = 0.95;
constexpr double kOthersMost = 1.10;
constexpr double kResidentMost = 0.05;
constexpr double kAgainMost = 1.3;
constexpr double kAgainClear = 1.15;
constexpr double kBusyMost = 0.8;
constexpr double kStepLeast = 0.10;
constexpr double kCloseToLimit = 5;  // degrees

}  // namespace

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

std::string degrees_text(double celsius) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f C", celsius);
  return text;
}

void Judgement::lower(Verdict to, std::string why) {
  verdict = std::max(verdict, to);
  note(std::move(why));
}

void check_data(std::int64_t wrong_sectors, Judgement& judgement) {
  if (wrong_sectors == 0) return;
  judgement.lower(Verdict::invalid, std::to_string(wrong_sectors) +
                                        " sectors did not hold what was written there: do not "
                                        "use this device before its cause is known");
}

void check_medium(const MediumProof& proof, IoMode mode, Judgement& judgement) {
  if (proof.resident_share > kResidentMost) {
    judgement.lower(Verdict::cached, percent_text(proof.resident_share) +
                                         " of the file was in the page cache when reads began");
  }
  if (!proof.known || proof.asked == Bytes(0)) {
    if (mode.direct) {
      judgement.note(
          "the system does not count this path's reads: that the medium was read rests on direct "
          "I/O alone");
    } else {
      judgement.lower(Verdict::cached,
                      "reads went through the page cache, and the system does not say how "
                      "many of them reached the medium");
    }
    return;
  }
  const double fetched = proof.process_read / proof.asked;
  if (fetched < kFetchedLeast) {
    judgement.lower(Verdict::cached, "only " + percent_text(fetched) +
                                         " of the bytes asked for were fetched from "
                                         "the storage layer");
  }
  const double by_device = proof.device_read / proof.asked;
  if (proof.device_read > Bytes(0) && by_device < kFetchedLeast) {
    judgement.lower(Verdict::cached, "only " + percent_text(by_device) +
                                         " of the bytes asked for were read by the "
                                         "block device");
  } else if (by_device > kOthersMost) {
    judgement.note("the device read " + percent_text(by_device - 1) +
                   " more than was asked for: others use it, or "
                   "the system reads ahead");
  }
}

void check_again(std::span<const double> first, std::span<const double> again, Judgement& judgement) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(first.size(), again.size()); ++i)
    ratios.push_back(again[i] / first[i]);
  if (ratios.empty()) return;
  const double ratio = median(ratios);
  if (ratio < kAgainMost || median_interval(ratios).low < kAgainClear) return;
  char times[32];
  std::snprintf(times, sizeof times, "%.1f", ratio);
  judgement.lower(Verdict::cached, std::string("the same bytes read again at once came ") + times +
                                       " times faster: a cache below the file answers");
}

void check_processor(double busiest, Judgement& judgement) {
  if (busiest <= kBusyMost) return;
  judgement.lower(Verdict::cpu_bound, "the submitting thread was busy for " + percent_text(busiest) +
                                          " of the time: the device may be faster than this");
}

void check_drift(std::span<const double> reference, std::uint64_t seed, Judgement& judgement) {
  const auto change = find_change(reference, kStepLeast, seed);
  if (!change) return;
  const std::string levels = " from " + format(BytesPerSecond(change->before)) + " to " +
                             format(BytesPerSecond(change->after)) + " during the calibration";
  if (change->after < change->before) {
    judgement.lower(Verdict::throttled, "the same reads slowed down" + levels);
  } else {
    judgement.lower(Verdict::noisy,
                    "the same reads sped up" + levels + ": was something else busy at first?");
  }
}

void check_heat(const std::optional<Heat>& heat, Judgement& judgement) {
  if (!heat) {
    judgement.note("the drive's temperature cannot be read: heat that slows it down would not be seen");
    return;
  }
  if (!heat->limit || heat->hottest < *heat->limit - kCloseToLimit) return;
  const std::string rise = "the drive rose from " + degrees_text(heat->before) + " to " +
                           degrees_text(heat->hottest) + "; it slows itself down at " +
                           degrees_text(*heat->limit);
  if (heat->hottest < *heat->limit) {
    judgement.note(rise + ": under steady load it may get there");
  } else {
    judgement.lower(Verdict::throttled, rise + ": cool it better and measure again");
  }
}

void check_narrow(const std::string& what, double value, Interval<double> interval, double target,
                  Judgement& judgement) {
  const double half = relative_half_width(value, interval);
  if (half <= target) return;
  judgement.lower(Verdict::noisy, what + " is known to +-" + percent_text(half) + " only; " +
                                      percent_text(target) + " was wanted");
}

}  // namespace fulcrum::calibrate
