#include "tiers/file_tier_impl.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "tiers/store_reader.h"

namespace fulcrum {
namespace {

constexpr int kRoundsMost = 64;  // of one poll() before it tells what has happened so far

}  // namespace

FileTier::Impl::Impl(std::unique_ptr<Device> device, const FileTierOptions& options, Clock& clock,
                     StoreStart&& start, Buffers&& buffers)
    : device_(std::move(device)),
      superblock_(start.superblock),
      report_(start.report),
      core_(options, clock, *device_, std::move(start.state)),
      reads_(core_),
      writes_(core_, std::move(buffers.headers)),
      reclaim_(core_, writes_, std::move(buffers.rows)),
      upkeep_(core_, std::move(buffers.probe)),
      slot_(start.slot) {}

FileTier::Impl::~Impl() {
  // Before the buffers that it may still write to.
  device_.reset();
}

Result<void> FileTier::Impl::begin(Seconds limit) {
  if (core_.options.read_only) return {};
  if (report_.fresh) {
    IoRequest take;
    take.kind = IoKind::allocate;
    take.length = core_.options.layout.meta_bytes.value();
    Result<void> taken = run_request(*device_, take, core_.clock, limit);
    if (taken.has_error() && taken.error().kind != ErrorKind::unsupported) return taken;
  }
  Result<Journal> journal = Journal::create(superblock_, slot_, core_);
  if (journal.has_error()) return journal.error();
  core_.journal.emplace(std::move(*journal));
  while (const std::optional<IoRequest> request = core_.journal->next(core_.time_ms())) {
    Result<void> done = run_request(*device_, *request, core_.clock, limit);
    if (done.has_error()) return done;
    core_.journal->done(done);
  }
  superblock_ = core_.journal->superblock();
  return {};
}

// Asked for each job: nothing but the refusal may cost anything.
Result<void> FileTier::Impl::takes(bool writes) const {
  const Health health = core_.health.health();
  const bool reads_only = core_.options.read_only || health != Health::healthy;
  if (!closed_ && health != Health::disabled && health != Health::dead && !(writes && reads_only)) return {};
  const std::string where = device_->identity().path;
  const std::string what = writes ? "write" : "read";
  if (closed_) return make_error(ErrorKind::stale, what, where, "the tier is closed", "open it again");
  if (health == Health::disabled || health == Health::dead) {
    return make_error(ErrorKind::device, what, where,
                      "the tier is " + std::string(to_string(health)) + ": " + core_.health.reason());
  }
  if (core_.options.read_only) {
    return make_error(ErrorKind::read_only, what, where, "the tier was opened for reading only");
  }
  return make_error(ErrorKind::read_only, what, where, "the tier takes no writes: " + core_.health.reason());
}

void FileTier::Impl::unblock_writes() {
  if (!writes_.wants_segment() || !core_.growth_refused || reclaim_.busy()) return;
  const SegmentTable& segments = core_.state.segments;
  for (const SegmentState state :
       {SegmentState::free, SegmentState::growing, SegmentState::open, SegmentState::sealed}) {
    if (segments.count(state) > 0) return;
  }
  // There is no segment at all, and none to be had.
  const Error refused = *core_.growth_refused;
  core_.on_write(refused);
  writes_.fail_waiting(refused);
}

bool FileTier::Impl::round() {
  const std::uint64_t before = core_.activity + core_.queue.pushed();
  const Result<std::size_t> collected = core_.queue.collect(Seconds(0));
  if (collected.has_error()) {
    device_lost_ = true;
    core_.health.on_dead("the device answers no more: " + collected.error().message());
    return false;
  }
  if (core_.journal) {
    writes_.step();
    reclaim_.step();
    unblock_writes();
  }
  upkeep_.step();
  core_.queue.pump();
  return *collected > 0 || core_.activity + core_.queue.pushed() != before;
}

bool FileTier::Impl::rest(Seconds deadline) {
  Seconds until = std::min(deadline, upkeep_.due_at());
  if (const auto due = writes_.due_at(); due && *due > core_.clock.now()) until = std::min(until, *due);
  const Seconds now = core_.clock.now();
  std::unique_lock lock(mutex_);
  if (std::exchange(woken_, false)) return false;
  if (until <= now) return true;
  if (device_->in_flight() == 0 || device_lost_) {
    core_.clock.wait(lock, signal_, until - now);
    return !std::exchange(woken_, false);
  }
  lock.unlock();
  const Result<std::size_t> collected = core_.queue.collect(until - now);
  if (collected.has_error()) {
    device_lost_ = true;
    core_.health.on_dead("the device answers no more: " + collected.error().message());
  } else if (*collected == 0 && core_.clock.now() == now) {
    // A clock that only sleeping moves, and a device that does not answer.
    core_.clock.sleep(until - now);
  }
  lock.lock();
  return !std::exchange(woken_, false);
}

std::size_t FileTier::Impl::poll(std::span<TierEvent> out, Seconds wait) {
  const Seconds deadline = core_.clock.now() + wait;
  for (;;) {
    // What has come is told at once: whoever hears of it asks for more.
    for (int i = 0; i < kRoundsMost && (core_.events.empty() || out.empty()) && round(); ++i) {
    }
    const bool over = !core_.events.empty() || out.empty() || core_.clock.now() >= deadline;
    if (over || !rest(deadline)) break;
  }
  const std::size_t count = std::min(out.size(), core_.events.size());
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = std::move(core_.events.front());
    core_.events.pop_front();
  }
  return count;
}

