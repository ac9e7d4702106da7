#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "fulcrum/cost.h"

namespace fulcrum {

BytesPerSecond ContentionLaw::throughput(int loads) const {
  FULCRUM_CHECK(loads >= 1, "throughput of at least one load");
  const double n = loads;
  return BytesPerSecond(single.value() * n / (1 + sigma * (n - 1) + k * n * (n - 1)));
}

int ContentionLaw::peak(int limit) const {
  FULCRUM_CHECK(limit >= 1, "at least one load");
  // dX/dN = 0 at N^2 = (1 - sigma)/k.
  const double top = k > 0 ? std::sqrt(std::max(0.0, 1 - sigma) / k) : (sigma < 1 ? limit : 1);
  const int below = static_cast<int>(std::clamp(std::floor(top), 1.0, static_cast<double>(limit)));
  const int above = std::min(below + 1, limit);
  return throughput(above) > throughput(below) ? above : below;
}

int ContentionLaw::gate(double share, int limit) const {
  FULCRUM_CHECK(share > 0 && share <= 1, "a share of the peak");
  const int top = peak(limit);
  const BytesPerSecond wanted = share * throughput(top);
  int low = 1;  // throughput rises up to the peak
  int high = top;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (throughput(middle) >= wanted) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

BytesPerSecond CommitLaw::rate(Bytes size) const {
  FULCRUM_CHECK(size.value() > 0, "accesses have a size");
  return BytesPerSecond(sequential.value() * (size / (size + half)));
}

Bytes CommitLaw::size_for(double share) const {
  FULCRUM_CHECK(share >= 0 && share < 1, "only an infinite access reaches the sequential rate");
  return Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(half.value()) * share / (1 - share))));
}

}  // namespace fulcrum
