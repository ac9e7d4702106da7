#include "calibrate/load_runner.h"

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/errors.h"

namespace fulcrum::calibrate {
namespace {

constexpr Seconds kPoll{0.05};
constexpr Seconds kDrainLimit{5};
constexpr std::size_t kHeadsChecked = 3;  // of each read, while the clock runs
constexpr int kWriterDepth = 4;
constexpr std::int64_t kLeastRequests = 8;

Result<RunResult> finish(const Result<void>& outcome, const Tally& tally, Seconds cpu) {
  if (outcome.has_error()) return outcome.error();
  return tally.result(cpu);
}

}  // namespace

Result<LoadRunner> LoadRunner::create(Device& device, Clock& clock, Payload payload, Bytes arena,
                                      CpuMeter cpu, const std::atomic<bool>& stop, std::uint64_t seed) {
  auto memory = AlignedBuffer::allocate(static_cast<std::size_t>(arena.value()));
  if (memory.has_error()) return memory.error();
  payload.fill(memory->span());
  return LoadRunner(device, clock, payload, std::move(*memory), std::move(cpu), stop, seed);
}

LoadRunner::LoadRunner(Device& device, Clock& clock, Payload payload, AlignedBuffer arena, CpuMeter cpu,
                       const std::atomic<bool>& stop, std::uint64_t seed)
    : device_(&device),
      clock_(&clock),
      payload_(payload),
      arena_(std::move(arena)),
      cpu_(std::move(cpu)),
      stop_(&stop),
      random_(Random(seed).split("places")),
      completions_(128) {}

int LoadRunner::most_in_flight(Bytes io_size) const {
  const auto by_arena = static_cast<std::int64_t>(arena_.size()) / io_size.value();
  return static_cast<int>(std::min(by_arena, static_cast<std::int64_t>(device_->geometry().depth_max)));
}

Result<void> LoadRunner::fits(Bytes io_size, int requests) const {
  if (requests <= most_in_flight(io_size)) return {};
  return bad_input("calibration plan", std::to_string(requests) + " requests of " + format(io_size) +
                                           " in flight are more than buffers or device allow");
}

std::int64_t LoadRunner::random_place(Bytes bytes, Bytes align) {
  const std::int64_t places = (filled_ - bytes).value() / align.value() + 1;
  return places <= 1
             ? 0
             : static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(places))) * align.value();
}

void LoadRunner::lay_out(const LoadSpec& spec) {
  io_size_ = spec.io_size;
  streams_.clear();
  slots_.clear();
  const bool writer = spec.beside > BytesPerSecond(0);
  const std::int64_t count = spec.loads + (writer ? 1 : 0);
  // Every stream has a part of the file to itself and starts in its first half: one that starts again
  // in the middle of a sample would count as another load.
  const std::int64_t steps = std::max<std::int64_t>(1, filled_.value() / spec.io_size.value() / count);
  const auto starts = static_cast<std::uint64_t>(std::max<std::int64_t>(1, steps / 2));
  const std::int64_t part = steps * spec.io_size.value();
  for (std::int64_t i = 0; i < count; ++i) {
    Stream stream;
    stream.kind = writer && i == spec.loads ? IoKind::write : spec.kind;
    stream.begin = std::min(i * part, std::max<std::int64_t>(0, filled_.value() - part));
    stream.end = stream.begin + part;
    stream.next = stream.begin + spec.io_size.value() * static_cast<std::int64_t>(random_.below(starts));
    const int depth = i == spec.loads ? kWriterDepth : spec.depth;
    for (int d = 0; d < depth; ++d) slots_.push_back({streams_.size(), 0, 0});
    streams_.push_back(stream);
  }
}

Result<void> LoadRunner::start(std::size_t index) {
  Slot& slot = slots_[index];
  Stream& stream = streams_[slot.stream];
  if (stream.next >= stream.end) {
    if (!stream.endless) return {};
    stream.next = stream.begin;
  }
  slot.offset = stream.next;
  slot.size = static_cast<std::size_t>(std::min(io_size_.value(), stream.end - stream.next));
  const auto buffer = arena_.span().subspan(index * static_cast<std::size_t>(io_size_.value()), slot.size);
  if (stream.kind == IoKind::write) {
    const Bytes size{static_cast<std::int64_t>(slot.size)};
    limited_ = limited_ || size > write_most_ - written_;
    if (limited_) return {};
    written_ += size;
    payload_.stamp(buffer, slot.offset);
  }
  auto sent = device_->submit({stream.kind, slot.offset, buffer, index});
  if (sent.has_value()) stream.next += static_cast<std::int64_t>(slot.size);
  return sent;
}

Result<void> LoadRunner::start_all() {
  idle_.clear();
  limited_ = false;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (auto started = start(slot); started.has_error()) return started;
  }
  return {};
}

Result<void> LoadRunner::collect(Seconds wait, Tally& tally) {
  if (stop_->load(std::memory_order_relaxed))
    return make_error(ErrorKind::interrupted, "calibrate", "", "stopped on request");
  const auto count = device_->poll(completions_, wait);
  if (count.has_error()) return count.error();
  const Seconds now = clock_->now();
  for (std::size_t i = 0; i < *count; ++i) {
    const IoCompletion& done = completions_[i];
    if (done.result.has_error()) return done.result;
    const Slot& slot = slots_[done.tag];
    idle_.push_back(done.tag);
    if (done.kind != streams_.front().kind) continue;  // the writer beside the loads
    tally.add(slot.stream, now, Bytes(static_cast<std::int64_t>(done.bytes)), done.latency);
    if (done.kind == IoKind::read) {
      const auto buffer =
          arena_.span().subspan(done.tag * static_cast<std::size_t>(io_size_.value()), slot.size);
      tally.add_wrong_sectors(check_all_ ? payload_.wrong_sectors(buffer, slot.offset)
                                         : payload_.wrong_heads(buffer, slot.offset, kHeadsChecked));
    }
  }
  return {};
}

