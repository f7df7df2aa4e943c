#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# `proofmill simulate` as its users meet it, and what the shipped scenarios say.
# Usage: check_simulate.sh PROOFMILL
set -u
export LC_ALL=C

proofmill=$(readlink -f "${1:?usage: check_simulate.sh PROOFMILL}")
source=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
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
# json EXPRESSION: over r (the runs by name), in order as l.
json() {
    n_checks=$((n_checks + 1))
    python3 - "$1" <<'PY' || fail "not: $1"
import json, sys
l = json.load(open("out"))["simulation"]["runs"]
r = {x["run"]: x for x in l}
GIB = 1 << 30
def near(a, b, share): return abs(a - b) <= share * b
sys.exit(not eval("(" + sys.argv[1] + ")"))
PY
}
# change FILE EXPRESSION: the scenario s changed, to `changed.json`.
change() {
    python3 - "$1" "$2" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(s, open("changed.json", "w"), indent=1)
PY
}

# ---------------------------------------------------------------- the predecessor's table

predecessor=$source/examples/scenarios/predecessor.json
run 0 simulate "$predecessor" --json
json 'near(r["10 workers"]["seconds_a_proof"], 38.5, .1)'
json 'near(r["12 workers"]["seconds_a_proof"], 37.7, .1)'
json 'near(r["14 workers"]["seconds_a_proof"], 37.8, .1)'
json 'near(r["16 workers"]["seconds_a_proof"], 38.4, .1)'
json 'near(r["10 workers"]["peak_memory_bytes"] / GIB, 321, .1)'
json 'near(r["12 workers"]["peak_memory_bytes"] / GIB, 400, .1)'
json 'near(r["14 workers"]["peak_memory_bytes"] / GIB, 457, .1)'
json 'near(r["16 workers"]["peak_memory_bytes"] / GIB, 510, .1)'
json 'r["12, kept and unbounded"]["peak_memory_bytes"] / GIB > 668'
json 'all(x["proofs"] == 20 and x["partitions"] == 200 for x in l)'

# Not for one seed alone.
for seed in 2 3 4; do
    change "$predecessor" "s['seed'] = $seed"
    run 0 simulate changed.json --json
    json 'all(near(r[k + " workers"]["peak_memory_bytes"] / GIB, v, .1)
              for k, v in (("10", 321), ("12", 400), ("14", 457), ("16", 510)))'
done

# Nothing is fitted: each input moves what depends on it, by what it must.
change "$predecessor" 's["proofs"][0]["steps"][2]["time"] *= 1.2'
run 0 simulate changed.json --json
json 'near(r["12 workers"]["seconds_a_proof"], 1.2 * 37.5 + 29 / 20, .02)'
change "$predecessor" 's["proofs"][0]["steps"][0]["time"] = [43.4, 54.0]
s["proofs"][0]["steps"][1]["time"] = [14.6, 18.0]'
run 0 simulate changed.json --json
json 'near(r["10 workers"]["seconds_a_proof"], 65, .06)' # 10 partitions of 65 s, 10 at a time
change "$predecessor" 's["proofs"][0]["steps"][1]["host"] = "31GiB"'
run 0 simulate changed.json --json
json 'r["16 workers"]["peak_memory_bytes"] / GIB > 510 * 1.1'
change "$predecessor" 's["machine"]["baseline"] = "0"'
run 0 simulate changed.json --json
json 'near(r["12 workers"]["peak_memory_bytes"] / GIB, 400 - 69.5, .1)'

# ---------------------------------------------------------------- admission by bytes

run 0 simulate "$source/examples/scenarios/admission.json" --json
json 'all(x["refused"] == x["expired"] == 0 for x in l)'
json 'all(x["peak_reserved_bytes"]["host"] <= int(x["run"].split()[-2]) * GIB for x in l)'
json 'r["128 GiB"]["seconds_a_proof"] > 2 * r["256 GiB"]["seconds_a_proof"]
      > 2 * r["512 GiB"]["seconds_a_proof"]'
json 'near(r["512 GiB"]["seconds_a_proof"], r["768 GiB"]["seconds_a_proof"], .01)'
json 'all(near(r[f"8 of {m} GiB"]["seconds_a_proof"] * 8, r[f"{m} GiB"]["seconds_a_proof"], .03)
          for m in (128, 256, 512, 768))'
json 'all(r[f"1000 of {m} GiB"]["proofs"] == 4000 for m in (128, 256, 512, 768))'
json 'r["1000 of 512 GiB"]["seconds_a_proof"] < r["512 GiB"]["seconds_a_proof"] / 800'

