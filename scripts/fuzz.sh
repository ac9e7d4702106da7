#!/usr/bin/env bash
# Runs every fuzz target (tests/fuzz/targets.h) for a while, from its seeds.
#   scripts/fuzz.sh [SECONDS [TARGET...]]     default: 15 seconds each, all targets
# Finds are left in build/fuzz/finds; `build/fuzz/tests/fuzz/fuzz_TARGET FILE` repeats one. What was learnt is kept in
# build/fuzz/learnt for the next run. Ends with 0 where nothing was found, with 1 where something was, and with 2
# where Clang lacks libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-15}
[ $# -gt 0 ] && shift
targets=("$@")
[ $# -gt 0 ] || targets=(superblock extent_header journal store profile policy trace decision)

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$probe/a.cc"
if ! clang++ -fsanitize=fuzzer,address,undefined "$probe/a.cc" -o "$probe/a" 2>/dev/null; then
  echo "fuzz: clang++ with libFuzzer is not there: run scripts/install_dependencies.sh --with-checks" >&2
  exit 2
fi

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DFULCRUM_SANITIZE=fuzzer-no-link,address,undefined \
  -DFULCRUM_BUILD_BENCH=OFF "${launcher[@]}" >/dev/null
ninja -C build/fuzz "${targets[@]/#/fuzz_}" | tail -n 1

run() {
  local target=$1 learnt=build/fuzz/learnt/$1 found=build/fuzz/finds/$1 log=build/fuzz/$1.log
  mkdir -p "$learnt" "$found"
  if build/fuzz/tests/fuzz/fuzz_"$target" "$learnt" tests/fuzz/corpus/"$target" -max_total_time="$seconds" \
    -max_len=16384 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -artifact_prefix="$found/" \
    -print_final_stats=1 >"$log" 2>&1; then
    printf 'fuzz: %-14s %9s runs, nothing found\n' "$target" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf 'fuzz: %-14s FOUND something: %s and below %s\n' "$target" "$log" "$found"
    grep -m 3 -E 'ERROR|runtime error|what\(\)|SUMMARY' "$log" || true
    return 1
  fi
}
export -f run
export seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run {}'
