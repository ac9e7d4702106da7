#include "replay/router.h"

#include <algorithm>

#include "replay/key_hash.h"

namespace fulcrum::replay {
namespace {

// Prompts of one conversation share their first blocks; the very first is often the system prompt of all.
std::size_t session_of(const Trace& trace, const TraceRequest& request, std::size_t turn) {
  if (request.session != 0) return request.session;
  const auto blocks = trace.blocks(request);
  if (blocks.empty()) return turn;
  return KeyHash{}(blocks[std::min<std::size_t>(1, blocks.size() - 1)]);
}

}  // namespace

std::string_view to_string(Router router) {
  switch (router) {
    case Router::round_robin:
      return "round_robin";
    case Router::least_loaded:
      return "least_loaded";
    case Router::session:
      return "session";
  }
  return "unknown";
}

std::size_t route(Router router, const Trace& trace, const TraceRequest& request, std::size_t turn,
                  std::span<const Replica> replicas, Seconds now) {
  switch (router) {
    case Router::round_robin:
      break;
    case Router::session:
      return session_of(trace, request, turn) % replicas.size();
    case Router::least_loaded: {
      const auto lighter = [now](const Replica& a, const Replica& b) {
        return a.backlog(now) < b.backlog(now);
      };
      return static_cast<std::size_t>(std::min_element(replicas.begin(), replicas.end(), lighter) -
                                      replicas.begin());
    }
  }
  return turn % replicas.size();
}

}  // namespace fulcrum::replay
