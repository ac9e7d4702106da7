// TierPort: a tier behind a queue. The engine's core gives jobs and hears of them later; it never waits.
//
// InlinePort runs the tier in the caller's thread, for simulation and for tiers of memory; ThreadPort gives
// it a thread of its own. A job that the tier refuses ends like one that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tiers/tier.h"

namespace fulcrum::engine {

/// What happened on a tier since it was last told.
struct PortNews {
  std::vector<TierEvent> events;
  std::vector<BlockKey> lost;
  TierStatus status;
  TierTally tally;
};

class TierPort {
 public:
  using Listener = std::function<void(PortNews)>;

  virtual ~TierPort() = default;
  TierPort(const TierPort&) = delete;
  TierPort& operator=(const TierPort&) = delete;

  virtual void read(TierRead job) = 0;
  virtual void write(TierWrite job) = 0;
  virtual void erase(std::vector<BlockKey> keys) = 0;
  virtual void touch(std::vector<BlockKey> keys, float worth) = 0;
  virtual void cancel(JobId job) = 0;
  /// Closes the tier and ends the thread, in about `limit`. False where jobs did not end.
  virtual bool close(Seconds limit) = 0;

 protected:
  TierPort() = default;
};

/// Calls the tier at once; news comes from pump().
class InlinePort final : public TierPort {
 public:
  InlinePort(std::unique_ptr<Tier> tier, Listener listener);

  void read(TierRead job) override;
  void write(TierWrite job) override;
  void erase(std::vector<BlockKey> keys) override;
  void touch(std::vector<BlockKey> keys, float worth) override;
  void cancel(JobId job) override;
  bool close(Seconds limit) override;

  /// Polls the tier and tells the listener. True where there was news.
  bool pump(Seconds wait = Seconds(0));
  [[nodiscard]] Tier& tier() { return *tier_; }

 private:
  std::unique_ptr<Tier> tier_;
  Listener listener_;
  std::vector<TierEvent> refused_;
};

/// Gives the tier a thread. The listener is called from there.
[[nodiscard]] std::unique_ptr<TierPort> make_thread_port(std::unique_ptr<Tier> tier,
                                                         TierPort::Listener listener);

}  // namespace fulcrum::engine
