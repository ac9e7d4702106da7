// One libFuzzer program: FULCRUM_FUZZ_TARGET names its target.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

// The rig of the store reports through GoogleTest: a fuzzer takes its reports for crashes.
extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  GTEST_FLAG_SET(throw_on_failure, true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(fulcrum::fuzz::FULCRUM_FUZZ_TARGET(std::as_bytes(std::span(data, size))));
  return 0;
}
