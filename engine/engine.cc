// The shell of the engine: threads, locks and the clock around EngineCore. The only user of Boost.Asio.
#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/errors.h"
#include "base/out_of_memory.h"
#include "engine/core.h"
#include "engine/host_mistakes.h"
#include "engine/tier_setup.h"

namespace fulcrum {
namespace {

namespace asio = boost::asio;
using engine::EngineCore;
using engine::LoadState;

// Stores that wait for the engine thread. Each holds rows of the host, which has other use for them.
constexpr int kStoresWaiting = 256;
constexpr Seconds kDestructorLimit{5};

/// Texts so short that they need no memory themselves.
Error without_memory(const char* operation) {
  Error error;
  error.kind = ErrorKind::no_memory;
  error.retryable = true;
  error.operation = operation;
  error.where = "engine";
  error.detail = "out of memory";
  error.next_step = "free memory";
  return error;
}

/// Copies in pieces, so that long copies run on all threads and short ones do not wait behind them.
class PoolCopier final : public engine::Copier {
 public:
  explicit PoolCopier(int threads) : threads_(static_cast<std::size_t>(std::max(1, threads))) {}

  void copy(std::vector<engine::RowCopy> rows, std::size_t row_bytes, std::function<void()> done) override {
    const std::size_t piece = std::max<std::size_t>(1, kPieceBytes / row_bytes);
    auto whole = std::make_shared<Whole>();
    whole->rows = std::move(rows);
    whole->done = std::move(done);
    whole->left = (whole->rows.size() + piece - 1) / piece;
    for (std::size_t begin = 0; begin < whole->rows.size(); begin += piece) {
      const std::size_t end = std::min(begin + piece, whole->rows.size());
      asio::post(threads_, [whole, begin, end, row_bytes] {
        for (std::size_t i = begin; i < end; ++i) {
          std::memcpy(whole->rows[i].to, whole->rows[i].from, row_bytes);
        }
        if (whole->left.fetch_sub(1) == 1) or_stop("a copying thread", [&] { whole->done(); });
      });
    }
  }
  void stop() { threads_.join(); }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
  struct Whole {
    std::vector<engine::RowCopy> rows;
    std::function<void()> done;
    std::atomic<std::size_t> left = 0;
  };
  asio::thread_pool threads_;
};

/// The way from loads back to the engine, which they may outlive.
template <class Target>
class Gateway {
 public:
  explicit Gateway(Target* target) : target_(target) {}
  /// Calls `use` with the engine while it is there. False afterwards.
  template <class Use>
  bool with(Use&& use) {
    const std::lock_guard lock(mutex_);
    if (target_ != nullptr) use(*target_);
    return target_ != nullptr;
  }
  void shut() {
    const std::lock_guard lock(mutex_);
    target_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Target* target_;
};

class AsioEngine final : public Engine {
 public:
  AsioEngine(EngineOptions options, engine::OpenTiers opened);
  ~AsioEngine() override {
    or_stop("closing the engine", [this] { close(kDestructorLimit); });
  }

  void start(Decider decider);

  [[nodiscard]] Plan plan(const Request& request) const override {
    return or_stop("plan()", [&] {
      if (!engine::mistake_in(request).empty()) return engine::plan_of_nothing(request);
      const std::lock_guard lock(mutex_);
      return core_->plan(request, clock_.now());
    });
  }
  void hint(const Request& request) override;
  std::shared_ptr<Load> load(const Request& request, LoadOptions options) override;
  Result<void> store(StoreRequest request) override;
  Result<void> take_store(StoreRequest& request);
  void cancel(RequestId request) override {
    or_stop("cancel()", [&] { post([this, request](Seconds now) { core_->cancel(request, now); }); });
  }
  [[nodiscard]] EngineStatus status() const override;
  [[nodiscard]] Bytes row_bytes() const override { return opened_.row_bytes; }
  bool close(Seconds limit) override;

 private:
  template <class Call>
  void with_core(Call&& call);
  template <class Call>
  void post(Call call) {
    asio::post(io_, [this, call = std::move(call)] { with_core(call); });
  }
  void arm(Seconds next);
  engine::CoreParts parts();

