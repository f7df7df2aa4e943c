#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Devices as users of the command meet them, on a machine with or without a card.
# Usage: check_devices.sh PROOFMILL FAKE_GPU OTHER_VERSION OTHER_SIZE NO_TABLE
# FAKE_GPU is a libproofmill-gpu that computes without a card (support/fake_gpu_library.c); the
# last three are libraries that must not be taken for one. Reports A2, D4, D5, F10.
set -u
export LC_ALL=C
unset PROOFMILL_DEVICE PROOFMILL_NO_GPU PROOFMILL_GPU_LIBRARY

proofmill=$(readlink -f "${1:?usage: check_devices.sh PROOFMILL LIBRARY...}")
fake_gpu=$(readlink -f "$2")
shift 2
other_builds=()
for library in "$@"; do
    other_builds+=("$(readlink -f "$library")")
done
data=$(readlink -f "$(dirname "$(readlink -f "$0")")/../data")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
cp "$data/mult3/mult3.zkey" circuit_final.zkey
cp "$data/mult3/mult3.wtns" witness.wtns
cp "$data/mult3/vkey.json" verification_key.json
nowhere=$scratch/libproofmill-gpu.so.0
n_checks=0
n_failed=0

fail() {
    n_failed=$((n_failed + 1))
    echo "FAIL: $*"
    sed 's/^/    out: /' out 2>/dev/null | head -5 | cut -c 1-300
    sed 's/^/    err: /' err 2>/dev/null | head -5
}
# run EXPECTED_CODE|any [NAME=VALUE...] ARGUMENTS...: stdout to `out`, stderr to `err`.
run() {
    local expected=$1 code
    local -a environment=()
    shift
    while [[ "$1" == [A-Z]*=* ]]; do
        environment+=("$1")
        shift
    done
    n_checks=$((n_checks + 1))
    rm -f proof.json public.json
    env "${environment[@]}" "$proofmill" "$@" >out 2>err </dev/null
    code=$?
    [ "$expected" = any ] || [ "$code" = "$expected" ] ||
        fail "exit code $code, expected $expected: ${environment[*]} $*"
}
expect() { # expect WHAT COMMAND...
    local what=$1
    shift
    n_checks=$((n_checks + 1))
    "$@" >/dev/null 2>&1 || fail "$what"
}
says() { expect "stderr lacks: $1" grep -qF -- "$1" err; }
prints() { expect "stdout lacks: $1" grep -qF -- "$1" out; }
silent() { expect "stderr is not empty" test ! -s err; }
verifies() { expect "the proof does not verify" "$proofmill" verify "$@"; }
no_proof() { expect "a proof was written" test ! -e proof.json -a ! -e public.json; }
json() { # json EXPRESSION: over j
    n_checks=$((n_checks + 1))
    python3 -c 'import json, sys
j = json.load(open("out"))
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1" || fail "not: $1"
}

# ---------------------------------------------------------------- A2, D4: what is not there

# Everything that is not a library to prove with, and a word of the reason.
echo "this is no library" >text.so
refused=("$nowhere|cannot be opened" "$scratch/text.so|cannot be opened"
    "libm.so.6|pm_gpu_api_get" "$scratch|cannot be opened")
for library in "${other_builds[@]}"; do
    refused+=("$library|another build")
done
is_static=
if "$proofmill" prove --device cuda 2>&1 </dev/null | grep -q 'linked statically'; then
    is_static=yes
    refused=("$nowhere|linked statically")
