#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/checksum.h"
#include "base/random.h"
#include "replay/trace_builder.h"
#include "replay/trace_fields.h"

namespace fulcrum::replay {

namespace {

using Json = nlohmann::json;

constexpr int kNestingMax = 8;
constexpr std::int64_t kIdMax = std::int64_t{1} << 62;

/// The block ids of one session's prompts as chained keys of `group` ids each.
class SessionKeys {
 public:
  void start(std::uint32_t session, std::size_t group) {
    session_ = session;
    group_ = group;
    ids_.clear();
    keys_.clear();
  }

  /// Keys of the next prompt; only what differs from the prompt before is hashed again.
  std::span<const BlockKey> update(const std::vector<std::int64_t>& ids) {
    const auto [mine, theirs] = std::mismatch(ids_.begin(), ids_.end(), ids.begin(), ids.end());
    const auto same = static_cast<std::size_t>(mine - ids_.begin());
    ids_.resize(same);
    ids_.insert(ids_.end(), theirs, ids.end());
    keys_.resize(std::min(keys_.size(), same / group_));
    while ((keys_.size() + 1) * group_ <= ids_.size()) keys_.push_back(next_key());
    return keys_;
  }

 private:
  [[nodiscard]] BlockKey next_key() const {
    const BlockKey parent = keys_.empty() ? BlockKey{0, session_} : keys_.back();
    const auto block = std::span(ids_).subspan(keys_.size() * group_, group_);
    const Hash128 content = hash128(std::as_bytes(block));
    const std::array<std::uint64_t, 4> link = {parent.high, parent.low, content.high, content.low};
    const Hash128 hash = hash128(std::as_bytes(std::span(link)));
    return {hash.high, hash.low};
  }

  std::uint64_t session_ = 0;
  std::size_t group_ = 1;
  std::vector<std::int64_t> ids_;
  std::vector<BlockKey> keys_;
};

class ClaudeCodeParser final : public TraceParser {
 public:
  explicit ClaudeCodeParser(const TraceOptions& options)
      : options_(options), starts_(Random(options.seed).split("session starts")) {}

  [[nodiscard]] bool recognises(std::string_view line) const override {
    return line.front() == '{' && line.find("\"requests\"") != std::string_view::npos &&
           line.find("\"hash_id_scope\"") != std::string_view::npos;
  }

  std::string read(std::string_view line, TraceBuilder& out) override {
    std::string problem;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) return "this is not JSON";
    JsonFields fields(json, problem);
    take_block_size(fields);
    const Json* requests = fields.list("requests");
    if (!fields.good()) return problem;
    const auto before = out.mark();
    keys_.start(session_ + 1, static_cast<std::size_t>(block_ / own_block_));
    if (options_.session_start_rate > 0)
      start_ += Seconds(starts_.exponential() / options_.session_start_rate);
    read_requests(*requests, start_, 0, problem, out);
    if (problem.empty()) {
      ++session_;
    } else {
      out.rollback(before);
    }
    return problem;
  }

  [[nodiscard]] Tokens block_tokens() const override { return Tokens(block_); }

 private:
  void take_block_size(JsonFields<Json>& fields) {
    const std::int64_t own = fields.integer("block_size", 1, 1 << 20);
    if (!fields.good()) return;
    const std::int64_t wanted = options_.block_tokens.value() > 0 ? options_.block_tokens.value() : own;
    if (own_block_ != 0 && own != own_block_)
      return fields.refuse("block_size", "differs from the lines before");
    if (wanted % own != 0) {
      return fields.refuse("block_size", "is " + std::to_string(own) + " and does not divide the block of " +
                                             std::to_string(wanted) + " tokens that was asked for");
    }
    own_block_ = own;
    block_ = wanted;
  }

  /// A sub-agent's times count from its own entry; its ids are those of the session.
  // Recursion is bounded by kNestingMax.
  void read_requests(const Json& requests, Seconds start, int depth, std::string& problem,
                     TraceBuilder& out) {
    for (std::size_t i = 0; i < requests.size() && problem.empty() && !out.full(); ++i) {
      const Json& entry = requests[i];
      JsonFields fields(entry, problem);
      const Seconds at = start + Seconds(fields.number("t", 0, kTimeMax));
      if (fields.has("requests")) {
        if (depth == kNestingMax) return fields.refuse("requests", "nests deeper than 8 sub-agents");
        const Json* nested = fields.list("requests");
        if (nested != nullptr) read_requests(*nested, at, depth + 1, problem, out);
      } else {
        read_request(fields, at, out);
      }
      if (!problem.empty()) problem.insert(0, "requests[" + std::to_string(i) + "].");
    }
  }

  void read_request(JsonFields<Json>& fields, Seconds at, TraceBuilder& out) {
    TraceRequest request;
    request.arrival = at;
    request.session = session_ + 1;
    request.prompt = Tokens(fields.integer("in", 1, kPromptMax));
    request.output = Tokens(fields.integer("out", 0, kPromptMax));
    request.think = Seconds(fields.number_or("think_time", 0, 0, kTimeMax));
    request.served = Seconds(fields.number_or("api_time", 0, 0, kTimeMax));
    const Json* runs = fields.list("hash_runs");
    if (fields.good()) expand(*runs, request.prompt.value() / own_block_, fields);
    if (fields.good()) out.add(request, keys_.update(ids_));
  }

  void expand(const Json& runs, std::int64_t blocks_max, JsonFields<Json>& fields) {
    ids_.clear();
    for (const Json& run : runs) {
      const bool pair = run.is_array() && run.size() == 2 && run[0].is_number_unsigned() &&
                        run[1].is_number_unsigned() && run[0].get<std::uint64_t>() < kIdMax;
      if (!pair) return fields.refuse("hash_runs", "holds something that is not [first id, count]");
      const std::uint64_t left = static_cast<std::uint64_t>(blocks_max) - ids_.size();
      if (run[1].get<std::uint64_t>() > left)
        return fields.refuse("hash_runs", "covers more tokens than `in`");
      const auto first = run[0].get<std::int64_t>();
      for (std::int64_t k = 0; k < run[1].get<std::int64_t>(); ++k) ids_.push_back(first + k);
    }
  }

  TraceOptions options_;
  Random starts_;
  Seconds start_{};
  std::int64_t own_block_ = 0;
  std::int64_t block_ = 0;
  std::uint32_t session_ = 0;
  SessionKeys keys_;
  std::vector<std::int64_t> ids_;
};

}  // namespace

std::unique_ptr<TraceParser> make_claude_code_parser(const TraceOptions& options) {
  return std::make_unique<ClaudeCodeParser>(options);
}

}  // namespace fulcrum::replay