  SteadyClock clock_;
  EngineOptions options_;
  engine::OpenTiers opened_;
  PoolCopier copier_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::steady_timer timer_{io_};
  Seconds armed_{-1};     ///< of the engine thread only, as the next one
  bool closing_ = false;  ///< no timer is armed any more
  std::ofstream decisions_;
  std::shared_ptr<Gateway<AsioEngine>> gateway_ = std::make_shared<Gateway<AsioEngine>>(this);
  mutable std::mutex mutex_;
  std::condition_variable quiet_;
  std::unique_ptr<EngineCore> core_;
  std::atomic<int> stores_waiting_ = 0;
  std::atomic<std::uint64_t> stores_refused_ = 0;
  std::mutex close_mutex_;
  std::atomic<bool> closed_ = false;
  bool clean_ = true;
  std::thread thread_;
};

AsioEngine::AsioEngine(EngineOptions options, engine::OpenTiers opened)
    : options_(std::move(options)), opened_(std::move(opened)), copier_(options_.policy.engine.copy_threads) {
  if (!options_.decision_log.empty()) decisions_.open(options_.decision_log, std::ios::app);
}

engine::CoreParts AsioEngine::parts() {
  engine::CoreParts parts;
  parts.pool = opened_.pool;
  parts.dram = std::move(opened_.dram);
  parts.staging_rows = opened_.staging_rows;
  parts.row_bytes = opened_.row_bytes;
  parts.root = BlockKey::root(options_.name);
  parts.copier = &copier_;
  // Loads keep these three.
  parts.on_engine = [gate = gateway_](std::function<void()> call) {
    const bool posted = gate->with([&](AsioEngine& self) { asio::post(self.io_, std::move(call)); });
    if (!posted) call();
  };
  parts.on_released = [gate = gateway_](engine::LoadId) {
    or_stop("release()", [&] {
      gate->with([](AsioEngine& self) { self.post([&self](Seconds now) { self.core_->released(now); }); });
    });
  };
  parts.on_dropped = [gate = gateway_](engine::LoadId load) {
    or_stop("giving up a load", [&] {
      gate->with([load](AsioEngine& self) {
        self.post([&self, load](Seconds now) { self.core_->dropped(load, now); });
      });
    });
  };
  parts.on_copied = [this](std::uint64_t copy) {
    post([this, copy](Seconds now) { core_->copied(copy, now); });
  };
  if (decisions_.is_open()) {
    parts.on_decision = [this](std::string line) {
      asio::post(io_, [this, line = std::move(line)] { decisions_ << line << '\n'; });
    };
  }
  return parts;
}

void AsioEngine::start(Decider decider) {
  core_ = std::make_unique<EngineCore>(std::move(decider), parts());
  for (engine::OpenTiers::Files& store : opened_.stores) {
    const TierId tier = store.tier;
    auto listener = [this, tier](engine::PortNews news) {
      asio::post(io_, [this, tier, news = std::move(news)]() mutable {
        with_core([&](Seconds now) { core_->news(tier, std::move(news), now); });
      });
    };
    TierStatus status = store.store->status();
    core_->attach(tier, engine::make_thread_port(std::move(store.store), std::move(listener)), store.io,
                  std::move(status));
    core_->restore(tier, store.found, clock_.now());
    store.found.clear();
    core_->restore_budget(tier, store.written_today);
  }
  post([this](Seconds now) { core_->step(now); });
  // Last: until here, what fails is an error of open().
  thread_ = std::thread([this] { or_stop("the engine's thread", [this] { io_.run(); }); });
}

template <class Call>
void AsioEngine::with_core(Call&& call) {
  Seconds next{};
  bool quiet = false;
  {
    const std::lock_guard lock(mutex_);
    call(clock_.now());
    next = core_->next_step();
    quiet = core_->quiet();
  }
  if (quiet) quiet_.notify_all();
  if (io_.get_executor().running_in_this_thread()) {
    arm(next);
  } else {
    asio::post(io_, [this, next] { arm(next); });
  }
}

/// Sees to it that step() comes at `next` at the latest. On the engine thread.
void AsioEngine::arm(Seconds next) {
  if (closing_ || (armed_ >= Seconds(0) && armed_ <= next)) return;
  armed_ = next;
  const double wait = std::max(0.0, (next - clock_.now()).value());
  timer_.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait)));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // armed anew
    armed_ = Seconds(-1);
    with_core([&](Seconds now) { core_->step(now); });
  });
}

