#include "cli/replay_real.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/errors.h"
#include "cli/row_content.h"
#include "cli/stop_signal.h"

namespace fulcrum::cli {
namespace {

constexpr std::int64_t kRowWished = std::int64_t{2} << 20;
constexpr std::int64_t kRowLeast = 4096;
constexpr Seconds kCloseLimit{10};

/// Directories of the tiers, removed at the end with what is in them.
class TierDirectories {
 public:
  TierDirectories(std::string below, bool keep) : below_(std::move(below)), keep_(keep) {}
  ~TierDirectories() {
    std::error_code ignored;
    if (keep_) return;
    for (const std::string& path : made_) std::filesystem::remove_all(path, ignored);
  }
  TierDirectories(const TierDirectories&) = delete;
  TierDirectories& operator=(const TierDirectories&) = delete;

  /// Kinds: bad_input (something of that name is there: it may be somebody's), and those of mkdir.
  Result<std::string> make(const std::string& tier) {
    const std::string path = below_ + "/fulcrum-replay-" + tier;
    std::error_code failed;
    if (std::filesystem::exists(path, failed)) {
      return bad_input("--real", path + " is there already", "remove it, or name another directory");
    }
    std::filesystem::create_directory(path, failed);
    if (failed) return os_error(failed.value(), "make the directory", path);
    made_.push_back(path);
    return path;
  }

 private:
  std::string below_;
  bool keep_;
  std::vector<std::string> made_;
};

/// Requests between arrival and service, front to back.
class Waiting {
 public:
  void push(std::size_t request) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(request);
    }
    ready_.notify_one();
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    ready_.notify_all();
  }
  std::optional<std::size_t> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return ended_ || !queue_.empty(); });
    if (queue_.empty()) return std::nullopt;
    const std::size_t next = queue_.front();
    queue_.pop_front();
    return next;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::size_t> queue_;
  bool ended_ = false;
};

class RealReplay {
 public:
  RealReplay(const replay::Trace& trace, const MachineProfile& profile, double speed,
             const RealReplayOptions& options, Engine& engine)
      : trace_(trace), profile_(profile), speed_(speed), options_(options), engine_(engine) {}

  RealReport run(const std::atomic<bool>& stop);

 private:
  [[nodiscard]] Request request_of(std::size_t i) const;
  void serve(std::size_t i);
  void read(const Load& load, const Request& request, std::uint32_t blocks);
  void measure(const Load& load, Seconds took);
  std::uint32_t offer(const Request& request);
  [[nodiscard]] Seconds prefill(Tokens fresh, Tokens cached) const {
    return profile_.prefill->cost.law.time(std::max(fresh, Tokens(1)), cached);
  }

  const replay::Trace& trace_;
  const MachineProfile& profile_;
  double speed_;
  const RealReplayOptions& options_;
  Engine& engine_;
  SteadyClock clock_;
  Waiting waiting_;
  std::mutex mutex_;  ///< of the report
  RealReport report_;
};

Request RealReplay::request_of(std::size_t i) const {
  const replay::TraceRequest& recorded = trace_.requests[i];
  Request request;
  request.id = i + 1;
  request.prompt = recorded.prompt;
  request.session = recorded.session;
  const std::span<const BlockKey> blocks = trace_.blocks(recorded);
  const auto whole = static_cast<std::size_t>(recorded.prompt.value() / trace_.block_tokens.value());
  request.blocks = blocks.first(std::min(whole, blocks.size()));
  return request;
}

/// Checks blocks as they come and lets them go.
void RealReplay::read(const Load& load, const Request& request, std::uint32_t blocks) {
  for (std::uint32_t i = blocks; i < load.progress().ready; ++i) {
    const BlockKey& key = request.blocks[load.first() + i];
    const auto wrong = first_difference(key, load.row(i));
    if (!wrong) continue;
    const std::lock_guard lock(mutex_);
    if (!report_.wrong) report_.wrong = WrongByte{request.id, key, load.first() + i, *wrong};
  }
}