for scenario in "$source"/examples/scenarios/*.json; do
    run 0 simulate "$scenario"
    run 0 simulate "$scenario" --json --svg plot.svg
    n_checks=$((n_checks + 1))
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("plot.svg")' ||
        fail "$scenario: the plot is no XML"
done

# ---------------------------------------------------------------- what is wrong, and where

small='{"title": "t", "machine": {"memory": "64GiB", "devices": 1}, "policy": {"slots": 2},
 "keys": [{"name": "k"}],
 "proofs": [{"name": "p", "key": "k", "steps": [
   {"name": "a", "stage": "prove", "time": 1, "host": "1GiB"}]}],
 "load": [{"proof": "p", "jobs": 3}]}'
echo "$small" >small.json
run 0 simulate small.json --json
json 'l[0]["proofs"] == 3'
"$proofmill" simulate - --json <small.json >out 2>err || fail "standard input"
json 'l[0]["proofs"] == 3'
# Work at a rate of the machine, bytes over its bus, keys from its disk: as so much more time.
change small.json 's["rates"] = {"msm": 2e6}
s["machine"].update(bus="1GB", disk="1GB")
s["keys"][0].update(host=3000000000, device=2000000000)
s["proofs"][0]["steps"][0].update(work=4e6, rate="msm", transfer=5000000000, lock=True)'
run 0 simulate changed.json --json
json 'near(l[0]["end_s"], 3 + 2 + 3 * (1 + 2 + 5), 1e-6) and l[0]["key_loads"] == 2'
change changed.json 's["load"][0].update(deadline=10, priority="low")'
run 0 simulate changed.json --json
json 'l[0]["expired"] == 1 and l[0]["latency"]["low"]["proofs"] == 2'
change changed.json 's["proofs"][0]["steps"][0]["rate"] = "ntt"'
run 3 simulate changed.json
says 'needs "work", a number, and "rate", a name among "rates"'
change small.json 's["proofs"][0]["steps"][0].update(lock=True, chunk=1e-9)'
run 3 simulate changed.json
says 'chunks'

# wrong SED LINE SENTENCE: the small scenario with a fault.
wrong() {
    sed "$1" small.json >wrong.json
    run 3 simulate wrong.json
    says "line $2: "
    says "$3"
}
wrong 's/"slots"/"slot"/' 1 'policy.slot is not known here; known are slots, ahead'
wrong 's/"stage": "prove"/"stage": "bake"/' 4 'proofs[0].steps[0].stage must be one of "prepare"'
wrong 's/"1GiB"/"1GB!"/' 4 'proofs[0].steps[0].host must be a size'
wrong 's/"time": 1/"time": [2, 1]/' 4 'has the larger time first'
wrong 's/"time": 1/"time": -1/' 4 'must be seconds'
wrong 's/"key": "k"/"key": "l"/' 3 'proofs[0].key names none that is described'
wrong 's/"proof": "p"/"prof": "p"/' 5 'load[0].prof is not known here'
wrong 's/"jobs": 3/"jobs": 0/' 5 'load[0].jobs must be a whole number from 1 to'
wrong 's/"keys": \[{"name": "k"}\]/"keys": []/' 2 'keys must be an array of 1 to'
wrong 's/"title": "t", //' 1 'needs the member "title"'
wrong 's/"prove"/"prepare"/' 1 'a curve needs a step that proves'
wrong 's/"devices": 1/"devices": 1, "baseline": "64GiB"/' 1 'the baseline takes'
sed 's/"t", /"t" /' small.json >wrong.json
run 3 simulate wrong.json
says 'line 1'
run 3 simulate /dev/null
run 4 simulate missing.json
run 2 simulate
run 2 simulate small.json other.json
run 2 simulate small.json --threads 2
run 2 prove --svg x.svg
run 4 simulate small.json --svg no/such/folder.svg
cp small.json same.svg
run 2 simulate same.svg --svg same.svg
sed 's/64GiB/1KiB/' small.json >wrong.json
run 0 simulate wrong.json --json
json 'l[0]["refused"] == 3 and "host" in l[0]["refusal"]'

# ---------------------------------------------------------------- doc/simulate.md says what is so

mkdir bin && ln -s "$proofmill" bin/proofmill
n_checks=$((n_checks + 1))
PATH=$scratch/bin:$PATH python3 - "$source" <<'PY' || fail "doc/simulate.md lies"
import re, subprocess, sys
text = open(sys.argv[1] + "/doc/simulate.md").read()
n = 0
for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd=sys.argv[1])
        n += 1
        if done.stdout != expected:
            sys.exit(f"$ {command}\n{done.stdout}--- but the page has\n{expected}")
sys.exit(0 if n >= 3 else "commands are missing")
PY

echo "$n_checks checks, $n_failed failed"
[ "$n_failed" = 0 ]
