// EngineCore: the end. What only memory holds is written down as far as time and write limits go.
#include <algorithm>
#include <optional>

#include "engine/core.h"

namespace fulcrum::engine {
namespace {

// Writes that are under way at a time: enough for the largest commits, and few enough to be over in time.
constexpr Bytes kPartingMost{std::int64_t{128} << 20};
constexpr std::size_t kPartingJobs = 256;
// What is given is to be written in this share of the time that is left, at the rates of the profile.
constexpr double kPartingShare = 0.5;
// A tier gathers writes for a while; it also needs a moment to close.
constexpr Seconds kPartingEnd{0.2};
constexpr BytesPerSecond kUnknownRate{1e8};

}  // namespace

void EngineCore::begin_close(Seconds now, Seconds limit) {
  now_ = active_ = std::max(now, now_);
  parting_ = parting_ || !closing_;
  closing_ = true;
  close_at_ = now_ + limit;
  for (auto& [id, record] : loads_) record.state->finish(LoadEnd::cancelled);
  settle(now_);
}

bool EngineCore::quiet() const {
  return loads_.empty() && jobs_.empty() && copies_.empty() && stores_.empty() && !parting_;
}

// The slowest of the tiers that are written to counts.
BytesPerSecond EngineCore::parting_rate() const {
  std::optional<BytesPerSecond> least;
  for (std::size_t i = 1; i < tiers_.size(); ++i) {
    const TierProfile* profile = decider_.profile().tier(decider_.policy().tiers[i].profile);
    const bool known = profile != nullptr && profile->write.value > BytesPerSecond(0);
    const BytesPerSecond rate = known ? profile->write.value : kUnknownRate;
    if (tiers_[i].writable) least = std::min(least.value_or(rate), rate);
  }
  return least.value_or(kUnknownRate);
}

// Stores that were taken come first: what they bring may be worth writing down too.
void EngineCore::part(Seconds now) {
  if (!parting_) return;
  const Seconds left = close_at_ - now - kPartingEnd;
  const double affordable = parting_rate().value() * left.value() * kPartingShare;
  const Bytes most = affordable < static_cast<double>(kPartingMost.value())
                         ? Bytes(static_cast<std::int64_t>(std::max(affordable, 0.0)))
                         : kPartingMost;
  if (most < parts_.row_bytes) {
    parting_ = false;
    return;
  }
  if (!loads_.empty() || !copies_.empty() || !stores_.empty()) return;
  while (parting_ && writing_ + parts_.row_bytes <= most && jobs_.size() < kPartingJobs) {
    const std::optional<Bytes> ordered = decider_.on_close(most - writing_, now);
    if (!ordered) parting_ = false;
    if (!ordered || *ordered == Bytes(0)) return;  // nothing is left, or the write limits allow none now
    carry_out(now);
  }
}

}  // namespace fulcrum::engine