fi
for row in "${refused[@]}"; do
    library=${row%%|*}
    reason=${row##*|}
    for device in cuda cuda:0 cuda:3 cuda:0,1; do
        run 6 PROOFMILL_GPU_LIBRARY="$library" prove --device "$device"
        says "$reason"
        no_proof
    done
    run 6 PROOFMILL_GPU_LIBRARY="$library" prove --device cuda --json
    json 'j["status"] == "NO_DEVICE" and j["exit_code"] == 6'
    json '"'"$reason"'" in j["error"]["message"]'
    run 6 PROOFMILL_GPU_LIBRARY="$library" plan --device cuda
    run 6 PROOFMILL_GPU_LIBRARY="$library" plan --device cuda --sizes porep-32g
    says "$reason"
    run 6 PROOFMILL_GPU_LIBRARY="$library" PROOFMILL_DEVICE=cuda prove
    says "PROOFMILL_DEVICE: "

    # auto says so, once, and proves.
    run 0 PROOFMILL_GPU_LIBRARY="$library" prove --device auto
    expect "auto does not say once that it falls back" test "$(grep -c "$reason" err)" = 1
    expect "auto wrote no proof" test -s proof.json -a -s public.json
    expect "auto's proof does not verify" "$proofmill" verify
    run 0 PROOFMILL_GPU_LIBRARY="$library" prove --device auto --stats --json
    json 'j["device"] == "cpu" == j["stats"]["device"]'
    json '"'"$reason"'" in j["stats"]["device_why"]'
    json 'len(j["warnings"]) == 1 and "'"$reason"'" in j["warnings"][0]'
    run 0 PROOFMILL_GPU_LIBRARY="$library" prove --device auto --quiet
    silent
    run 0 PROOFMILL_GPU_LIBRARY="$library" plan --device auto --json
    json 'j["plan"]["device"] == "cpu" and "'"$reason"'" in j["plan"]["device_why"]'
    run 0 PROOFMILL_GPU_LIBRARY="$library" plan --device auto --sizes porep-32g
    prints "plan for cpu"
    prints "$reason"
    run 0 PROOFMILL_GPU_LIBRARY="$library" devices
    prints "cuda     none: "
    prints "$reason"
    run 0 PROOFMILL_GPU_LIBRARY="$library" devices --json
    json '[x["device"] for x in j["devices"]] == ["cpu"] and "'"$reason"'" in j["no_cuda_because"]'
    json 'j["devices"][0]["threads"] >= 1 and "portable" in j["devices"][0]["arithmetic"]'
done

# F10: nobody else needs a card, its library, or a good variable.
for arguments in --version "help prove" "info circuit_final.zkey" "check circuit_final.zkey" \
    "prove --device cpu" prove; do
    # shellcheck disable=SC2086
    run 0 PROOFMILL_GPU_LIBRARY="$scratch/text.so" $arguments
    silent
done
run 0 PROOFMILL_GPU_LIBRARY="$scratch/text.so" PROOFMILL_DEVICE=nonsense verify \
    verification_key.json "$data/mult3/public.json" "$data/mult3/proof.snarkjs.json"

# ---------------------------------------------------------------- D5: the environment

# Off, in every way to say it: the CPU, without a word.
for word in "" 0 false no off FALSE No oFF cpu; do
    run 0 PROOFMILL_GPU_LIBRARY="$nowhere" PROOFMILL_DEVICE="$word" prove --json
    json 'j["device"] == "cpu" and "warnings" not in j'
    silent
done
# On, and names: the card, which is not there.
for word in 1 true yes on TRUE Yes oN cuda cuda:0 cuda:1,2; do
    run 6 PROOFMILL_GPU_LIBRARY="$nowhere" PROOFMILL_DEVICE="$word" prove
    no_proof
done
run 0 PROOFMILL_GPU_LIBRARY="$nowhere" PROOFMILL_DEVICE=auto prove
says "no card can be used"
for word in gpu 2 nope cuda: "cuda:0,0" CUDA " " "cpu "; do
    run 2 PROOFMILL_DEVICE="$word" prove
    says "PROOFMILL_DEVICE: there is no device \"$word\""
    no_proof
    run 2 PROOFMILL_DEVICE="$word" plan
done
# The option counts more than the variable.
run 0 PROOFMILL_DEVICE=cuda PROOFMILL_GPU_LIBRARY="$nowhere" prove --device cpu
run 0 PROOFMILL_DEVICE=nonsense prove --device cpu
run 6 PROOFMILL_DEVICE=cpu PROOFMILL_GPU_LIBRARY="$nowhere" prove --device cuda
# PROOFMILL_NO_GPU=0 switches nothing off.
for word in 1 true YES on; do
    run 0 PROOFMILL_NO_GPU="$word" PROOFMILL_DEVICE=cuda PROOFMILL_GPU_LIBRARY="$nowhere" prove
    run 6 PROOFMILL_NO_GPU="$word" PROOFMILL_GPU_LIBRARY="$nowhere" prove --device cuda
done
for word in 0 false No OFF ""; do
    run 6 PROOFMILL_NO_GPU="$word" PROOFMILL_DEVICE=cuda PROOFMILL_GPU_LIBRARY="$nowhere" prove
done
for word in 2 maybe "on " cuda; do
    run 2 PROOFMILL_NO_GPU="$word" prove
    says "PROOFMILL_NO_GPU"
    says "\"$word\""
    no_proof
done

# ---------------------------------------------------------------- the options

for word in gpu cuda: cuda:x cuda:-1 cuda:0,0 cuda:16 "" 0 on; do
    run 2 prove --device "$word"
    says "there is no device \"$word\""
    no_proof
    run 2 plan --device "$word"
done
run 2 prove --device device:24GiB # nobody proves on a card that is not there
run 0 plan --device device:24GiB --vram-limit 16GiB --sizes porep-32g --json
json 'max(x["peak_bytes"] for x in j["plan"]["pools"] if x["pool"] == "vram:0") <= 16 << 30'
for word in "" 0 x -1 24GiBx; do
    run 2 prove --vram-limit "$word"
done
run 2 verify --device cpu
run 2 verify --vram-limit 1GiB
run 2 devices one
run 0 prove --stats
says "device                        cpu: no other device was asked for"
run 0 help devices
prints "proofmill devices"
run 0 help prove
prints "--device DEVICE"
run 0 help
prints "proofmill devices"

# ---------------------------------------------------------------- a card, or what looks like one

# on_fake EXPECTED_CODE [NAME=VALUE...] ARGUMENTS...: what was done on it is in `done_there`.
on_fake() {
    local expected=$1
    shift
    rm -f done_there
    run "$expected" PROOFMILL_GPU_LIBRARY="$fake_gpu" FAKE_GPU_REPORT=done_there "$@"
}
there() { expect "not done there: $1" grep -qxF -- "$1" done_there; }
tidy() {
    there "violations 0"
    there "live 0"
}

if [ -z "$is_static" ]; then
    on_fake 0 devices
    prints "cuda:0   fake gpu, 1.00 GiB of memory, 1.00 GiB of it free"
    on_fake 0 FAKE_GPU_COUNT=2 devices --json
    json '[x["device"] for x in j["devices"]] == ["cpu", "cuda:0", "cuda:1"]'
    json 'j["devices"][2]["total_bytes"] == 1 << 30 and "no_cuda_because" not in j'
    on_fake 0 FAKE_GPU_COUNT=0 devices
    prints "cuda     none: the fake driver shows no device"
    on_fake 6 FAKE_GPU_COUNT=0 prove --device cuda
    says "the fake driver shows no device"
    on_fake 6 prove --device cuda:1
    says "there is no fake device 1, only 1"
    on_fake 6 prove --device cuda:0,1
    no_proof
    tidy

    for arguments in "--device cuda" "--device cuda:0" "--device cuda:0 --b2 copy" \
        "--device cuda --form two" "--device cuda --residency stream" \
        "--device cuda --b2 start --residency stream"; do
        # shellcheck disable=SC2086
        on_fake 0 prove $arguments --json
        json 'j["device"] == "cuda:0" and j["self_verified"] and "warnings" not in j'
        verifies
        tidy
    done
    on_fake 0 PROOFMILL_DEVICE=YES prove --stats
    there "sums 5"
    says "cuda:0: it was asked for"
    on_fake 0 FAKE_GPU_COUNT=2 prove --device cuda:0,1 --stats --json
    json '"of the 2 that were asked for" in j["stats"]["device_why"]'
    verifies

    # One proof on several: what was planned for each, what was measured on it.
    on_fake 0 FAKE_GPU_COUNT=3 plan --device cuda:0,1,2 --sizes bn128,12,4000,1
    prints "plan for cuda:0"
    prints "beside it, on cuda:1"
    prints "beside it, on cuda:2"
    prints "vram:2"
    on_fake 0 FAKE_GPU_COUNT=2 plan --device cuda:1,0 --json
    json 'j["plan"]["device"] == "cuda:1"'
    json '[x["device"] for x in j["plan"]["parts"]] == ["cuda:0"]'
    on_fake 0 FAKE_GPU_COUNT=2 plan --device cuda:0,1 --json
    cp out planned.json
    on_fake 0 FAKE_GPU_COUNT=2 prove --device cuda:0,1 --stats --memory --trace trace.json --json
    json '[x["device"] for x in j["devices"]] == ["cuda:0", "cuda:1"] and j["device"] == "cuda:0"'
    json 'all(x["steps_ms"] and x["key_bytes"] > 0 and x["peak_bytes"] > 0 for x in j["devices"])'
    json '"msm h" in j["devices"][0]["steps_ms"] and "msm h" not in j["devices"][1]["steps_ms"]'
    json '"sums are made beside it by cuda:1" in j["stats"]["device_why"]'
    json 'all([(x["buffer"], x["bytes"], x["pool"]) for x in plan["buffers"]]
              == [(x["buffer"], x["planned_bytes"], x["pool"]) for x in memory["buffers"]]
              for planned in [json.load(open("planned.json"))["plan"]]
              for plan, memory in [(planned, j["memory"]),
                                   (planned["parts"][0], j["memory"]["parts"][0])])'
    json 'all(x["planned_bytes"] == x["measured_bytes"]
              for m in [j["memory"]] + j["memory"]["parts"] for x in m["buffers"])'
    json 'all(x["device_planned_bytes"] == x["device_measured_bytes"]
              for m in [j["memory"]] + j["memory"]["parts"] for x in m["steps"])'
    json 'all(m["divergences"] == 0 for m in [j["memory"]] + j["memory"]["parts"])'
    verifies
    tidy
    expect "the trace does not show both devices" python3 -c '
