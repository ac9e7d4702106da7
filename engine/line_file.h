// LineFile: lines at the end of a text file, written by a thread of their own as they come. Who appends never
// waits for the disk; a process that is killed loses the lines that were still on their way, moments' worth.
//
// A disk that is full or does not keep up costs lines, not time: trouble() tells. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum::engine {

class LineFile {
 public:
  /// Kinds: those of errno, for a file that cannot be opened or created.
  static Result<std::unique_ptr<LineFile>> open(const std::string& path);
  /// As close() with no time to lose.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line` has no line end.
  void append(std::string_view line);
  /// What went wrong, and how many lines that has cost so far; empty where all is well.
  [[nodiscard]] std::string trouble() const;
  /// Writes what is left, within `limit`. False where the disk did not take it by then.
  bool close(Seconds limit);

 private:
  struct Shared;
  explicit LineFile(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;  ///< the thread's as well: a disk that is stuck keeps it
};

}  // namespace fulcrum::engine
