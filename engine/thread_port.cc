#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "base/out_of_memory.h"
#include "engine/port.h"

namespace fulcrum::engine {
namespace {

constexpr std::size_t kEvents = 64;
// A tier has work of its own (gathered writes, probes, checkpoints): it is polled this often without jobs.
constexpr Seconds kIdle{0.02};
// With jobs in flight a poll ends by itself when one of them moves; this bounds what a lost wake-up costs.
constexpr Seconds kBusy{0.05};

struct Erase {
  std::vector<BlockKey> keys;
};
struct Touch {
  std::vector<BlockKey> keys;
  float worth = 0;
};
struct Cancel {
  JobId job = 0;
};
using Command = std::variant<TierRead, TierWrite, Erase, Touch, Cancel>;

class ThreadPort final : public TierPort {
 public:
  ThreadPort(std::unique_ptr<Tier> tier, Listener listener)
      : tier_(std::move(tier)),
        listener_(std::move(listener)),
        thread_([this] { or_stop("the thread of a tier", [this] { run(); }); }) {}
  ~ThreadPort() override { close(Seconds(5)); }

  void read(TierRead job) override { push(std::move(job)); }
  void write(TierWrite job) override { push(std::move(job)); }
  void erase(std::vector<BlockKey> keys) override { push(Erase{std::move(keys)}); }
  void touch(std::vector<BlockKey> keys, float worth) override { push(Touch{std::move(keys), worth}); }
  void cancel(JobId job) override { push(Cancel{job}); }

  bool close(Seconds limit) override {
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) return clean_;
      close_limit_ = limit;
      closing_ = true;
    }
    wake();
    thread_.join();
    return clean_;
  }

 private:
  void push(Command command) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      commands_.push_back(std::move(command));
    }
    wake();
  }
  void wake() {
    ready_.notify_one();
    if (polling_.load()) tier_->wake();
  }

  void run();
  void apply(Command& command, std::vector<TierEvent>& refused);
  void tell(std::vector<TierEvent> events);

  std::unique_ptr<Tier> tier_;
  Listener listener_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Command> commands_;
  bool closing_ = false;
  Seconds close_limit_{};
  bool clean_ = true;
  std::atomic<bool> polling_ = false;
  Health health_told_ = Health::healthy;
  std::thread thread_;  // last: it uses all of the above
};

void ThreadPort::apply(Command& command, std::vector<TierEvent>& refused) {
  const auto start = [&](auto& job, const auto& begin) {
    const JobId id = job.id;
    Result<void> started = begin(std::move(job));
    if (started.has_error()) refused.push_back({.id = id, .ended = true, .result = started});
  };
  if (auto* read = std::get_if<TierRead>(&command)) {
    start(*read, [&](TierRead job) { return tier_->read(std::move(job)); });
  } else if (auto* write = std::get_if<TierWrite>(&command)) {
    start(*write, [&](TierWrite job) { return tier_->write(std::move(job)); });
  } else if (auto* erase = std::get_if<Erase>(&command)) {
    tier_->erase(erase->keys);
  } else if (auto* touch = std::get_if<Touch>(&command)) {
    tier_->touch(touch->keys, touch->worth);
  } else if (auto* cancel = std::get_if<Cancel>(&command)) {
    tier_->cancel(cancel->job);
  }
}

void ThreadPort::tell(std::vector<TierEvent> events) {
  PortNews news;
  news.events = std::move(events);
  news.lost = tier_->take_lost();
  news.status = tier_->status();
  if (news.events.empty() && news.lost.empty() && news.status.health == health_told_) return;
  health_told_ = news.status.health;
  news.tally = tier_->tally();
  listener_(std::move(news));
}

void ThreadPort::run() {
  std::array<TierEvent, kEvents> events;
  for (;;) {
    std::deque<Command> commands;
    bool closing = false;
    {
      std::unique_lock lock(mutex_);
      if (commands_.empty() && !closing_ && tier_->in_flight() == 0) {
        ready_.wait_for(lock, std::chrono::duration<double>(kIdle.value()));
      }
      commands.swap(commands_);
      closing = closing_;
      polling_ = true;  // from here on a wake-up is for the poll below
    }
    std::vector<TierEvent> told;
    for (Command& command : commands) apply(command, told);
    if (closing) break;
    const bool wait = told.empty() && tier_->in_flight() > 0;
    const std::size_t count = tier_->poll(events, wait ? kBusy : Seconds(0));
    polling_ = false;
    for (std::size_t i = 0; i < count; ++i) told.push_back(std::move(events[i]));
    tell(std::move(told));
  }
  const bool closed = tier_->close(close_limit_).has_value();
  std::vector<TierEvent> last;
  for (std::size_t count = 1; count > 0;) {
    count = tier_->poll(events, Seconds(0));
    for (std::size_t i = 0; i < count; ++i) last.push_back(std::move(events[i]));
  }
  tell(std::move(last));
  clean_ = closed && tier_->in_flight() == 0;
}

}  // namespace

std::unique_ptr<TierPort> make_thread_port(std::unique_ptr<Tier> tier, TierPort::Listener listener) {
  return std::make_unique<ThreadPort>(std::move(tier), std::move(listener));
}

}  // namespace fulcrum::engine
