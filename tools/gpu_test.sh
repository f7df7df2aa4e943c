#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Tests the CUDA library on this machine's card: everything at full size, then proofs whose plan and
# ledger are laid beside the calls that the driver gets, then many proofs through the engine, then
# small sizes under each tool of compute-sanitizer, where it is installed.
#
#   tools/gpu_test.sh BUILD_DIR     a build of the preset gpu
set -uo pipefail

build=${1:?usage: tools/gpu_test.sh BUILD_DIR}
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

"$build/card_test" "$library"
case $? in
0) ;;
77) exit 0 ;; # no device: said so
*) exit 1 ;;
esac
"$build/card_test" "$library" fault || exit 1 # a process of its own: its device is bad afterwards
"$build/card_msm_test" "$library" check || exit 1
check_memory proofs equal 1 12 1
check_memory verified verify 18 1
check_memory partition partition 22 1 go limit=1 go limit=0 lent=1 go
"$build/card_prove" "$library" several cuda:0,1 uniform 4 14 1
case $? in
0 | 77) ;; # one card: said so
*) status=1 ;;
esac
if [ -x "$build/card_engine" ]; then
    "$build/card_engine" "$library" 12 6 1 || status=1
fi
PROOFMILL_GPU_LIBRARY=$library PROOFMILL_DEVICE=cuda:0 PROOFMILL_FALLBACK=0 \
    "$build/card_supraseal" "$build/src/libproofmill-supraseal-curio.so.0" 12 1 memory rounds=1 ||
    status=1
if ! command -v compute-sanitizer >/dev/null; then
    printf 'compute-sanitizer is not installed: skipped\n'
    exit $status
fi
for tool in memcheck racecheck initcheck synccheck; do
    log=$build/$tool.txt
    options=(--tool "$tool" --error-exitcode 9)
    if [ "$tool" = memcheck ]; then
        options+=(--report-api-errors no) # allocations that cannot succeed are part of the test
    fi
    if compute-sanitizer "${options[@]}" "$build/card_test" "$library" small >"$log" 2>&1 &&
        compute-sanitizer "${options[@]}" "$build/card_msm_test" "$library" small \
            >>"$log" 2>&1; then
        printf '%s: good\n' "$tool"
    else
        printf '%s: FAILED, see %s\n' "$tool" "$log"
        tail -n 5 "$log"
        status=1
    fi
done
exit $status
