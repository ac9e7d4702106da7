#include "tiers/file_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/errors.h"
#include "tiers/io_engine.h"
#include "tiers/mount.h"
#include "tiers/place.h"
#include "tiers/scratch_file.h"
#include "tiers/store_files.h"
#include "tiers/thread_engine.h"
#include "tiers/uring.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kSizeUnit = 4096;
constexpr std::size_t kDepthLimit = 4096;

Result<void> check_size(Bytes size) {
  if (size > Bytes(0) && size.value() % kSizeUnit == 0) return {};
  return bad_input("size", std::to_string(size.value()) + " bytes", "use a positive multiple of 4096");
}

Result<void> check_engine(const FileDeviceOptions& options) {
  if (options.depth_max < 1 || options.depth_max > kDepthLimit) {
    return bad_input("depth_max", std::to_string(options.depth_max), "use 1 to 4096");
  }
  if (options.threads_max < 1) return bad_input("threads_max", "0", "use at least 1");
  return {};
}

void add_reason(std::string& reasons, const std::string& reason) {
  if (reason.empty()) return;
  if (!reasons.empty()) reasons += "; ";
  reasons += reason;
}

struct ChosenEngine {
  std::unique_ptr<IoEngine> engine;
  bool uring = false;
  std::string refusal;  ///< of the better one
};

Result<ChosenEngine> choose_engine(const std::shared_ptr<const FileSet>& files,
                                   const FileDeviceOptions& options) {
  ChosenEngine chosen;
  if (options.engine == EngineChoice::threads) {
    chosen.refusal = "io_uring: not asked for";
  } else {
    auto uring =
        make_uring_engine(files, {.depth_max = options.depth_max, .close_limit = options.close_limit});
    if (uring.has_value()) {
      chosen.engine = std::move(*uring);
      chosen.uring = true;
      return chosen;
    }
    if (options.engine == EngineChoice::uring) return uring.error();
    chosen.refusal = uring.error().message();
  }
  chosen.engine = make_thread_engine(files, {.depth_max = options.depth_max,
                                             .threads_max = options.threads_max,
                                             .close_limit = options.close_limit,
                                             .raw_io = options.raw_io});
  return chosen;
}

/// Share of the files that the page cache holds.
std::optional<double> share_in_cache(const FileSet& files) {
  double bytes = 0;
  for (const int descriptor : files.descriptors()) {
    struct stat facts {};
    if (fstat(descriptor, &facts) != 0) return std::nullopt;
    const std::optional<double> share = resident_share(descriptor, Bytes(facts.st_size));
    if (!share) return std::nullopt;
    bytes += *share * static_cast<double>(facts.st_size);
  }
  return bytes / static_cast<double>(files.size().value());
}

}  // namespace

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& directory,
                                                     const FileDeviceOptions& options) {
  if (Result<void> checked = check_size(options.size); checked.has_error()) return checked.error();
  if (Result<void> checked = check_engine(options); checked.has_error()) return checked.error();
  auto file = ScratchFile::create(directory, {.size = options.size,
                                              .direct = options.direct != DirectChoice::buffered,
                                              .preallocate = options.preallocate});
  if (file.has_error()) return file.error();
  return drive(std::move(*file), options, {});
}

Result<std::unique_ptr<FileDevice>> FileDevice::open_store(const std::string& directory,
                                                           const StoreFilesOptions& store,
                                                           const FileDeviceOptions& options) {
  if (Result<void> checked = check_engine(options); checked.has_error()) return checked.error();
  StoreFilesOptions wanted = store;
  wanted.direct = options.direct != DirectChoice::buffered;
  auto files = StoreFiles::open(directory, wanted);
  if (files.has_error()) return files.error();
  const OwnerRecord* owner = (*files)->owner();
  auto device = drive(*files, options, (*files)->space_refusal());
  if (device.has_value()) (*device)->owner_ = owner;
  return device;
}

