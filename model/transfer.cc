#include <algorithm>
#include <vector>

#include "base/check.h"
#include "fulcrum/cost.h"

namespace fulcrum {

Seconds TransferLaw::time(Bytes bytes, int others) const {
  FULCRUM_CHECK(bytes.value() >= 0 && others >= 0, "bytes and loads are not negative");
  const int loads = others + 1;
  return setup + bytes / BytesPerSecond(contention.throughput(loads).value() / loads);
}

Seconds TransferLaw::finish(Bytes bytes, std::span<const Bytes> remaining) const {
  FULCRUM_CHECK(bytes.value() >= 0, "bytes are not negative");
  std::vector<Bytes> sooner;  // loads that leave before the new one
  sooner.reserve(remaining.size());
  for (const Bytes r : remaining) {
    if (r < bytes) sooner.push_back(r);
  }
  std::sort(sooner.begin(), sooner.end());

  auto loads = static_cast<int>(remaining.size()) + 1;
  Seconds clock = setup;
  Bytes moved{};  // by each load so far: all move at the same rate
  const auto until = [&](Bytes each) {
    clock += (each - moved) / BytesPerSecond(contention.throughput(loads).value() / loads);
    moved = each;
  };
  for (const Bytes r : sooner) {
    until(std::max(r, Bytes(0)));
    --loads;
  }
  until(bytes);
  return clock;
}

}  // namespace fulcrum
