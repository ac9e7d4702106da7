#!/usr/bin/env bash
# Installs what is missing, builds and runs all quick tests.
#   scripts/test.sh [--preset dev] [ctest arguments...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
if [ "${1:-}" = --preset ]; then preset=${2:?--preset wants a name}; shift 2; fi

scripts/install_dependencies.sh
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset "$preset" "${launcher[@]}"
cmake --build --preset "$preset"
ctest --preset "$preset" -L quick "$@"
echo "Not run here: tests that need a GPU (there are none yet) and those labelled slow; ctest --preset $preset runs all."
