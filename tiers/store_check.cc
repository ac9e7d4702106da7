#include "tiers/store_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "tiers/store_reader.h"

namespace fulcrum {
namespace {

constexpr std::size_t kWindow = std::size_t{64} << 20;  // bytes in flight
constexpr std::size_t kSlotsLeast = 2;
constexpr std::size_t kSlotsMost = 64;
constexpr Seconds kAnswerLimit{60};
constexpr Seconds kTellEvery{0.25};

constexpr std::int64_t page_bytes(std::int64_t pages) {
  return pages * static_cast<std::int64_t>(kPage);
}

/// What in a header contradicts the journal; empty where nothing does. Worth and use have moved on since.
std::string contradiction(const ExtentFacts& header, const ExtentFacts& known) {
  if (header.segment != known.segment) return "it belongs to segment " + std::to_string(header.segment);
  if (header.generation != known.generation) return "it is of another life of the segment";
  if (header.page != known.page) return "it belongs to page " + std::to_string(header.page);
  if (header.first != known.first || header.parent != known.parent) return "it is of another chain";
  if (header.blocks.size() != known.blocks.size()) return "it has another number of blocks";
  for (std::size_t i = 0; i < known.blocks.size(); ++i) {
    if (!known.blocks[i].live()) continue;
    if (header.blocks[i].key != known.blocks[i].key) return "it has other blocks";
    if (header.blocks[i].sum != known.blocks[i].sum) return "it has another checksum of a row";
  }
  return {};
}

/// One thing to read: the header of an extent, or one of its rows.
struct Item {
  const ExtentFacts* extent = nullptr;
  std::size_t row = 0;
  bool header = false;
};

class Checker {
 public:
  using Progress = std::function<bool(const CheckProgress&)>;

  Checker(StoreImage& image, Clock& clock, const Progress& progress)
      : image_(image), layout_(image.superblock.layout), clock_(clock), progress_(progress) {}

  Result<CheckReport> run() {
    const Seconds start = clock_.now();
    if (auto prepared = prepare(); prepared.has_error()) return prepared.error();
    if (auto read = read_all(); read.has_error()) return read.error();
    if (auto found = find_orphans(); found.has_error()) return found.error();
    report_.elapsed = clock_.now() - start;
    return std::move(report_);
  }

 private:
  Result<void> prepare() {
    const auto stride = static_cast<std::size_t>(layout_.stride());
    const std::size_t slots = std::clamp(kWindow / stride, kSlotsLeast, kSlotsMost);
    auto memory = AlignedBuffer::allocate(slots * stride);
    if (memory.has_error()) return memory.error();
    image_.memory = std::move(*memory);
    slots_.resize(slots);
    for (std::size_t i = 0; i < slots; ++i) free_.push_back(i);
    const auto rows = static_cast<std::int64_t>(image_.state.index.blocks());
    told_.total = Bytes(layout_.stride() * rows);
    for (std::uint32_t segment = 0; segment < layout_.segments; ++segment) {
      for (const ExtentIndex::ExtentId id : image_.state.index.in_segment(segment)) order_.push_back(id);
    }
    report_.extents = order_.size();
    return {};
  }

