// Progress: how far a long measurement is, for whoever watches. One line that is rewritten on a terminal,
// now and then a plain line otherwise (a log, CI).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace fulcrum::calibrate {

class Progress {
 public:
  /// Writes to `out`; both must outlive this object.
  Progress(std::ostream& out, bool terminal, const Clock& clock)
      : out_(out), clock_(clock), terminal_(terminal) {}

  /// `share` of the work called `what` is done (0..1), now doing `detail`.
  void update(std::string_view what, double share, std::string_view detail);
  /// Leaves the terminal's line blank, for what is printed next.
  void clear();

 private:
  std::ostream& out_;
  const Clock& clock_;
  bool terminal_;
  bool line_open_ = false;
  std::string last_;  ///< what and detail of the last line
  Seconds printed_{};
};

}  // namespace fulcrum::calibrate
