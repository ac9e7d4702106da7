// ExtentIndex: which blocks a store holds, and where. All of it in memory: about 60 bytes a block in extents
// of some length.
//
// Extents are known by a small number until their segment is dropped. A key is held at one place: where it
// is added again, the newer place counts and the older row is gone. A block whose worth is kGone cannot be
// found any more; its row is dead space until the segment is reclaimed. No two extents share a page.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fulcrum/key.h"
#include "fulcrum/units.h"
#include "tiers/format.h"

namespace fulcrum {

struct BlockPlace {
  std::uint32_t extent = 0;
  std::uint32_t position = 0;  ///< within the extent
  bool operator==(const BlockPlace&) const = default;
};

class ExtentIndex {
 public:
  using ExtentId = std::uint32_t;

  /// `stride`: of a row on the device.
  ExtentIndex(std::uint32_t segments, std::int64_t stride) : stride_(stride), by_segment_(segments) {}

  /// Blocks whose worth is kGone are kept as dead rows only. Its pages are free: see make_way().
  ExtentId add(ExtentFacts facts);
  /// Takes out whatever lies on pages that these facts claim, with all its blocks; how many extents. A store
  /// never writes a page twice in one life of a segment: only a journal that is damaged says so.
  std::uint32_t make_way(const ExtentFacts& facts);
  [[nodiscard]] std::optional<BlockPlace> find(const BlockKey& key) const;
  [[nodiscard]] const ExtentFacts& extent(ExtentId id) const { return extents_[id].facts; }
  [[nodiscard]] const StoredBlock& block(const BlockPlace& place) const {
    return extents_[place.extent].facts.blocks[place.position];
  }
  [[nodiscard]] std::span<const ExtentId> in_segment(std::uint32_t segment) const {
    return by_segment_[segment];
  }
  /// One past the largest number in use; vacant numbers have no blocks.
  [[nodiscard]] std::size_t extents_end() const { return extents_.size(); }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  /// The extent at that page of the segment.
  [[nodiscard]] std::optional<ExtentId> at(std::uint32_t segment, std::uint32_t page) const;
  [[nodiscard]] std::uint32_t live_in(std::uint32_t segment) const;

  /// False where the key is not held.
  bool forget(const BlockKey& key);
  /// The block's worth and the time of its use; a worth that is no finite number is bounded.
  bool touch(const BlockKey& key, std::optional<float> worth, std::uint64_t used_ms);
  /// What a journal says about the blocks of an extent that may exist no more.
  void apply(const WorthRecord& record);
  /// Takes the segment's extents out; the keys that were still held there.
  std::vector<BlockKey> drop_segment(std::uint32_t segment);
  /// Extents whose worth changed since they were last asked for.
  [[nodiscard]] std::vector<ExtentId> take_changed();
  [[nodiscard]] bool any_changed() const { return !changed_.empty(); }

 private:
  struct Entry {
    ExtentFacts facts;
    std::uint32_t live = 0;
    bool changed = false;
  };
  // A slot is 0, or an extent's number plus one and a position in its low 8 bits.
  [[nodiscard]] std::size_t home(const BlockKey& key) const;
  [[nodiscard]] const BlockKey& key_of(std::uint64_t slot) const;
  [[nodiscard]] std::size_t slot_of(const BlockKey& key) const;
  void insert(const BlockKey& key, std::uint64_t slot);
  void remove(std::size_t at);
  void grow();
  /// Where among a segment's extents, in order of place, the first one at `page` or behind it is.
  [[nodiscard]] std::size_t lower(const std::vector<ExtentId>& siblings, std::uint32_t page) const;
  /// Where among them the extents begin that share a page with these facts; one past the last of them.
  [[nodiscard]] std::pair<std::size_t, std::size_t> overlap(const ExtentFacts& facts) const;
  void mark(ExtentId id);
  void kill(const BlockPlace& place);
  /// Takes the extent out of all but its segment's list; adds the keys that were still held there.
  void empty(ExtentId id, std::vector<BlockKey>& dropped);

  std::int64_t stride_;
  std::vector<Entry> extents_;
  std::vector<ExtentId> vacant_;
  std::vector<std::vector<ExtentId>> by_segment_;
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(64);
  std::vector<ExtentId> changed_;
  std::uint64_t blocks_ = 0;
};

}  // namespace fulcrum
