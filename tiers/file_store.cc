#include "tiers/file_store.h"

#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "tiers/owner_lock.h"
#include "tiers/store_files.h"

namespace fulcrum {
namespace {

// Bytes that the device is asked for at once: what a load alone needs leaves it idle between two loads.
constexpr Bytes kBudgetLeast{std::int64_t{16} << 20};
constexpr Seconds kCloseLimit{5};

bool foreign(const Error& error) {
  return error.kind == ErrorKind::mismatch || error.kind == ErrorKind::corrupt;
}

/// Deletes a store, and nothing else that lies in the directory.
Result<void> remove_store(const std::string& directory) {
  const auto lock = OwnerLock::take(directory, OwnerLock::Share::exclusive);
  if (lock.has_error()) return lock.error();
  std::error_code failed;
  std::filesystem::remove(directory + "/meta", failed);
  if (!failed) std::filesystem::remove_all(directory + "/segments", failed);
  if (failed) return os_error(failed.value(), "remove the store in", directory);
  return {};
}

std::string describe(const FileDevice& device, const std::string& registered) {
  std::string text = device.mode().uring ? "io_uring" : "threads";
  text += device.mode().direct ? ", O_DIRECT" : ", through the page cache";
  text += registered;
  if (!device.fallback_reason().empty()) text += " (" + device.fallback_reason() + ")";
  return text;
}

Result<FileStore> open_once(const std::string& directory, const FileStoreOptions& options,
                            const FileLayout& layout, Clock& clock) {
  StoreFilesOptions files;
  files.head = layout.meta_bytes;
  files.piece = layout.segment_bytes;
  files.pieces = layout.segments;
  files.direct = options.direct != DirectChoice::buffered;
  // A store that is there already starts also where others have filled the disk: it lives with what it has.
  const auto found = StoreFiles::look_at(directory);
  files.demand_space = !found || found->head == Bytes(0);
  auto device = FileDevice::open_store(
      directory, files, {.direct = options.direct, .engine = options.engine, .close_limit = kCloseLimit});
  if (device.has_error()) return device.error();
  std::string registered;
  if (!options.rows.empty() && (*device)->mode().uring) {
    const Result<void> answer = (*device)->register_buffers(options.rows);
    registered = answer ? ", registered rows" : ", rows not registered (" + answer.error().detail + ")";
  }
  FileStore store;
  store.io = describe(**device, registered);
  FileTierOptions tier;
  tier.name = options.name;
  tier.layout = layout;
  tier.turning = options.medium == Medium::hdd;
  tier.io_size = options.io_size;
  tier.budget = std::max(options.io_size * static_cast<std::int64_t>(options.depth), kBudgetLeast);
  tier.commit = options.commit;
  if (const OwnerRecord* owner = (*device)->owner()) {
    tier.owner = owner->nonce;
    tier.writer = owner->describe();
  }
  std::unique_ptr<Device> below = std::move(*device);
  if (options.wrap) below = options.wrap(std::move(below));
  auto opened = FileTier::open(std::move(below), tier, clock);
  if (opened.has_error()) return opened.error();
  store.tier = std::move(*opened);
  const RecoveryReport& report = store.tier->recovery();
  const bool cut = found && found->head > Bytes(0) && found->head < layout.meta_bytes;
  store.damaged = cut || report.damaged;
  if (store.damaged) {
    log(LogLevel::warn, "the journal of the store in " + directory +
                            (cut ? ": its file 'meta' was cut short" : " is damaged") + ": " +
                            std::to_string(report.blocks) +
                            " blocks were found, the others are misses; fulcrum fsck " + "says more");
  }
  return store;
}

}  // namespace

Result<FileStore> open_file_store(const std::string& directory, const FileStoreOptions& options,
                                  Clock& clock) {
  const auto layout = FileLayout::for_capacity(options.capacity, options.row_bytes, options.medium);
  if (layout.has_error()) return layout.error();
  Result<FileStore> store = open_once(directory, options, *layout, clock);
  if (store || !options.replace_foreign || !foreign(store.error())) return store;
  log(LogLevel::warn, "replacing the store in " + directory + ": " + store.error().detail);
  if (Result<void> removed = remove_store(directory); removed.has_error()) return removed.error();
  return open_once(directory, options, *layout, clock);
}

}  // namespace fulcrum
