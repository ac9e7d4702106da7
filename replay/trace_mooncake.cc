#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/checksum.h"
#include "replay/trace_builder.h"
#include "replay/trace_fields.h"

namespace fulcrum::replay {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kOwnBlock = 512;

/// Keeps Mooncake's ids apart from keys of other formats.
constexpr std::uint64_t kSeed = 0x6d6f'6f6e'6361'6b65;

BlockKey key_of(std::int64_t id) {
  const Hash128 hash = hash128(std::as_bytes(std::span(&id, 1)), kSeed);
  return {hash.high, hash.low};
}

class MooncakeParser final : public TraceParser {
 public:
  explicit MooncakeParser(const TraceOptions& options)
      : block_(options.block_tokens.value() > 0 ? options.block_tokens.value() : kOwnBlock) {}

  [[nodiscard]] bool recognises(std::string_view line) const override {
    return line.front() == '{' && line.find("\"hash_ids\"") != std::string_view::npos;
  }

  std::string read(std::string_view line, TraceBuilder& out) override {
    if (block_ % kOwnBlock != 0) return "blocks of this trace hold a multiple of 512 tokens";
    std::string problem;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) return "this is not JSON";
    JsonFields fields(json, problem);
    TraceRequest request;
    request.arrival = Seconds(fields.number("timestamp", 0, kTimeMax * 1e3) * 1e-3);
    request.prompt = Tokens(fields.integer("input_length", 1, kPromptMax));
    request.output = Tokens(fields.integer("output_length", 0, kPromptMax));
    const Json* ids = fields.list("hash_ids");
    if (fields.good()) read_keys(*ids, request.prompt, fields);
    if (fields.good()) out.add(request, keys_);
    return problem;
  }

  [[nodiscard]] Tokens block_tokens() const override { return Tokens(block_); }

 private:
  /// An id names the whole prefix that ends with its block, so the last id of a coarse block names that.
  void read_keys(const Json& ids, Tokens prompt, JsonFields<Json>& fields) {
    const auto count = static_cast<std::int64_t>(ids.size());
    const std::int64_t blocks = (prompt.value() + kOwnBlock - 1) / kOwnBlock;
    if (count != blocks) {
      return fields.refuse("hash_ids", "has " + std::to_string(count) + " ids, but input_length makes " +
                                           std::to_string(blocks) + " blocks of 512 tokens");
    }
    keys_.clear();
    const std::int64_t group = block_ / kOwnBlock;
    for (std::int64_t i = 0; i < count; ++i) {
      const Json& id = ids[static_cast<std::size_t>(i)];
      if (!id.is_number_unsigned()) return fields.refuse("hash_ids", "holds something that is not an id");
      if ((i + 1) % group == 0 || i + 1 == count) keys_.push_back(key_of(id.get<std::int64_t>()));
    }
  }

  std::int64_t block_;
  std::vector<BlockKey> keys_;
};

}  // namespace

std::unique_ptr<TraceParser> make_mooncake_parser(const TraceOptions& options) {
  return std::make_unique<MooncakeParser>(options);
}

}  // namespace fulcrum::replay
