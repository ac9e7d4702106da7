#!/usr/bin/env bash
# Fails if a C++ file is not formatted as .clang-format says. --fix formats instead.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.cc' '*.h')
if [ "${1:-}" = --fix ]; then clang-format -i "${files[@]}"; exit; fi
clang-format --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files are clean"
