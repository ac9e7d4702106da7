#include "policy/baselines.h"

#include <limits>

namespace fulcrum {

std::size_t deepest(std::span<const Alternative> alternatives, Tokens least) {
  const std::size_t last = alternatives.size() - 1;
  return alternatives[last].load_end >= least ? last : 0;
}

std::size_t LoadAlways::choose(std::span<const Alternative> alternatives, Seconds /*lead*/,
                               double /*gpu_price*/) const {
  return deepest(alternatives, threshold_);
}

Seconds LoadAlways::patience(Seconds /*saved*/) const {
  return Seconds(std::numeric_limits<double>::infinity());
}

bool LoadAlways::admits(TierId /*tier*/, Tokens /*reach*/) const {
  return true;
}

double LoadAlways::worth(TierId /*tier*/, const BlockUse& use) const {
  return static_cast<double>(use.tick);
}

std::size_t None::choose(std::span<const Alternative> /*alternatives*/, Seconds /*lead*/,
                         double /*gpu_price*/) const {
  return 0;
}

Seconds None::patience(Seconds /*saved*/) const {
  return Seconds(0);
}

bool None::admits(TierId /*tier*/, Tokens /*reach*/) const {
  return false;
}

double None::worth(TierId /*tier*/, const BlockUse& /*use*/) const {
  return 0;
}

}  // namespace fulcrum
