#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# `proofmill setup` as its users call it: spellings, default names, exit codes, what is left behind.
#
#   check_setup_cli.sh PROOFMILL SOURCE_DIR
set -euo pipefail

proofmill=${1:?usage: check_setup_cli.sh PROOFMILL SOURCE_DIR}
data=${2:?usage: check_setup_cli.sh PROOFMILL SOURCE_DIR}/test/data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failed=0
mkdir in
cp "$data/mult3/mult3.r1cs" in/circuit.r1cs
cp "$data/mult3_bls/mult3_bls.r1cs" in/bls.r1cs
cp "$data/own_mimc/own_mimc.r1cs" in/mimc.r1cs
cp "$data/ptau/bn128_4.ptau" in/powersoftau.ptau

# expect CODE TEXT ARGUMENT...: the exit code, and a piece of what is said on either stream
expect() {
    local code=$1 text=$2 got=0
    shift 2
    "$proofmill" "$@" >out 2>err || got=$?
    { cat out err && printf '\n'; } >both
    if [ "$got" != "$code" ] || ! grep -qF -- "$text" both; then
        failed=$((failed + 1))
        printf 'FAIL: %s: exit code %s, expected %s and "%s"\n' "$*" "$got" "$code" "$text"
        cat both
    fi
}

# absent FILE: it must not be there
absent() {
    if [ -e "$1" ]; then
        failed=$((failed + 1))
        printf 'FAIL: %s is there\n' "$1"
    fi
}

same() {
    cmp "$1" "$2" || failed=$((failed + 1))
}

expect 0 'nobody has contributed' setup in/circuit.r1cs in/powersoftau.ptau a.zkey
expect 0 '' setup -q in/circuit.r1cs in/powersoftau.ptau b.zkey
same a.zkey b.zkey
for spelling in 'groth16 setup' g16s 'zkey new' zkn; do
    rm -f b.zkey
    # shellcheck disable=SC2086 # two words
    expect 0 '' $spelling in/circuit.r1cs in/powersoftau.ptau b.zkey
    same a.zkey b.zkey
done
expect 0 '' setup --ptau in/powersoftau.ptau --zkey=c.zkey --r1cs in/circuit.r1cs
same a.zkey c.zkey
(cd in && "$proofmill" setup -q)
same a.zkey in/circuit_0000.zkey
expect 0 '"circuit_hash":"' setup --json in/circuit.r1cs in/powersoftau.ptau a.zkey
expect 0 'circuit hash' setup -v in/circuit.r1cs in/powersoftau.ptau a.zkey
same a.zkey b.zkey

expect 3 'ptau too small: it has power 4, the circuit needs 11' \
    setup in/mimc.r1cs in/powersoftau.ptau x.zkey
expect 3 'the ptau is over bn128, the circuit over bls12381' \
    setup in/bls.r1cs in/powersoftau.ptau x.zkey
expect 3 'not a .ptau file' setup in/circuit.r1cs in/circuit.r1cs x.zkey
head -c 9000 in/powersoftau.ptau >in/cut.ptau
expect 3 'section 12 (lagrange g1)' setup in/circuit.r1cs in/cut.ptau x.zkey
absent x.zkey

ln -s powersoftau.ptau in/link
cp in/powersoftau.ptau before
expect 2 'same file' setup in/circuit.r1cs in/powersoftau.ptau in/link
same before in/powersoftau.ptau
expect 2 'standard output' setup in/circuit.r1cs in/powersoftau.ptau -
expect 2 'does not belong' setup --no-self-verify in/circuit.r1cs in/powersoftau.ptau x.zkey
expect 2 'has no use for' setup in/circuit.r1cs in/powersoftau.ptau x.zkey y.zkey
absent x.zkey

# A script under `set -e` stops at the failing setup (E5).
if bash -ec '"$0" setup -q in/bls.r1cs in/powersoftau.ptau x.zkey 2>err; touch reached' \
    "$proofmill"; then
    failed=$((failed + 1))
fi
absent reached
if [ "$(find . -name '.proofmill.*' | wc -l)" != 0 ]; then
    failed=$((failed + 1))
    printf 'FAIL: temporary files were left\n'
fi
[ "$failed" = 0 ]
