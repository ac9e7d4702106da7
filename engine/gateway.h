// Gateway: the way from what may outlive its owner back to it.
//
// Threads: any. Who is inside of with() keeps shut() waiting; `use` must not block.
#pragma once

#include <mutex>

namespace fulcrum::engine {

template <class Target>
class Gateway {
 public:
  explicit Gateway(Target* target) : target_(target) {}
  /// Calls `use` with the target while it is there.
  template <class Use>
  void with(Use&& use) {
    const std::lock_guard lock(mutex_);
    if (target_ != nullptr) use(*target_);
  }
  void shut() {
    const std::lock_guard lock(mutex_);
    target_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Target* target_;
};

}  // namespace fulcrum::engine
