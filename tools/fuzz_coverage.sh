#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Which lines of the parsers the committed fuzz corpora reach: builds the preset coverage, replays
# each corpus once and prints a table. Ends with 1 when a file is below 95 % and has lines that
# test/fuzz/uncovered.txt does not account for.
#
#   tools/fuzz_coverage.sh [BUILD_DIR]     default: build/coverage
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/coverage}
profiles=$build/profiles

version=$(clang -dumpversion | cut -d . -f 1)
# tool NAME: clang's own version of an LLVM program.
tool() {
    command -v "$1-$version" || command -v "$1"
}
profdata=$(tool llvm-profdata)
cov=$(tool llvm-cov)

cmake --preset coverage -B "$build" --log-level=NOTICE
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target pm_fuzz_programs
rm -rf "$profiles"
mkdir -p "$profiles"
objects=()
for program in "$build"/test/fuzz/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then
        continue
    fi
    target=${program##*/fuzz_}
    LLVM_PROFILE_FILE=$profiles/$target.profraw "$program" "test/fuzz/corpus/$target" \
        >"$profiles/$target.log" 2>&1 || {
        tail -n 20 "$profiles/$target.log" >&2
        printf 'coverage: %s failed\n' "$target" >&2
        exit 1
    }
    objects+=(-object "$program")
done
"$profdata" merge -o "$profiles/all.profdata" "$profiles"/*.profraw
"$cov" export -format=lcov -instr-profile "$profiles/all.profdata" "${objects[@]}" \
    >"$profiles/all.info" 2>"$profiles/export.log"
python3 tools/fuzz_coverage.py "$profiles/all.info" test/fuzz/uncovered.txt
