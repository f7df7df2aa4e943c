#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Keys of `proofmill setup` beside those of `snarkjs groth16 setup`, byte by byte, and what snarkjs
# makes of ours: zkey verify, zkey contribute, and a proof by the contributed key.
#
#   check_setup_with_snarkjs.sh SOURCE_DIR BUILD_DIR quick|slow
#
# quick: the small circuits, over powers of tau of power 8 that snarkjs makes. slow: circuits
# up to 2^17, over known powers of tau, of exactly the power that is needed and of one more.
# PM_NODE_MODULES names the folder in which snarkjs is installed. Without it: 77, skipped.
set -euo pipefail

usage='usage: check_setup_with_snarkjs.sh SOURCE_DIR BUILD_DIR quick|slow'
source=${1:?$usage}
build=${2:?$usage}
how=${3:?$usage}
snarkjs=${PM_NODE_MODULES:-node_modules}/.bin/snarkjs
if [ ! -x "$snarkjs" ]; then
    printf 'SKIP: snarkjs is not installed: run tools/setup_interop.sh\n'
    exit 77
fi
proofmill=$build/src/proofmill
make_known_ptau=$build/test/make_known_ptau
fixtures=${PM_FIXTURES:-$source/../shared/fixtures}
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
        tail -n 20 "$scratch/log"
    fi
}

# compare NAME R1CS PTAU: both setups, with their times
compare() {
    local name=$1 r1cs=$2 ptau=$3 start middle
    start=$(date +%s%N)
    check "$name: proofmill setup" "$proofmill" setup -q "$r1cs" "$ptau" "$scratch/ours.zkey"
    middle=$(date +%s%N)
    check "$name: snarkjs setup" "$snarkjs" groth16 setup "$r1cs" "$ptau" "$scratch/theirs.zkey"
    printf '%s: proofmill %d ms, snarkjs %d ms\n' "$name" $(((middle - start) / 1000000)) \
        $((($(date +%s%N) - middle) / 1000000))
    check "$name: the same bytes" cmp "$scratch/ours.zkey" "$scratch/theirs.zkey"
}

# ceremony NAME R1CS PTAU WTNS: what comes after setup, on $scratch/ours.zkey
ceremony() {
    local name=$1 r1cs=$2 ptau=$3 wtns=$4
    check "$name: zkey verify" "$snarkjs" zkey verify "$r1cs" "$ptau" "$scratch/ours.zkey"
    check "$name: zkey contribute" "$snarkjs" zkey contribute "$scratch/ours.zkey" \
        "$scratch/final.zkey" --name=one -e=entropy
    check "$name: zkey verify after it" "$snarkjs" zkey verify "$r1cs" "$ptau" \
        "$scratch/final.zkey"
    check "$name: prove" "$proofmill" prove -q "$scratch/final.zkey" "$wtns" \
        "$scratch/proof.json" "$scratch/public.json"
    check "$name: export" "$snarkjs" zkey export verificationkey "$scratch/final.zkey" \
        "$scratch/vkey.json"
    check "$name: snarkjs verifies" "$snarkjs" groth16 verify "$scratch/vkey.json" \
        "$scratch/public.json" "$scratch/proof.json"
}

# snarkjs_ptau CURVE POWER PATH
snarkjs_ptau() {
    "$snarkjs" powersoftau new "$1" "$2" "$scratch/0.ptau" >/dev/null
    "$snarkjs" powersoftau contribute "$scratch/0.ptau" "$scratch/1.ptau" --name=one -e=entropy \
        >/dev/null
    "$snarkjs" powersoftau prepare phase2 "$scratch/1.ptau" "$3" >/dev/null
}

quick() {
    local suffix curve ptau name folder
    for suffix in '' _bls; do
        curve=$([ -z "$suffix" ] && echo bn128 || echo bls12381)
        ptau=$scratch/$curve.ptau
        snarkjs_ptau "$curve" 8 "$ptau"
        for name in one mult3 nopriv; do
            folder=$source/test/data/$name$suffix
            compare "$name$suffix" "$folder/$name$suffix.r1cs" "$ptau"
            ceremony "$name$suffix" "$folder/$name$suffix.r1cs" "$ptau" \
                "$folder/$name$suffix.wtns"
        done
    done
}

# known NAME R1CS CURVE POWER: exactly that power and one more
known() {
    local power
    for power in "$4" $(($4 + 1)); do
        "$make_known_ptau" "$3" "$power" "$scratch/known.ptau"
        compare "$1 with power $power" "$2" "$scratch/known.ptau"
    done
}

slow() {
    local suffix curve name power
    if [ ! -d "$fixtures/small" ]; then
        printf 'SKIP: no fixtures at %s\n' "$fixtures"
        exit 77
    fi
    for suffix in '' _bls; do
        curve=$([ -z "$suffix" ] && echo bn128 || echo bls12381)
        for name in multipub poseidon2 own_mimc eddsa; do
            [ -f "$fixtures/small/$name$suffix/$name$suffix.r1cs" ] || continue
            power=$("$proofmill" info --json "$fixtures/small/$name$suffix/$name$suffix.zkey" |
                grep -o '"log_n": *[0-9]*' | grep -o '[0-9]*$')
            known "$name$suffix" "$fixtures/small/$name$suffix/$name$suffix.r1cs" "$curve" "$power"
            ceremony "$name$suffix" "$fixtures/small/$name$suffix/$name$suffix.r1cs" \
                "$scratch/known.ptau" "$fixtures/small/$name$suffix/$name$suffix.wtns"
        done
    done
    for name in sha256_512:16 merkle_17:17; do
        power=${name#*:}
        name=${name%:*}
        xz -dc "$fixtures/large/$name.r1cs.xz" >"$scratch/$name.r1cs"
        known "$name" "$scratch/$name.r1cs" bn128 "$power"
    done
}

"$how"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
