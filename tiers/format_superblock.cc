#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/errors.h"
#include "tiers/byte_codec.h"
#include "tiers/format.h"
#include "tiers/format_page.h"

namespace fulcrum {
namespace {

constexpr std::uint64_t kMagic = 0x314d5552434c5546;  // "FULCRUM1"
constexpr std::size_t kWriterBytes = 256;
constexpr std::uint64_t kKnownFeatures = 0;

Error damaged(std::string detail) {
  return make_error(ErrorKind::corrupt, "read", "superblock", std::move(detail));
}

Error foreign(std::string detail) {
  return make_error(ErrorKind::mismatch, "read", "superblock", std::move(detail),
                    "use the version of Fulcrum that wrote it, or empty the directory to start anew");
}

void add(std::string& out, std::string_view what, const std::string& found, const std::string& wanted) {
  if (found == wanted) return;
  if (!out.empty()) out += '\n';
  out += std::string(what) + " is \"" + found + "\", expected \"" + wanted + "\"";
}

}  // namespace

Superblock superblock_for(const Namespace& name, const FileLayout& layout) {
  Superblock wanted;
  wanted.fingerprint = name.fingerprint();
  wanted.model = name.model;
  wanted.layout_name = name.layout;
  wanted.dtype = name.dtype;
  wanted.ranks = static_cast<std::uint32_t>(name.ranks);
  wanted.salt_hash = hash64(std::string_view(name.salt));
  wanted.layout = layout;
  return wanted;
}

std::string difference(const Superblock& found, const Superblock& wanted) {
  std::string out;
  add(out, "model", found.model, wanted.model);
  add(out, "KV layout", found.layout_name, wanted.layout_name);
  add(out, "dtype", found.dtype, wanted.dtype);
  add(out, "ranks", std::to_string(found.ranks), std::to_string(wanted.ranks));
  if (found.salt_hash != wanted.salt_hash) out += out.empty() ? "the salt differs" : "\nthe salt differs";
  const auto number = [&out](std::string_view what, auto a, auto b) {
    add(out, what, std::to_string(a), std::to_string(b));
  };
  number("row size in bytes", found.layout.row_bytes.value(), wanted.layout.row_bytes.value());
  number("size of journal and superblocks", found.layout.meta_bytes.value(),
         wanted.layout.meta_bytes.value());
  number("segment size", found.layout.segment_bytes.value(), wanted.layout.segment_bytes.value());
  number("number of segments", found.layout.segments, wanted.layout.segments);
  if (out.empty() && found.fingerprint != wanted.fingerprint) out = "the namespace fingerprint differs";
  return out;
}

void encode_superblock(const Superblock& superblock, std::span<std::byte> page) {
  std::fill(page.begin(), page.end(), std::byte{0});
  ByteWriter out(page);
  out.put<std::uint64_t>(kMagic);
  out.put<std::uint64_t>(0);  // the checksum
  out.put<std::uint16_t>(kFormatMajor);
  out.put<std::uint16_t>(superblock.minor);
  out.put<std::uint32_t>(kPage);
  out.put<std::uint64_t>(superblock.compatible);
  out.put<std::uint64_t>(superblock.incompatible);
  out.put<std::uint64_t>(superblock.sequence);
  out.put<std::uint64_t>(superblock.fingerprint);
  out.put<std::int64_t>(superblock.layout.row_bytes.value());
  out.put<std::int64_t>(superblock.layout.meta_bytes.value());
  out.put<std::int64_t>(superblock.layout.segment_bytes.value());
  out.put<std::uint32_t>(superblock.layout.segments);
  out.put<std::uint8_t>(superblock.clean ? 1 : 0);
  out.put<std::uint8_t>(superblock.active_half);
  out.put<std::uint16_t>(0);
  out.put<std::uint64_t>(superblock.journal_generation);
  out.put<std::uint64_t>(superblock.owner);
  out.put<std::uint64_t>(superblock.salt_hash);
  out.put<std::uint32_t>(superblock.ranks);
  out.put<std::uint32_t>(0);
  out.text(superblock.model);
  out.text(superblock.layout_name);
  out.text(superblock.dtype);
  out.text(std::string_view(superblock.writer).substr(0, kWriterBytes));
  seal_page(page);
}

Result<Superblock> decode_superblock(std::span<const std::byte> page) {
  if (page.size() < kPage) return damaged("it is shorter than a page");
  page = page.first(kPage);
  if (is_zero(page)) return make_error(ErrorKind::not_found, "read", "superblock", "there is none");
  ByteReader in(page);
  if (in.get<std::uint64_t>() != kMagic) return damaged("it does not begin with the magic of Fulcrum");
  if (in.get<std::uint64_t>() != page_sum(page)) return damaged("its checksum is wrong");
  const auto major = in.get<std::uint16_t>();
  if (major != kFormatMajor) {
    return foreign("format version " + std::to_string(major) + ", this program knows " +
                   std::to_string(kFormatMajor));
  }
  Superblock found;
  found.minor = in.get<std::uint16_t>();
  if (const auto size = in.get<std::uint32_t>(); size != kPage) {
    return foreign("pages of " + std::to_string(size) + " bytes, this program knows " +
                   std::to_string(kPage));
  }
  found.compatible = in.get<std::uint64_t>();
  found.incompatible = in.get<std::uint64_t>();
  if ((found.incompatible & ~kKnownFeatures) != 0) {
    return foreign("features that this program does not know: " + std::to_string(found.incompatible));
  }
  found.sequence = in.get<std::uint64_t>();
  found.fingerprint = in.get<std::uint64_t>();
  found.layout.row_bytes = Bytes(in.get<std::int64_t>());
  found.layout.meta_bytes = Bytes(in.get<std::int64_t>());
  found.layout.segment_bytes = Bytes(in.get<std::int64_t>());
  found.layout.segments = in.get<std::uint32_t>();
  found.clean = in.get<std::uint8_t>() != 0;
  found.active_half = in.get<std::uint8_t>();
  static_cast<void>(in.get<std::uint16_t>());
  found.journal_generation = in.get<std::uint64_t>();
  found.owner = in.get<std::uint64_t>();
  found.salt_hash = in.get<std::uint64_t>();
  found.ranks = in.get<std::uint32_t>();
  static_cast<void>(in.get<std::uint32_t>());
  found.model = in.text();
  found.layout_name = in.text();
  found.dtype = in.text();
  found.writer = in.text();
  if (!in.ok()) return damaged("its texts run over its end");
  if (found.active_half > 1) return damaged("it names a journal half that does not exist");
  if (found.layout.check().has_error()) return damaged("its layout is impossible");
  return found;
}

}  // namespace fulcrum
