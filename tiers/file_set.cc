#include "tiers/file_set.h"

#include <unistd.h>

#include <utility>

namespace fulcrum {

FileSet::FileSet(std::string directory, Bytes size, Bytes head, Bytes piece)
    : directory_(std::move(directory)), size_(size), head_(head), piece_(piece) {}

FileSet::~FileSet() {
  for (const int descriptor : descriptors_) close(descriptor);
}

FileSet::Place FileSet::place_of(std::int64_t offset) const {
  if (piece_ == Bytes(0) || offset < head_.value()) return {0, descriptors_.front(), offset};
  const std::int64_t behind = offset - head_.value();
  const auto index = static_cast<std::size_t>(1 + behind / piece_.value());
  return {index, descriptors_[index], behind % piece_.value()};
}

std::string FileSet::where(std::int64_t offset) const {
  const Place place = place_of(offset);
  return path_of(place.index) + " at offset " + std::to_string(place.offset);
}

}  // namespace fulcrum
