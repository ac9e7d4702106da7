// Laws of a whole store whose bytes were changed by somebody:
//  - it opens, or is refused with a kind that is told to the operator;
//  - whatever it then claims to hold, a read brings the bytes that were written under that key, or fails;
//  - it never holds more than it may, and every job ends;
//  - it can be written to and closed, and what was held then is held after the next start.
//
// Input: which base image, then edits. An edit is an operation, a page and what the operation wants.
// Checksums of pages and batches are put right where it says so; those of rows never are: that is the oracle.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "tests/fuzz/laws.h"
#include "tests/fuzz/stores.h"
#include "tests/fuzz/targets.h"
#include "tests/tiers/file_tier_rig.h"
#include "tiers/format_page.h"

namespace fulcrum::fuzz {
namespace {

using test::Image;
using test::Rig;

constexpr std::uint64_t kChains = 4;  // of a base image, from 1
constexpr std::uint32_t kLength = 5;  // of a chain, at most
constexpr std::size_t kEdits = 24;

struct Store : Rig {
  Store() : Rig(Bytes(4096), Bytes(512 << 10)) {}
};

Image make_image(bool closed) {
  Store store;
  require(!store.open().has_error(), "a new store opens");
  for (std::uint64_t chain = 1; chain <= kChains; ++chain) {
    const auto worth = static_cast<float>(chain);
    require(store.write(chain, 0, kLength, worth).good(), "a base image holds its blocks");
  }
  require(store.write(1, 1, 2, 3).good(), "and some of them twice");
  store.tier->touch(test::keys_of(2, 0, 2), 9);
  store.tier->erase(test::keys_of(3, 3, 2));
  store.pass(Seconds(31));  // worth is written down
  if (closed) require(!store.tier->close(Seconds(1)).has_error(), "a base image is closed");
  return store.device->image();
}

/// The journal of an image as its first superblock that is valid says: its end, and what may follow.
struct JournalEnd {
  std::size_t at = 0;
  std::size_t end = 0;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
};
JournalEnd journal_end(const Image& image) {
  Superblock newest;
  for (const std::size_t slot : {std::size_t{0}, std::size_t{1}}) {
    const Result<Superblock> found = decode_superblock(std::span(image).subspan(slot * kPage, kPage));
    if (!found.has_error() && found->sequence >= newest.sequence) newest = *found;
  }
  JournalEnd out;
  out.at = static_cast<std::size_t>(newest.layout.journal_offset(newest.active_half));
  out.end = std::min(out.at + static_cast<std::size_t>(newest.layout.journal_bytes()), image.size());
  out.generation = newest.journal_generation;
  while (out.at < out.end) {
    const Result<BatchHeader> batch =
        decode_batch(std::span(image).subspan(out.at, out.end - out.at), out.generation);
    if (batch.has_error()) break;
    out.at += (batch->bytes + kPage - 1) / kPage * kPage;
    ++out.sequence;
  }
  return out;
}

class Editor {
 public:
  Editor(Image image, const Image& other) : image_(std::move(image)), other_(other) {}

  void edit(Input& in) {
    const std::uint8_t operation = in.byte();
    const std::size_t page = in.byte() % pages();
    const std::span<std::byte> bytes = at(page);
    switch (operation % 8) {
      case 0:  // bytes go wrong
        return patch(in, bytes);
      case 1:  // a superblock or an extent header is forged
        patch(in, bytes);
        return seal_page(bytes);
      case 2:  // a batch is forged
        patch(in, bytes);
        return seal_as_batch(page);
      case 3: {  // a page is written to another place
        const std::span<std::byte> to = at(in.byte() % pages());
        std::memmove(to.data(), bytes.data(), kPage);
        return;
      }
      case 4:  // or never
        std::ranges::fill(bytes, std::byte{0});
        return;
      case 5:  // the end is missing
        return std::fill(image_.begin() + static_cast<std::ptrdiff_t>(page * kPage), image_.end(),
                         std::byte{0});
      case 6:  // records that nobody wrote
        return append(in);
      default:  // a page of another time
        std::memcpy(bytes.data(), other_.data() + page * kPage, kPage);
    }
  }
  [[nodiscard]] const Image& image() const { return image_; }

