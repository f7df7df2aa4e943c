#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# `proofmill plan` as its users meet it. Usage: check_plan.sh PROOFMILL
set -u
export LC_ALL=C

proofmill=$(readlink -f "${1:?usage: check_plan.sh PROOFMILL}")
data=$(dirname "$(readlink -f "$0")")/../data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
data=$(readlink -f "$data")
cd "$scratch" || exit 1
n_checks=0
n_failed=0

fail() {
    n_failed=$((n_failed + 1))
    echo "FAIL: $*"
    sed 's/^/    out: /' out 2>/dev/null | head -5 | cut -c 1-300
    sed 's/^/    err: /' err 2>/dev/null | head -5
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
says() {
    n_checks=$((n_checks + 1))
    grep -qF -- "$1" err || fail "stderr lacks: $1"
}
prints() {
    n_checks=$((n_checks + 1))
    grep -qE -- "$1" out || fail "stdout lacks: $1"
}
# json EXPRESSION: over p (the plan), b (buffers by name), s (names of steps).
json() {
    n_checks=$((n_checks + 1))
    python3 - "$1" <<'PY' || fail "not: $1"
import json, sys
j = json.load(open("out"))
p = j.get("plan", {})
b = {x["buffer"]: x for x in p.get("buffers", [])}
s = [x["name"] for x in p.get("steps", [])]
pool = {x["pool"]: x for x in p.get("pools", [])}
row = {x["choice"]: x for x in p.get("alternatives", [])}
def last(name): return p["steps"][b[name]["last_step"] - 1]
sys.exit(not eval("(" + sys.argv[1] + ")"))
PY
}

# ---------------------------------------------------------------- a 32 GiB sector, in exact bytes

run 0 plan --sizes porep-32g -t 8 --form three --caller-vectors --b2 later --json
json 'all(b["caller " + v]["bytes"] == 130278869 * 32 == 4168923808 for v in "abc")'
json 'all(b[v]["bytes"] == 1 << 32 and last(v)["half"] == "start" for v in "abc")'
json 'b["w"]["bytes"] == 4165447072 and last("w")["name"] == "msm b2"'
json 'last("w")["half"] == "finish"'
json 'all(last("caller " + v)["name"] == "load vectors" for v in "abc")'
json 'p["circuit"]["key_file_bytes"] == 47373928632'
json 'row["B2 later, from a copy"]["between_host_bytes"] < 1.07e9'
json 'row["this plan"]["between_host_bytes"] > 4.16e9'
json 'row["B2 in start"]["between_host_bytes"] < 1e6'
json 'row["this plan"]["host_bytes"] - row["two vectors"]["host_bytes"] == 1 << 32'
run 0 plan --sizes porep-32g -t 8 --form three --caller-vectors --b2 copy
prints '^caller a +4,168,923,808 +3.88 GiB +caller +lent'
prints '^b scalars +1,059,593,024 .* proof +8-9$'
prints 'held: b scalars +1,059,593,024 bytes of host memory'
prints 'gone: c +4,294,967,296 bytes of host memory, since step 2'
prints 'two vectors +8,'

# ---------------------------------------------------------------- what the JSON says adds up

for arguments in "" "--device device:139GiB" "--device device:24GiB --caller-vectors" \
    "--b2 copy --device device:80GiB" "--form two" "--mem 96GiB"; do
    # shellcheck disable=SC2086
    run 0 plan --sizes porep-32g --json $arguments
    json 'all(q["live_bytes"][k] == sum(x["bytes"] for x in b.values()
          if x["pool"] == q["pool"] and x["first_step"] <= k + 1 <= x["last_step"])
          for q in pool.values() for k in range(len(s)))'
    json 'all(q["peak_bytes"] == max(q["live_bytes"]) == q["live_bytes"][q["peak_step"] - 1]
          for q in pool.values())'
    json '[x["step"] for x in p["steps"]] == list(range(1, len(s) + 1))'
    json 'p["why"].endswith(".")'
