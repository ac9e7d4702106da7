// FileHistory: what a file tier has written, today and ever, and what its blocks are worth by now: counted
// here, and told to the journal when it is time. Internal to tiers/file_*.
#pragma once

#include "tiers/file_tier_core.h"

namespace fulcrum {

class FileHistory {
 public:
  explicit FileHistory(FileTierCore& core);

  /// Bytes written so far are added to the history.
  void account();
  /// Appends what the journal does not say yet: worth, write history.
  void write_down();

 private:
  FileTierCore& core_;
  Bytes accounted_{};
  Bytes told_{};  ///< history when it was written down last
  double wall_start_;
  Seconds opened_;
};

}  // namespace fulcrum
