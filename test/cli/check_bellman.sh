#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The command on what bellperson's users have: assignments that were recorded, verifying keys,
# inputs and proofs as bytes and as hexadecimal, several proofs at once, Filecoin's file names, and
# real proofs of the Zcash main chain.
#
#   check_bellman.sh PROOFMILL MAKE_BELLMAN_CASE SOURCE_DIR
set -euo pipefail

proofmill=$1
make_case=$2
source=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    printf 'check_bellman: %s\n' "$*" >&2
    exit 1
}

# run STATUS ARGUMENTS...: the command ends with STATUS; what it says is in out and err.
run() {
    local expected=$1 status=0
    shift
    "$proofmill" "$@" >out 2>err || status=$?
    [ "$status" = "$expected" ] || fail "$*: ended with $status, not $expected: $(cat out err)"
}

# says PIECE: in what the last one printed.
says() {
    grep -q -e "$1" out err || fail "no '$1' in: $(cat out err)"
}

# ---- Assignments -------------------------------------------------------------------------------

"$make_case" 8 1 key.params one.pmasg
"$make_case" 8 2 key.params two.pmasg
[ "$(stat -c %a one.pmasg)" = 600 ] || fail "an assignment can be read by others"
run 0 info one.pmasg
says 'kind *pmasg'
says 'vectors *a, b, c'
run 0 info --json one.pmasg
says '"n_b_inputs": *1'
run 0 check one.pmasg

n_public=$("$proofmill" info --json key.params | grep -o '"n_public": *[0-9]*' | grep -o '[0-9]*$')
head -c $((868 + 96 * (n_public + 1))) key.params >key.vk

run 0 prove key.params one.pmasg one.proof one.inputs
[ "$(stat -c %s one.proof)" = 192 ] || fail "a proof of $(stat -c %s one.proof) bytes"
[ "$(stat -c %s one.inputs)" = $((32 * n_public)) ] || fail "inputs of another length"
run 0 prove --json --stats --memory --trace trace.json key.params two.pmasg two.proof two.inputs
says '"self_verified": *true'
[ -s trace.json ] || fail "no trace"
run 0 verify --vk key.vk --inputs one.inputs one.proof
says 'OK!'
run 0 verify --vk key.params --inputs one.inputs --proof one.proof
run 1 verify --vk key.vk --inputs two.inputs one.proof
says 'Invalid proof'

# Points that were decoded once.
run 0 prove --cache key.params one.pmasg cached.proof cached.inputs
[ -s key.params.pmcache ] || fail "no cache was made"
run 0 prove --cache --stats key.params one.pmasg cached.proof cached.inputs
run 0 verify --vk key.vk --inputs cached.inputs cached.proof
printf 'x' >>key.params.pmcache
run 0 prove --cache key.params one.pmasg cached.proof cached.inputs
run 0 verify --vk key.vk --inputs cached.inputs cached.proof

# As snarkjs's JSON: names that end in .json, or none.
run 0 prove key.params one.pmasg
run 0 export vkey key.params verification_key.json
run 0 verify
run 0 verify key.vk public.json one.proof
run 0 verify verification_key.json one.inputs proof.json

# ---- Forms of inputs and proofs ---------------------------------------------------------------

hex() {
    od -An -v -tx1 "$1" | tr -d ' \n'
}
hex one.proof >one.proof.hex
hex one.inputs | fold -w 64 >one.inputs.hex
run 0 verify --vk key.vk --inputs one.inputs.hex one.proof.hex
# Numbers: the same digits from the other end.
hex one.inputs | fold -w 64 | while read -r word || [ -n "$word" ]; do
    printf '0x%s, ' "$(printf '%s' "$word" | fold -w 2 | tac | tr -d '\n')"
done >one.numbers
run 0 verify --vk key.vk --inputs one.numbers one.proof
printf '0x%s' "$(cat one.proof.hex)" >one.proof.0x
run 0 verify --vk key.vk --inputs one.numbers one.proof.0x

