#!/usr/bin/env bash
# Measures everything that docs/benchmarks.md reports on this machine and leaves JSON files in OUT.
#   bench/measure.sh OUT [--full] [cmake arguments...]      about 3 minutes; --full adds a sign-off calibration
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: bench/measure.sh OUT [--full] [cmake arguments...]}
shift
mode=()
if [ "${1:-}" = --full ]; then mode=(--full); shift; fi
mkdir -p "$out" scratch

cmake --preset release -DFULCRUM_BUILD_TESTS=OFF "$@" >"$out/configure.log"
cmake --build --preset release >"$out/build.log"
bin=build/release
"$bin/bench/io_overhead" --path scratch --json "$out/io_overhead.json" | tee "$out/io_overhead.txt"
"$bin/bench/decision_bench" --benchmark_out="$out/decision.json" --benchmark_out_format=json | tee "$out/decision.txt"
"$bin/bench/replay_bench" | tee "$out/replay_speed.txt"
"$bin/bench/outside_fit" | tee "$out/outside_fit.txt"
"$bin/cli/fulcrum" calibrate --path scratch --name nvme "${mode[@]}" --model configs/models/Qwen3-8B.json \
  --prefill-datasheet H200-SXM --out "$out/machine.yaml" 2>"$out/calibrate.log" | tee "$out/calibrate.txt"
"$bin/cli/fulcrum" breakeven --profile "$out/machine.yaml" --json "$out/breakeven.json" | tee "$out/breakeven.txt"
"$bin/cli/fulcrum" replay --profile "$out/machine.yaml" --policy configs/dram_nvme.yaml \
  --trace data/mooncake_conversation/conversation_trace.jsonl.zst --json "$out/replay.json" | tee "$out/replay.txt"
