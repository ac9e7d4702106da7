#!/usr/bin/env bash
# Runs clang-tidy over all sources of the house (not the tests) with the compile commands of build/dev.
#   scripts/check_tidy.sh [files...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e build/dev/compile_commands.json ] || { echo "Configure first: cmake --preset dev" >&2; exit 2; }
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(git ls-files base model policy tiers calibrate replay cli examples | grep '\.cc$')
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p build/dev 2> >(grep -v 'warnings generated' >&2)
echo "tidy: ${#files[@]} files are clean"