void RealReplay::measure(const Load& load, Seconds took) {
  const Plan& plan = load.plan();
  const bool one_tier = plan.run_count == 1 && plan.runs[0].tier >= 0;
  if (!one_tier || load.progress().end != LoadEnd::complete) return;
  const std::vector<EngineTier> tiers = engine_.status().tiers;
  const std::string& name = tiers[static_cast<std::size_t>(plan.runs[0].tier)].name;
  const TierProfile* tier = profile_.tier(name);
  if (tier == nullptr || tier->medium == Medium::dram) return;
  const Bytes bytes = report_.row_bytes * static_cast<std::int64_t>(load.count());
  MeasuredLoad measured;
  measured.measured = took;
  measured.fast = tier->setup.low + bytes / tier->read.high;
  measured.typical = tier->transfer().time(bytes);
  measured.slow = std::max(plan.alternatives[plan.reason.chosen].load, measured.typical);
  const std::lock_guard lock(mutex_);
  report_.loads.push_back(measured);
}

/// Offers the whole chain. Returns the blocks that were kept.
std::uint32_t RealReplay::offer(const Request& request) {
  const auto row = static_cast<std::size_t>(report_.row_bytes.value());
  std::vector<std::byte> bytes(row * request.blocks.size());
  StoreRequest store;
  store.chain.assign(request.blocks.begin(), request.blocks.end());
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    const std::span<std::byte> own = std::span(bytes).subspan(i * row, row);
    fill_row(request.blocks[i], own);
    store.rows.push_back(own.data());
  }
  std::promise<StoreOutcome> done;
  store.on_done = [&](const StoreOutcome& outcome) { done.set_value(outcome); };
  if (engine_.store(std::move(store))) return done.get_future().get().kept;
  const std::lock_guard lock(mutex_);
  ++report_.refused_stores;
  return 0;
}

void RealReplay::serve(std::size_t i) {
  const Request request = request_of(i);
  const Seconds start = clock_.now();
  std::atomic<double> ended = 0;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress& now) {
    if (now.end != LoadEnd::running) ended = clock_.now().value();
  };
  std::uint32_t loaded = 0;
  {
    const std::shared_ptr<Load> load = engine_.load(request, std::move(options));
    for (;;) {
      const LoadProgress now = load->wait(std::min(loaded + 1, load->count()));
      read(*load, request, loaded);
      loaded = now.ready;
      if (now.end != LoadEnd::running) break;
      load->release(loaded);
    }
    while (load->count() > 0 && ended == 0) clock_.sleep(Seconds(20e-6));  // its callback is on the way
    if (load->count() > 0) measure(*load, Seconds(ended.load()) - start);
  }
  const Tokens cached = std::min(trace_.block_tokens * static_cast<std::int64_t>(loaded), request.prompt);
  const Seconds compute = prefill(request.prompt - cached, cached);
  clock_.sleep(compute / speed_);
  const std::uint32_t kept = request.blocks.empty() ? 0 : offer(request);
  const Seconds waited = loaded > 0 ? Seconds(ended.load()) - start : Seconds(0);
  const std::lock_guard lock(mutex_);
  ++report_.requests;
  report_.prompt_blocks += request.blocks.size();
  report_.loaded_blocks += loaded;
  report_.stored_blocks += kept;
  report_.ttft.push_back(waited + compute);
  report_.ttft_recompute.push_back(prefill(request.prompt, Tokens(0)));
}

RealReport RealReplay::run(const std::atomic<bool>& stop) {
  report_.row_bytes = engine_.row_bytes();
  const Seconds start = clock_.now();
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(options_.workers));
  for (int i = 0; i < options_.workers; ++i) {
    workers.emplace_back([&] {
      while (const auto next = waiting_.pop()) {
        if (!stop) serve(*next);
      }
    });
  }
  Seconds service{0};  // of a request, lately
  for (std::size_t i = 0; i < trace_.requests.size() && !stop; ++i) {
    const Seconds due = start + trace_.requests[i].arrival;
    while (clock_.now() < due && !stop) clock_.sleep(std::min(due - clock_.now(), Seconds(0.1)));
    Request request = request_of(i);
    service = prefill(request.prompt, Tokens(0)) / speed_;
    request.lead = service * static_cast<double>(waiting_.size()) / options_.workers;
    if (request.lead > Seconds(0)) engine_.hint(request);
    waiting_.push(i);
  }
  waiting_.end();
  for (std::thread& worker : workers) worker.join();
  report_.elapsed = clock_.now() - start;
  report_.status = engine_.status();
  return report_;
}

