#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Installs the peers that the interop tests compare with (test/interop/package.json) into
# build/interop, where tools/run_tests.sh finds them.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh interop
mkdir -p build/interop
if cmp -s test/interop/package-lock.json build/interop/package-lock.json &&
    [ -d build/interop/node_modules/snarkjs ] && [ -d build/interop/node_modules/solc ]; then
    exit 0
fi
cp test/interop/package.json test/interop/package-lock.json build/interop
if ! (cd build/interop && npm ci --no-audit --no-fund --loglevel=error); then
    rm -f build/interop/package-lock.json
    printf 'setup_interop: npm could not install what test/interop/package.json names\n' >&2
    exit 1
fi
