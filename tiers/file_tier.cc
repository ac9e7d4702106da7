#include "tiers/file_tier.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/errors.h"
#include "tiers/file_tier_impl.h"
#include "tiers/store_reader.h"

namespace fulcrum {
namespace {

Result<void> check(const FileTierOptions& options, const Geometry& geometry) {
  const FileLayout& layout = options.layout;
  if (Result<void> sound = layout.check(); sound.has_error()) return sound;
  const auto wrong = [](const std::string& detail) {
    return bad_input("layout", detail, "open the device with the sizes of the layout");
  };
  if (geometry.capacity < layout.total()) {
    return wrong("the device has " + std::to_string(geometry.capacity.value()) + " bytes, the layout wants " +
                 std::to_string(layout.total().value()));
  }
  if (kPage % geometry.alignment != 0) {
    return wrong("the device moves units of " + std::to_string(geometry.alignment) + " bytes");
  }
  const bool pieces = geometry.piece > Bytes(0);
  if (pieces && (geometry.piece != layout.segment_bytes || geometry.head != layout.meta_bytes)) {
    return wrong("the files of the device are not the layout's segments");
  }
  const Namespace& name = options.name;
  if (name.model.size() + name.layout.size() + name.dtype.size() > kNameBytes) {
    return bad_input("namespace", "its texts are longer than " + std::to_string(kNameBytes) + " bytes",
                     "shorten them");
  }
  return {};
}

StoreStart new_store(const FileTierOptions& options) {
  StoreStart start{superblock_for(options.name, options.layout), 1, StoreState(options.layout), {}};
  start.superblock.active_half = 1;  // the first checkpoint goes to the other one
  // Whatever an earlier store has left in the journal halves must not pass for this one's.
  start.superblock.journal_generation = hash64(std::as_bytes(std::span(&options.owner, 1)), 1) >> 1;
  start.report.fresh = true;
  return start;
}

/// The newest superblock whose journal can be read at all. `layout`: the store's own, or that of another size
/// which it goes on with; the journal lies where its own says.
Result<StoreStart> recover(StoreReader& reader, const std::vector<FoundSuperblock>& found,
                           const FileLayout& layout) {
  const Superblock& newest = found.front().superblock;
  StoreStart start{newest, found.front().slot, StoreState(layout), {}};
  start.superblock.layout = layout;
  start.report.clean = newest.clean;
  for (const FoundSuperblock& candidate : found) {
    if (candidate.superblock.layout != newest.layout) continue;
    const Result<FoundJournal> journal =
        reader.journal(candidate.superblock, [&](Record& record) { take_up(record, layout, start.state); });
    if (journal.has_error()) return journal.error();
    start.report.dropped_records += journal->dropped;
    start.report.damaged |= journal->dropped > 1 || (newest.clean && journal->dropped > 0);
    if (journal->batches == 0) continue;
    start.superblock.active_half = candidate.superblock.active_half;
    start.slot = candidate.slot;
    start.report.records = journal->count;
    start.state.time_ms = journal->time_ms;
    break;
  }
  start.report.dropped_records += start.state.contradicted;
  start.report.damaged |= start.state.contradicted > 0;
  start.report.beyond = start.state.beyond;
  if (layout.segments < newest.layout.segments) make_room(layout, start.state);
  settle_segments(layout, start.state);
  trim(static_cast<std::uint64_t>(layout.capacity().value() / layout.row_bytes.value()), start.state);
  start.report.blocks = start.state.index.blocks();
  return start;
}

/// Whether segments stay where they are.
bool resizable(const FileLayout& own, const FileLayout& wanted, const Geometry& geometry) {
  const bool apart = geometry.piece > Bytes(0);  // files of their own
  return own.segment_bytes == wanted.segment_bytes && own.row_bytes == wanted.row_bytes &&
         (own.meta_bytes == wanted.meta_bytes || (apart && own.meta_bytes < wanted.meta_bytes));
}

Result<StoreStart> look(Device& device, StoreReader& reader, FileTierOptions& options) {
  Result<std::vector<FoundSuperblock>> found = reader.superblocks();
  if (found.has_error()) return found.error();
  if (options.read_only && !found->empty()) options.layout = found->front().superblock.layout;
  if (Result<void> sound = check(options, device.geometry()); sound.has_error()) return sound.error();
  if (found->empty()) {
    const Result<std::optional<std::uint32_t>> used = reader.used_segment(options.layout);
    if (used.has_error()) return used.error();
    if (*used) {
      return without_superblock(device.identity().path, "there is no superblock, and segment " +
                                                            std::to_string(**used) +
                                                            " holds blocks: 'meta' was deleted or emptied");
    }
    return new_store(options);
  }
  const FileLayout& own = found->front().superblock.layout;
  const bool resize = options.resize && resizable(own, options.layout, device.geometry());
  const Superblock wanted = superblock_for(options.name, resize ? own : options.layout);
  const std::string differs = options.read_only ? "" : difference(found->front().superblock, wanted);
  if (!differs.empty()) {
    return make_error(ErrorKind::mismatch, "open", device.identity().path, differs,
                      "give this engine another directory, or empty this one to start anew");
  }
  return recover(reader, *found, options.layout);
}

Result<AlignedBuffer> maybe(bool wanted, Result<AlignedBuffer> (*make)()) {
  return wanted ? make() : Result<AlignedBuffer>(AlignedBuffer());
}

}  // namespace

Result<std::unique_ptr<FileTier>> FileTier::open(std::unique_ptr<Device> device,
                                                 const FileTierOptions& chosen, Clock& clock) {
  const Seconds started = clock.now();
  FileTierOptions options = chosen;
  StoreReader reader(*device, clock, options.open_limit);
  Result<StoreStart> start = [&] {
    try {
      return look(*device, reader, options);
    } catch (...) {
      device.reset();  // before the reader's buffers
      throw;
    }
  }();
  if (start.has_error()) {
    device.reset();  // before the reader's buffers
    return start.error();
  }
  const bool writes = !options.read_only;
  if (writes) {
    start->superblock.owner = options.owner;
    start->superblock.writer = options.writer;
  }
  Result<AlignedBuffer> headers = maybe(writes, FileWrites::header_pages);
  Result<AlignedBuffer> probe = maybe(writes, FileUpkeep::probe_page);
  Result<AlignedBuffer> rows = FileReclaim::row_buffer(options);
  for (const Result<AlignedBuffer>* buffer : {&headers, &probe, &rows}) {
    if (buffer->has_error()) return buffer->error();
  }
  auto impl = std::make_unique<Impl>(std::move(device), options, clock, std::move(*start),
                                     Impl::Buffers{std::move(*headers), std::move(*rows), std::move(*probe)});
  if (Result<void> begun = impl->begin(options.open_limit); begun.has_error()) return begun.error();
  impl->report_.elapsed = clock.now() - started;
  return std::unique_ptr<FileTier>(new FileTier(std::move(impl)));
}

FileTier::FileTier(std::unique_ptr<Impl> impl)
    : Tier(impl->core_.options.layout.row_bytes), impl_(std::move(impl)) {}

FileTier::~FileTier() = default;

const RecoveryReport& FileTier::recovery() const {
  return impl_->report_;
}

WriteHistory FileTier::history() const {
  impl_->upkeep_.history().account();
  return impl_->core_.state.history;
}

Device& FileTier::device() {
  return *impl_->device_;
}

const Superblock& FileTier::superblock() const {
  return impl_->superblock_;
}

void FileTier::wake() {
  impl_->wake();
}

bool FileTier::contains(const BlockKey& key) const {
  return impl_->core_.state.index.find(key).has_value();
}

TierStatus FileTier::status() const {
  return impl_->status();
}

std::vector<BlockKey> FileTier::take_lost() {
  return std::exchange(impl_->core_.lost, {});
}

void FileTier::each_run(const std::function<void(const StoredRun&)>& visit) const {
  impl_->each_run(visit);
}

Result<void> FileTier::close(Seconds limit) {
  Result<void> closed = impl_->close(limit);
  count();
  return closed;
}

Result<void> FileTier::do_read(TierRead job) {
  if (Result<void> takes = impl_->takes(false); takes.has_error()) return takes;
  impl_->reads_.start(std::move(job));
  return {};
}

Result<void> FileTier::do_write(TierWrite job) {
  if (Result<void> takes = impl_->takes(true); takes.has_error()) return takes;
  impl_->writes_.start(std::move(job));
  return {};
}

void FileTier::do_erase(std::span<const BlockKey> keys) {
  for (const BlockKey& key : keys) impl_->core_.state.index.forget(key);
}

void FileTier::do_touch(std::span<const BlockKey> keys, float worth) {
  const std::uint64_t now = impl_->core_.time_ms();
  for (const BlockKey& key : keys) impl_->core_.state.index.touch(key, worth, now);
}

void FileTier::do_cancel(JobId id) {
  if (!impl_->reads_.cancel(id)) impl_->writes_.cancel(id);
}

std::size_t FileTier::do_poll(std::span<TierEvent> out, Seconds wait) {
  const std::size_t collected = impl_->poll(out, wait);
  count();
  return collected;
}

void FileTier::count() {
  const TierTally& mine = impl_->core_.tally;
  tally_.blocks_lost = mine.blocks_lost;
  tally_.corrupt = mine.corrupt;
  tally_.medium_read = mine.medium_read;
  tally_.medium_written = mine.medium_written;
}

}  // namespace fulcrum
