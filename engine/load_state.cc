#include "engine/load_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace fulcrum {

std::string_view to_string(LoadEnd end) {
  switch (end) {
    case LoadEnd::running:
      return "running";
    case LoadEnd::complete:
      return "complete";
    case LoadEnd::stopped:
      return "stopped";
    case LoadEnd::cancelled:
      return "cancelled";
  }
  return "";
}

}  // namespace fulcrum

namespace fulcrum::engine {

LoadState::LoadState(LoadId id, const Plan& plan, std::uint32_t first, std::uint32_t count,
                     LoadOptions options, std::size_t row_bytes, std::shared_ptr<const LoadHooks> hooks)
    : id_(id),
      plan_(plan),
      first_(first),
      count_(count),
      into_(std::move(options.into)),
      row_bytes_(row_bytes),
      hooks_(std::move(hooks)),
      rows_(count),
      on_progress_(std::move(options.on_progress)) {}

void LoadState::give_up() {
  Calls calls;
  Callback gone;
  std::vector<Lease> rows;
  {
    const std::thread::id here = std::this_thread::get_id();
    const auto nobody = std::thread::id();
    std::unique_lock lock(mutex_);
    given_up_ = true;
    if (end_ == LoadEnd::running && ending_ == LoadEnd::running) ending_ = LoadEnd::cancelled;
    changed_.wait(lock, [&] { return copying_ == 0 && (reporting_ == nobody || reporting_ == here); });
    calls = settle();
    rows.swap(rows_);
    if (reporting_ == nobody) gone.swap(on_progress_);  // else we are inside of it: report() sees to it
  }
  call(std::move(calls));
  if (count_ > 0) hooks_->dropped(id_);
}

LoadProgress LoadState::progress() const {
  const std::lock_guard lock(mutex_);
  return {ready_, end_};
}

std::span<const std::byte> LoadState::row(std::uint32_t i) const {
  const std::lock_guard lock(mutex_);
  FULCRUM_CHECK(!copies(), "the rows of this load are the host's own");
  FULCRUM_CHECK(i < ready_ && i >= released_, "a block that is ready and not released");
  return {rows_[i]->data(), row_bytes_};
}

void LoadState::release(std::uint32_t blocks) {
  if (copies()) return;
  bool any = false;
  for (bool more = true; more; any = any || more) {  // one at a time: no memory is needed to give some back
    Lease gone;
    const std::lock_guard lock(mutex_);
    more = released_ < std::min(blocks, ready_);
    if (more) gone = std::move(rows_[released_++]);
  }
  if (any) hooks_->released(id_);
}

LoadProgress LoadState::wait(std::uint32_t blocks) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_ >= blocks || end_ != LoadEnd::running; });
  return {ready_, end_};
}

bool LoadState::when(std::uint32_t blocks, std::function<void()> resume) {
  const auto alive = shared_from_this();  // who is resumed may let go of all of this before we return
  const std::lock_guard lock(mutex_);
  if (ready_ >= blocks || end_ != LoadEnd::running) return false;
  or_stop("until()", [&] { waiters_.push_back({blocks, std::move(resume)}); });
  return true;
}

void LoadState::put(std::uint32_t i, Lease row) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    const bool over = end_ != LoadEnd::running || ending_ != LoadEnd::running;
    if (over || i < arrived_ || rows_[i]) return;
    rows_[i] = std::move(row);
    while (arrived_ < count_ && rows_[arrived_]) ++arrived_;
    calls = settle();
  }
  call(std::move(calls));
}

std::vector<Lease> LoadState::take_to_copy(std::uint32_t& begin) {
  // A bounded part at a time, so that many loads share the copying threads.
  constexpr std::size_t kBytesAtOnce = std::size_t{32} << 20;
  const std::lock_guard lock(mutex_);
  if (copying_ > 0 || ending_ != LoadEnd::running || arrived_ == ready_) return {};
  begin = ready_;
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(1, kBytesAtOnce / row_bytes_));
  copying_ = std::min(arrived_ - ready_, most);
  std::vector<Lease> rows;
  for (std::uint32_t i = begin; i < begin + copying_; ++i) rows.push_back(std::move(rows_[i]));
  return rows;
}

void LoadState::copied(std::uint32_t blocks) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    FULCRUM_CHECK(blocks == copying_, "the copy that was begun");
    copying_ = 0;
    ready_ += blocks;
    calls = settle();
  }
  call(std::move(calls));
}

void LoadState::finish(LoadEnd end) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (end_ != LoadEnd::running || ending_ != LoadEnd::running) return;
    ending_ = end;
    calls = settle();
  }
  call(std::move(calls));
}

bool LoadState::ended() const {
  const std::lock_guard lock(mutex_);
  return end_ != LoadEnd::running || ending_ != LoadEnd::running;
}

std::uint32_t LoadState::arrived() const {
  const std::lock_guard lock(mutex_);
  return arrived_;
}

LoadState::Calls LoadState::settle() {
  if (!copies()) ready_ = arrived_;
  if (count_ > 0 && ready_ == count_) {
    end_ = LoadEnd::complete;
  } else if (ending_ != LoadEnd::running && copying_ == 0) {
    end_ = ending_;
    for (std::size_t i = ready_; i < rows_.size(); ++i) rows_[i].reset();  // beyond a gap: of no use
  }
  Calls calls;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const bool due = ready_ >= waiter->blocks || end_ != LoadEnd::running;
    if (due) calls.push_back(std::move(waiter->resume));
    waiter = due ? waiters_.erase(waiter) : waiter + 1;
  }
  const bool news = ready_ != told_.ready || end_ != told_.end;
  if (on_progress_ && !given_up_ && news) {
    told_ = {ready_, end_};
    if (!std::exchange(report_queued_, true))
      calls.push_back([self = shared_from_this()] { self->report(); });
  }
  changed_.notify_all();
  return calls;
}

void LoadState::call(Calls calls) {
  for (auto& each : calls) hooks_->on_engine(std::move(each));
}

void LoadState::report() {
  std::unique_lock lock(mutex_);
  report_queued_ = false;
  if (given_up_) return;
  const LoadProgress now = told_;
  reporting_ = std::this_thread::get_id();
  lock.unlock();
  on_progress_(now);  // nobody touches it meanwhile
  lock.lock();
  Callback gone;
  if (given_up_ || now.end != LoadEnd::running) gone.swap(on_progress_);
  lock.unlock();
  gone = nullptr;  // may drop this very load, which must not wait for us
  lock.lock();
  reporting_ = {};
  changed_.notify_all();
}

}  // namespace fulcrum::engine
