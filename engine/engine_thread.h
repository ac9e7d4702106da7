// EngineThread: the one thread that decides and calls back. Runs what it is given, in that order, and wakes
// its owner when time has come.
//
// It outlives the closing of the engine, so that whoever asks a closed one is answered on it as well.
//
// Threads: start() and stop() from one; the others from any. Where memory runs out: std::bad_alloc.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"

namespace fulcrum::engine {

class EngineThread {
 public:
  /// `on_time` is called on the thread, when the time of wake_by() has come.
  EngineThread(const Clock& clock, std::function<void()> on_time);
  /// Ends it as stop() does.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void start();
  [[nodiscard]] bool started() const;
  void post(std::function<void()> call);
  /// `on_time` comes at `time` at the latest; once for all that was asked meanwhile.
  void wake_by(Seconds time);
  /// From now on `on_time` is not called any more.
  void wake_no_more();
  /// Waits until all that was given so far has run, and what that gave. Not from the thread itself.
  void drain();
  /// Runs what is still given and ends. Not from the thread itself.
  void stop();

 private:
  struct Inside;
  void arm(Seconds time);

  const Clock& clock_;
  std::function<void()> on_time_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace fulcrum::engine
