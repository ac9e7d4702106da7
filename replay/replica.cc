#include "replay/replica.h"

#include <cmath>

namespace fulcrum::replay {

double Utilisation::value(Seconds now) const {
  const double kept = std::exp(-((now - since_) / kWindow));
  return level_ * kept + (busy_ ? 1 - kept : 0);
}

void Utilisation::set(bool busy, Seconds now) {
  level_ = value(now);
  since_ = now;
  busy_ = busy;
}

}  // namespace fulcrum::replay
