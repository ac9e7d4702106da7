#include "replay/trace_builder.h"

#include <algorithm>
#include <utility>

namespace fulcrum::replay {

namespace {

/// Spreads each group of equal arrivals evenly until the next one; the last group takes the gap before it.
void spread_equal_arrivals(std::vector<TraceRequest>& requests) {
  Seconds gap{};
  for (std::size_t begin = 0; begin < requests.size();) {
    const Seconds tick = requests[begin].arrival;
    std::size_t end = begin;
    while (end < requests.size() && requests[end].arrival == tick) ++end;
    if (end < requests.size()) gap = requests[end].arrival - tick;
    const auto count = static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      requests[i].arrival = tick + gap * (static_cast<double>(i - begin) / count);
    }
    begin = end;
  }
}

}  // namespace

bool TraceBuilder::continues_last(std::span<const BlockKey> keys) const {
  if (trace_.requests.empty()) return false;
  const TraceRequest& last = trace_.requests.back();
  const auto known = trace_.blocks(last);
  const std::size_t shared = std::min(known.size(), keys.size());
  if (!std::equal(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(shared), known.begin()))
    return false;
  return keys.size() <= known.size() || last.first_key + last.key_count == trace_.keys.size();
}

void TraceBuilder::add(TraceRequest request, std::span<const BlockKey> keys) {
  request.key_count = static_cast<std::uint32_t>(keys.size());
  std::size_t stored = 0;
  if (continues_last(keys)) {
    const TraceRequest& last = trace_.requests.back();
    request.first_key = last.first_key;
    stored = std::min<std::size_t>(last.key_count, keys.size());
  } else {
    request.first_key = trace_.keys.size();
  }
  const auto fresh = keys.subspan(stored);
  trace_.keys.insert(trace_.keys.end(), fresh.begin(), fresh.end());
  trace_.requests.push_back(request);
}

void TraceBuilder::rollback(Mark mark) {
  trace_.requests.resize(mark.requests);
  trace_.keys.resize(mark.keys);
}

Trace TraceBuilder::finish(std::string name, Tokens block_tokens) && {
  auto& requests = trace_.requests;
  std::stable_sort(requests.begin(), requests.end(),
                   [](const TraceRequest& a, const TraceRequest& b) { return a.arrival < b.arrival; });
  if (!requests.empty()) {
    const Seconds start = requests.front().arrival;
    for (TraceRequest& request : requests) request.arrival -= start;
  }
  if (options_.spread_ticks) spread_equal_arrivals(requests);
  if (options_.requests_max > 0 && requests.size() > options_.requests_max)
    requests.resize(options_.requests_max);
  trace_.name = std::move(name);
  trace_.block_tokens = block_tokens;
  return std::move(trace_);
}

}  // namespace fulcrum::replay
