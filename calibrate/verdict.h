// Verdicts: how far the numbers can be trusted, each question in a function of its own. Pure: they look at
// what a probe recorded, and can be shown to bite on recordings that were made up.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fulcrum/measured.h"
#include "fulcrum/profile.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

/// The verdict so far and why. It only ever gets worse.
struct Judgement {
  Verdict verdict = Verdict::good;
  std::vector<std::string> findings;  ///< one sentence each

  void note(std::string sentence) { findings.push_back(std::move(sentence)); }
  void lower(Verdict to, std::string why);
};

/// "12 %" and "41 C", for sentences.
[[nodiscard]] std::string percent_text(double share);
[[nodiscard]] std::string degrees_text(double celsius);

/// What the system's counters said about the reads of a probe.
struct MediumProof {
  bool known = true;          ///< false once the system did not say
  Bytes asked{};              ///< bytes that the probe read
  Bytes process_read{};       ///< bytes that the storage layer fetched for this process
  Bytes device_read{};        ///< bytes that the block device read; 0 where no device is known
  double resident_share = 0;  ///< largest share of the file in the page cache when a read began
};

/// Bytes that were read must be bytes that were written. Otherwise `invalid`.
void check_data(std::int64_t wrong_sectors, Judgement& judgement);
/// The medium must have moved the bytes: counters within 5 % of what was asked, no page resident. Otherwise
/// `cached`, and `cached` too where neither direct I/O nor a counter can show it.
void check_medium(const MediumProof& proof, IoMode mode, Judgement& judgement);
/// Reading the same bytes again at once must not be faster. Otherwise `cached`. Pairs of rates.
void check_again(std::span<const double> first, std::span<const double> again, Judgement& judgement);
/// The submitting thread must have been idle for a fifth of the time. Otherwise `cpu_bound`.
void check_processor(double busiest, Judgement& judgement);
/// The same traffic must be as fast at the end as at the start. Otherwise `throttled`, or `noisy` where it
/// became faster.
void check_drift(std::span<const double> reference, std::uint64_t seed, Judgement& judgement);
/// The drive must have stayed below the temperature at which it slows itself down. Otherwise `throttled`.
/// Close to it, or without a sensor, that is only mentioned.
void check_heat(const std::optional<Heat>& heat, Judgement& judgement);
/// The interval must have become as narrow as `target`. Otherwise `noisy`.
void check_narrow(const std::string& what, double value, Interval<double> interval, double target,
                  Judgement& judgement);

}  // namespace fulcrum::calibrate
