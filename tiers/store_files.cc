#include "tiers/store_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errors.h"
#include "tiers/descriptor_limit.h"
#include "tiers/file_space.h"
#include "tiers/scratch_file.h"
#include "tiers/store_survey.h"

namespace fulcrum {
namespace {

constexpr std::size_t kLookedAt = 64;  // segments at a time, to see whether they are still there
constexpr std::int64_t kUnit = 4096;
constexpr std::size_t kPiecesMax = 999'999;
constexpr const char* kOpening = "open the store in";

Result<void> check(const StoreFilesOptions& options) {
  for (const auto& [name, size] : {std::pair("head", options.head), std::pair("piece", options.piece)}) {
    if (size <= Bytes(0) || size.value() % kUnit != 0) {
      return bad_input(name, std::to_string(size.value()) + " bytes", "use a positive multiple of 4096");
    }
  }
  if (options.pieces >= 1 && options.pieces <= kPiecesMax) return {};
  return bad_input("pieces", std::to_string(options.pieces), "use 1 to 999999 segments");
}

Bytes total(const StoreFilesOptions& options) {
  return options.head + options.piece * static_cast<std::int64_t>(options.pieces);
}

/// Whether what the store does not take yet fits on the disk.
Result<void> check_space(const std::string& directory, const StoreFilesOptions& options, Bytes allocated) {
  const Bytes needed = std::max(total(options) - allocated, Bytes(0));
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return os_error(errno, kOpening, directory);
  const std::optional<Bytes> free = free_space(descriptor);
  Result<void> checked;
  if (free && *free < needed) {
    checked = with_shortfall(os_error(ENOSPC, kOpening, directory), descriptor, needed);
  }
  close(descriptor);
  return checked;
}

/// Of the file that is there, where a new one cannot be made to try it with.
DirectIo ask_direct_of(const std::string& path, const std::string& directory) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return direct_refused(directory, errno);
  DirectIo out = ask_direct(descriptor, directory);
  close(descriptor);
  return out;
}

DirectIo settle_direct(const std::string& directory, const StoreFilesOptions& options) {
  DirectIo out;
  if (options.direct) {
    const std::string meta = store_path(directory, 0);
    if (options.read_only) {
      out = ask_direct_of(meta, directory);
    } else {
      out = ScratchFile::try_direct_in(directory);
      const bool no_room = out.code == ENOSPC || out.code == EDQUOT;
      if (!out.works && no_room) out = ask_direct_of(meta, directory);
    }
  }
  out.alignment = std::max(out.alignment, static_cast<std::size_t>(kUnit));
  return out;
}

void sync_directory(const std::string& path) {
  // New names that a crash takes away are made again: nothing to report.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  [[maybe_unused]] const int synced = fsync(descriptor);
  close(descriptor);
}

/// A file in memory with what is left of the one that was cut, zeros behind it: readers may not mend it.
int copy_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);  // reads at any alignment
  if (file < 0) return file;
  const int copy = memfd_create("fulcrum-cut-meta", MFD_CLOEXEC);
  constexpr std::size_t kAtOnce = 1 << 20;
  while (copy >= 0 && sendfile(copy, file, nullptr, kAtOnce) > 0) {
  }
  close(file);
  return copy;
}

}  // namespace

Result<std::shared_ptr<const StoreFiles>> StoreFiles::open(const std::string& directory,
                                                           const StoreFilesOptions& options) {
  if (auto checked = check(options); checked.has_error()) return checked.error();
  // Before the lock, whose file it would make: a directory that does not exist is named as such.
  if (auto survey = StoreSurvey::of(directory); survey.has_error()) return survey.error();
  std::unique_ptr<OwnerLock> lock;
  if (options.locked || !options.read_only) {
    auto taken = OwnerLock::take(directory,
                                 options.read_only ? OwnerLock::Share::reading : OwnerLock::Share::exclusive);
    if (taken.has_error()) return taken.error();
    lock = std::move(*taken);
  }
  const auto survey = StoreSurvey::of(directory);
  if (survey.has_error()) return survey.error();
  const Bytes meta =
      survey->files.empty() || survey->files.front().index != 0 ? Bytes(0) : survey->files.front().size;
  const Bytes head = options.head_told ? std::max(options.head, meta) : options.head;
  if (const std::string misfit = survey->misfit(head, options.piece, options.pieces); !misfit.empty()) {
    return make_error(ErrorKind::mismatch, kOpening, directory, "its files are laid out otherwise: " + misfit,
                      "use the capacity and block size that it was made with, or another directory");
  }
  if (options.read_only && (survey->files.empty() || survey->files.front().index != 0)) {
    return make_error(ErrorKind::not_found, kOpening, directory, "there is none", "check the path");
  }
  if (options.demand_space && !options.read_only) {
    if (auto room = check_space(directory, options, survey->allocated()); room.has_error())
      return room.error();
  }
  if (auto enough = ensure_descriptors(options.pieces + 2, directory); enough.has_error())
    return enough.error();

  std::shared_ptr<StoreFiles> files(new StoreFiles(directory, options, std::move(lock)));
  if (auto opened = files->open_all(options); opened.has_error()) return opened.error();
  return std::shared_ptr<const StoreFiles>(std::move(files));
}

