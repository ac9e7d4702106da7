# fulcrum_fuzzer(TARGET): the libFuzzer program fuzz_TARGET, and all of them as `fuzzers`.
#
# Only in builds of Clang with FULCRUM_SANITIZE=fuzzer-no-link,..., which scripts/fuzz.sh makes.
set(FULCRUM_FUZZ FALSE)
if(FULCRUM_SANITIZE MATCHES fuzzer-no-link)
  set(FULCRUM_FUZZ TRUE)
  add_custom_target(fuzzers)
endif()

function(fulcrum_fuzzer target)
  if(NOT FULCRUM_FUZZ)
    return()
  endif()
  add_executable(fuzz_${target} EXCLUDE_FROM_ALL fuzzer.cc)
  target_compile_definitions(fuzz_${target} PRIVATE FULCRUM_FUZZ_TARGET=run_${target})
  target_link_libraries(fuzz_${target} PRIVATE fulcrum_fuzz_targets)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${target})
endfunction()
