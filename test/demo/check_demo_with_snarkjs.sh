#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# snarkjs on the demo's files: it accepts our proof, exports the same verifying key from our proving
# key, and proves with that key what we accept. Ends with "N passed, N failed, N skipped".
#
#   check_demo_with_snarkjs.sh SOURCE_DIR BUILD_DIR
#
# PM_NODE_MODULES names the folder in which snarkjs is installed. Without it: 77, skipped.
set -euo pipefail

source=${1:?usage: check_demo_with_snarkjs.sh SOURCE_DIR BUILD_DIR}
build=${2:?usage: check_demo_with_snarkjs.sh SOURCE_DIR BUILD_DIR}
snarkjs=${PM_NODE_MODULES:-node_modules}/.bin/snarkjs
if [ ! -x "$snarkjs" ]; then
    printf 'SKIP: snarkjs is not installed: run tools/setup_interop.sh\n'
    exit 77
fi
proofmill=$build/src/proofmill
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL: %s\n' "$name"
        cat "$scratch/log"
    fi
}

not() {
    ! "$@"
}

for curve in bn254 bls12_381; do
    out=$scratch/$curve
    DEMO_DIR=$out DEMO_ROUNDS=100 DEMO_CURVE=$curve "$source/demo/run.sh" "$build" 2718281828 \
        >"$scratch/demo.log"
    check "$curve: snarkjs accepts our proof" \
        "$snarkjs" groth16 verify "$out/vkey.json" "$out/first.public.json" "$out/first.proof.json"
    check "$curve: snarkjs refuses the forged public signal" not \
        "$snarkjs" groth16 verify "$out/vkey.json" "$out/forged.public.json" "$out/first.proof.json"
    check "$curve: snarkjs exports a verifying key" \
        "$snarkjs" zkey export verificationkey "$out/demo.zkey" "$out/their.vkey.json"
    check "$curve: it is ours to the byte" cmp "$out/vkey.json" "$out/their.vkey.json"
    check "$curve: snarkjs proves with our key" "$snarkjs" groth16 prove "$out/demo.zkey" \
        "$out/first.wtns" "$out/their.proof.json" "$out/their.public.json"
    check "$curve: we accept its proof" \
        "$proofmill" verify "$out/vkey.json" "$out/their.public.json" "$out/their.proof.json"
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
