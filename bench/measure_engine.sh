#!/usr/bin/env bash
# Measures the engine on this machine's drive: everything under "Engine" in docs/benchmarks.md.
#   bench/measure_engine.sh OUT [--dir DIR] [--bytes SIZE] [cmake arguments...]
# DIR is a directory on the drive to be measured (usual: OUT). A full run writes some tens of gigabytes and
# takes minutes. Leaves a profile, JSON and text in OUT.
set -euo pipefail
cd "$(dirname "$0")/.."
usage="usage: bench/measure_engine.sh OUT [--dir DIR] [--bytes SIZE] [cmake arguments...]"
out=${1:?$usage}
shift
mkdir -p "$out"
out=$(realpath "$out")
dir=$out
bytes=4GiB
while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=${2:?$usage}; shift 2 ;;
    --bytes) bytes=${2:?$usage}; shift 2 ;;
    *) break ;;
  esac
done

cmake --preset release -DFULCRUM_BUILD_TESTS=OFF "$@" >"$out/configure.log"
cmake --build --preset release >"$out/build.log"
fulcrum=build/release/cli/fulcrum

# The drive's own best setting, as an operator would find it.
"$fulcrum" calibrate --path "$dir" --name drive --model configs/models/Qwen3-8B.json \
  --prefill-datasheet H200-SXM --out "$out/drive.yaml" 2>"$out/calibrate.log" | tee "$out/calibrate.txt"
"$fulcrum" bench io --dir "$dir" --bytes "$bytes" --profile "$out/drive.yaml" --json "$out/engine_io.json" \
  2>"$out/engine_io.log" | tee "$out/engine_io.txt"
"$fulcrum" bench io --dir "$dir" --bytes "$bytes" --block 2MiB --json "$out/engine_io_no_profile.json" \
  2>"$out/engine_io_no_profile.log" | tee "$out/engine_io_no_profile.txt"

# Recorded requests, every load from files: how loads compare with what the profile predicts.
sed 's/name: nvme/name: drive/' configs/nvme.yaml >"$out/predicted_loads.yaml"
"$fulcrum" replay --real "$dir" --trace data/mooncake_conversation/conversation_cut.jsonl.zst --requests 300 --speed 2 \
  --workers 1 --profile "$out/drive.yaml" --policy "$out/predicted_loads.yaml" --json "$out/predicted_loads.json" \
  2>"$out/predicted_loads.log" | tee "$out/predicted_loads.txt"
