#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Proves something the reader chose, and shows what a proof is good for.
#
#   demo/run.sh BUILD_DIR [INPUT]       INPUT: a whole number; without it, the clock's
#
# DEMO_DIR (default BUILD_DIR/demo/out), DEMO_ROUNDS (default 2731: 8193 constraints) and DEMO_CURVE
# (bn254 or bls12_381) may be set in the environment. Every claim it prints is checked: the exit
# status is 0 only if all of them hold.
set -euo pipefail

build=${1:?usage: demo/run.sh BUILD_DIR [INPUT]}
input=${2:-$(date +%s)}
rounds=${DEMO_ROUNDS:-2731}
curve=${DEMO_CURVE:-bn254}
out=${DEMO_DIR:-$build/demo/out}
proofmill=$build/src/proofmill
mkdir -p "$out"

say() {
    printf '%s\n' "$*"
}

stop() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

# timed COMMAND...: runs it and leaves its milliseconds in $took_ms.
timed() {
    local start
    start=$(date +%s%N)
    "$@"
    took_ms=$((($(date +%s%N) - start) / 1000000))
}

size() {
    stat -c %s "$1"
}

# refused WANTED_STATUS COMMAND...: the command must fail; 1 is "invalid", 2 and more "malformed".
refused() {
    local wanted=$1 status=0
    shift
    "$@" >"$out/refusal.txt" 2>&1 || status=$?
    case $wanted,$status in
    invalid,1) ;;
    malformed,0 | malformed,1 | malformed,12[6-9] | malformed,1[3-9]?) stop "not refused: $*" ;;
    malformed,*) ;;
    *) stop "status $status instead of a refusal: $*" ;;
    esac
    say "   it says: $(grep -v warning: "$out/refusal.txt" | head -n 1)"
}

# tamper FILE COPY: in the copy the last digit of the first number is another one.
tamper() {
    local text number last
    text=$(cat "$1")
    [[ $text =~ \"([0-9]+)\" ]] || stop "no number in $1"
    number=${BASH_REMATCH[1]}
    last=${number: -1}
    printf '%s' "${text/\"$number\"/\"${number%?}$(((last + 1) % 10))\"}" >"$2"
}

# quietly COMMAND...: warnings stay in a file; they are all of the key's insecurity, which is told
# once below.
quietly() {
    "$@" 2>"$out/warnings.txt" || {
        cat "$out/warnings.txt" >&2
        return 1
    }
}

same() {
    cmp -s "$1" "$2"
}

# witness_and_proof INPUT NAME
witness_and_proof() {
    "$build/demo/pm_demo_witness" "$curve" "$rounds" "$1" "$out/$2.wtns"
    timed quietly "$proofmill" prove "$out/demo.zkey" "$out/$2.wtns" "$out/$2.proof.json" \
        "$out/$2.public.json"
}

verify() {
    "$proofmill" verify "$out/vkey.json" "$out/$1.public.json" "$out/$2.proof.json"
}

say "The statement: \"I know a number x with mix(x) = y\". y is public, x stays with you."
say "mix is a chain of $rounds rounds t <- (t + c)^5: $((3 * rounds)) constraints over $curve."
say ""
say "1. A proving key for this circuit, made here and now."
"$build/demo/pm_demo_r1cs" "$curve" "$rounds" "$out/demo.r1cs"
timed quietly "$proofmill" setup --insecure-known-tau="$((RANDOM * RANDOM))" "$out/demo.r1cs" \
    "$out/demo.zkey"
say "   $out/demo.zkey: $(size "$out/demo.zkey") bytes in $took_ms ms"
say "   INSECURE, a development key: anyone can compute the secret numbers behind it, and whoever"
say "   knows them can forge proofs. Keys for real use come from a ceremony of many parties."
timed quietly "$proofmill" export vkey "$out/demo.zkey" "$out/vkey.json"
say "   $out/vkey.json: the verifying key, $(size "$out/vkey.json") bytes, for everybody"
say ""
say "2. A proof for x = $input."
witness_and_proof "$input" first
say "   $out/first.proof.json: $(size "$out/first.proof.json") bytes in $took_ms ms"
say "   y = $(tr -d ' \n[]"' <"$out/first.public.json")"
say ""
say "3. Does it verify? All the verifier sees is y, the proof and the verifying key."
timed quietly verify first first
say "   in $took_ms ms"
say ""
say "4. The same x again: another proof, as valid as the first, since each is blinded afresh."
witness_and_proof "$input" again
same "$out/first.public.json" "$out/again.public.json" || stop "the same x gave another y"
! same "$out/first.proof.json" "$out/again.proof.json" || stop "two proofs are the same"
quietly verify again again
say ""
other=42
[ "$input" != 42 ] || other=43
say "5. Another x, $other: another y, and the first proof does not speak for it."
witness_and_proof "$other" other
! same "$out/first.public.json" "$out/other.public.json" || stop "another x gave the same y"
quietly verify other other
refused invalid verify other first
say ""
say "6. One digit of y changed: refused."
tamper "$out/first.public.json" "$out/forged.public.json"
refused invalid verify forged first
say ""
say "7. One digit of the proof changed: refused, its point is no longer on the curve."
tamper "$out/first.proof.json" "$out/forged.proof.json"
refused malformed verify first forged
say ""
say "To go on by hand:"
say "   $proofmill info $out/demo.zkey"
say "   $proofmill verify $out/vkey.json $out/first.public.json $out/first.proof.json"
say "   snarkjs groth16 verify $out/vkey.json $out/first.public.json $out/first.proof.json"