void FileTier::Impl::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  signal_.notify_one();
  device_->wake();
}

void FileTier::Impl::drain(Seconds deadline) {
  for (;;) {
    for (int i = 0; i < kRoundsMost && round(); ++i) {
    }
    const bool jobs = reads_.jobs() > 0 || writes_.jobs() > 0 || writes_.moving();
    if (!jobs || core_.clock.now() >= deadline || device_lost_) return;
    rest(deadline);
  }
}

Result<void> FileTier::Impl::write_goodbye(Seconds deadline) {
  upkeep_.history().account();
  upkeep_.history().write_down();
  core_.journal->request_close();
  while (!core_.journal->closed() && !core_.journal->broken() && !device_lost_) {
    const bool moved = round();
    if (core_.journal->closed() || core_.journal->broken()) break;
    if (core_.clock.now() >= deadline) {
      return make_error(ErrorKind::timed_out, "close", device_->identity().path,
                        "the device did not answer in time", "the next start recovers what was written");
    }
    if (!moved) rest(deadline);
  }
  if (!core_.journal->closed()) {
    return core_.write_refused.value_or(
        make_error(ErrorKind::device, "close", device_->identity().path, "the journal could not be closed"));
  }
  return {};
}

Result<void> FileTier::Impl::close(Seconds limit) {
  if (closed_) return {};
  const Seconds deadline = core_.clock.now() + limit;
  core_.closing = true;
  drain(deadline);
  closed_ = true;
  reads_.cancel_all();
  writes_.cancel_all();
  reclaim_.stop();
  if (!core_.journal) return {};
  if (core_.journal->broken() || core_.health.health() != Health::healthy) {
    return make_error(ErrorKind::device, "close", device_->identity().path,
                      "the tier is not healthy: " + core_.health.reason(),
                      "the next start recovers what was written");
  }
  return write_goodbye(deadline);
}

TierStatus FileTier::Impl::status() const {
  const FileLayout& layout = core_.options.layout;
  TierStatus status;
  status.health = core_.health.health();
  status.reason = core_.health.reason();
  const std::uint32_t allocated = core_.state.segments.allocated();
  if (status.reason.empty() && core_.growth_refused) {
    status.reason = "only " + std::to_string(allocated) + " of " + std::to_string(layout.segments) +
                    " segments could be had: " + core_.growth_refused->message();
  }
  status.capacity = layout.capacity();
  status.blocks = core_.state.index.blocks();
  status.live = layout.row_bytes * static_cast<std::int64_t>(status.blocks);
  status.used = status.live + layout.row_bytes * static_cast<std::int64_t>(core_.rows_being_written);
  status.at_once = core_.options.budget;
  status.allocated = layout.meta_bytes + layout.segment_bytes * static_cast<std::int64_t>(allocated);
  return status;
}

void FileTier::Impl::each_run(const std::function<void(const StoredRun&)>& visit) const {
  const std::uint64_t now = core_.time_ms();
  for (std::uint32_t id = 0; id < core_.state.index.extents_end(); ++id) {
    const ExtentFacts& extent = core_.state.index.extent(id);
    StoredRun run;
    const auto flush = [&] {
      if (!run.keys.empty()) visit(run);
      run = {};
    };
    for (std::size_t i = 0; i < extent.blocks.size(); ++i) {
      const StoredBlock& block = extent.blocks[i];
      if (!block.live()) {
        flush();
        continue;
      }
      if (run.keys.empty()) {
        run.parent = i == 0 ? extent.parent : extent.blocks[i - 1].key;
        run.first = extent.first + static_cast<std::uint32_t>(i);
        run.worth = block.worth;
        run.age = Seconds(static_cast<double>(now - std::min(now, extent.used_ms)) * 1e-3);
      }
      run.worth = std::max(run.worth, block.worth);
      run.keys.push_back(block.key);
    }
    flush();
  }
}

}  // namespace fulcrum
