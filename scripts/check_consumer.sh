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
share=$prefix/root/share/fulcrum
cmake -S "$share/examples" -B "$prefix/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/root" -DCMAKE_BUILD_TYPE=Debug >/dev/null
cmake --build "$prefix/consumer" >/dev/null
"$prefix/consumer/embed_decider" >/dev/null
echo "consumer: find_package works"
said=$("$prefix/consumer/embed_engine" "$prefix/store" "$share/configs/profiles/example.yaml")
if ! grep -q 'load 16 blocks, .* the bytes are ours' <<<"$said"; then
  echo "consumer: the engine's example says: $said" >&2
  exit 1
fi
echo "consumer: the engine stores and loads from an installed copy"

export PKG_CONFIG_PATH=$prefix/root/lib/pkgconfig:$prefix/root/lib/$(gcc -dumpmachine)/pkgconfig
# The .pc file names the configured prefix; ask for the scratch one.
flags=$(pkg-config --define-variable=prefix="$prefix/root" --cflags --libs fulcrum)
# shellcheck disable=SC2086
g++ -std=c++20 "$share/examples/decide_once.cc" $flags -o "$prefix/decide_once"
"$prefix/decide_once" >/dev/null
echo "consumer: pkg-config works"

if echo '#include <base/document.h>' | g++ -std=c++20 -x c++ -fsyntax-only $flags - 2>/dev/null; then
  echo "consumer: an inner header is visible in the install tree" >&2
  exit 1
fi
echo "consumer: only the front door is installed"
