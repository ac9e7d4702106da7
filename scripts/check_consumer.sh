#!/usr/bin/env bash
# Installs into a scratch prefix and builds somebody else's project against it: by find_package, and by
# pkg-config. Then proves that the check bites: a header that is not installed must not be found.
#   scripts/check_consumer.sh [build tree, default build/dev]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/dev}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix/root" >/dev/null
cmake -S tests/consumer -B "$prefix/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/root" -DCMAKE_BUILD_TYPE=Debug >/dev/null
cmake --build "$prefix/consumer" >/dev/null
"$prefix/consumer/consumer" >/dev/null
echo "consumer: find_package works"

export PKG_CONFIG_PATH=$prefix/root/lib/pkgconfig:$prefix/root/lib/$(gcc -dumpmachine)/pkgconfig
# The .pc file names the configured prefix; ask for the scratch one.
flags=$(pkg-config --define-variable=prefix="$prefix/root" --cflags --libs fulcrum)
# shellcheck disable=SC2086
g++ -std=c++20 examples/decide_once.cc $flags -o "$prefix/decide_once"
"$prefix/decide_once" >/dev/null
echo "consumer: pkg-config works"

if echo '#include <base/document.h>' | g++ -std=c++20 -x c++ -fsyntax-only $flags - 2>/dev/null; then
  echo "consumer: an inner header is visible in the install tree" >&2
  exit 1
fi
echo "consumer: only the front door is installed"
