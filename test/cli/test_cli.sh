#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The command as its users meet it. Usage: test_cli.sh PROOFMILL
# Cases that come from a field report carry its id. Uses test/data, and every circuit under
# $PM_FIXTURES/small as well.
set -u
export LC_ALL=C

proofmill=$(readlink -f "${1:?usage: test_cli.sh PROOFMILL}")
here=$(dirname "$(readlink -f "$0")")
data=$here/../data
fixtures=$(readlink -f "${PM_FIXTURES:-$here/../../../shared/fixtures}")
[ -d "$fixtures/small" ] ||
    echo "SKIP: no circuits beside those of test/data: set PM_FIXTURES to try more"

scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
n_checks=0
n_failed=0

fail() {
    n_failed=$((n_failed + 1))
    echo "FAIL: $case_name: $*"
    sed 's/^/    out: /' out 2>/dev/null | head -5
    sed 's/^/    err: /' err 2>/dev/null | head -5
}

# begin NAME: a case in a fresh folder with the files of circuit `mult3` under snarkjs's names.
begin() {
    case_name=$1
    cd "$scratch" || exit 1
    rm -rf case && mkdir case && cd case || exit 1
    cp "$data/mult3/mult3.zkey" circuit_final.zkey
    cp "$data/mult3/mult3.wtns" witness.wtns
    cp "$data/mult3/mult3.r1cs" circuit.r1cs
    cp "$data/mult3/vkey.json" verification_key.json
}