import json
events = json.load(open("trace.json"))["traceEvents"]
rows = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
done = {n: {e["name"] for e in events if e["ph"] == "X" and e["tid"] == rows[n]} for n in rows}
assert "quotient" in done["cuda:0"] and "msm b2" in done["cuda:1"] - done["cuda:0"]
assert "live: vram:1" in {e["name"] for e in events if e["ph"] == "C"}'
    on_fake 0 FAKE_GPU_COUNT=2 prove --device cuda:0,1 --stats --memory
    says "beside it, on cuda:1"
    on_fake 0 FAKE_GPU_COUNT=2 prove --device cuda:1 --json
    json 'j["device"] == "cuda:1" and "devices" not in j'
    # One that is bad from the first question on is left out, and named.
    on_fake 0 FAKE_GPU_COUNT=3 FAKE_GPU_FAIL_DEVICE=2 FAKE_GPU_FAIL_CALL=25 \
        prove --device cuda:0,1,2 --json
    json '"cuda:2 takes no part in this proof" in j["warnings"][0]'
    json '[x["device"] for x in j["devices"]] == ["cuda:0", "cuda:1"]'
    verifies
    tidy
    # Whenever the second one goes bad: a proof, made without it or with it, or its name.
    for n in 30 40 55 70 85 100 120 140; do
        on_fake any FAKE_GPU_COUNT=2 FAKE_GPU_FAIL_DEVICE=1 FAKE_GPU_FAIL_CALL=$n \
            prove --device cuda:0,1 --json
        if [ -e proof.json ]; then
            verifies
        else
            json 'j["exit_code"] == 6 and "cuda:1" in j["error"]["message"]'
        fi
        tidy
    done

    # What was planned for it, what was measured on it, and the same thing three times.
    on_fake 0 plan --device cuda --json
    cp out planned.json
    on_fake 0 prove --device cuda --stats --memory --trace trace.json --json
    json '[(x["buffer"], x["bytes"], x["pool"], x["mechanism"])
           for x in json.load(open("planned.json"))["plan"]["buffers"]]
          == [(x["buffer"], x["planned_bytes"], x["pool"], x["mechanism"])
              for x in j["memory"]["buffers"]]'
    json 'json.load(open("planned.json"))["plan"]["device"] == "cuda:0"'
    json '[s["name"] for s in json.load(open("planned.json"))["plan"]["steps"] if s["beside"]]
          == ["load witness"]'
    json 'all(x["planned_bytes"] == x["measured_bytes"] for x in j["memory"]["buffers"])'
    json 'all(x["mechanism"] == x.get("measured_mechanism", x["mechanism"])
              for x in j["memory"]["buffers"])'
    json 'all(x["device_planned_bytes"] == x["device_measured_bytes"]
              for x in j["memory"]["steps"])'
    json 'max(x["device_measured_bytes"] for x in j["memory"]["steps"])
          == j["stats"]["device_peak_bytes"] > 0'
    json '{x["pool"]: x["mechanism"] for x in j["memory"]["buffers"] if x["lifetime"] != "resident"}
          .items() >= {"vram:0": "cudaMallocAsync"}.items()'
    json '[(x["buffer"], x["pool"], x["mechanism"]) for x in j["memory"]["buffers"]
           if x["buffer"] in ("key on device", "staging")]
          == [("key on device", "vram:0", "cudaMalloc"), ("staging", "pinned", "cudaHostAlloc")]'
    json 'j["memory"]["divergences"] == 0 and "vram:0" in [x["pool"] for x in j["memory"]["pools"]]'
    n_checks=$((n_checks + 1))
    python3 - <<'PY' || fail "the trace does not show the device"
