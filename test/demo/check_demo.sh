#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The demo on a small circuit: it checks its own claims, and what it must refuse it refuses.
#
#   check_demo.sh SOURCE_DIR BUILD_DIR CURVE ROUNDS
set -euo pipefail

source=${1:?usage: check_demo.sh SOURCE_DIR BUILD_DIR CURVE ROUNDS}
build=${2:?usage: check_demo.sh SOURCE_DIR BUILD_DIR CURVE ROUNDS}
curve=${3:?usage: check_demo.sh SOURCE_DIR BUILD_DIR CURVE ROUNDS}
rounds=${4:?usage: check_demo.sh SOURCE_DIR BUILD_DIR CURVE ROUNDS}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf 'check_demo: %s\n' "$*" >&2
    exit 1
}

# A number longer than 64 bits, so that its digits are really read.
input=123456789012345678901234567890
DEMO_DIR=$scratch DEMO_ROUNDS=$rounds DEMO_CURVE=$curve "$source/demo/run.sh" "$build" "$input"

# mix(x) recomputed by other means: y of the demo is what Python's integers give.
python3 - "$curve" "$rounds" "$input" "$scratch/first.public.json" <<'PYTHON'
import json, sys
curve, rounds, x = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = {
    "bn254": 21888242871839275222246405745257275088548364400416034343698204186575808495617,
    "bls12_381": 52435875175126190479447740508185965837690552500527637822603658699938581184513,
}[curve]
t = x
for i in range(rounds):
    t = pow(t + i**3 + 7, 5, r)
y = (t + x) % r
found = json.load(open(sys.argv[4]))
if found != [str(y)]:
    sys.exit(f"y is {found}, Python says {y}")
PYTHON

"$build/src/proofmill" check "$scratch/demo.zkey" || fail "the demo's key has a bad point"
"$build/src/proofmill" check "$scratch/demo.r1cs" "$scratch/first.wtns" ||
    fail "the demo's witness does not satisfy its constraints"

# no_witness INPUT: refused with status 3, and nothing is written.
no_witness() {
    local status=0
    "$build/demo/pm_demo_witness" "$curve" "$rounds" "$1" "$scratch/none.wtns" 2>/dev/null ||
        status=$?
    if [ $status -ne 3 ] || [ -e "$scratch/none.wtns" ]; then
        fail "input '$1': status $status"
    fi
}
no_witness ""
no_witness -1
no_witness 0x10
no_witness "1 2"
no_witness 52435875175126190479447740508185965837690552500527637822603658699938581184513
no_witness 115792089237316195423570985008687907853269984665640564039457584007913129639936
for bad in 0 -1 x 1048577; do
    if "$build/demo/pm_demo_r1cs" "$curve" "$bad" "$scratch/none.r1cs" 2>/dev/null; then
        fail "$bad rounds were accepted"
    fi
done