Result<std::unique_ptr<FileDevice>> FileDevice::drive(std::shared_ptr<const FileSet> files,
                                                      const FileDeviceOptions& options,
                                                      const std::string& space_refusal) {
  if (options.direct == DirectChoice::direct && !files->direct()) {
    return make_error(ErrorKind::unsupported, "use direct I/O in", files->directory(), files->refusal(),
                      "choose another path, or let Fulcrum go through the page cache");
  }
  auto chosen = choose_engine(files, options);
  if (chosen.has_error()) return chosen.error();

  std::string reasons = chosen->refusal;
  add_reason(reasons,
             options.direct == DirectChoice::buffered ? "O_DIRECT: not asked for" : files->refusal());
  add_reason(reasons, space_refusal);
  const IoMode mode{.uring = chosen->uring, .direct = files->direct()};
  return std::unique_ptr<FileDevice>(new FileDevice(std::move(files), std::move(chosen->engine), mode,
                                                    options.depth_max, std::move(reasons)));
}

FileDevice::FileDevice(std::shared_ptr<const FileSet> files, std::unique_ptr<IoEngine> engine, IoMode mode,
                       std::size_t depth_max, std::string fallback_reason)
    : files_(std::move(files)),
      engine_(std::move(engine)),
      mode_(mode),
      depth_max_(depth_max),
      fallback_reason_(std::move(fallback_reason)),
      identity_(identity_of(files_->descriptor(), files_->directory())) {}

FileDevice::~FileDevice() = default;

Result<void> FileDevice::do_submit(const IoRequest& request) {
  return engine_->start(request);
}

Result<std::size_t> FileDevice::do_poll(std::span<IoCompletion> out, Seconds wait) {
  Result<std::size_t> collected = engine_->collect(out, wait);
  counters_.resumed = engine_->resumed();
  return collected;
}

Geometry FileDevice::geometry() const {
  return {.capacity = files_->size(),
          .head = files_->head(),
          .piece = files_->piece(),
          .alignment = files_->alignment(),
          .depth_max = depth_max_};
}

bool FileDevice::in_memory() const {
  return is_memory_filesystem(files_->descriptor());
}

std::optional<bool> FileDevice::rotational() const {
  struct stat facts {};
  if (fstat(files_->descriptor(), &facts) != 0) return std::nullopt;
  const auto device = find_block_device(facts.st_dev);
  return device ? device->rotational : std::nullopt;
}

Result<DiskPlace> FileDevice::disk_place() const {
  return fulcrum::disk_place(files_->descriptor());
}

DeviceEvidence FileDevice::evidence() const {
  DeviceEvidence evidence;
  const std::optional<double> resident = share_in_cache(*files_);
  evidence.resident_share = resident.value_or(0);
  const std::optional<DeviceTraffic> process = process_traffic();
  if (process) {
    evidence.process_read = process->read;
    evidence.process_written = process->written;
  }
  struct stat facts {};
  if (fstat(files_->descriptor(), &facts) != 0) return evidence;
  const auto block_device = find_block_device(facts.st_dev);
  const std::optional<DeviceTraffic> device =
      block_device ? device_traffic(block_device->stat_path) : std::nullopt;
  if (device) {
    evidence.device_read = device->read;
    evidence.device_written = device->written;
  }
  evidence.known = resident && process && device;
  return evidence;
}

Result<void> FileDevice::drop_cache() {
  if (in_memory()) {
    return make_error(ErrorKind::unsupported, "drop the cache of", files_->directory(),
                      "the filesystem is kept in memory; there is no medium below",
                      "choose a path on a drive");
  }
  if (Result<void> synced = sync(); synced.has_error()) return synced;  // dirty pages are not dropped
  for (const int descriptor : files_->descriptors()) {
    // Returns the error instead of setting errno.
    const int code = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    if (code != 0) return os_error(code, "drop the cache of", files_->directory());
  }
  return {};
}

Result<void> FileDevice::sync() {
  for (const int descriptor : files_->descriptors()) {
    while (fdatasync(descriptor) != 0) {
      if (errno != EINTR) return os_error(errno, "sync", files_->directory());
    }
  }
  return {};
}

Result<void> FileDevice::in_place(std::uint64_t look) const {
  return files_->in_place(look);
}

void FileDevice::wake() {
  engine_->wake();
}

Result<void> FileDevice::register_buffers(std::span<std::byte> region) {
  if (in_flight() > 0) {
    return make_error(ErrorKind::busy, "register buffers", files_->directory(),
                      std::to_string(in_flight()) + " requests are in flight", "poll them first");
  }
  return engine_->register_buffers(region);
}

}  // namespace fulcrum