# Several at once, each with its own inputs.
cat one.proof two.proof one.proof >all.proof
cat one.inputs two.inputs one.inputs >all.inputs
run 0 verify --json --vk key.vk --inputs all.inputs all.proof
says '"n_proofs": *3'
cat one.inputs one.inputs two.inputs >swapped.inputs
run 1 verify --vk key.vk --inputs swapped.inputs all.proof
run 3 verify --vk key.vk --inputs one.inputs all.proof
says 'for each of 3 proofs'
run 3 verify --vk key.vk --inputs all.inputs one.proof
head -c 191 one.proof >short.proof
run 3 verify --vk key.vk --inputs one.inputs short.proof
head -c 33 one.inputs >short.inputs
run 3 verify --vk key.vk --inputs short.inputs one.proof
printf '12ab' >word.inputs
run 3 verify --vk key.vk --inputs word.inputs one.proof
printf '0x%065d' 1 >long.inputs
run 3 verify --vk key.vk --inputs long.inputs one.proof
: >empty
run 3 verify --vk key.vk --inputs one.inputs empty
run 3 verify --vk empty --inputs one.inputs one.proof
for at in 0 100 191; do
    cp one.proof flipped.proof
    printf '\125' | dd of=flipped.proof bs=1 seek=$at conv=notrunc status=none
    if "$proofmill" verify --vk key.vk --inputs one.inputs flipped.proof >out 2>err; then
        fail "a proof with another byte $at verifies"
    fi
done

# ---- What is refused ---------------------------------------------------------------------------

"$make_case" 7 1 other.params other.pmasg
run 3 prove --trace failed.json other.params one.pmasg none.proof none.inputs
[ -s failed.json ] || fail "no trace of a proof that failed"
says 'aux values'
[ ! -e none.proof ] || fail "a proof of another circuit's assignment"
cp one.pmasg damaged.pmasg && chmod u+w damaged.pmasg
printf '\001' | dd of=damaged.pmasg bs=1 seek=20000 conv=notrunc status=none
run 3 check damaged.pmasg
says 'digest'
head -c 20000 one.pmasg >cut.pmasg
run 3 info cut.pmasg
run 3 prove key.params cut.pmasg none.proof none.inputs
run 2 prove key.params one.pmasg key.params none.inputs
[ ! -e none.proof ] || fail "a proof of a cut assignment"

# ---- Filecoin's names --------------------------------------------------------------------------

hash=032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f
prefix=v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher
cp key.params "$prefix-$hash.params"
cp key.vk "$prefix-$hash.vk"
run 0 info "$prefix-$hash.params"
says 'PoRep, 2 KiB'
says 'not those of that circuit'
run 0 info --json "$prefix-$hash.vk"
says '"circuit_by_name"'
run 0 info key.params
grep -q 'PoRep' out && fail "a circuit was made up: $(cat out)"

# ---- Real proofs -------------------------------------------------------------------------------

fixtures=${PM_FIXTURES:-$source/../shared/fixtures}
if [ ! -r "$fixtures/bellman/sapling_output_proofs.json" ] || ! command -v python3 >/dev/null; then
    printf 'SKIP: real proofs, of which there are none\n' >&2
    exit 0
fi
head -c 1444 "$fixtures/bellman/sapling-output.params" >sapling.vk
python3 - "$fixtures/bellman/sapling_output_proofs.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as stream:
    proofs = json.load(stream)
with open("all.hex", "w") as every_proof, open("all.words", "w") as every_word:
    for i, proof in enumerate(proofs):
        words = "\n".join(f"0x{int(value):x}" for value in proof["inputs"]) + "\n"
        with open(f"{i}.words", "w") as one:
            one.write(words)
        with open(f"{i}.proof", "wb") as one:
            one.write(bytes.fromhex(proof["proof"]))
        every_proof.write(proof["proof"] + "\n")
        every_word.write(words)
PYTHON
for i in 0 1 2 3 4 5 6 7 8; do
    run 0 verify --vk sapling.vk --inputs "$i.words" "$i.proof"
    run 1 verify --vk sapling.vk --inputs $(((i + 1) % 9)).words "$i.proof"
done
run 0 verify --json --vk sapling.vk --inputs all.words all.hex
says '"n_proofs": *9'
tac all.words >backwards.words
run 1 verify --vk sapling.vk --inputs backwards.words all.hex
printf 'good\n'
