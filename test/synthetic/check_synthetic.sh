#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# pm_synthetic and proofmill-bench as their users call them.
#
#   check_synthetic.sh PROOFMILL PM_SYNTHETIC PROOFMILL_BENCH
set -euo pipefail

proofmill=$1
synthetic=$2
bench=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    printf 'check_synthetic: %s\n' "$*" >&2
    exit 1
}

# refused STATUS COMMAND...: ends with STATUS and a sentence.
refused() {
    local expected=$1 status=0
    shift
    "$@" >out 2>err || status=$?
    [ "$status" = "$expected" ] || fail "$* ended with $status, not $expected"
    [ -s err ] || fail "$* said nothing"
}

for preset in porep sha256 rollup uniform; do
    for curve in bn254 bls12_381; do
        "$synthetic" --preset "$preset" --seed 5 "$curve" 8 c.r1cs c.wtns >facts
        grep -q 'domain 2^8$' facts || fail "$preset: no full domain: $(cat facts)"
        "$proofmill" check c.r1cs c.wtns >out
        "$proofmill" setup --insecure-known-tau c.r1cs c.zkey >out
        "$proofmill" prove c.zkey c.wtns proof.json public.json >out
        "$proofmill" export vkey c.zkey vkey.json >out
        "$proofmill" verify vkey.json public.json proof.json >out
    done
done

# An exact number of rows, and every option.
"$synthetic" --preset porep --seed 7 --public 3 --wires 1.1 --values 0.2,0.2,0.3 --terms 3,2,4 \
    --density 0.7,0.5,0.8 --rows 0.1,0.2,0.5 bn254 1000 c.r1cs c.wtns >facts
grep -q '^rows 1000 (boolean 100, linear 200), wires 1101, public 3, domain 2^10$' facts ||
    fail "options: $(cat facts)"
grep -q '^values: 220 zero, 220 one, 330 small, 330 full-size$' facts || fail "$(cat facts)"
grep -q '^A: 3000 terms, 3.0000 a row; 770 wires' facts || fail "$(cat facts)"
"$proofmill" check c.r1cs c.wtns >out

refused 2 "$synthetic" bn254 3 c.r1cs c.wtns
refused 2 "$synthetic" --preset none bn254 8 c.r1cs c.wtns
refused 2 "$synthetic" --terms 1,2 bn254 8 c.r1cs c.wtns
refused 2 "$synthetic" bn254 8 c.r1cs
refused 1 "$synthetic" none 8 new.r1cs new.wtns
refused 1 "$synthetic" --density 0.1,0.1,0.1 bn254 8 new.r1cs new.wtns
refused 1 "$synthetic" bn254 8 missing/new.r1cs new.wtns
if [ -e new.r1cs ] || [ -e new.wtns ]; then
    fail "files of a refused system were left"
fi

# Every part has rows in the JSON, and a floor where the multiplier can be probed.
TMPDIR=$scratch "$bench" --quick --log-n 6 --threads 2 --json rows.json >table
for part in field curve pairing ntt msm fixed-base circuit setup prove verify; do
    grep -q "\"part\": \"$part\"" rows.json || fail "no row of $part"
    grep -q "^$part " table || fail "no line of $part"
done
if ! grep -q '"mulx_ns": 0.00000' rows.json; then
    grep -q '"what": "all of it".*"floor_ns": [0-9.]*, "ratio": [0-9.]*}' rows.json ||
        fail "no floor of a proof"
fi
if command -v python3 >/dev/null; then
    python3 -m json.tool rows.json >out || fail "rows.json is no JSON"
fi
compgen -G 'proofmill-bench-*' >/dev/null && fail "the benchmark left its files"
refused 2 "$bench" --only none
refused 2 "$bench" --log-n 99
printf 'good\n'
