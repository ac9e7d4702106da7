#include "engine/engine_thread.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "base/out_of_memory.h"

namespace fulcrum::engine {

namespace asio = boost::asio;

struct EngineThread::Inside {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer timer{io};
  // Of the thread only.
  Seconds armed{-1};  ///< when `timer` ends; negative: it does not run
  bool wakes = true;
  std::thread thread;
};

EngineThread::EngineThread(const Clock& clock, std::function<void()> on_time)
    : clock_(clock), on_time_(std::move(on_time)), inside_(std::make_unique<Inside>()) {}

EngineThread::~EngineThread() {
  stop();
}

void EngineThread::start() {
  inside_->thread = std::thread([this] { or_stop("the engine's thread", [this] { inside_->io.run(); }); });
}

bool EngineThread::started() const {
  return inside_->thread.joinable();
}

void EngineThread::post(std::function<void()> call) {
  asio::post(inside_->io, std::move(call));
}

void EngineThread::wake_by(Seconds time) {
  if (inside_->io.get_executor().running_in_this_thread()) {
    arm(time);
  } else {
    asio::post(inside_->io, [this, time] { arm(time); });
  }
}

void EngineThread::arm(Seconds time) {
  Inside& in = *inside_;
  if (!in.wakes || (in.armed >= Seconds(0) && in.armed <= time)) return;
  in.armed = time;
  const double wait = std::max(0.0, (time - clock_.now()).value());
  in.timer.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait)));
  in.timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // armed anew
    inside_->armed = Seconds(-1);
    on_time_();
  });
}

void EngineThread::wake_no_more() {
  asio::post(inside_->io, [this] {
    inside_->wakes = false;
    inside_->timer.cancel();
  });
}

void EngineThread::drain() {
  for (int pass = 0; pass < 2; ++pass) {  // the second one for what the first one's calls gave
    std::promise<void> passed;
    asio::post(inside_->io, [&] { passed.set_value(); });
    passed.get_future().wait();
  }
}

void EngineThread::stop() {
  if (!started()) return;
  inside_->work.reset();
  inside_->thread.join();
}

}  // namespace fulcrum::engine
