#include "tiers/store_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "tiers/file_tier_core.h"
#include "tiers/owner_lock.h"
#include "tiers/store_files.h"
#include "tiers/store_reader.h"

namespace fulcrum {
namespace {

constexpr Seconds kAnswerLimit{30};
// A checkpoint of the owner may overtake whoever only looks.
constexpr int kLooks = 5;

/// The first bytes of a file, whose size is not known to be right yet; zeros behind its end.
Result<std::vector<std::byte>> head_of(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return os_error(errno, "open", path);
  std::vector<std::byte> pages(bytes);
  std::size_t got = 0;
  ssize_t count = 0;
  do {
    count = pread(file, pages.data() + got, pages.size() - got, static_cast<off_t>(got));
    if (count > 0) got += static_cast<std::size_t>(count);
  } while (count > 0 || (count < 0 && errno == EINTR));
  const int code = count < 0 ? errno : 0;
  close(file);
  if (code != 0) return os_error(code, "read", path);
  return pages;
}

/// For a directory without a superblock: a store that lost it, or none.
Error headless(const std::string& directory, const StoreSurvey& survey, const std::string& what) {
  for (const StoreSurvey::File& file : survey.files) {
    if (file.index == 0) continue;
    const std::string path = store_path(directory, file.index);
    const auto page = head_of(path, kPage);
    if (page.has_error()) return page.error();
    if (is_extent_header(*page))
      return without_superblock(directory,
                                std::string(what).append(", and ").append(path).append(" holds blocks"));
  }
  return bad_input(directory, "holds no store: " + what,
                   "name a directory of a file tier, 'path' in the policy");
}

struct Superblocks {
  std::vector<FoundSuperblock> valid;  // newest first
  std::array<std::string, 2> faults;
};

Result<Superblocks> read_superblocks(const std::string& directory, const StoreSurvey& survey) {
  const auto pages = head_of(store_path(directory, 0), 2 * kPage);
  if (pages.has_error()) return pages.error();
  Superblocks found;
  std::array<bool, 2> blank{};
  for (const int slot : {0, 1}) {
    const auto at = static_cast<std::size_t>(slot);
    Result<Superblock> one = decode_superblock(std::span(*pages).subspan(at * kPage, kPage));
    if (!one.has_error()) {
      found.valid.push_back({std::move(*one), slot});
    } else if (one.error().kind == ErrorKind::mismatch) {
      Error newer = one.error();
      newer.where = directory;
      return newer;
    } else {
      blank[at] = one.error().kind == ErrorKind::not_found;
      found.faults[at] = blank[at] ? "it is blank" : one.error().detail;
    }
  }
  if (found.valid.empty()) {
    // One blank place and one damaged: its making was interrupted, and the next start makes it again.
    if (blank[0] || blank[1]) return headless(directory, survey, "its file 'meta' has no superblock");
    return without_superblock(directory, "no superblock is valid: " + found.faults[0]);
  }
  std::ranges::sort(found.valid, [](const FoundSuperblock& a, const FoundSuperblock& b) {
    return a.superblock.sequence > b.superblock.sequence;
  });
  // The second place is used with the second superblock.
  for (const int slot : {0, 1}) {
    const bool unused = found.valid.front().superblock.sequence < 2;
    if (blank[static_cast<std::size_t>(slot)] && unused) found.faults[static_cast<std::size_t>(slot)].clear();
  }
  return found;
}

Result<std::unique_ptr<FileDevice>> open_device(const std::string& directory, StoreAccess access,
                                                const FileLayout& layout) {
  const StoreFilesOptions files{.head = layout.meta_bytes,
                                .piece = layout.segment_bytes,
                                .pieces = layout.segments,
                                .read_only = access != StoreAccess::repair,
                                .demand_space = false,
                                .head_told = true,
                                .locked = access != StoreAccess::look};
  return FileDevice::open_store(directory, files, {});
}

/// Replays the newest journal that there is. False where there was none.
Result<bool> replay_journal(StoreImage& image, std::span<const FoundSuperblock> found, Clock& clock) {
  StoreReader reader(*image.device, clock, kAnswerLimit);
  for (const FoundSuperblock& candidate : found) {
    if (candidate.superblock.layout != image.superblock.layout) continue;
    Result<FoundJournal> journal = reader.journal(candidate.superblock);
    if (journal.has_error()) {
      image.device.reset();  // before the reader's buffers
      return journal.error();
    }
    image.lost_records += journal->dropped;
    if (journal->batches == 0) continue;
    image.superblock.active_half = candidate.superblock.active_half;
    image.slot = candidate.slot;
    image.batches = journal->batches;
    image.records = journal->records.size();
    image.state.time_ms = journal->time_ms;
    take_up(journal->records, image.superblock.layout, image.state);
    image.lost_records += image.state.contradicted;
    settle_segments(image.superblock.layout, image.state);
    const FileLayout& layout = image.superblock.layout;
    trim(static_cast<std::uint64_t>(layout.capacity().value() / layout.row_bytes.value()), image.state);
    return true;
  }
  return false;
}

Result<std::unique_ptr<StoreImage>> look(const std::string& directory, StoreAccess access,
                                         const StoreSurvey& survey, Clock& clock) {
  for (int looks = 1;; ++looks) {
    auto found = read_superblocks(directory, survey);
    if (found.has_error()) return found.error();
    const FoundSuperblock& newest = found->valid.front();
    if (auto sound = newest.superblock.layout.check(); sound.has_error()) return sound.error();
    auto image = std::make_unique<StoreImage>(directory, survey, newest.superblock);
    image->slot = newest.slot;
    image->superblock_faults = found->faults;
    image->meta_cut = survey.files.front().size < newest.superblock.layout.meta_bytes;
    auto device = open_device(directory, access, newest.superblock.layout);
    if (device.has_error()) return device.error();
    image->device = std::move(*device);
    const auto replayed = replay_journal(*image, found->valid, clock);
    if (replayed.has_error()) return replayed.error();
    if (*replayed || looks == kLooks) return image;
  }
}

}  // namespace

Result<std::unique_ptr<StoreImage>> StoreImage::open(const std::string& directory, StoreAccess access,
                                                     Clock& clock) {
  auto survey = StoreSurvey::of(directory);
  if (survey.has_error()) return survey.error();
  if (survey->files.empty() || survey->files.front().index != 0) {
    return headless(directory, *survey, "there is no file 'meta'");
  }
  return look(directory, access, *survey, clock);
}

Result<std::uint64_t> StoreImage::forget(std::span<const BlockKey> keys, Clock& clock) {
  std::uint64_t taken = 0;
  for (const BlockKey& key : keys) taken += state.index.forget(key) ? 1U : 0U;
  FileTierOptions options;
  options.layout = superblock.layout;
  FileTierCore core(options, clock, *device, std::move(state));
  superblock.clean = false;
  if (const OwnerRecord* owner = device->owner()) {
    superblock.owner = owner->nonce;
    superblock.writer = owner->describe();
  }
  Result<Journal> journal = Journal::create(superblock, slot, core);
  if (journal.has_error()) return journal.error();
  // A checkpoint without these blocks, then the superblock of a store that was closed.
  bool closing = false;
  for (;;) {
    const std::optional<IoRequest> request = journal->next(core.time_ms());
    if (!request && std::exchange(closing, true)) return taken;
    if (!request) {
      journal->request_close();
      continue;
    }
    const Result<void> done = run_request(*device, *request, clock, kAnswerLimit);
    if (done.has_error()) {
      device.reset();  // before the journal's buffers
      return done.error();
    }
    journal->done(done);
  }
}

}  // namespace fulcrum
