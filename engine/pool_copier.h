// The copier of a real engine: threads of its own. Long copies run on all of them, and short ones do not wait
// behind long ones.
#pragma once

#include <memory>

#include "engine/copier.h"

namespace fulcrum::engine {

class PoolCopier : public Copier {
 public:
  /// Ends what was begun, and the threads. Copies that are given later are never done.
  virtual void stop() = 0;
};

[[nodiscard]] std::unique_ptr<PoolCopier> make_pool_copier(int threads);

}  // namespace fulcrum::engine