import json, sys
trace = json.load(open("trace.json"))
events = trace["traceEvents"]
rows = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
spans = {e["name"]: e for e in events if e["ph"] == "X"}
counters = {e["name"] for e in events if e["ph"] == "C"}
there = {n for n, e in spans.items() if e["tid"] == rows["cuda:0"]}
sys.exit(not (trace["otherData"]["device"] == "cuda:0" and
              there >= {"load witness", "quotient", "msm h", "msm a", "msm b2"} and
              "assembly" not in there and "self-verification" not in there and
              all(spans[n]["args"]["in_device_lock"] for n in there if n != "load witness") and
              spans["load witness"]["args"]["beside"] and
              not any(spans[n]["args"]["beside"] for n in there if n != "load witness") and
              counters >= {"live: vram:0", "planned: device, key included"}))
PY
    on_fake 0 prove --device cuda --memory
    says "on the device"
    run 0 prove --trace trace.json
    expect "a trace of the CPU has a row for a device" \
        python3 -c 'import json; assert not any(e["tid"] == 3 for e in json.load(
            open("trace.json"))["traceEvents"])'

    # auto: small proofs are made here, and the reason is a figure.
    on_fake 0 prove --device auto --stats --json
    json 'j["device"] == "cpu" and " ms here, a card some " in j["stats"]["device_why"]'
    silent
    on_fake 0 plan --device auto --sizes bn128,18,200000,1 -t 1 --json
    json 'j["plan"]["device"] == "cuda:0" and "the CPU some" in j["plan"]["device_why"]'

    # --vram-limit: a smaller card, streamed through or refused.
    on_fake 0 plan --device cuda --sizes bn128,16,60000,1 --json
    json 'j["plan"]["choices"]["residency"] == "keep"'
    on_fake 0 plan --device cuda --vram-limit 32MiB --sizes bn128,16,60000,1 --json
    json 'j["plan"]["choices"]["residency"] == "stream"'
    json 'all(x["peak_bytes"] <= 32 << 20 for x in j["plan"]["pools"] if x["pool"] == "vram:0")'
    on_fake 5 prove --device cuda --vram-limit 64KiB --json
    json '"vram:0" in j["error"]["message"] and j["error"]["need"] > j["error"]["have"]'
    no_proof
    tidy
    on_fake 5 FAKE_GPU_BYTES=65536 prove --device cuda
    says "vram:0"

    # bellman's reduction, on the other curve.
    cp "$data/mult3_bls/mult3_bls.r1cs" "$data/mult3_bls/mult3_bls.wtns" .
    run 0 setup --insecure-known-tau --format params mult3_bls.r1cs mult3.params
    run 0 export vkey mult3.params vk.json
    for arguments in "" "--residency stream"; do
        # shellcheck disable=SC2086
        on_fake 0 prove mult3.params mult3_bls.wtns --r1cs mult3_bls.r1cs --device cuda \
            --memory --json $arguments
        json 'j["device"] == "cuda:0" and j["memory"]["divergences"] == 0'
        verifies vk.json
        tidy
    done

    # A card that goes bad on the way: no proof, a reason, and nothing left on it.
    n=1
    n_failures=0
    rm -f trace.json
    while on_fake any FAKE_GPU_FAIL_CALL=$n prove --device cuda --json --trace trace.json &&
        [ ! -e proof.json ] && [ $n -lt 100000 ]; do
        json 'j["exit_code"] == 6 and j["status"] == "DEVICE" and j["error"]["message"]'
        no_proof
        tidy
        last_bad=$n
        n=$((n + 1 + n / 4))
        n_failures=$((n_failures + 1))
    done
    expect "the card did not fail often enough: $n_failures" test "$n_failures" -gt 10
    verifies
    # The last thing that a failing card leaves is a trace of what it had done.
    rm -f trace.json
    on_fake 6 FAKE_GPU_FAIL_CALL="$last_bad" prove --device cuda --trace trace.json
    expect "a failed proof leaves no trace" python3 -c 'import json; assert "load witness" in [
        e["name"] for e in json.load(open("trace.json"))["traceEvents"] if e["ph"] == "X"]'
fi

echo "$n_checks checks, $n_failed failed"
[ "$n_failed" = 0 ]