StoreFiles::StoreFiles(std::string directory, const StoreFilesOptions& options,
                       std::unique_ptr<OwnerLock> lock)
    : FileSet(std::move(directory), total(options), options.head, options.piece),
      lock_(std::move(lock)),
      read_only_(options.read_only) {}

Result<void> StoreFiles::open_all(const StoreFilesOptions& options) {
  set_direct(settle_direct(directory(), options));
  if (direct() &&
      (options.head.value() | options.piece.value()) % static_cast<std::int64_t>(alignment()) != 0) {
    return bad_input(directory(),
                     "this drive needs sizes that are multiples of " + std::to_string(alignment()));
  }
  const std::string segments = directory() + "/segments";
  if (!read_only_ && mkdir(segments.c_str(), 0700) != 0 && errno != EEXIST) {
    return os_error(errno, "make", segments);
  }
  for (std::size_t index = 0; index <= options.pieces; ++index) {
    const Bytes size = index == 0 ? head() : piece();
    if (auto opened = open_one(index, size); opened.has_error()) return opened;
  }
  if (read_only_) return {};
  sync_directory(segments);
  sync_directory(directory());
  return take_meta();
}

Result<void> StoreFiles::open_one(std::size_t index, Bytes size) {
  const std::string path = path_of(index);
  const int access = read_only_ ? O_RDONLY : O_RDWR | O_CREAT;
  const int extra = O_CLOEXEC | O_NOFOLLOW | (direct() ? O_DIRECT : 0);
  int descriptor = ::open(path.c_str(), access | extra, 0600);
  struct stat facts {};
  bool stand_in = read_only_ && descriptor < 0 && errno == ENOENT;
  if (stand_in) descriptor = memfd_create("fulcrum-missing-segment", MFD_CLOEXEC);
  if (descriptor < 0) return os_error(errno, "open", path);
  if (read_only_ && index == 0 && fstat(descriptor, &facts) == 0 && facts.st_size < size.value()) {
    stand_in = true;
    close(descriptor);
    descriptor = copy_of(path);
    if (descriptor < 0) return os_error(errno, "open", path);
  }
  add(descriptor);
  if (lock_) {  // before anything is changed: meta may have been made just now
    if (auto covered = lock_->cover_meta(); covered.has_error()) return covered;
  }
  if (read_only_ && !stand_in) return {};
  if (fstat(descriptor, &facts) != 0) return os_error(errno, "look at", path);
  if (facts.st_size >= size.value()) return {};
  const std::string doing = "make a file of " + std::to_string(size.value()) + " bytes in";
  if (auto allowed = check_file_size(size, doing, directory()); allowed.has_error()) return allowed;
  if (ftruncate(descriptor, size.value()) != 0) return os_error(errno, doing, directory());
  return {};
}

/// The head is needed at once.
Result<void> StoreFiles::take_meta() {
  int code = 0;
  do {
    code = fallocate(descriptor(), 0, 0, head().value()) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == 0) return {};
  if (code != EOPNOTSUPP && code != ENOSYS) {
    return with_shortfall(os_error(code, "take space in", directory()), descriptor(), head());
  }
  space_refusal_ =
      "space: the filesystem at " + directory() + " cannot set it aside; writes may meet a full disk";
  return {};
}

// A file that has no name any more is gone with the last process that has it open.
Result<void> StoreFiles::in_place(std::uint64_t look) const {
  const std::size_t segments = descriptors().size() - 1;
  for (std::size_t i = 0; i <= std::min(segments, kLookedAt) && !read_only_; ++i) {
    const std::size_t index = i == 0 ? 0 : 1 + (look * kLookedAt + i - 1) % segments;
    struct stat facts {};
    if (fstat(descriptors()[index], &facts) != 0 || facts.st_nlink > 0) continue;
    return make_error(ErrorKind::not_found, "keep blocks in", path_of(index),
                      "the file was removed while the engine runs: what is written is lost when it ends",
                      "restart the engine; it begins with what is left of the directory");
  }
  return {};
}

std::string StoreFiles::path_of(std::size_t index) const {
  return store_path(directory(), index);
}

Result<FoundStore> StoreFiles::look_at(const std::string& directory) {
  const auto survey = StoreSurvey::of(directory);
  if (survey.has_error()) return survey.error();
  FoundStore found;
  found.allocated = survey->allocated();
  for (const StoreSurvey::File& file : survey->files) {
    if (file.index == 0) {
      found.head = file.size;
    } else {
      found.piece = std::max(found.piece, file.size);
      found.pieces = std::max(found.pieces, file.index);
    }
  }
  return found;
}

}  // namespace fulcrum
