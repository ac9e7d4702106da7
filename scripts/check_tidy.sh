#!/usr/bin/env bash
# Runs clang-tidy over the sources of the house (not the tests) with the compile commands of build/dev.
#   scripts/check_tidy.sh            all of them
#   scripts/check_tidy.sh --part N   one in N, another part with each commit: what CI has time for
#   scripts/check_tidy.sh --deep ... with the path-sensitive analyzer, which takes three times as long
#   scripts/check_tidy.sh FILE...
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e build/dev/compile_commands.json ] || { echo "Configure first: cmake --preset dev" >&2; exit 2; }

part=1 checks=(--checks=-clang-analyzer-*)
while [ $# -gt 0 ]; do
  case $1 in
    --part) part=${2:?--part wants a number}; shift 2 ;;
    --deep) checks=(); shift ;;
    *) break ;;
  esac
done
if [ $# -gt 0 ]; then files=("$@"); else
  turn=$((0x$(git rev-parse --short=7 HEAD) % part))
  mapfile -t files < <(git ls-files base model policy tiers engine calibrate replay cli examples | grep '\.cc$' |
                       awk -v part="$part" -v turn="$turn" 'NR % part == turn')
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet "${checks[@]}" -p build/dev 2> >(grep -v 'warnings generated' >&2)
echo "tidy: ${#files[@]} files are clean"
