// FileDevice: a Device on real files. The one path to storage for calibration and for the file tier.
//
// open() makes its own unnamed file in a directory that the caller names and touches nothing else there: the
// file has no name from the start (O_TMPFILE, or unlinked at once), so that it is gone with the process,
// also after kill -9. open_store() works on files that stay: see store_files.h. Transfers go through io_uring
// and around the page cache (O_DIRECT) where kernel and filesystem allow it, through a pool of threads or the
// page cache where they do not. What is really used is in mode(), and why it is less than what was wished for
// in fallback_reason(): never weaker silently.
//
// A file of preallocated space that was never written reads as zeros without touching the medium: write
// before measuring reads.
//
// Threads: one at a time. Latency runs from submit() to the moment when the engine saw the end: in a
// worker of the thread pool, or in poll() under io_uring.
// A thread that ends too early takes what it gave to io_uring with it: such requests fail as interrupted.
// Closing with requests in flight waits up to close_limit, then cancels; buffers must outlive the device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tiers/device.h"
#include "tiers/disk_place.h"

namespace fulcrum {

class IoEngine;
class RawIo;
class FileSet;
struct OwnerRecord;
struct StoreFilesOptions;

/// What the caller wishes; `automatic` takes the best that works.
enum class DirectChoice : std::uint8_t { automatic, direct, buffered };
enum class EngineChoice : std::uint8_t { automatic, uring, threads };

struct FileDeviceOptions {
  Bytes size{};  ///< capacity; a positive multiple of 4096
  DirectChoice direct = DirectChoice::automatic;
  EngineChoice engine = EngineChoice::automatic;
  std::size_t depth_max = 256;   ///< requests in flight, 1..4096
  std::size_t threads_max = 64;  ///< of the thread engine: how many requests the system really sees
  bool preallocate = true;       ///< take the space now; otherwise a write can meet a full disk
  Seconds close_limit = Seconds(5);
  std::shared_ptr<RawIo> raw_io =
      nullptr;  ///< of the thread engine: pread and pwrite where null (tests inject faults)
};

class FileDevice final : public Device {
 public:
  /// Kinds: bad_input (size or depth), not_found, permission, read_only, no_space and quota (with the bytes
  /// that are missing), file_limit, unsupported (a wish that this path or kernel refuses), device.
  static Result<std::unique_ptr<FileDevice>> open(const std::string& directory,
                                                  const FileDeviceOptions& options);
  /// The files of a store, one flat space: `size` and `preallocate` of the options do not matter, and
  /// `direct` of the store's does not. Kinds: those of StoreFiles::open, unsupported, device.
  static Result<std::unique_ptr<FileDevice>> open_store(const std::string& directory,
                                                        const StoreFilesOptions& store,
                                                        const FileDeviceOptions& options);
  ~FileDevice() override;

  [[nodiscard]] Geometry geometry() const override;
  [[nodiscard]] IoMode mode() const override { return mode_; }
  /// As it was at the start: some drivers send the drive a request when they are asked for its serial number,
  /// and that request waits behind all others.
  [[nodiscard]] DeviceIdentity identity() const override { return identity_; }
  [[nodiscard]] DeviceEvidence evidence() const override;
  /// Kinds: unsupported (a filesystem in memory has nothing to drop), device, no_space.
  Result<void> drop_cache() override;
  Result<void> sync() override;
  [[nodiscard]] Result<void> in_place(std::uint64_t look) const override;
  void wake() override;

  /// Who holds the store: this device. Null for a scratch file and for a store that is only read.
  [[nodiscard]] const OwnerRecord* owner() const { return owner_; }
  /// Why mode() is weaker than the best there is; empty where it is the best.
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }
  /// True for tmpfs and ramfs: there is no medium below the page cache.
  [[nodiscard]] bool in_memory() const;
  /// Whether the medium turns. Empty where there is no block device, or where it is a virtual one, whose
  /// flag is a default of the driver and says nothing about the medium.
  [[nodiscard]] std::optional<bool> rotational() const;

  /// Where on its disk the file lies. Kinds: those of fulcrum::disk_place().
  [[nodiscard]] Result<DiskPlace> disk_place() const;

  /// Registers one region with the kernel, so that transfers inside it need no page pinning each time.
  /// Optional: the device works the same without. Call it with nothing in flight. Kinds: unsupported
  /// (thread engine), no_memory (the lockable memory limit, ulimit -l), busy (requests in flight).
  Result<void> register_buffers(std::span<std::byte> region);

 private:
  static Result<std::unique_ptr<FileDevice>> drive(std::shared_ptr<const FileSet> files,
                                                   const FileDeviceOptions& options,
                                                   const std::string& space_refusal);
  FileDevice(std::shared_ptr<const FileSet> files, std::unique_ptr<IoEngine> engine, IoMode mode,
             std::size_t depth_max, std::string fallback_reason);
  Result<void> do_submit(const IoRequest& request) override;
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override;

  std::shared_ptr<const FileSet> files_;
  std::unique_ptr<IoEngine> engine_;
  IoMode mode_;
  std::size_t depth_max_;
  std::string fallback_reason_;
  DeviceIdentity identity_;
  const OwnerRecord* owner_ = nullptr;  ///< in files_
};

}  // namespace fulcrum
