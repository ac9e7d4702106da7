#include "tiers/file_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/errors.h"
#include "tiers/io_engine.h"
#include "tiers/mount.h"
#include "tiers/scratch_file.h"
#include "tiers/thread_engine.h"
#include "tiers/uring.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kSizeUnit = 4096;
constexpr std::size_t kDepthLimit = 4096;

Result<void> check(const FileDeviceOptions& options) {
  if (options.size <= Bytes(0) || options.size.value() % kSizeUnit != 0) {
    return bad_input("size", std::to_string(options.size.value()) + " bytes",
                     "use a positive multiple of 4096");
  }
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

Result<ChosenEngine> choose_engine(const std::shared_ptr<const ScratchFile>& file,
                                   const FileDeviceOptions& options) {
  ChosenEngine chosen;
  if (options.engine == EngineChoice::threads) {
    chosen.refusal = "io_uring: not asked for";
  } else {
    auto uring =
        make_uring_engine(file, {.depth_max = options.depth_max, .close_limit = options.close_limit});
    if (uring.has_value()) {
      chosen.engine = std::move(*uring);
      chosen.uring = true;
      return chosen;
    }
    if (options.engine == EngineChoice::uring) return uring.error();
    chosen.refusal = uring.error().message();
  }
  chosen.engine = make_thread_engine(file, {.depth_max = options.depth_max,
                                            .threads_max = options.threads_max,
                                            .close_limit = options.close_limit,
                                            .raw_io = options.raw_io});
  return chosen;
}

}  // namespace

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& directory,
                                                     const FileDeviceOptions& options) {
  if (Result<void> checked = check(options); checked.has_error()) return checked.error();
  auto file = ScratchFile::create(directory, {.size = options.size,
                                              .direct = options.direct != DirectChoice::buffered,
                                              .preallocate = options.preallocate});
  if (file.has_error()) return file.error();
  if (options.direct == DirectChoice::direct && !(*file)->direct()) {
    return make_error(ErrorKind::unsupported, "use direct I/O in", directory, (*file)->refusal(),
                      "choose another path, or let Fulcrum go through the page cache");
  }
  auto chosen = choose_engine(*file, options);
  if (chosen.has_error()) return chosen.error();

  std::string reasons = chosen->refusal;
  add_reason(reasons,
             options.direct == DirectChoice::buffered ? "O_DIRECT: not asked for" : (*file)->refusal());
  const IoMode mode{.uring = chosen->uring, .direct = (*file)->direct()};
  return std::unique_ptr<FileDevice>(new FileDevice(std::move(*file), std::move(chosen->engine), mode,
                                                    options.depth_max, std::move(reasons)));
}

FileDevice::FileDevice(std::shared_ptr<const ScratchFile> file, std::unique_ptr<IoEngine> engine, IoMode mode,
                       std::size_t depth_max, std::string fallback_reason)
    : file_(std::move(file)),
      engine_(std::move(engine)),
      mode_(mode),
      depth_max_(depth_max),
      fallback_reason_(std::move(fallback_reason)) {}

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
  return {.capacity = file_->size(), .alignment = file_->alignment(), .depth_max = depth_max_};
}

bool FileDevice::in_memory() const {
  return is_memory_filesystem(file_->descriptor());
}

std::optional<bool> FileDevice::rotational() const {
  struct stat facts {};
  if (fstat(file_->descriptor(), &facts) != 0) return std::nullopt;
  const auto device = find_block_device(facts.st_dev);
  return device ? device->rotational : std::nullopt;
}

DeviceIdentity FileDevice::identity() const {
  DeviceIdentity identity;
  identity.path = file_->directory();
  identity.filesystem = filesystem_of(file_->descriptor());
  struct stat facts {};
  if (fstat(file_->descriptor(), &facts) != 0) return identity;
  if (const auto device = find_block_device(facts.st_dev)) {
    identity.device = device->name;
    identity.model = device->model;
    identity.serial_hash = device->serial_hash;
    identity.scheduler = device->scheduler;
  }
  return identity;
}

DeviceEvidence FileDevice::evidence() const {
  DeviceEvidence evidence;
  const std::optional<double> resident = resident_share(file_->descriptor(), file_->size());
  evidence.resident_share = resident.value_or(0);
  const std::optional<DeviceTraffic> process = process_traffic();
  if (process) {
    evidence.process_read = process->read;
    evidence.process_written = process->written;
  }
  struct stat facts {};
  if (fstat(file_->descriptor(), &facts) != 0) return evidence;
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
    return make_error(ErrorKind::unsupported, "drop the cache of", file_->directory(),
                      "the filesystem is kept in memory; there is no medium below",
                      "choose a path on a drive");
  }
  if (Result<void> synced = sync(); synced.has_error()) return synced;  // dirty pages are not dropped
  // Returns the error instead of setting errno.
  const int code = posix_fadvise(file_->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  if (code != 0) return os_error(code, "drop the cache of", file_->directory());
  return {};
}

Result<void> FileDevice::sync() {
  while (fdatasync(file_->descriptor()) != 0) {
    if (errno != EINTR) return os_error(errno, "sync", file_->directory());
  }
  return {};
}

Result<void> FileDevice::register_buffers(std::span<std::byte> region) {
  if (in_flight() > 0) {
    return make_error(ErrorKind::busy, "register buffers", file_->directory(),
                      std::to_string(in_flight()) + " requests are in flight", "poll them first");
  }
  return engine_->register_buffers(region);
}

}  // namespace fulcrum
