#include "calibrate/progress.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace fulcrum::calibrate {
namespace {

constexpr int kBar = 24;
constexpr Seconds kRedraw{0.1};
constexpr Seconds kPlainLine{10};

}  // namespace

void Progress::update(std::string_view what, double share, std::string_view detail) {
  share = std::clamp(share, 0.0, 1.0);
  const std::string doing = std::string(what) + ": " + std::string(detail);
  const Seconds now = clock_.now();
  // A terminal is redrawn often; a log gets a line when something new begins, or as a sign of life.
  const bool due = now - printed_ >= (terminal_ ? kRedraw : kPlainLine);
  if (doing == last_ && !due) return;
  last_ = doing;
  printed_ = now;
  const auto percent = static_cast<int>(std::lround(100 * share));
  if (!terminal_) {
    out_ << doing << " (" << percent << " %)\n" << std::flush;
    return;
  }
  const auto full = static_cast<std::size_t>(std::lround(kBar * share));
  out_ << "\r\x1b[K[" << std::string(full, '#') << std::string(kBar - full, '.') << "] " << percent << " %  "
       << doing << std::flush;
  line_open_ = true;
}

void Progress::clear() {
  if (line_open_) out_ << "\r\x1b[K" << std::flush;
  line_open_ = false;
}

}  // namespace fulcrum::calibrate
