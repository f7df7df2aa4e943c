#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Tests the CUDA library on this machine's card: everything at full size, then small sizes under
# each tool of compute-sanitizer, where it is installed.
#
#   tools/gpu_test.sh BUILD_DIR     a build of the preset gpu
set -uo pipefail

build=${1:?usage: tools/gpu_test.sh BUILD_DIR}
library=$build/libproofmill-gpu.so.0
status=0

"$build/card_test" "$library"
case $? in
0) ;;
77) exit 0 ;; # no device: said so
*) exit 1 ;;
esac
"$build/card_test" "$library" fault || exit 1 # a process of its own: its device is bad afterwards
"$build/card_msm_test" "$library" check || exit 1
if ! command -v compute-sanitizer >/dev/null; then
    printf 'compute-sanitizer is not installed: skipped\n'
    exit 0
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
