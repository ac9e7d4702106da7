#include <array>
#include <utility>

#include "engine/port.h"

namespace fulcrum::engine {
namespace {

constexpr std::size_t kEvents = 64;

}  // namespace

InlinePort::InlinePort(std::unique_ptr<Tier> tier, Listener listener)
    : tier_(std::move(tier)), listener_(std::move(listener)) {}

void InlinePort::read(TierRead job) {
  const JobId id = job.id;
  Result<void> started = tier_->read(std::move(job));
  if (started.has_error()) refused_.push_back({.id = id, .ended = true, .result = started});
}

void InlinePort::write(TierWrite job) {
  const JobId id = job.id;
  Result<void> started = tier_->write(std::move(job));
  if (started.has_error()) refused_.push_back({.id = id, .ended = true, .result = started});
}

void InlinePort::erase(std::vector<BlockKey> keys) {
  tier_->erase(keys);
}

void InlinePort::touch(std::vector<BlockKey> keys, float worth) {
  tier_->touch(keys, worth);
}

void InlinePort::cancel(JobId job) {
  tier_->cancel(job);
}

bool InlinePort::close(Seconds limit) {
  const bool closed = tier_->close(limit).has_value();
  pump();
  return closed && tier_->in_flight() == 0;
}

bool InlinePort::pump(Seconds wait) {
  PortNews news;
  news.events = std::exchange(refused_, {});
  std::array<TierEvent, kEvents> events;
  const std::size_t count = tier_->poll(events, news.events.empty() ? wait : Seconds(0));
  for (std::size_t i = 0; i < count; ++i) news.events.push_back(std::move(events[i]));
  news.lost = tier_->take_lost();
  news.status = tier_->status();
  news.tally = tier_->tally();
  const bool any = !news.events.empty() || !news.lost.empty();
  listener_(std::move(news));
  return any;
}

}  // namespace fulcrum::engine