 private:
  [[nodiscard]] std::size_t pages() const { return image_.size() / kPage; }
  [[nodiscard]] std::span<std::byte> at(std::size_t page) {
    return std::span(image_).subspan(page * kPage, kPage);
  }
  static void patch(Input& in, std::span<std::byte> page) {
    const std::size_t offset = in.pair() % kPage;
    const std::span<const std::byte> bytes = in.take(in.byte());
    const std::size_t size = std::min(bytes.size(), kPage - offset);
    std::copy_n(bytes.begin(), size, page.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void seal_as_batch(std::size_t page) {
    const std::span<std::byte> rest = std::span(image_).subspan(page * kPage);
    std::uint32_t claimed = 0;
    std::uint64_t generation = 0;
    std::memcpy(&claimed, rest.data() + 4, sizeof claimed);
    std::memcpy(&generation, rest.data() + 16, sizeof generation);
    const std::size_t padded = (std::size_t{claimed} + kPage - 1) / kPage * kPage;
    if (claimed >= kBatchHeaderBytes && padded <= rest.size()) seal_page(rest.first(padded), generation);
  }
  void append(Input& in) {
    const std::uint32_t records = in.byte();
    const std::span<const std::byte> payload = in.take(in.pair());
    const JournalEnd journal = journal_end(image_);
    const std::size_t used = kBatchHeaderBytes + payload.size();
    const std::size_t padded = (used + kPage - 1) / kPage * kPage;
    if (padded > journal.end - journal.at || padded > kBatchBytes) return;
    const std::span<std::byte> batch = std::span(image_).subspan(journal.at, padded);
    std::copy(payload.begin(), payload.end(), batch.begin() + kBatchHeaderBytes);
    seal_batch({static_cast<std::uint32_t>(used), records, journal.generation, journal.sequence, 1}, batch);
  }

  Image image_;
  const Image& other_;
};

std::set<BlockKey> held(const FileTier& tier) {
  std::set<BlockKey> keys;
  tier.each_run([&keys](const StoredRun& run) { keys.insert(run.keys.begin(), run.keys.end()); });
  return keys;
}

void check_limits(const FileTier& tier) {
  fuzz::check_limits(tier.status(), held(tier).size());
}

/// Reads one by one whatever is held and whatever was ever written.
void check_rows(Store& store) {
  std::set<BlockKey> keys = held(*store.tier);
  for (std::uint64_t chain = 1; chain <= kChains; ++chain) {
    for (const BlockKey& key : test::keys_of(chain, 0, kLength)) keys.insert(key);
  }
  for (const BlockKey& key : keys) {
    const test::Ended read = store.read({key});
    require(read.ended || read.result.has_error(), "every read ends");
    require(read.wrong == 0, "what a key brings is what was written under it");
    require(!read.good() || read.blocks == 1, "a read that ends well has brought its block");
  }
}

void check_writes(Store& store) {
  for (std::uint64_t chain = 20; chain < 26; ++chain) {
    const test::Ended write = store.write(chain, 0, 4, static_cast<float>(chain));
    require(write.ended || write.result.has_error(), "every write ends");
    check_limits(*store.tier);
    const test::Ended read = store.read(chain, 0, 4);
    require(read.wrong == 0, "what was just written is read, or nothing");
  }
}

/// The laws of the store on these bytes.
bool check_store(const Image& image) {
  Store store;
  if (const Result<void> opened = store.open(image); opened.has_error()) {
    check_refusal(opened.error(), {ErrorKind::corrupt, ErrorKind::mismatch});
    return false;
  }
  check_limits(*store.tier);
  check_rows(store);
  check_limits(*store.tier);
  check_writes(store);
  const Result<void> closed = store.tier->close(Seconds(5));
  require(!closed.has_error(), "a store can be closed");
  const std::set<BlockKey> before = held(*store.tier);
  const Image left = store.device->image();
  const Result<void> again = store.open(left);
  require(!again.has_error(), "a store that was closed opens");
  require(store.tier->recovery().clean, "and knows that it was closed");
  require(held(*store.tier) == before, "what was held when it closed is held again");
  check_rows(store);
  return true;
}

}  // namespace

const Image& base_image(bool closed) {
  static const std::array<Image, 2> images{make_image(false), make_image(true)};
  return images[closed ? 1 : 0];
}

bool run_store(std::span<const std::byte> input) {
  Input in(input);
  const bool closed = (in.byte() & 1) != 0;
  Editor editor(base_image(closed), base_image(!closed));
  for (std::size_t i = 0; i < kEdits && !in.empty(); ++i) editor.edit(in);
  return check_store(editor.image());
}

}  // namespace fulcrum::fuzz
