#include "tests/fuzz/seeds.h"

#include <utility>

#include "tests/fuzz/stores.h"
#include "tests/tiers/file_tier_rig.h"
#include "tiers/format_page.h"

namespace fulcrum::fuzz {
namespace {

constexpr std::uint64_t kFingerprint = 42;  // that extent headers are read with
const BlockKey kRoot{1, 2};

/// An input: bytes one after the other.
class Recipe {
 public:
  Recipe& byte(unsigned value) {
    bits_.push_back(static_cast<std::byte>(value));
    return *this;
  }
  Recipe& pair(std::size_t value) {
    return byte(static_cast<unsigned>(value & 0xff)).byte(static_cast<unsigned>(value >> 8));
  }
  Recipe& add(std::span<const std::byte> bytes) {
    bits_.insert(bits_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// Bytes up to the last one that is not zero: targets put the rest back.
  Recipe& trimmed(std::span<const std::byte> bytes) {
    while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
    return add(bytes);
  }
  /// Edits of a store; targets.h and store_target.cc say what they do.
  Recipe& edit(unsigned operation, unsigned page) { return byte(operation).byte(page); }
  Recipe& patch(std::size_t offset, std::span<const std::byte> bytes) {
    return pair(offset).byte(static_cast<unsigned>(bytes.size())).add(bytes);
  }
  /// A sealed batch of a journal, or one that is appended to that of a store.
  Recipe& records(const std::vector<Record>& records) {
    Bits payload;
    for (const Record& record : records) encode_record(record, payload);
    return byte(static_cast<unsigned>(records.size())).pair(payload.size()).add(payload);
  }
  [[nodiscard]] Bits bits() const { return bits_; }

 private:
  Bits bits_;
};

ExtentFacts extent(std::uint32_t segment, std::uint32_t page, std::uint64_t chain, std::uint32_t blocks) {
  ExtentFacts facts{segment, 1, page, 0, kRoot, 77, {}};
  for (std::uint32_t i = 0; i < blocks; ++i)
    facts.blocks.push_back({test::key_of(chain, i), 1000 + i, static_cast<float>(i)});
  return facts;
}

void add_pages(std::map<std::string, Bits>& out) {
  Superblock superblock = superblock_for({"model-7b", "paged-16", "bf16", 2, "tenant"}, {});
  superblock.layout = *FileLayout::for_capacity(Bytes(64 << 20), Bytes(100000), Medium::flash);
  superblock.sequence = 3;
  superblock.writer = "pid 12 on host a";
  Bits page(kPage);
  encode_superblock(superblock, page);
  out["superblock/good"] = Recipe().byte(0).trimmed(page).bits();
  page[100] ^= std::byte{4};
  out["superblock/bad-flip"] = Recipe().byte(0).trimmed(page).bits();
  out["superblock/good-forged"] = Recipe().byte(1).trimmed(page).bits();
  page[16] = std::byte{9};
  out["superblock/bad-version"] = Recipe().byte(1).trimmed(page).bits();
  out["superblock/bad-short"] = Recipe().byte(2).add(std::span(page).first(80)).bits();
  out["superblock/bad-zeros"] = Recipe().byte(0).bits();

  encode_extent_header(extent(1, 8, 1, 5), kFingerprint, page);
  out["extent_header/good"] = Recipe().byte(0).trimmed(page).bits();
  page[70] ^= std::byte{4};
  out["extent_header/bad-flip"] = Recipe().byte(0).trimmed(page).bits();
  out["extent_header/good-forged"] = Recipe().byte(1).trimmed(page).bits();
  page[4] = std::byte{200};
  out["extent_header/bad-count"] = Recipe().byte(1).trimmed(page).bits();
  encode_extent_header(extent(1, 8, 1, 128), kFingerprint, page);
  out["extent_header/good-full"] = Recipe().byte(0).trimmed(page).bits();
}

void add_journals(std::map<std::string, Bits>& out) {
  const std::vector<Record> first{WriteHistory{Bytes(1 << 20), Bytes(1 << 10), 20000}, extent(0, 0, 1, 3),
                                  extent(1, 0, 2, 3)};
  const std::vector<Record> second{WorthRecord{0, 1, 0, 90, {4, kGone, 5}}, extent(0, 4, 1, 2),
                                   SegmentRecord{1, 2}, extent(1, 0, 3, 3)};
  out["journal/good"] = Recipe().byte(1).pair(0).records(first).records(second).bits();
  out["journal/good-overlap"] =
      Recipe().byte(1).pair(0).records(first).records({extent(0, 3, 3, 3), extent(1, 1, 4, 1)}).bits();
  out["journal/good-torn"] = Recipe().byte(3).pair(kPage + 60).records(first).records(second).bits();
  out["journal/bad-torn"] = Recipe().byte(3).pair(60).records(first).records(second).bits();
  out["journal/bad-garbage"] = Recipe().byte(1).pair(0).byte(2).pair(9).pair(1).pair(0).pair(3).bits();
  out["journal/bad-raw"] = Recipe().byte(0).pair(0).pair(0x4a46).pair(0x3142).bits();
}

/// Edits of the base images: the journal's end is wherever it is, and pages are those of their layout.
void add_stores(std::map<std::string, Bits>& out) {
  const Bits eight(8, std::byte{0xff});
  const Bits one(1, std::byte{1});
  out["store/good-open"] = Recipe().byte(0).bits();
  out["store/good-closed"] = Recipe().byte(1).bits();
  out["store/good-stale-superblocks"] = Recipe().byte(0).edit(7, 0).edit(7, 1).bits();
  out["store/good-stale-rows"] = Recipe().byte(1).edit(7, 70).edit(7, 71).edit(7, 80).bits();
  out["store/good-swapped-rows"] = Recipe().byte(1).edit(3, 65).byte(66).edit(3, 67).byte(68).bits();
  out["store/good-flipped-row"] = Recipe().byte(1).edit(0, 66).patch(100, one).bits();
  out["store/good-lost-rows"] = Recipe().byte(0).edit(5, 64).bits();
  out["store/good-foreign-records"] =
      Recipe()
          .byte(0)
          .edit(6, 0)
          .records({extent(0, 0, 7, 3), extent(1, 1, 1, 3), extent(2, 0, 8, 4)})
          .bits();
  out["store/good-overlap"] =
      Recipe().byte(0).edit(6, 0).records({extent(0, 1, 7, 3), extent(0, 3, 8, 3)}).bits();
  out["store/good-old-life"] =
      Recipe().byte(0).edit(6, 0).records({SegmentRecord{0, 0}, SegmentRecord{1, 9}}).bits();
  out["store/good-forged-batch"] = Recipe().byte(1).edit(2, 4).patch(60, eight).bits();
  out["store/good-one-superblock"] = Recipe().byte(1).edit(0, 0).patch(40, eight).bits();
  out["store/bad-other-namespace"] =
      Recipe().byte(1).edit(1, 0).patch(48, one).edit(1, 1).patch(48, one).bits();
  out["store/bad-blank-superblocks"] = Recipe().byte(1).edit(4, 0).edit(4, 1).bits();
  out["store/bad-both-superblocks"] =
      Recipe().byte(1).edit(0, 0).patch(40, eight).edit(0, 1).patch(40, eight).bits();
}

}  // namespace

Bits signed_forgery() {
  constexpr std::uint32_t kLife = 50;
  const test::Rig rig(Bytes(4096), Bytes(512 << 10));
  const auto at = static_cast<std::size_t>(rig.options.layout.segment_offset(0)) + kPage;
  const std::span<const std::byte> row = std::span(base_image(false)).subspan(at, kPage);
  const BlockKey key = test::key_of(2, 4);
  const ExtentFacts forged{0, kLife, 0, 4, kRoot, 0, {{key, row_sum(row, key, 0, 1, kLife), 9}}};
  return Recipe().byte(0).edit(6, 0).records({forged}).bits();
}

std::map<std::string, Bits> binary_seeds() {
  std::map<std::string, Bits> out;
  add_pages(out);
  add_journals(out);
  add_stores(out);
  return out;
}

}  // namespace fulcrum::fuzz