  [[nodiscard]] std::optional<Item> next() {
    while (at_ < order_.size()) {
      const ExtentFacts& extent = image_.state.index.extent(order_[at_]);
      if (!std::exchange(inside_, true)) return Item{&extent, 0, true};
      while (row_ < extent.blocks.size()) {
        const std::size_t row = row_++;
        if (extent.blocks[row].live()) return Item{&extent, row, false};
      }
      ++at_;
      row_ = 0;
      inside_ = false;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t page_of(const Item& item) const {
    return item.header ? item.extent->page : row_page(item.extent->page, item.row, layout_.stride());
  }
  [[nodiscard]] std::span<std::byte> buffer_of(std::size_t slot) const {
    const auto stride = static_cast<std::size_t>(layout_.stride());
    return image_.memory.span().subspan(slot * stride, slots_[slot].header ? kPage : stride);
  }

  Result<void> read_all() {
    std::array<IoCompletion, 16> done;
    for (std::optional<Item> item = next(); item || image_.device->in_flight() > 0;) {
      while (item && !free_.empty()) {
        const std::size_t slot = free_.back();
        free_.pop_back();
        slots_[slot] = *item;
        IoRequest request;
        request.offset = layout_.segment_offset(item->extent->segment) + page_bytes(page_of(*item));
        request.buffer = buffer_of(slot);
        request.tag = slot;
        if (auto started = image_.device->submit(request); started.has_error()) return started;
        item = next();
      }
      const auto count = image_.device->poll(done, kAnswerLimit);
      if (count.has_error()) return count.error();
      if (*count == 0) {
        return make_error(ErrorKind::timed_out, "read", image_.directory,
                          "the device has not answered for 60 s", "check the device");
      }
      for (std::size_t i = 0; i < *count; ++i) take(done[i]);
      if (auto told = tell(); told.has_error()) return told;
    }
    return {};
  }

  void take(const IoCompletion& done) {
    const auto slot = static_cast<std::size_t>(done.tag);
    const Item& item = slots_[slot];
    free_.push_back(slot);
    const std::span<const std::byte> bytes = buffer_of(slot);
    report_.bytes += Bytes(static_cast<std::int64_t>(bytes.size()));
    const std::string unread = done.result.has_error() ? done.result.error().detail : std::string();
    if (item.header) {
      judge_header(*item.extent, bytes, unread);
      return;
    }
    ++report_.rows;
    told_.done += Bytes(layout_.stride());
    const ExtentFacts& extent = *item.extent;
    const StoredBlock& block = extent.blocks[item.row];
    const auto page = static_cast<std::uint32_t>(page_of(item));
    const auto row = bytes.first(static_cast<std::size_t>(layout_.row_bytes.value()));
    const bool right = done.result.has_value() &&
                       row_sum(row, block.key, extent.segment, page, extent.generation) == block.sum;
    if (right) return;
    report_.damaged_rows.push_back(
        {block.key, extent.segment, Bytes(page_bytes(page)),
         done.result.has_error() ? "it cannot be read: " + unread : "its checksum is wrong"});
  }

  void judge_header(const ExtentFacts& extent, std::span<const std::byte> page, const std::string& unread) {
    std::string what = unread;
    if (what.empty()) {
      const Result<ExtentFacts> header = decode_extent_header(page, image_.superblock.fingerprint);
      what = header.has_error() ? header.error().detail : contradiction(*header, extent);
      if (header.has_error() && what.empty()) what = "it is blank";
    }
    if (what.empty()) return;
    DamagedHeader damaged{extent.segment, Bytes(page_bytes(extent.page)), what, {}};
    for (const StoredBlock& block : extent.blocks) {
      if (block.live()) damaged.blocks.push_back(block.key);
    }
    report_.damaged_headers.push_back(std::move(damaged));
  }

  Result<void> tell() {
    const Seconds now = clock_.now();
    if (now < tell_at_) return {};
    tell_at_ = now + kTellEvery;
    told_.damaged = report_.damaged_rows.size() + report_.damaged_headers.size();
    if (progress_(told_)) return {};
    return make_error(ErrorKind::interrupted, "check", image_.directory, "stopped before the end");
  }

  /// Extents follow each other: behind the last known one only what was never published can be.
  Result<void> find_orphans() {
    const std::int64_t pages = layout_.segment_bytes.value() / static_cast<std::int64_t>(kPage);
    for (std::uint32_t i = 0; i < layout_.segments; ++i) {
      const Segment& segment = image_.state.segments[i];
      for (std::int64_t page = segment.head; page < pages;) {
        IoRequest request;
        request.offset = layout_.segment_offset(i) + page_bytes(page);
        request.buffer = image_.memory.span().first(kPage);
        auto read = run_request(*image_.device, request, clock_, kAnswerLimit);
        if (read.has_error() && read.error().kind == ErrorKind::timed_out) return read;
        if (read.has_error()) break;
        const auto header = decode_extent_header(request.buffer, image_.superblock.fingerprint);
        const bool own = header.has_value() && header->segment == i && header->page == page &&
                         header->generation >= segment.generation && !header->blocks.empty();
        if (!own) break;
        ++report_.orphan_extents;
        report_.orphan_rows += header->blocks.size();
        page = row_page(header->page, header->blocks.size(), layout_.stride());
      }
      if (auto told = tell(); told.has_error()) return told;
    }
    return {};
  }

  StoreImage& image_;
  const FileLayout& layout_;
  Clock& clock_;
  const Progress& progress_;
  std::vector<Item> slots_;
  std::vector<std::size_t> free_;
  std::vector<ExtentIndex::ExtentId> order_;
  std::size_t at_ = 0;
  std::size_t row_ = 0;
  bool inside_ = false;
  Seconds tell_at_{};
  CheckProgress told_;
  CheckReport report_;
};

}  // namespace

Result<CheckReport> check_store(StoreImage& image, Clock& clock,
                                const std::function<bool(const CheckProgress&)>& progress) {
  return Checker(image, clock, progress).run();
}

}  // namespace fulcrum
