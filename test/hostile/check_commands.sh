#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The command among hostile files. E5: what fails ends with a code other than 0 and leaves nothing.
# B22: --check. C12: verify has no use for the proving key; many provers share one.
# Usage: check_commands.sh PROOFMILL
set -u
export LC_ALL=C

proofmill=$(readlink -f "${1:?usage: check_commands.sh PROOFMILL}")
data=$(dirname "$(readlink -f "$0")")/../data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n_passed=0
n_failed=0

ok() { n_passed=$((n_passed + 1)); }
fail() {
    n_failed=$((n_failed + 1))
    echo "FAIL: $*"
    sed 's/^/    err: /' "$scratch/err" 2>/dev/null | head -3
}

# fresh CIRCUIT: a folder with the good files of a circuit under snarkjs's names.
fresh() {
    cd "$scratch" || exit 1
    rm -rf case && mkdir case && cd case || exit 1
    cp "$data/$1/$1.zkey" circuit_final.zkey
    cp "$data/$1/$1.wtns" witness.wtns
    cp "$data/$1/$1.r1cs" circuit.r1cs
    cp "$data/$1/vkey.json" verification_key.json
}

# run CODE ARGUMENT...
run() {
    local expected=$1 code
    shift
    "$proofmill" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    if [ "$code" = "$expected" ]; then ok; else fail "exit code $code, not $expected: $*"; fi
}

# refused ARGUMENT...: fails, says one line, and the folder is as it was.
refused() {
    local before code
    before=$(ls -la --time-style=+ && md5sum -- *)
    "$proofmill" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    if [ "$code" -gt 1 ] && [ "$code" -lt 10 ] && [ "$code" != 8 ]; then
        ok
    else
        fail "exit code $code: $*"
    fi
    if [ "$(grep -vc '^proofmill: warning' "$scratch/err")" = 1 ]; then
        ok
    else
        fail "not one line of error: $*"
    fi
    if [ "$(ls -la --time-style=+ && md5sum -- *)" = "$before" ]; then
        ok
    else
        fail "the folder has changed: $*"
    fi
}

# damage FILE: turns all bits of the byte in the middle of each twelfth of the file, one byte at a
# time; FILE.N is what comes of it. Cuts it too. Prints the names.
damage() {
    python3 - "$1" <<'P'
import sys
name = sys.argv[1]
good = open(name, "rb").read()
for i in range(12):
    bad = bytearray(good)
    bad[len(good) * (2 * i + 1) // 24] ^= 0xff
    open(f"{name}.{i}", "wb").write(bad)
    print(f"{name}.{i}")
open(f"{name}.cut", "wb").write(good[:-1])
open(f"{name}.empty", "wb").write(b"")
print(f"{name}.cut", f"{name}.empty", sep="\n")
P
}

for circuit in mult3 mult3_bls; do
    # E5. The last twelfth of a key is its transcript, which proving does not need.
    fresh $circuit
    for bad in $(damage circuit_final.zkey); do
        case $bad in *.10 | *.11) continue ;; esac
        refused prove "$bad" witness.wtns proof.json public.json
        refused prove --json "$bad" witness.wtns proof.json public.json
    done
    for bad in $(damage witness.wtns); do
        refused prove circuit_final.zkey "$bad" proof.json public.json
    done
    refused export vkey circuit_final.zkey.cut vk.json
    refused prove missing.zkey witness.wtns proof.json public.json
    refused prove circuit_final.zkey missing.wtns proof.json public.json
    refused prove circuit_final.zkey witness.wtns nowhere/proof.json public.json
    refused prove circuit_final.zkey witness.wtns proof.json nowhere/public.json
    refused prove witness.wtns circuit_final.zkey proof.json public.json
    refused prove --check full circuit_final.zkey.5 witness.wtns proof.json public.json
    refused prove --check most circuit_final.zkey witness.wtns proof.json public.json
    refused check circuit_final.zkey.5
    refused check circuit.r1cs witness.wtns.cut

    # An old result survives a failure.
    echo old >proof.json
    refused prove circuit_final.zkey.5 witness.wtns proof.json public.json
    rm proof.json

    # E5: `set -e` stops where it should.
    if bash -ec '"$1" prove circuit_final.zkey.cut witness.wtns 2>err; touch went-on' _ \
        "$proofmill" || [ -e went-on ]; then
        fail "a script with set -e went on"
    else
        ok
    fi

    # B22
    for check in none fast full; do
        rm -f proof.json public.json
        run 0 prove --check $check circuit_final.zkey witness.wtns proof.json public.json
        run 0 verify verification_key.json public.json proof.json
    done

    # C12: with the proving key, the witness and the constraint system gone, verify still works.
    rm -f circuit_final.zkey* witness.wtns* circuit.r1cs
    run 0 verify verification_key.json public.json proof.json
    run 0 verify

    # C12: provers side by side on one key, which none may change.
    fresh $circuit
    chmod a-w circuit_final.zkey
    sum=$(md5sum circuit_final.zkey)
    pids=()
    for i in 1 2 3 4; do
        "$proofmill" prove --threads 1 circuit_final.zkey witness.wtns "p$i.json" "u$i.json" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        if wait "$pid"; then ok; else fail "a prover beside others failed"; fi
    done
    for i in 1 2 3 4; do
        run 0 verify verification_key.json "u$i.json" "p$i.json"
    done
    if [ "$(md5sum circuit_final.zkey)" = "$sum" ]; then ok; else fail "the key has changed"; fi
done

echo "$n_passed passed, $n_failed failed, 0 skipped"
[ "$n_failed" = 0 ]
