#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Fuzzes each target for a while, one after another, and prints a table. The corpus grows under
# BUILD_DIR/corpus/TARGET; it starts from test/fuzz/corpus/TARGET and from the seeds that
# test/fuzz/make_seeds.py makes. What shows a fault lies in BUILD_DIR/findings afterwards; the exit
# status is then 1.
#
#   tools/run_fuzz.sh BUILD_DIR SECONDS [TARGET...]     default: all targets
#   tools/run_fuzz.sh --minimise BUILD_DIR [TARGET...]  puts what is needed for the coverage reached
#                                                       by the grown corpus into test/fuzz/corpus
set -euo pipefail

source=$(cd "$(dirname "$0")/.." && pwd)
usage='usage: tools/run_fuzz.sh [--minimise] BUILD_DIR SECONDS [TARGET...]'
minimise=0
seconds=0
if [ "${1:-}" = --minimise ]; then
    minimise=1
    build=${2:?$usage}
    shift 2
else
    build=${1:?$usage}
    seconds=${2:?$usage}
    shift 2
fi
programs=$build/test/fuzz
findings=$build/findings
seeds=$build/seeds

# An input may take a second, and beside its own size 64 MiB: libFuzzer sees the heap,
# test/fuzz/memory_limit.c what is mapped. The sanitizers hold memory back of their own.

limits=(-timeout=1 -malloc_limit_mb=64 -rss_limit_mb=512)
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=16}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for program in "$programs"/fuzz_*; do
        if [ -f "$program" ] && [ -x "$program" ]; then
            targets+=("${program##*/fuzz_}")
        fi
    done
fi
if [ ${#targets[@]} -eq 0 ]; then
    printf 'fuzz: no target was built in %s\n' "$programs" >&2
    exit 1
fi

dictionary_of() {
    case $1 in
    zkey | wtns | r1cs | ptau | container | describe) echo container ;;
    json_* | decimal) echo json ;;
    scenario) echo scenario ;;
    config) echo config ;;
    cli) echo cli ;;
    *) echo points ;;
    esac
}

# statistic NAME LOG: the number that libFuzzer printed at its end, or "-".
statistic() {
    sed -n "s/^stat::$1: *//p" "$2" | tail -n 1 | grep . || echo -
}

count_files() {
    find "$1" -type f | wc -l
}

# Larger inputs that a fuzzer made are not committed.
GROWN_BYTES_MAX=1024

# merge FLAG TARGET OUT IN...: those inputs that reach, together, every edge that all of them reach.
merge() {
    local flag=$1 target=$2
    shift 2
    "$programs/fuzz_$target" "$flag" -use_counters=0 -use_cmp=0 "${limits[@]}" "$@" \
        2>"$build/minimise.log" || {
        tail -n 20 "$build/minimise.log" >&2
        return 1
    }
}

minimise() {
    local target=$1 committed=$source/test/fuzz/corpus/$1
    rm -rf "$build/minimal" "$build/small" "$build/grown"
    mkdir -p "$build/minimal" "$build/small" "$build/grown" "$build/corpus/$target" "$committed"
    find "$build/corpus/$target" -type f -size "-${GROWN_BYTES_MAX}c" \
        -exec cp -t "$build/grown" {} +
    # The first pass prefers small inputs, the second few.
    merge -merge=1 "$target" "$build/small" "$committed" "$seeds/$target" "$build/grown"
    merge -set_cover_merge=1 "$target" "$build/minimal" "$build/small"
    # libFuzzer names inputs by their SHA-1; those that a person named stay.
    find "$committed" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
    find "$build/minimal" -type f -exec mv {} "$committed" ';'
    printf '%-16s %5d inputs %8d bytes\n' "$target" "$(count_files "$committed")" \
        "$(find "$committed" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')"
}

status=0
fuzz() {
    local target=$1 log=$build/fuzz_$1.log corpus=$build/corpus/$1 before after result=good
    local folders=("$corpus")
    mkdir -p "$corpus"
    [ ! -d "$source/test/fuzz/corpus/$target" ] || folders+=("$source/test/fuzz/corpus/$target")
    [ ! -d "$seeds/$target" ] || folders+=("$seeds/$target")
    before=$(count_files "$corpus")
    "$programs/fuzz_$target" -max_total_time="$seconds" "${limits[@]}" -print_final_stats=1 \
        -dict="$source/test/fuzz/dict/$(dictionary_of "$target").dict" \
        -artifact_prefix="$findings/$target-" "${folders[@]}" >"$log" 2>&1 || {
        result=FAULT
        status=1
    }
    after=$(count_files "$corpus")
    printf '%-16s %12s %8s %8d %8d  %s\n' "$target" \
        "$(statistic number_of_executed_units "$log")" \
        "$(statistic average_exec_per_sec "$log")" "$after" $((after - before)) "$result"
    [ $result = good ] || grep -a -m 3 'does not hold\|ERROR\|runtime error' "$log" >&2 || true
}

mkdir -p "$findings"
rm -rf "$seeds"
python3 "$source/test/fuzz/make_seeds.py" "$seeds"
if [ $minimise -eq 1 ]; then
    for target in "${targets[@]}"; do
        minimise "$target"
    done
    exit 0
fi
printf '%-16s %12s %8s %8s %8s\n' target executions exec/s corpus new
for target in "${targets[@]}"; do
    fuzz "$target"
done
[ $status -eq 0 ] || printf 'fuzz: the inputs are in %s\n' "$findings" >&2
exit $status
