// StopSignal: turns SIGINT and SIGTERM into a flag for as long as it lives.
#pragma once

#include <atomic>
#include <csignal>

namespace fulcrum::cli {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] const std::atomic<bool>& raised() const;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace fulcrum::cli
