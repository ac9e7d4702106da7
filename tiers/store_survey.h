// StoreSurvey: which files of a store lie in a directory, without opening any. Whether they fit a layout.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// Where the files of a store are: 0 is meta, the others are segments, from 1.
[[nodiscard]] std::string store_path(const std::string& directory, std::size_t index);

struct StoreSurvey {
  struct File {
    std::size_t index = 0;  ///< as in store_path
    Bytes size{};
    Bytes allocated{};  ///< that it takes on the disk
  };
  std::vector<File> files;  ///< in order of index

  /// Kinds: not_found, permission, device; bad_input (something there is no regular file).
  static Result<StoreSurvey> of(const std::string& directory);
  [[nodiscard]] Bytes allocated() const;
  /// Why these are files of another layout than this one; empty where they may be of this one. Files that are
  /// too short were cut, ones beyond the layout that take no space were never used: both fit.
  [[nodiscard]] std::string misfit(Bytes head, Bytes piece, std::size_t pieces) const;
};

}  // namespace fulcrum
