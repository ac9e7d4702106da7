#include "engine/host_mistakes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"

namespace fulcrum::engine {
namespace {

// No model reads so much; beyond it sums of token counts would overflow.
constexpr Tokens kMostTokens{std::int64_t{1} << 40};

/// The positions of a key that comes twice. Keys are chained: one that does is not of its prefix.
std::optional<std::pair<std::size_t, std::size_t>> repeated(std::span<const BlockKey> chain) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  if (chain.size() < 2) return std::nullopt;
  std::vector<std::uint32_t> slots(std::bit_ceil(chain.size() * 2));  // positions plus one, open addressing
  const std::size_t mask = slots.size() - 1;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    std::size_t slot = (((chain[i].low ^ std::rotl(chain[i].high, 32)) * kMix) >> 32) & mask;
    for (; slots[slot] != 0; slot = (slot + 1) & mask) {
      if (chain[slots[slot] - 1] == chain[i]) return std::pair(std::size_t{slots[slot] - 1}, i);
    }
    slots[slot] = static_cast<std::uint32_t>(i + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string_view mistake_in(const Request& request) {
  if (request.prompt <= Tokens(0))
    return "Request::prompt is not positive: set it to all tokens of the prompt";
  if (request.prompt > kMostTokens)
    return "Request::prompt is above 2^40: set it to all tokens of the prompt";
  if (request.resident < Tokens(0)) {
    return "Request::resident is negative: set it to the leading tokens that the GPU holds, or to 0";
  }
  if (std::isnan(request.lead.value())) {
    return "Request::lead is not a number: set it to the seconds before the request can start, or to 0";
  }
  if (std::isnan(request.gpu_load)) {
    return "Request::gpu_load is not a number: set it to the share of the prefill budget in use, 0..1";
  }
  if (repeated(request.blocks)) {
    return "Request::blocks has a key twice: make each key from the one before it (BlockKey::next)";
  }
  return {};
}

std::string_view mistake_in(const LoadOptions& options) {
  if (std::ranges::find(options.into, nullptr) == options.into.end()) return {};
  return "LoadOptions::into has a null row: give rows for the leading blocks, or none at all";
}

Result<void> check(const StoreRequest& request) {
  const bool counts = request.first <= request.chain.size() &&
                      request.rows.size() == request.chain.size() - request.first && !request.chain.empty();
  if (!counts || std::ranges::find(request.rows, nullptr) != request.rows.end()) {
    return bad_input("store",
                     std::to_string(request.rows.size()) + " rows for " +
                         std::to_string(request.chain.size()) + " blocks from " +
                         std::to_string(request.first) + " on",
                     "give one row for each block from `first` on, none of them null");
  }
  if (const auto twice = repeated(request.chain)) {
    return bad_input("store",
                     "blocks " + std::to_string(twice->first) + " and " + std::to_string(twice->second) +
                         " of the chain have the same key",
                     "make each key from the one before it (BlockKey::next)");
  }
  return {};
}

Plan plan_of_nothing(const Request& request) {
  Plan plan;
  plan.request = request.id;
  plan.prompt = std::max(request.prompt, Tokens(0));
  plan.resident = plan.load_end = std::clamp(request.resident, Tokens(0), plan.prompt);
  plan.reason.choice = plan.resident > Tokens(0) ? Choice::resident : Choice::miss;
  return plan;
}

}  // namespace fulcrum::engine
