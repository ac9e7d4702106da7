// How the engine's tests wait for what must come, and what a host that uses coroutines looks like.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>

namespace fulcrum::test {

/// What comes, if it comes. An engine that hangs can not be closed either: the process ends instead.
template <class T>
T soon(std::future<T> future) {
  if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    std::fputs("the engine hangs\n", stderr);
    std::abort();
  }
  return future.get();
}

/// A coroutine that runs on its own, to its end.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace fulcrum::test