/// How many of the model's KV bytes one byte of a row stands for. Rows are whole bytes and at least a page:
/// smaller ones would take more of a disk than they hold. `row`: all of a block's bytes.
Result<std::int64_t> share_of(std::int64_t wished, std::int64_t row) {
  if (wished == 0) {
    std::int64_t share = 1;
    while (row / share > kRowWished) share *= 2;
    return share;
  }
  const auto fits = [row](std::int64_t share) { return row % share == 0 && row / share >= kRowLeast; };
  if (wished == 1 || fits(wished)) return wished;
  std::int64_t near = std::clamp<std::int64_t>(wished, 1, std::max<std::int64_t>(row / kRowLeast, 1));
  while (near > 1 && !fits(near)) --near;
  return bad_input("--kv-share",
                   "a block has " + std::to_string(row) + " bytes: one in " + std::to_string(wished) +
                       " of them is no row of whole bytes and at least " + std::to_string(kRowLeast),
                   "give a number that divides it, such as " + std::to_string(near));
}

}  // namespace

Result<RealReport> replay_real(const replay::Trace& trace, const MachineProfile& profile, PolicyConfig policy,
                               double speed, const RealReplayOptions& options) {
  MachineProfile scaled = profile;
  if (!scaled.prefill) return bad_input("--profile", "it has no prefill costs", "calibrate with --prefill");
  const auto row =
      static_cast<std::int64_t>((trace.block_tokens * scaled.prefill->kv_bytes_per_token).value());
  const Result<std::int64_t> chosen = share_of(options.kv_share, row);
  if (!chosen) return chosen.error();
  const std::int64_t share = *chosen;
  const auto kappa = scaled.prefill->kv_bytes_per_token.value() / static_cast<double>(share);
  scaled.prefill->kv_bytes_per_token = BytesPerToken(kappa);
  scaled.prefill->kv_bytes_fixed = Bytes(scaled.prefill->kv_bytes_fixed.value() / share);
  policy.block_tokens = trace.block_tokens;
  TierDirectories directories(options.directory, options.keep);
  for (TierPolicy& tier : policy.tiers) {
    const TierProfile* found = scaled.tier(tier.profile.empty() ? tier.name : tier.profile);
    tier.capacity = tier.capacity / share;
    if (found == nullptr || found->medium == Medium::dram) continue;
    auto path = directories.make(tier.name);
    if (!path) return path.error();
    tier.paths = {*path};
  }
  const StopSignal stop;
  EngineOptions engine_options;
  engine_options.name = {.model = "replay of " + trace.name, .layout = "rows by key", .dtype = "bytes"};
  engine_options.policy = policy;
  engine_options.profile = scaled;
  engine_options.other_machine = true;  // said by a note; measured beside predicted shows the rest
  auto engine = Engine::open(std::move(engine_options));
  if (!engine) {
    Error error = engine.error();
    if (share > 1) {
      error.detail += (error.detail.empty() ? "" : "; ") +
                      std::string("capacities here are the policy's divided by ") + std::to_string(share) +
                      " (--kv-share)";
    }
    return error;
  }
  RealReport report = RealReplay(trace, scaled, speed, options, **engine).run(stop.raised());
  report.kv_share = share;
  report.closed_clean = (*engine)->close(kCloseLimit);
  if (stop.raised()) {
    return make_error(ErrorKind::interrupted, "replay", options.directory, "stopped by a signal",
                      "nothing was left behind");
  }
  return report;
}

}  // namespace fulcrum::cli
