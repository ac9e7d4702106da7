// StoreDoor: who may still offer a store. Counts stores that wait for the engine thread: each holds rows of
// the host, which has other use for them.
//
// Who came in before shut() is counted until it leaves; nobody comes in afterwards. So once it is shut and
// empty, every store that was taken has been answered or will be by the engine thread.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <mutex>

namespace fulcrum::engine {

class StoreDoor {
 public:
  enum class Answer { in, full, shut };

  explicit StoreDoor(int room) : room_(room) {}
  /// Who is let in leaves later, once.
  [[nodiscard]] Answer enter() {
    const std::lock_guard lock(mutex_);
    if (shut_) return Answer::shut;
    if (inside_ >= room_) {
      ++refused_;
      return Answer::full;
    }
    ++inside_;
    return Answer::in;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
  }
  /// Leaves as one who was refused.
  void turn_back() {
    const std::lock_guard lock(mutex_);
    --inside_;
    ++refused_;
  }
  void shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
  }
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return inside_ == 0;
  }
  /// So many found it full, or turned back.
  [[nodiscard]] std::uint64_t refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  const int room_;
  mutable std::mutex mutex_;
  int inside_ = 0;
  std::uint64_t refused_ = 0;
  bool shut_ = false;
};

}  // namespace fulcrum::engine
