// FileSet: open files that make one flat space of bytes. What the engines see of files.
//
//   [ file 0: head bytes ][ file 1: piece bytes ][ file 2: piece bytes ] ...       or one file of any size
//
// ScratchFile makes one of a single unnamed file, StoreFiles one of a directory that persists. All files are
// open from the start to the end.
// Threads: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/direct_io.h"

namespace fulcrum {

class FileSet {
 public:
  /// Where a byte of the flat space lies.
  struct Place {
    std::size_t index = 0;  ///< of the file
    int descriptor = -1;
    std::int64_t offset = 0;  ///< in the file
  };

  virtual ~FileSet();
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  /// Of an offset in [0, size()).
  [[nodiscard]] Place place_of(std::int64_t offset) const;
  [[nodiscard]] std::span<const int> descriptors() const { return descriptors_; }
  /// One of the files, to ask about the filesystem.
  [[nodiscard]] int descriptor() const { return descriptors_.front(); }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] Bytes head() const { return head_; }
  [[nodiscard]] Bytes piece() const { return piece_; }
  /// Of offsets, sizes and addresses, a power of two.
  [[nodiscard]] std::size_t alignment() const { return direct_io_.alignment; }
  [[nodiscard]] bool direct() const { return direct_io_.works; }
  /// Why direct() is false although it was asked for; empty otherwise.
  [[nodiscard]] const std::string& refusal() const { return direct_io_.refusal; }
  [[nodiscard]] const DirectIo& direct_io() const { return direct_io_; }
  /// As Device::in_place(), of files that are to outlive the process.
  [[nodiscard]] virtual Result<void> in_place(std::uint64_t /*look*/) const { return {}; }
  /// For messages: the file and the offset in it.
  [[nodiscard]] std::string where(std::int64_t offset) const;

 protected:
  /// `piece` 0: one file. The files are added in order and closed by the destructor.
  FileSet(std::string directory, Bytes size, Bytes head, Bytes piece);
  void add(int descriptor) { descriptors_.push_back(descriptor); }
  void set_direct(DirectIo direct_io) { direct_io_ = std::move(direct_io); }
  [[nodiscard]] virtual std::string path_of(std::size_t index) const = 0;

 private:
  std::string directory_;
  Bytes size_;
  Bytes head_;
  Bytes piece_;
  DirectIo direct_io_;
  std::vector<int> descriptors_;
};

}  // namespace fulcrum
