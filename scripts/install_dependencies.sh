#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that the build needs and that are missing. Quiet when nothing is.
#   scripts/install_dependencies.sh [--with-checks]     --with-checks adds clang, clang-format and clang-tidy
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config ca-certificates
          libeigen3-dev libyaml-cpp-dev libspdlog-dev libcli11-dev nlohmann-json3-dev
          liburing-dev libxxhash-dev libzstd-dev libgtest-dev libbenchmark-dev)
# Debian 12's default Boost is 1.74, without boost::system::result; Ubuntu 24.04 has 1.83 as libboost-dev.
if [ "$(. /etc/os-release && echo "$ID")" = ubuntu ]; then packages+=(libboost-dev); else packages+=(libboost1.81-dev); fi
if [ "${1:-}" = --with-checks ]; then
  packages+=(clang clang-format clang-tidy)
  # libFuzzer and the sanitizers of Clang are a package of their own, named by Clang's version.
  if [ "$(. /etc/os-release && echo "$ID")" = ubuntu ]; then packages+=(libclang-rt-18-dev); else packages+=(libclang-rt-14-dev); fi
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing: ${missing[*]}"
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Not root and no sudo: run  apt-get install ${missing[*]}  as root, then again." >&2; exit 1; }
  sudo=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "The packages could not be installed; see above." >&2
  exit 1
fi
