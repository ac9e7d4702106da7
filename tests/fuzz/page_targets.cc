// Laws of pages: an error is one of the three that formats know; what was decoded is encoded to a page that
// decodes to the same, byte for byte.
#include <algorithm>

#include "tests/fuzz/targets.h"
#include "tiers/format.h"
#include "tiers/format_page.h"

namespace fulcrum::fuzz {
namespace {

constexpr std::uint64_t kFingerprint = 42;
constexpr std::size_t kWriterBytes = 256;  // the rest of a writer's name is cut when it is written

/// The input as a page: sealed, as it is, or shorter than a page.
Bits page_of(std::span<const std::byte> input) {
  Input in(input);
  const std::uint8_t how = in.byte();
  const std::span<const std::byte> bytes = in.take(kPage);
  Bits page(bytes.begin(), bytes.end());
  if ((how & 2) != 0) return page;
  page.resize(kPage);
  if ((how & 1) != 0) seal_page(page);
  return page;
}

template <class T>
void require_known_kind(const Result<T>& result) {
  const ErrorKind kind = result.error().kind;
  require(kind == ErrorKind::corrupt || kind == ErrorKind::mismatch || kind == ErrorKind::not_found,
          "a page that is refused is corrupt, of another format or not there");
  require(!result.error().where.empty() && !result.error().detail.empty(), "and is said to be so");
}

}  // namespace

bool run_superblock(std::span<const std::byte> input) {
  const Bits page = page_of(input);
  Result<Superblock> found = decode_superblock(page);
  if (found.has_error()) {
    require_known_kind(found);
    return false;
  }
  Bits again(kPage);
  encode_superblock(*found, again);
  const Result<Superblock> same = decode_superblock(again);
  require(!same.has_error(), "a superblock that was written can be read");
  Bits third(kPage);
  encode_superblock(*same, third);
  require(third == again, "writing what was read gives the same bytes");
  found->writer.resize(std::min(found->writer.size(), kWriterBytes));
  require(*found == *same, "a superblock means the same when it is written again");
  require(difference(*found, *same).empty(), "a superblock does not differ from itself");
  require(found->layout.capacity() <= found->layout.total(), "rows fit into the store");
  return true;
}

bool run_extent_header(std::span<const std::byte> input) {
  const Bits page = page_of(input);
  const Result<ExtentFacts> facts = decode_extent_header(page, kFingerprint);
  if (facts.has_error()) {
    require_known_kind(facts);
    return false;
  }
  Bits again(kPage);
  encode_extent_header(*facts, kFingerprint, again);
  const std::size_t used = 64 + 28 * facts->blocks.size();
  require(std::equal(again.begin(), again.begin() + kSumOffset, page.begin()) &&
              std::equal(again.begin() + kSumEnd, again.begin() + static_cast<std::ptrdiff_t>(used),
                         page.begin() + kSumEnd),
          "an extent header is written as it was read");
  require(!decode_extent_header(again, kFingerprint).has_error(),
          "an extent header that was written can be read");
  require(decode_extent_header(again, kFingerprint + 1).has_error(), "another namespace's is refused");
  return true;
}

}  // namespace fulcrum::fuzz
