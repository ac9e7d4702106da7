#!/usr/bin/env bash
# From nothing to a decision: installs what is missing, builds, measures the drive below this folder,
# prints where reading KV cache back beats recomputing it, and replays recorded traffic.
#   scripts/run.sh [--preset release] [--path DIR] [--full]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release path=scratch mode=()
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?--preset wants a name}; shift 2 ;;
    --path) path=${2:?--path wants a directory}; shift 2 ;;
    --full) mode=(--full); shift ;;
    -h | --help) sed -n '2,4s/^# \?//p' "$0"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1' (known: --preset, --path, --full)" >&2; exit 2 ;;
  esac
done
step() { printf '\n== %s\n' "$*"; }

scripts/install_dependencies.sh
step "Building ($preset)"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
if ! { cmake --preset "$preset" "${launcher[@]}" && cmake --build --preset "$preset" --target fulcrum_cli; } >build.log 2>&1; then
  tail -n 40 build.log >&2
  echo "The build failed; the whole log is in build.log." >&2
  exit 1
fi
rm -f build.log
fulcrum=build/$preset/cli/fulcrum

mkdir -p "$path" scratch
step "Measuring the drive of $path (about a minute)"
"$fulcrum" calibrate --path "$path" --name nvme "${mode[@]}" \
  --model configs/models/Qwen3-8B.json --prefill-datasheet H100-SXM --out scratch/machine.yaml

step "Where reading back beats recomputing (Qwen3-8B on one H100 by its data sheet, this drive as measured)"
"$fulcrum" breakeven --profile scratch/machine.yaml

step "Recorded production traffic on this machine (simulated; what the policy is worth)"
"$fulcrum" replay --profile scratch/machine.yaml --policy configs/dram_nvme.yaml \
  --trace data/mooncake_conversation/conversation_cut.jsonl.zst --json scratch/replay.json

printf '\nThe profile is scratch/machine.yaml, the replay scratch/replay.json. Next: docs/break_even.md.\n'