Result<void> LoadRunner::drain(Result<void> outcome) {
  const Seconds limit = clock_->now() + kDrainLimit;
  while (device_->in_flight() > 0 && clock_->now() < limit) {
    const auto count = device_->poll(completions_, kPoll);
    if (count.has_error()) break;
  }
  return outcome;
}

Result<void> LoadRunner::run_window(const LoadSpec& spec, const Window& window, Tally& tally) {
  const std::int64_t full = std::int64_t{spec.depth} * spec.loads;
  const Seconds start_time = clock_->now();
  Seconds next_write = start_time;
  bool warm = false;
  std::int64_t rounds = 0;  // of everything in flight, completed
  tally.begin(start_time, cpu_());
  if (auto started = start_all(); started.has_error()) return started;
  while (true) {
    if (auto collected = collect(std::min(kPoll, window.length / 4), tally); collected.has_error())
      return collected;
    const Seconds now = clock_->now();
    if (now - start_time >= window.cap) return {};
    // Streams served alike complete in bunches. Both ends of the window lie behind whole rounds of what is in
    // flight, so that it never cuts a bunch.
    const bool round_done = tally.requests() / full > rounds;
    rounds = tally.requests() / full;
    if (!warm && round_done && now - start_time >= window.warm_up) {
      warm = true;
      rounds = 0;
      tally.begin(now, cpu_());
    }
    const bool long_enough = now - tally.started() >= window.length || tally.moved() >= window.most;
    if (warm && round_done && rounds > 0 && long_enough && tally.requests() >= kLeastRequests) return {};
    std::vector<std::size_t> later;
    for (const std::size_t slot : idle_) {
      const bool paced = spec.beside > BytesPerSecond(0) && slot >= static_cast<std::size_t>(full);
      if (paced && now < next_write) {
        later.push_back(slot);
        continue;
      }
      if (paced) next_write += spec.io_size / spec.beside;
      if (auto started = start(slot); started.has_error()) return started;
    }
    idle_ = std::move(later);
    if (limited_) return {};
  }
}

Result<void> LoadRunner::run_to_end(Tally& tally) {
  if (auto started = start_all(); started.has_error()) return started;
  while (device_->in_flight() > 0) {
    if (auto collected = collect(kPoll, tally); collected.has_error()) return collected;
    for (const std::size_t slot : std::exchange(idle_, {})) {
      if (auto started = start(slot); started.has_error()) return started;
    }
  }
  return {};
}

Result<RunResult> LoadRunner::steady(const LoadSpec& spec, const Window& window) {
  const int writer = spec.beside > BytesPerSecond(0) ? kWriterDepth : 0;
  if (auto fit = fits(spec.io_size, spec.depth * spec.loads + writer); fit.has_error()) return fit.error();
  lay_out(spec);
  Tally tally;
  const auto outcome = run_window(spec, window, tally);
  const Seconds cpu = cpu_();
  return finish(drain(outcome), tally, cpu);
}

Result<RunResult> LoadRunner::transfer(IoKind kind, std::int64_t offset, Bytes bytes, Bytes io_size,
                                       int depth) {
  if (auto fit = fits(io_size, depth); fit.has_error()) return fit.error();
  io_size_ = io_size;
  streams_ = {{kind, offset, offset + bytes.value(), offset, false}};
  slots_.assign(static_cast<std::size_t>(depth), {});
  Tally tally;
  tally.begin(clock_->now(), cpu_());
  const auto outcome = drain(run_to_end(tally));
  if (outcome.has_value() && !limited_ && kind == IoKind::write && offset <= filled_.value())
    filled_ = std::max(filled_, Bytes(offset) + bytes);
  return finish(outcome, tally, cpu_());
}

Result<RunResult> LoadRunner::commits(Bytes size, Bytes io_size, int depth, const Window& window) {
  io_size = std::min(io_size, size);
  if (auto fit = fits(io_size, depth); fit.has_error()) return fit.error();
  io_size_ = io_size;
  limited_ = false;
  Tally whole;
  const Seconds start_time = clock_->now();
  whole.begin(start_time, cpu_());
  const auto more = [&] { return clock_->now() - start_time < window.length && whole.moved() < window.most; };
  for (int done = 0; (done < 2 || more()) && !limited_; ++done) {
    const Seconds before = clock_->now();
    if (done > 0 && before - start_time >= window.cap) break;
    const auto moved =
        transfer(IoKind::write, random_place(size, Bytes(Payload::kSector)), size, io_size, depth);
    if (moved.has_error()) return moved.error();
    if (auto durable = device_->sync(); durable.has_error()) return durable.error();
    whole.add(0, clock_->now(), size, clock_->now() - before);
  }
  return whole.result(cpu_());
}

Result<std::int64_t> LoadRunner::verify(std::int64_t offset, Bytes bytes, Bytes io_size) {
  check_all_ = true;
  const auto read = transfer(IoKind::read, offset, bytes, io_size, 1);
  check_all_ = false;
  if (read.has_error()) return read.error();
  return read->wrong_sectors;
}

}  // namespace fulcrum::calibrate
