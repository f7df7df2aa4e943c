#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Cross-builds for 64-bit Arm and runs unit tests under qemu.
#
#   tools/arm64.sh [quick|full]     quick (default): seconds of emulated work; full: all unit tests
#
# Installs what is missing with apt: the cross compiler, qemu-user, and Debian's arm64 packages of
# cmocka, GMP and jansson, for which it adds the foreign architecture.
set -euo pipefail
cd "$(dirname "$0")/.."

which=${1:-quick}
jobs=${JOBS:-$(nproc)}
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

packages=(gcc-aarch64-linux-gnu qemu-user libc6-dev-arm64-cross
    libcmocka-dev:arm64 libgmp-dev:arm64 libjansson-dev:arm64
    libsqlite3-dev:arm64)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    printf 'Installing with apt, to build and test for 64-bit Arm: %s\n' "${missing[*]}"
    "${as_root[@]}" dpkg --add-architecture arm64
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "${missing[@]}" >/dev/null
fi

cmake --preset arm64 >/dev/null
case $which in
quick)
    tests='^base/|_tiny$|/test_(point_codec|zkey|wtns|json|team|snarkjs_refs)$'
    ;;
full)
    tests='^(ff|curve|pairing|poly|msm|par|base|io|json|api|e2e|setup)/'
    ;;
*)
    printf 'tools/arm64.sh: quick or full, not %s\n' "$which" >&2
    exit 2
    ;;
esac
cmake --build --preset arm64 -j "$jobs"
ctest --test-dir build/arm64 -j "$jobs" -R "$tests" -LE slow --timeout 1200 --output-on-failure
