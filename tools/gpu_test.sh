#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Tests the CUDA library on this machine's card: everything at full size, then proofs whose plan and
# ledger are laid beside the calls that the driver gets, then many proofs through the engine, then
# small sizes under each tool of compute-sanitizer, where it is installed.
#
#   tools/gpu_test.sh BUILD_DIR [PART...]
#
# BUILD_DIR is a build of the preset gpu. PART: card, memory, engine, supraseal, memcheck,
# racecheck, initcheck, synccheck; without any, all of them.
set -uo pipefail

build=${1:?usage: tools/gpu_test.sh BUILD_DIR [PART...]}
shift
parts=${*:-card memory engine supraseal memcheck racecheck initcheck synccheck}
library=$build/libproofmill-gpu.so.0
source=$(cd "$(dirname "$0")/.." && pwd)
status=0

# Where this machine has its driver, unless LD_LIBRARY_PATH says so: there the watch looks itself.
find_driver() {
    local folder folders=${LD_LIBRARY_PATH:-}
    for folder in ${folders//:/ }; do
        if [ -e "$folder/libcuda.so.1" ]; then
            return
        fi
    done
    ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*x86-64.* => //p' | head -n 1
}

# check_memory NAME MODE...: a mode of card_prove over test/gpu/driver_watch.c.
check_memory() {
    local name=$1 driver=${PM_WATCH_DRIVER:-$(find_driver)}
    local calls=$build/driver_$name.txt ledger=$build/ledger_$name.txt log=$build/memory_$name.txt
    shift
    rm -f "$calls" "$ledger"
    if (
        if [ -n "$driver" ]; then
            export PM_WATCH_DRIVER=$driver
        fi
        export PM_WATCH_LOG=$calls
        export LD_LIBRARY_PATH=$build/driver_watch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        "$build/card_prove" "$library" ledger "$ledger" "$@" >"$log" 2>&1
    ) && "$source/test/gpu/check_driver_watch.py" "$calls" "$ledger" >>"$log" 2>&1; then
        printf 'memory, %s: plan, ledger and driver agree\n' "$*"
    else
        printf 'memory, %s: FAILED, see %s\n' "$*" "$log"
        status=1
    fi
    tail -n 6 "$log"
}

test_card() {
    "$build/card_test" "$library" || return 1
    # A process of its own: its device is bad afterwards.
    "$build/card_test" "$library" fault || return 1
    "$build/card_msm_test" "$library" check || return 1
    "$build/card_prove" "$library" several cuda:0,1 uniform 4 14 1
    case $? in
    0 | 77) ;; # one card: said so
    *) return 1 ;;
    esac
}

test_memory() {
    check_memory proofs equal 1 12 1
    check_memory verified verify 18 1
    check_memory partition partition 22 1 go limit=1 go limit=0 lent=1 go
}

test_engine() {
    [ ! -x "$build/card_engine" ] || "$build/card_engine" "$library" 12 6 1
}

test_supraseal() {
    PROOFMILL_GPU_LIBRARY=$library PROOFMILL_DEVICE=cuda:0 PROOFMILL_FALLBACK=0 \
        "$build/card_supraseal" "$build/src/libproofmill-supraseal-curio.so.0" 12 1 memory rounds=1
}

# sanitize TOOL: a line for each program, so that one that was broken off is told from one that was
# not begun.
sanitize() {
    local tool=$1 program name log good=0
    local options=(--tool "$tool" --error-exitcode 9)
    if ! command -v compute-sanitizer >/dev/null; then
        printf '%s: compute-sanitizer is not installed: skipped\n' "$tool"
        return 0
    fi
    if [ "$tool" = memcheck ]; then
        options+=(--report-api-errors no) # allocations that cannot succeed are part of the test
    fi
    for program in "card_test" "card_msm_test bls12_381.g1" "card_msm_test bls12_381.g2" \
        "card_msm_test bn254.g1" "card_msm_test bn254.g2"; do
        name=${program#* }
        log=$build/${tool}_$name.txt
        # shellcheck disable=SC2046 # the group is a word of its own, or none
        if compute-sanitizer "${options[@]}" "$build/${program%% *}" "$library" small \
            $([ "$name" = "$program" ] || printf '%s' "$name") >"$log" 2>&1; then
            printf '%s, %s: good\n' "$tool" "$name"
        else
            printf '%s, %s: FAILED, see %s\n' "$tool" "$name" "$log"
            tail -n 5 "$log"
            good=1
        fi
    done
    return $good
}

"$build/card_prove" "$library" equal 1 1 1 >/dev/null
if [ $? -eq 77 ]; then
    printf 'there is no card: skipped\n'
    exit 0
fi
for part in $parts; do
    case $part in
    card) test_card || status=1 ;;
    memory) test_memory ;;
    engine) test_engine || status=1 ;;
    supraseal) test_supraseal || status=1 ;;
    memcheck | racecheck | initcheck | synccheck) sanitize "$part" || status=1 ;;
    *)
        printf 'no part %s\n' "$part" >&2
        exit 2
        ;;
    esac
done
exit $status