done
run 0 plan --sizes porep-32g --device device:139GiB --json
json 'set(pool) == {"host", "pinned", "caller", "vram:0"} and b["a"]["pool"] == "vram:0"'
json 'p["choices"]["residency"] == "keep" and p["choices"]["b2"] == "start"'
run 0 plan --sizes porep-32g --device device:24GiB --json
json 'p["choices"]["residency"] == "stream" and "key window" in b'
run 5 plan --sizes porep-32g --device device:12GiB --json
json 'j["error"]["need"] > j["error"]["have"] == 12 << 30'
says 'vram:0'

# ---------------------------------------------------------------- every known circuit

"$proofmill" help plan | sed -n '/^Known circuits/,$p' | awk 'NR > 1 { print $1 }' >names
n_checks=$((n_checks + 1))
[ "$(wc -l <names)" = 12 ] || fail "help plan does not list twelve circuits"
while read -r name; do
    run 0 plan --sizes "$name" --json
    json "p['circuit']['name'] == '$name'"
done <names

# ---------------------------------------------------------------- a key

run 0 plan "$data/mult3/mult3.zkey" --json
json 'p["circuit"]["curve"] == "bn128" and p["circuit"]["reduction"] == "snarkjs"'
json 'b["key file"]["pool"] == "file" and b["key file"]["bytes"] == 4732'
json 'p["choices"]["form"] == "three" and b["c"]["lifetime"] == "step"'
run 2 plan "$data/mult3/mult3.zkey" --no-such
run 0 plan --form two --b2 start --residency stream --json --zkey "$data/mult3/mult3.zkey"
json '"c" not in b and p["choices"] == {"form": "two", "residency": "stream", "b2": "start",
                                         "vectors": "witness"}'
json 's.index("msm b2") + 1 == len([x for x in p["steps"] if x["half"] == "start"])'
cp "$data/mult3/mult3.zkey" circuit_final.zkey
run 0 plan
prints '^circuit_final.zkey: bn128'
run 3 plan "$data/mult3/mult3.wtns"

# What is planned for a key is what a proof with it is planned, and measured, to hold.
cp "$data/mult3/mult3.wtns" witness.wtns
run 0 plan --json
cp out planned.json
run 0 prove --memory --json
json '[(x["buffer"], x["bytes"], x["first_step"], x["last_step"])
       for x in json.load(open("planned.json"))["plan"]["buffers"]]
      == [(x["buffer"], x["planned_bytes"], x["first_step"], x["last_step"])
          for x in j["memory"]["buffers"]]'
json 'all(x["planned_bytes"] == x["measured_bytes"] for x in j["memory"]["buffers"])'
json 'j["memory"]["divergences"] == 0'

# --mem bounds what the whole of prove holds: the need that a plan names is exact for it.
run 5 plan --mem 1MiB --json
json 'j["error"]["need"] > j["error"]["have"] == 1 << 20'
says '--mem allows 1.00 MiB (1048576 bytes)'
need=$(python3 -c 'import json; print(json.load(open("out"))["error"]["need"])')
run 0 plan --mem "$need" --json
json "p['limit_bytes'] == $need > p['beside_bytes'] > 2 << 20"
json "max(pool['host']['held_bytes']) + p['beside_bytes'] == $need"
cp out planned.json
run 5 plan --mem $((need - 1))
run 0 prove --mem "$need" --json --memory
json '[(x["buffer"], x["bytes"]) for x in json.load(open("planned.json"))["plan"]["buffers"]]
      == [(x["buffer"], x["planned_bytes"]) for x in j["memory"]["buffers"]]'
run 5 prove --mem $((need - 1))
run 5 plan --sizes porep-32g --mem 64GiB
says 'porep-32g: proving needs at least'

# ---------------------------------------------------------------- bellman's parameter file