# run EXPECTED_CODE ARGUMENTS...: stdout to `out`, stderr to `err`.
run() {
    local expected=$1 code
    shift
    n_checks=$((n_checks + 1))
    "$proofmill" "$@" >out 2>err </dev/null
    code=$?
    [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: $*"
}

# run_with FILE EXPECTED_CODE ARGUMENTS...: the same with FILE as standard input.
run_with() {
    local input=$1 expected=$2 code
    shift 2
    n_checks=$((n_checks + 1))
    "$proofmill" "$@" >out 2>err <"$input"
    code=$?
    [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: $* <$input"
}

expect() { # expect WHAT COMMAND...
    local what=$1
    shift
    n_checks=$((n_checks + 1))
    "$@" >/dev/null 2>&1 || fail "$what"
}

refute() {
    local what=$1
    shift
    n_checks=$((n_checks + 1))
    ! "$@" >/dev/null 2>&1 || fail "$what"
}

says() { expect "stderr lacks: $1" grep -qF -- "$1" err; }
prints() { expect "stdout lacks: $1" grep -qF -- "$1" out; }
one_line_error() {
    expect "stderr is not one line" test "$(wc -l <err)" = 1
    expect "stderr does not begin with the program's name" grep -q '^proofmill: ' err
}
is_json() { expect "$1 is not JSON" python3 -m json.tool "$1"; }
json_is() { # json_is FILE EXPRESSION-ON-j
    n_checks=$((n_checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2" 2>/dev/null ||
        fail "$1: not $2: $(head -c 300 "$1")"
}
# patch FILE OFFSET HEX: overwrites bytes.
patch() {
    python3 -c 'import sys
f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); f.write(bytes.fromhex(sys.argv[3]))' "$@"
}
# section FILE TYPE: offset of a section's data.
section() {
    python3 -c 'import struct, sys
b = open(sys.argv[1], "rb").read(); n = struct.unpack_from("<I", b, 8)[0]; at = 12
for _ in range(n):
    kind, size = struct.unpack_from("<IQ", b, at)
    if kind == int(sys.argv[2]): print(at + 12)
    at += 12 + size' "$@"
}

# ----------------------------------------------------------------------------------------------
# Proving and verifying
# ----------------------------------------------------------------------------------------------

begin "prove and verify, every circuit"
for folder in "$data"/*/ "$fixtures"/small/*/; do
    name=$(basename "$folder")
    [ -f "$folder/$name.zkey" ] || continue
    run 0 prove "$folder/$name.zkey" "$folder/$name.wtns" p.json pub.json
    expect "prove is silent on success" test ! -s out -a ! -s err
    expect "public signals of $name are snarkjs's bytes" cmp pub.json "$folder/public.json"
    run 0 verify "$folder/vkey.json" pub.json p.json
    expect "verify prints OK! and no more" test "$(cat out)" = 'OK!' -a ! -s err
    run 0 verify "$folder/vkey.json" "$folder/public.json" "$folder/proof.snarkjs.json"
    run 0 export vkey "$folder/$name.zkey" vk.json
    expect "vkey of $name is snarkjs's bytes" cmp vk.json "$folder/vkey.json"
done

begin "default names"
run 0 prove
expect "proof.json and public.json are written" test -s proof.json -a -s public.json
run 0 verify
rm verification_key.json
run 0 export vkey
expect "verification_key.json is written" \
    cmp verification_key.json "$data/mult3/vkey.json"
run 0 check circuit.r1cs witness.wtns
run 0 wtns check
run 0 r1cs info

begin "snarkjs's spellings"
run 0 groth16 prove circuit_final.zkey witness.wtns a.json b.json
run 0 g16p circuit_final.zkey witness.wtns c.json d.json
run 0 groth16 verify verification_key.json b.json a.json
run 0 g16v verification_key.json d.json c.json
run 0 zkey export verificationkey circuit_final.zkey v.json
run 0 zkev circuit_final.zkey w.json
expect "same key" cmp v.json w.json
run 0 zkey export soliditycalldata b.json a.json
cp out first
run 0 zkesc b.json a.json
expect "same calldata" cmp out first
run 0 export calldata a.json b.json
expect "same calldata in either order" cmp out first
run 0 zkesv
expect "the contract under snarkjs's name" grep -q "contract Groth16Verifier" verifier.sol
run 0 zkey export solidityverifier circuit_final.zkey c.sol
expect "the same contract" cmp verifier.sol c.sol
run 0 export solidity verification_key.json d.sol
expect "the same contract from a VKEY" cmp verifier.sol d.sol
run 0 zkej
expect "the key as snarkjs writes it" \
    cmp circuit_final.zkey.json "$data/mult3/zkey.snarkjs.json"
run 0 zkey export json circuit_final.zkey k.json
expect "the same JSON" cmp circuit_final.zkey.json k.json
run 0 wchk circuit.r1cs witness.wtns
run 0 ri circuit.r1cs

begin "exports of a key"
"$proofmill" export solidity - - <verification_key.json >s.sol 2>err || fail "VKEY from -"
run 0 export solidity --zkey circuit_final.zkey --solidity t.sol
expect "the same contract through pipes" cmp s.sol t.sol
"$proofmill" export json circuit_final.zkey - 2>err | cmp - "$data/mult3/zkey.snarkjs.json" ||
    fail "JSON to -"
run 0 export json --json --key-json=j.json
json_is out 'j["json_file"] == "j.json" and j["curve"] == "bn128" and j["n_public"] == 2'
run 0 export solidity --json
json_is out 'j["solidity_file"] == "verifier.sol" and j["n_public"] == 2'
run 3 export solidity "$data/one_bls/one_bls.zkey" bls.sol
says "EIP-197"
one_line_error
refute "no contract for bls12381" test -e bls.sol
run 0 export json "$data/one_bls/one_bls.zkey" bls.json
run 3 export solidity witness.wtns w.sol
run 4 export solidity missing w.sol
run 3 export json witness.wtns w.json
refute "nothing of a witness" test -e w.sol -o -e w.json
run 2 export json --json circuit_final.zkey -
for verb in solidity json; do
    cp circuit_final.zkey same.zkey
    run 2 export $verb same.zkey same.zkey
    expect "the key is not written over" cmp same.zkey circuit_final.zkey
done
run 0 help export
prints "export solidity ZKEY|VKEY SOL"
prints "export json ZKEY JSON"

begin "named files, E4"
mkdir deep
run 0 prove --wtns witness.wtns --proof deep/p.json circuit_final.zkey deep/u.json
expect "both paths are honoured" test -s deep/p.json -a -s deep/u.json
refute "nothing under the default names" test -e proof.json -o -e public.json
run 0 verify --vk=verification_key.json --proof=deep/p.json --public=deep/u.json
run 0 prove -- circuit_final.zkey witness.wtns p.json u.json
run 2 verify --zkey circuit_final.zkey
run 2 prove --zkey a --zkey b

begin "two proofs of one witness differ"
run 0 prove
cp proof.json before.json
run 0 prove
refute "the blinding is fresh" cmp proof.json before.json

begin "B15: strict JSON, no byte after the brace"
run 0 prove
is_json proof.json
is_json public.json
json_is proof.json 'list(j) == ["pi_a", "pi_b", "pi_c", "protocol", "curve"]'
expect "ends with the brace" test "$(tail -c 1 proof.json)" = '}'

begin "calldata, E9"
run 0 prove
run 0 export calldata
n_checks=$((n_checks + 1))
python3 - <<'P' || fail "calldata is not the proof with c1 before c0"
import json
j, u = json.load(open("proof.json")), json.load(open("public.json"))
a, b, c, s = json.loads("[" + open("out").read() + "]")
n = lambda x: [n(y) for y in x] if isinstance(x, list) else int(x, 16)
d = lambda x: [d(y) for y in x] if isinstance(x, list) else int(x)
assert n(a) == d(j["pi_a"][:2]) and n(c) == d(j["pi_c"][:2]) and n(s) == d(u)
assert n(b) == [d(x)[::-1] for x in j["pi_b"][:2]]
P

# ----------------------------------------------------------------------------------------------
# Verdicts
# ----------------------------------------------------------------------------------------------

begin "an invalid proof is 1 and nothing else is"
run 0 prove
sed '0,/"[0-9]*"/s//"5"/' public.json >other.json
run 1 verify verification_key.json other.json proof.json
prints "Invalid proof"
run 1 verify --quiet verification_key.json other.json proof.json
expect "quiet is quiet" test ! -s out -a ! -s err
run 3 verify verification_key.json public.json verification_key.json
run 4 verify verification_key.json public.json missing.json
run 3 verify "$data/mult3_bls/vkey.json" public.json proof.json
says "the proof is on bn128, the verifying key on bls12381"

begin "B1, B2, B3: public signals"
run 0 prove
r=21888242871839275222246405745257275088548364400416034343698204186575808495617
for bad in "\"$r\"" '"-1"' '"01"' '"0x1"' '"1.0"' '"1e3"' '""' '1' 'null' '["1"]'; do
    python3 -c 'import json, sys
u = open("public.json").read().split("\n")
print("[" + sys.argv[1] + "," + u[2] + "]")' "$bad" >x.json
    run 3 verify verification_key.json x.json proof.json
    one_line_error
    says "public signal [0]"
done
echo '[]' >x.json
run 3 verify verification_key.json x.json proof.json
says "expected 2 public signals, found 0"
echo '["1"]' >x.json
run 3 verify verification_key.json x.json proof.json
echo '["1","2","0"]' >x.json
run 3 verify verification_key.json x.json proof.json
says "expected 2 public signals, found 3"
echo '{"0":"1","1":"2","length":2}' >x.json
run 3 verify verification_key.json x.json proof.json

begin "E9: swapped coordinates"
run 0 prove
python3 -c 'import json
j = json.load(open("proof.json"))
j["pi_b"][0].reverse(); j["pi_b"][1].reverse(); json.dump(j, open("swapped.json", "w"))'
run 3 verify verification_key.json public.json swapped.json
says "swapped"

begin "B15: a proof of rapidsnark, without curve"
run 0 prove
python3 -c 'import json
j = json.load(open("proof.json")); del j["curve"]; json.dump(j, open("rapid.json", "w"))'
run 0 verify verification_key.json public.json rapid.json

begin "B6: a key without contribution is told of"
python3 -c 'import json
j = json.load(open("verification_key.json")); j["vk_delta_2"] = j["vk_gamma_2"]
json.dump(j, open("weak.json", "w"))'
run 0 prove
run 1 verify weak.json public.json proof.json
says "anyone can forge"

# ----------------------------------------------------------------------------------------------
# Files
# ----------------------------------------------------------------------------------------------

begin "A17: an output is never an input"
before=$(cksum circuit_final.zkey witness.wtns)
ln -s circuit_final.zkey soft
ln witness.wtns hard
run 2 prove circuit_final.zkey witness.wtns circuit_final.zkey public.json
one_line_error
run 2 prove circuit_final.zkey witness.wtns ./circuit_final.zkey public.json
run 2 prove circuit_final.zkey witness.wtns soft public.json
run 2 prove circuit_final.zkey witness.wtns proof.json hard
run 2 prove circuit_final.zkey witness.wtns same.json same.json
run 2 export vkey circuit_final.zkey soft
expect "inputs are untouched" test "$(cksum circuit_final.zkey witness.wtns)" = "$before"
refute "nothing is written" test -e proof.json -o -e public.json -o -e same.json

begin "outputs appear whole or not at all"
mkdir closed
run 4 prove circuit_final.zkey witness.wtns missing/p.json u.json
says "missing/p.json"
refute "the other output is not written" test -e u.json
run 4 prove circuit_final.zkey witness.wtns p.json closed
refute "the other output is not written" test -e p.json
chmod a-w closed
chmod a+rwx "$scratch" .
# A closed folder stops nobody who is root.
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${as_user[@]}" test -x "$proofmill" -a -w . 2>err; then
    n_checks=$((n_checks + 1))
    "${as_user[@]}" "$proofmill" prove circuit_final.zkey witness.wtns p.json closed/u.json \
        >out 2>err
    [ $? = 4 ] || fail "a closed folder"
    says "closed/u.json"
    refute "the other output is not written" test -e p.json
else
    echo "SKIP: $case_name: nobody here whom a closed folder would stop"
fi
# A folder that looks open and takes no file.
run 4 prove circuit_final.zkey witness.wtns p.json /proc/proofmill.json
refute "the other output is not written" test -e p.json
echo old >proof.json
patch witness.wtns $(($(section witness.wtns 2) + 3 * 32)) 05
run 7 prove
expect "what was there is left alone" test "$(cat proof.json)" = old
expect "no temporary file is left" test -z "$(find . -name '*tmp*' -o -name '.proof*')"

begin "stdin and stdout"
"$proofmill" prove circuit_final.zkey - p.json u.json <witness.wtns >out 2>err || fail "wtns from -"
"$proofmill" prove circuit_final.zkey witness.wtns - u.json >p.json 2>err || fail "proof to -"
is_json p.json
"$proofmill" verify verification_key.json u.json - <p.json >out 2>err || fail "proof from -"
prints "OK!"
"$proofmill" export vkey circuit_final.zkey - >v.json 2>err || fail "vkey to -"
expect "the same bytes" cmp v.json verification_key.json
run 2 prove - - p.json u.json
run 2 prove circuit_final.zkey witness.wtns - -
run 2 prove --json circuit_final.zkey witness.wtns - u.json
run 2 verify - - p.json
if [ -e /dev/full ]; then
    n_checks=$((n_checks + 1))
    "$proofmill" verify verification_key.json u.json p.json >/dev/full 2>err
    [ $? = 4 ] || fail "a full disk under stdout is an error"
fi

# ----------------------------------------------------------------------------------------------
# Bad inputs
# ----------------------------------------------------------------------------------------------

begin "B24: files of another kind"
printf '["1","2"]' >array.json
: >empty
head -c 100 /dev/urandom >noise
gzip -c witness.wtns >witness.wtns.gz
for bad in array.json empty noise witness.wtns.gz circuit.r1cs circuit_final.zkey; do
    run 3 prove circuit_final.zkey "$bad" p.json u.json
    one_line_error
    says "$bad"
done
run 4 prove circuit_final.zkey missing.wtns p.json u.json
run 4 prove circuit_final.zkey . p.json u.json
run 3 prove witness.wtns witness.wtns p.json u.json
refute "nothing is written" test -e p.json -o -e u.json

begin "B12: a witness of another circuit"
run 3 prove circuit_final.zkey "$data/one/one.wtns" p.json u.json
says "was the witness made for this circuit?"
run 3 prove circuit_final.zkey "$data/mult3_bls/mult3_bls.wtns" p.json u.json
refute "nothing is written" test -e p.json

begin "B13: a value that is not reduced"
cp witness.wtns big.wtns
patch big.wtns $(($(section big.wtns 2) + 2 * 32)) "$(printf 'ff%.0s' $(seq 32))"
run 3 prove circuit_final.zkey big.wtns p.json u.json
one_line_error
says "(offset "

begin "E15: another protocol"
cp circuit_final.zkey plonk.zkey
patch plonk.zkey "$(section plonk.zkey 1)" 02
run 3 prove plonk.zkey witness.wtns p.json u.json
says "plonk"
run 3 info plonk.zkey

begin "B22: a damaged key gives no proof"
cp circuit_final.zkey bad.zkey
patch bad.zkey $(($(section bad.zkey 5) + 64)) 0102030405
run 7 prove bad.zkey witness.wtns p.json u.json
says "proofmill check"
refute "nothing is written" test -e p.json -o -e u.json
run 3 check bad.zkey
run 0 prove --no-self-verify bad.zkey witness.wtns p.json u.json
run 0 check circuit_final.zkey

begin "check names the constraint that fails"
cp witness.wtns bad.wtns
patch bad.wtns $(($(section bad.wtns 2) + 3 * 32)) 05
run 7 check circuit.r1cs bad.wtns
says "constraint"
run 7 prove circuit_final.zkey bad.wtns p.json u.json
run 0 check bad.wtns
run 7 check --json circuit.r1cs bad.wtns
json_is out 'j["status"] == "UNSATISFIED" and j["exit_code"] == 7 and j["constraint"] >= 0'
run 3 check circuit.r1cs "$data/one/one.wtns"
run 3 check circuit_final.zkey witness.wtns
run 2 check
run 2 check a b c

begin "B7: truncated files"
for file in circuit_final.zkey witness.wtns circuit.r1cs; do
    size=$(stat -c %s $file)
    for cut in 0 1 4 8 12 23 24 $((size / 2)) $((size - 1)); do
        head -c "$cut" $file >short
        run 3 check short
        one_line_error
    done
done

# ----------------------------------------------------------------------------------------------
# Info
# ----------------------------------------------------------------------------------------------

begin "info"
run 0 info circuit_final.zkey witness.wtns circuit.r1cs
prints "bn128"
prints "contributions"
run 0 info --json --digest circuit_final.zkey circuit.r1cs
json_is out 'j["files"][0]["kind"] == "zkey" and j["files"][0]["curve"] == "bn128"'
json_is out 'j["files"][0]["n_public"] == 2 and j["files"][0]["insecure"] is False'
json_is out 'len(j["files"][0]["sections"]) == 10 and j["files"][1]["n_constraints"] == 3'
n_checks=$((n_checks + 1))
python3 -c 'import hashlib, json
j = json.load(open("out"))["files"][0]
assert j["blake2b"] == hashlib.blake2b(open("circuit_final.zkey", "rb").read()).hexdigest()' ||
    fail "the digest is not BLAKE2b-512 of the file"
run 4 info missing
run 3 info verification_key.json

begin "info and check of bellman's parameters, B18"
if [ -r "$fixtures/bellman/sapling-output.params" ]; then
    cp "$fixtures/bellman/sapling-output.params" sapling.params && chmod u+w sapling.params
    head -c 1444 sapling.params >sapling.vk
    run 0 info sapling.params sapling.vk
    prints "2^13"
    prints "97"
    run 0 info --json --digest sapling.params sapling.vk
    json_is out 'j["files"][0]["kind"] == "params" and j["files"][0]["n_contributions"] == 97'
    json_is out 'j["files"][0]["n_h"] == 8191 and j["files"][0]["parameters_bytes"] == 3540024'
    json_is out 'j["files"][0]["parameters_json_digest"] == "657e3d38dbb5cb5e7dd2970e8b03d69b"'
    json_is out 'j["files"][1]["kind"] == "bellman vk" and j["files"][1]["n_public"] == 5'
    run 0 check sapling.vk
    printf '\001' | dd of=sapling.vk bs=1 seek=700 conv=notrunc status=none
    run 3 check sapling.vk
    says "delta in g2"
    head -c 2000000 sapling.params >cut.params
    run 3 info cut.params
    says "points of a, 461392 are left; missing behind it: b_g1, b_g2"
    cp witness.wtns witness.params && run 0 info witness.params
    head -c 5000 /dev/urandom >random.params
    run 3 info random.params
    says "begins with the bytes"
else
    echo "SKIP: no parameters of bellman: set PM_FIXTURES"
fi

# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------

begin "usage errors, E3"
run 2
says "no verb"
run 2 prov
says "did you mean prove?"
run 2 verfy a b c
says "did you mean verify?"
run 2 plonk prove
says "groth16, not plonk"
run 2 prove --thread 2
says "did you mean --threads?"
run 2 prove --nonsense-entirely
says "unknown option --nonsense-entirely"
run 2 prove -x
run 2 prove --threads
run 2 prove --threads=
run 2 prove --threads -1
run 2 prove --threads 1x
run 2 prove --threads 99999999999
run 2 prove --threads 2 --threads 2
says "--threads is given twice"
run 2 prove -t 1 --form two --threads=4
says "--threads is given twice"
run 2 prove --mem 1GiB --mem 2GiB
says "--mem is given twice"
run 2 prove --stats=yes
run 2 prove --arithmetic fast
says "best|portable|adx|ifma"
run 2 prove --load mmap
run 2 prove --timeout 0
run 2 verify --no-self-verify
says "does not belong to"
run 2 prove a b c d e
says "has no use for e"
run 2 prove ''
run 2 groth16 setup a b c d
refute "nothing is written" test -e proof.json
run 2 --json prove --threads x
json_is out 'j["status"] == "INVALID_ARGUMENT" and j["exit_code"] == 2 and j["error"]["message"]'

begin "A17: an input that came through standard input is not overwritten"
cp witness.wtns w
run_with w 2 prove circuit_final.zkey - w pub.json
says "same file"
expect "the witness is untouched" cmp w witness.wtns
cp circuit_final.zkey k
run_with k 2 export vkey - k
expect "the key is untouched" cmp k circuit_final.zkey
cp circuit.r1cs c
run_with c 2 setup --insecure-known-tau - c
expect "the constraint system is untouched" cmp c circuit.r1cs
cp witness.wtns w
"$proofmill" prove circuit_final.zkey w - pub.json 1<>w 2>err
expect "standard output on the input is refused" test $? -eq 2
expect "and the input is untouched" cmp w witness.wtns

begin "a FIFO that nobody reads"
mkfifo ff
timeout --foreground -k 20 -s TERM 1 \
    "$proofmill" prove circuit_final.zkey witness.wtns ff pub.json 2>err
status=$?
expect "SIGTERM ends the waiting" test $status -eq 124 -o $status -eq 143
refute "nothing is written" test -e pub.json

begin "a FIFO that nobody writes to"
mkfifo ff
timeout --foreground -k 20 -s TERM 1 "$proofmill" setup --insecure-known-tau ff new.zkey 2>err
status=$?
expect "SIGTERM ends the waiting" test $status -eq 124 -o $status -eq 143
refute "nothing is written" test -e new.zkey
run 9 verify --timeout 1 ff public.json proof.json
run 9 export solidity --timeout 1 ff new.sol
refute "nothing is written" test -e new.sol

begin "closed standard streams"
"$proofmill" prove circuit_final.zkey - p.json pub.json <&- 2>err
expect "a closed standard input is not the next file opened" test $? -eq 4
"$proofmill" prove circuit_final.zkey witness.wtns p.json pub.json >&- 2>&-
expect "closed outputs do not matter to a silent verb" test $? -eq 0
run 0 verify verification_key.json pub.json p.json

begin "a limit on the size of files"
(ulimit -f 0 && "$proofmill" prove circuit_final.zkey witness.wtns p.json pub.json) 2>err
expect "is an error of the write, not a signal" test $? -eq 4
refute "nothing is written" test -e p.json

begin "development keys"
run 0 setup --insecure-known-tau=7 circuit.r1cs dev.zkey
run 0 info dev.zkey
prints "development mark"
prints "INSECURE"
run 0 help setup
prints "--insecure-known-tau[=SEED]"
run 2 setup --format params circuit.r1cs dev.params

begin "help and version"
run 0 help
prints "Exit codes:"
prints "prove ZKEY WTNS PROOF PUBLIC"
for verb in prove verify info check "export vkey" "export solidity" "export json" \
    "export calldata" g16p; do
    # shellcheck disable=SC2086
    run 0 help $verb
    prints "Usage: proofmill"
done
run 0 --help
run 0 -h
run 0 prove --help
prints "--no-self-verify"
run 0 verify -h
run 2 help nonsense
run 0 --version
prints "proofmill "
run 0 -V
run 0 version

begin "verbs of the daemon are proofmilld's"
run 0 help
prints "submit KEY WTNS"
prints "key plan NAME"
command=$proofmill
mkdir beside alone
cp "$command" beside/proofmill
cp "$command" alone/proofmill
cat >beside/proofmilld <<'PROGRAM'
#!/bin/sh
for word in "$@"; do printf "<%s>" "$word"; done
exit 7
PROGRAM
chmod +x beside/proofmilld
proofmill=$PWD/beside/proofmill
run 7 serve --listen unix:///a
prints "<serve><--listen><unix:///a>"
run 7 --json -q key list --address "a b" "" -- x
prints "<key><--json><-q><list><--address><a b><><--><x>"
run 7 help key load
prints "<key><load><--help>"
run 7 status --help
prints "<status><--help>"
run 2 statu
run 2 --threads 3 status
proofmill=$PWD/alone/proofmill
PATH=$PWD/beside run 7 top
prints "<top>"
PATH=$PWD run 4 top
says "PM_BUILD_DAEMON"
PATH=$PWD run 4 --json jobs
prints '"exit_code":4'
chmod -x beside/proofmilld
PATH=$PWD/beside run 4 top
proofmill=$command

begin "E12: threads and arithmetic"
for threads in 1 2 3 0; do
    run 0 prove --threads $threads
    run 0 verify -t$threads
done
run 0 prove --arithmetic portable --load read --stats -t 1
says "portable arithmetic"
if command -v taskset >/dev/null; then
    n_checks=$((n_checks + 1))
    taskset -c 0 "$proofmill" prove --stats --json >out 2>err || fail "under taskset"
    json_is out 'j["stats"]["threads"] == 1'
fi

begin "D1: statistics tell loading from proving"
run 0 prove --stats
says "load key"
says "prove"
says "peak memory"
run 0 prove --stats --json
expect "one line of JSON" test "$(wc -l <out)" = 1
json_is out 'j["status"] == "OK" and j["exit_code"] == 0 and j["self_verified"] is True'
json_is out '{"load key", "load witness", "prove", "write"} <= set(j["stats"]["steps_ms"])'
json_is out 'j["stats"]["peak_resident_bytes"] > 0 and j["stats"]["phases_ms"]'
run 0 prove -v
says "load key"
run 0 verify --json
json_is out 'j["valid"] is True and j["status"] == "OK"'
run 3 verify --json verification_key.json public.json verification_key.json
json_is out 'j["exit_code"] == 3 and j["error"]["file"] == "verification_key.json"'
run 4 prove --json missing.zkey
json_is out 'j["status"] == "IO" and j["error"]["file"] == "missing.zkey"'

begin "rapidsnark's names"
ln -s "$proofmill" prover
ln -s "$proofmill" verifier
n_checks=$((n_checks + 4))
./prover circuit_final.zkey witness.wtns p.json u.json >out 2>err || fail "prover"
if [ -s out ] || [ -s err ]; then fail "prover is not silent"; fi
./verifier verification_key.json u.json p.json >out 2>err || fail "verifier"
if [ -s out ] || [ -s err ]; then fail "verifier is not silent"; fi
n_checks=$((n_checks + 2))
./prover circuit_final.zkey witness.wtns >out 2>err
[ $? = 2 ] || fail "prover with too few files"
sed '0,/"[0-9]*"/s//"5"/' u.json >x.json
./verifier verification_key.json x.json p.json >out 2>err
[ $? = 1 ] || fail "verifier of an invalid proof"

begin "output does not depend on the locale"
for locale in C de_DE.UTF-8 tr_TR.UTF-8; do
    LC_ALL=$locale "$proofmill" export vkey circuit_final.zkey v.json 2>err || fail "locale $locale"
    expect "the same bytes" cmp v.json verification_key.json
    LC_ALL=$locale "$proofmill" verify --stats --json >out 2>err
    is_json out
done

# ----------------------------------------------------------------------------------------------
# Signals: on a key that takes a while, when the caller names one in PM_LARGE (folder with
# circuit.zkey and witness.wtns); the small ones are done before a signal arrives.
# ----------------------------------------------------------------------------------------------

begin "Ctrl-C leaves nothing behind"
large_key=${PM_LARGE:+$PM_LARGE/circuit.zkey}
large_wtns=${PM_LARGE:+$PM_LARGE/witness.wtns}
large_key=${large_key:-$data/own_mimc/own_mimc.zkey}
large_wtns=${large_wtns:-$data/own_mimc/own_mimc.wtns}
n_stopped=0
for delay in 0.01 0.02 0.03 0.05 0.08 0.12; do
    for signal in INT TERM; do
        n_checks=$((n_checks + 1))
        rm -f p.json u.json
        # setsid: a background job of a shell script ignores SIGINT otherwise.
        python3 - "$proofmill" "$large_key" "$large_wtns" $delay $signal <<'P'
import signal, subprocess, sys, time
program, key, wtns, delay, name = sys.argv[1:]
child = subprocess.Popen([program, "prove", "-t1", "--arithmetic", "portable", key, wtns,
                          "p.json", "u.json"], stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(float(delay))
number = getattr(signal, "SIG" + name)
child.send_signal(number)
started = time.monotonic()
code = child.wait(30)
assert time.monotonic() - started < 20, "it took too long to stop"
# Killed before there was anything to tidy up, or stopped in order, or done.
sys.exit(0 if code == 0 else 10 if code in (128 + number, -number) else 1)
P
        case $? in
        0) expect "a finished proof is there" test -s p.json -a -s u.json ;;
        10)
            n_stopped=$((n_stopped + 1))
            refute "a stopped proof is not there" test -e p.json -o -e u.json
            expect "no temporary file is left" test -z "$(find . -name '.*json*' -o -name '*tmp*')"
            ;;
        *) fail "SIG$signal after $delay s" ;;
        esac
    done
done
[ $n_stopped -gt 0 ] || echo "note: $case_name: every proof was done before its signal"

begin "a deadline"
if [ -n "${PM_LARGE:-}" ]; then
    run 9 prove --timeout 1 -t1 --arithmetic portable "$large_key" "$large_wtns" p.json u.json
    refute "nothing is written" test -e p.json
else
    run 0 prove --timeout 60
fi

echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ]
