// What happens where memory runs out in the middle of something: the process stops with a message.
//
// A call that changes several things and throws between them leaves them half done. What cannot be undone is
// not gone on with: a cache that lost a step may wait for ever or, worse, lie.
#pragma once

#include <new>

namespace fulcrum {

/// Says on stderr where it happened and what to do, without allocating, and aborts.
[[noreturn]] void stop_without_memory(const char* where) noexcept;

/// Calls `call`; where memory runs out in it, stops the process.
template <class Call>
decltype(auto) or_stop(const char* where, Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    stop_without_memory(where);
  }
}

}  // namespace fulcrum