run 0 setup --insecure-known-tau --format params "$data/mult3_bls/mult3_bls.r1cs" mult3.params
run 0 plan mult3.params --json
json 'p["circuit"]["reduction"] == "bellman" and p["choices"]["vectors"] == "caller"'
json 'p["circuit"]["key_file_bytes"] == '"$(stat -c %s mult3.params)"
run 0 plan mult3.params --r1cs "$data/mult3_bls/mult3_bls.r1cs" --json
json 'p["choices"]["vectors"] == "witness" and p["choices"]["form"] == "two"'
json 'sum(p["circuit"]["n_nonzeros"]) > 0 and "caller a" not in b'
cp out opened.json
sizes=$(python3 -c '
import json
p = json.load(open("opened.json"))["plan"]["circuit"]
print("bls12381/bellman", p["log_n"], p["n_vars"], p["n_inputs"] - 1, p["n_rows"], p["n_a"],
      p["n_b"], p["n_l"], p["n_h"], *p["n_nonzeros"], sep=",")')
# The sizes alone foretell what an opened key holds, but for the number of different coefficients.
run 0 plan --sizes "$sizes" --json
json 'all({**x, "bytes": 0} == {**y, "bytes": 0} and
          abs(x["bytes"] - y["bytes"]) <= (3 * 32 if x["buffer"] == "key on host" else 0)
          for x, y in zip(p["buffers"], json.load(open("opened.json"))["plan"]["buffers"]))'
run 2 plan circuit_final.zkey --r1cs "$data/mult3_bls/mult3_bls.r1cs"

# ---------------------------------------------------------------- sizes written out

run 0 plan --sizes bn128,20,1000000,2 --json
json 'p["circuit"]["n_inputs"] == 3 and p["circuit"]["n_h"] == 1 << 20'
run 0 plan --sizes bls12-381/bellman,20,1000000,2,1000000,900000,300000,999997,1048575,3,2,1 --json
json 'p["circuit"]["n_h"] == (1 << 20) - 1 and p["circuit"]["n_nonzeros"] == [3, 2, 1]'
run 0 plan --sizes bn128,20,1000000,2 --mem 150MiB --json
json 'max(pool["host"]["held_bytes"]) + p["beside_bytes"] <= 150 << 20'
run 5 plan --sizes bn128,20,1000000,2 --mem 1MiB
says "--mem allows 1.00 MiB"
for bad in "" porep bn128 "bn128," bn128,20 bn128,20,5 bn128,20,5,x bn128,20,5,1,2,3 dog,20,5,1 \
    bn128,20,99999999999999999999,1 bn128,20,5,1,2,3,4,5,6,7 bn128/dog,20,5,1 \
    bn128,4294967296,5,1 "bn128,20,5,1," "bn128,20,5,1,6," bn128,20,5,18446744073709551615; do
    run 2 plan --sizes "$bad"
done
run 2 plan --sizes bn128,20,9223372036854775808,1 # more variables than any machine
run 2 plan --sizes bn128,20,5,5                   # more inputs than variables
run 3 plan --sizes bn128,28,5,1
says '2^27'
run 3 plan --sizes bn128,4000000000,5,1
run 2 plan --sizes porep-32g "$data/mult3/mult3.zkey"
says 'not of both'
for bad in gpu device device: device:0 device:x device:-1; do
    run 2 plan --sizes porep-32g --device "$bad"
done
run 2 prove --sizes porep-32g
run 2 plan --sizes porep-32g --no-self-verify

# ---------------------------------------------------------------- doc/memory.md says what is so

doc=$data/../../doc/memory.md
PATH=$scratch/bin:$PATH
mkdir bin && ln -s "$proofmill" bin/proofmill
n_checks=$((n_checks + 1))
python3 - "$doc" <<'PY' || fail "doc/memory.md is not what its commands print"
import re, subprocess, sys
text = open(sys.argv[1]).read()
n = 0
for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        n += 1
        if done.stdout != expected:
            sys.exit(f"$ {command}\n{done.stdout}--- but the page has\n{expected}")
sys.exit(0 if n >= 9 else "commands are missing")
PY

echo "$n_checks checks, $n_failed failed"
[ "$n_failed" = 0 ]
