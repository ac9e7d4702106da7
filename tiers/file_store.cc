#include "tiers/file_store.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "tiers/owner_lock.h"
#include "tiers/store_files.h"
#include "tiers/store_resize.h"

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

/// What to open, and how.
struct Opening {
  FileLayout layout;
  bool resize = false;        ///< of what lies there, which is of these bytes
  bool demand_space = false;  ///< all of it must fit on the disk now
  bool meta_cut = false;      ///< the file is shorter than its superblock says
  std::size_t pieces = 0;     ///< segments that lie there
};

Result<std::unique_ptr<FileDevice>> open_device(const std::string& directory, const FileStoreOptions& options,
                                                const Opening& opening) {
  StoreFilesOptions files;
  files.head = opening.layout.meta_bytes;
  files.piece = opening.layout.segment_bytes;
  files.pieces = opening.layout.segments;
  if (opening.resize) files.pieces = std::max(files.pieces, opening.pieces);  // those to be given back
  files.direct = options.direct != DirectChoice::buffered;
  files.demand_space = opening.demand_space;
  files.head_told = opening.resize;
  return FileDevice::open_store(
      directory, files, {.direct = options.direct, .engine = options.engine, .close_limit = kCloseLimit});
}

FileTierOptions tier_options(const FileStoreOptions& options, const Opening& opening,
                             const FileDevice& device) {
  FileTierOptions tier;
  tier.name = options.name;
  tier.layout = opening.layout;
  tier.resize = opening.resize;
  tier.turning = options.medium == Medium::hdd;
  tier.io_size = options.io_size;
  tier.budget = std::max(options.io_size * static_cast<std::int64_t>(options.depth), kBudgetLeast);
  tier.commit = options.commit;
  if (const OwnerRecord* owner = device.owner()) {
    tier.owner = owner->nonce;
    tier.writer = owner->describe();
  }
  return tier;
}

void tell(const std::string& directory, const Opening& opening, const RecoveryReport& report) {
  const std::string store = "the store in " + directory;
  if (opening.meta_cut || report.damaged) {
    log(LogLevel::warn, "the journal of " + store +
                            (opening.meta_cut ? ": its file 'meta' was cut short" : " is damaged") + ": " +
                            std::to_string(report.blocks) +
                            " blocks were found, the others are misses; fulcrum fsck says more");
  }
  if (report.beyond > 0) {
    log(LogLevel::warn, store + " has " + std::to_string(opening.layout.segments) +
                            " segments now: " + std::to_string(report.beyond) +
                            " extents lay in others, and their blocks are misses");
  }
}

Result<FileStore> open_once(const std::string& directory, const FileStoreOptions& options,
                            const Opening& opening, Clock& clock) {
  auto device = open_device(directory, options, opening);
  if (device.has_error()) return device.error();
  std::string registered;
  if (!options.rows.empty() && (*device)->mode().uring) {
    const Result<void> answer = (*device)->register_buffers(options.rows);
    registered = answer ? ", registered rows" : ", rows not registered (" + answer.error().detail + ")";
  }
  FileStore store;
  store.io = describe(**device, registered);
  const FileTierOptions tier = tier_options(options, opening, **device);
  std::unique_ptr<Device> below = std::move(*device);
  if (options.wrap) below = options.wrap(std::move(below));
  auto opened = FileTier::open(std::move(below), tier, clock);
  if (opened.has_error()) return opened.error();
  store.tier = std::move(*opened);
  store.damaged = opening.meta_cut || store.tier->recovery().damaged;
  tell(directory, opening, store.tier->recovery());
  if (opening.resize && opening.pieces > opening.layout.segments) {
    if (auto removed = remove_beyond(directory, opening.layout.segments); removed.has_error()) {
      log(LogLevel::warn, removed.error().message());  // tried again at the next start
    }
  }
  return store;
}

/// Opens what lies there with the layout that this capacity makes of it, or makes a store with `fresh`.
Result<FileStore> open_any(const std::string& directory, const FileStoreOptions& options,
                           const FileLayout& fresh, Clock& clock) {
  Opening opening{fresh};
  const auto there = StoreFiles::look_at(directory);
  // A store that is there already starts also where others have filled the disk: it lives with what it has.
  opening.demand_space = !there || there->head == Bytes(0);
  const std::optional<Superblock> found = peek_superblock(directory);
  if (!there || !found) return open_once(directory, options, opening, clock);
  const auto plan = plan_resize(*found, options.name, options.row_bytes, options.capacity);
  if (plan.has_error()) return plan.error();
  if (!*plan) return open_once(directory, options, opening, clock);
  opening.pieces = there->pieces;
  opening.resize = true;
  opening.meta_cut = there->head < (*plan)->from.meta_bytes;
  opening.layout = (*plan)->to;
  opening.demand_space = (*plan)->to.segments > (*plan)->from.segments;
  return open_once(directory, options, opening, clock);
}

}  // namespace

Result<FileStore> open_file_store(const std::string& directory, const FileStoreOptions& options,
                                  Clock& clock) {
  const auto layout = FileLayout::for_capacity(options.capacity, options.row_bytes, options.medium);
  if (layout.has_error()) return layout.error();
  Result<FileStore> store = open_any(directory, options, *layout, clock);
  if (store || !options.replace_foreign || !foreign(store.error())) return store;
  log(LogLevel::warn, "replacing the store in " + directory + ": " + store.error().detail);
  if (Result<void> removed = remove_store(directory); removed.has_error()) return removed.error();
  return open_any(directory, options, *layout, clock);
}

}  // namespace fulcrum