void AsioEngine::hint(const Request& request) {
  or_stop("hint()", [&] {
    const std::string_view mistake = engine::mistake_in(request);
    with_core(
        [&](Seconds now) { mistake.empty() ? core_->hint(request, now) : core_->note_mistake(mistake); });
  });
}

std::shared_ptr<Load> AsioEngine::load(const Request& request, LoadOptions options) {
  return or_stop("load()", [&] {
    std::string_view mistake = engine::mistake_in(request);
    if (mistake.empty()) mistake = engine::mistake_in(options);
    std::shared_ptr<LoadState> state;
    with_core([&](Seconds now) {
      state = mistake.empty() ? core_->load(request, std::move(options), now)
                              : core_->load_mistaken(request, std::move(options), mistake);
    });
    Load* const load = state.get();
    return std::shared_ptr<Load>(load,
                                 [state](Load*) { or_stop("giving up a load", [&] { state->give_up(); }); });
  });
}

Result<void> AsioEngine::store(StoreRequest request) {
  try {
    return take_store(request);
  } catch (const std::bad_alloc&) {  // nothing has been begun
    return without_memory("store");
  }
}

Result<void> AsioEngine::take_store(StoreRequest& request) {
  if (Result<void> sound = engine::check(request); sound.has_error()) return sound;
  if (closed_) {
    return make_error(ErrorKind::interrupted, "store", "engine", "it is closed", "open it again");
  }
  if (stores_waiting_.fetch_add(1) >= kStoresWaiting) {
    --stores_waiting_;
    ++stores_refused_;
    Error full = make_error(ErrorKind::busy, "store", "engine",
                            std::to_string(kStoresWaiting) + " stores wait to be copied",
                            "offer the blocks again later, or let them go");
    full.retryable = true;
    return full;
  }
  try {
    asio::post(io_, [this, request = std::move(request)]() mutable {
      with_core([&](Seconds now) { core_->store(std::move(request), now); });
      --stores_waiting_;
    });
  } catch (const std::bad_alloc&) {
    --stores_waiting_;
    ++stores_refused_;
    throw;
  }
  return {};
}

EngineStatus AsioEngine::status() const {
  try {
    const std::lock_guard lock(mutex_);
    EngineStatus status = core_->status();
    status.stores_refused = stores_refused_;
    return status;
  } catch (const std::bad_alloc&) {  // it only looks: nothing is half done
    return {};
  }
}

bool AsioEngine::close(Seconds limit) {
  const std::lock_guard only(close_mutex_);
  if (closed_) return clean_;
  closed_ = true;
  const Seconds deadline = clock_.now() + limit;
  if (!thread_.joinable()) {  // open() failed half way: nothing runs but the tiers
    if (core_) clean_ = core_->close_ports(limit);
    copier_.stop();
    gateway_->shut();
    return clean_;
  }
  or_stop("close()", [&] { post([this](Seconds now) { core_->begin_close(now); }); });
  {
    std::unique_lock lock(mutex_);
    const auto wait = std::chrono::duration<double>(std::max(0.0, (deadline - clock_.now()).value()));
    clean_ = quiet_.wait_for(lock, wait, [&] { return core_->quiet() && stores_waiting_ == 0; });
  }
  // The ports' threads post their last news; the engine thread must not hold the core's lock meanwhile.
  if (!core_->close_ports(std::max(Seconds(0.05), deadline - clock_.now()))) clean_ = false;
  copier_.stop();
  gateway_->shut();
  // What is queued still runs: whoever waits for a callback gets it.
  or_stop("close()", [&] {
    asio::post(io_, [this] {
      closing_ = true;
      timer_.cancel();
    });
  });
  work_.reset();
  thread_.join();
  return clean_;
}

}  // namespace

Result<std::unique_ptr<Engine>> engine::open_engine(EngineOptions options, const WrapDevice& wrap) try {
  auto opened = open_tiers(options, wrap);
  if (opened.has_error()) return opened.error();
  auto decider = Decider::create(opened->policy, options.profile);
  if (decider.has_error()) return decider.error();
  auto made = std::make_unique<AsioEngine>(std::move(options), std::move(*opened));
  made->start(std::move(*decider));
  return std::unique_ptr<Engine>(std::move(made));
} catch (const std::bad_alloc&) {  // what was open is closed by now
  return without_memory("open");
}

Result<std::unique_ptr<Engine>> Engine::open(EngineOptions options) {
  return engine::open_engine(std::move(options), {});
}

}  // namespace fulcrum
