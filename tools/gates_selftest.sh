#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Shows that the checks that are not rules of lint.py can fail: each is given something bad.
#
#   tools/gates_selftest.sh
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
faults=0

# must_fail NAME COMMAND... and must_pass NAME COMMAND...
must_fail() {
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        printf 'gates self-test: %s passes what it must refuse\n' "$name"
        faults=$((faults + 1))
    fi
}
must_pass() {
    local name=$1
    shift
    if ! "$@" >"$scratch/log" 2>&1; then
        printf 'gates self-test: %s refuses what it must pass:\n' "$name"
        cat "$scratch/log"
        faults=$((faults + 1))
    fi
}

# Layout.
printf 'int  f( void ){return 1;}\n' >"$scratch/ugly.c"
must_fail "clang-format" clang-format --style=file --dry-run -Werror "$scratch/ugly.c"

# Headers alone.
mkdir -p build
bad=$(mktemp --suffix=.h -p build)
printf '#ifndef A\n#define A\nstatic inline uint64_t f(void) { return 0; }\n#endif\n' >"$bad"
must_fail "check_headers" tools/check_headers.sh "$bad"
printf 'typedef struct { int a; } twice;\nint x = 1;\n' >"$bad"
must_fail "check_headers on a header without a guard" tools/check_headers.sh "$bad"
rm -f "$bad"

# Exported symbols: a library of two functions, and headers and maps that do not fit it.
cat >"$scratch/lib.c" <<'C'
__attribute__((visibility("default"))) int pm_one(void);
__attribute__((visibility("default"))) int pm_two(void);
int pm_one(void) { return 1; }
int pm_two(void) { return 2; }
C
printf 'int counter = 3;\n' >"$scratch/state.c"
printf 'PM_API int pm_one(void); PM_API int pm_two(void);\n' >"$scratch/both.h"
printf 'PM_API int pm_one(void);\n' >"$scratch/one.h"
printf 'P_0 { global: pm_one; pm_two; local: *; };\n' >"$scratch/both.map"
printf 'P_0 { global: pm_one; local: *; };\n' >"$scratch/one.map"
for name in both one; do
    gcc -shared -fPIC -Wl,--version-script="$scratch/$name.map" "$scratch/lib.c" \
        -o "$scratch/$name.so"
done
gcc -shared -fPIC "$scratch/lib.c" -o "$scratch/unversioned.so"
gcc -c "$scratch/lib.c" -o "$scratch/lib.o" && ar rcs "$scratch/clean.a" "$scratch/lib.o"
gcc -c "$scratch/state.c" -o "$scratch/state.o" && ar rcs "$scratch/state.a" "$scratch/state.o"
# A name that is not ours, in a header of its own: in the map it is meant to be there.
{
    printf '__attribute__((visibility("default"))) int theirs(void);\n'
    printf 'int theirs(void) { return 3; }\n'
} >"$scratch/theirs.c"
printf 'PM_THEIR_API int theirs(void);\n' >"$scratch/theirs.h"
printf 'P_0 { global: pm_one; pm_two; theirs; local: *; };\n' >"$scratch/theirs.map"
gcc -shared -fPIC -Wl,--version-script="$scratch/theirs.map" "$scratch/lib.c" "$scratch/theirs.c" \
    -o "$scratch/theirs.so"
gcc -c "$scratch/theirs.c" -o "$scratch/theirs.o" && ar rcs "$scratch/theirs.a" "$scratch/theirs.o"
# symbols HEADER MAP SHARED STATIC
symbols() {
    tools/check_symbols.py "$scratch/$1.h" "$scratch/$2.map" "$scratch/$3.so" "$scratch/$4.a"
}
must_pass "check_symbols" symbols both both both clean
must_fail "check_symbols: not in the header" symbols one both both clean
must_fail "check_symbols: not in the map" symbols both one one clean
must_fail "check_symbols: not exported" symbols both both one clean
must_fail "check_symbols: exported, not in the map" symbols one one both clean
must_fail "check_symbols: without a version" symbols both both unversioned clean
must_fail "check_symbols: state, and a stranger's name" symbols both both both state
must_fail "check_symbols: a stranger's name" symbols both both both theirs
must_fail "check_symbols: a name of the second header" symbols both theirs theirs theirs
must_pass "check_symbols: two headers" tools/check_symbols.py "$scratch/both.h" \
    "$scratch/theirs.h" "$scratch/theirs.map" "$scratch/theirs.so" "$scratch/theirs.a"

# Test counts.
# results NAME ELEMENT: a JUnit file with one test program.
results() {
    printf '<testsuite><testcase name="t" status="%s">%s</testcase></testsuite>\n' "$2" "$3" \
        >"$scratch/$1.xml"
}
results good run '<system-out>[  PASSED  ] 3 test(s).</system-out>'
results bad fail '<failure/><system-out>[  PASSED  ] 3 test(s).</system-out>'
results skip run '<system-out>[  PASSED  ] 3 test(s).
[  SKIPPED ] 1 test(s), listed below:</system-out>'
printf '<testsuite></testsuite>\n' >"$scratch/none.xml"
printf '2 passed, 1 failed, 0 skipped\n' >"$scratch/script.txt"
printf 'Segmentation fault\n' >"$scratch/died.txt"
must_pass "count_tests" tools/count_tests.py "$scratch/good.xml"
must_fail "count_tests: a failure" tools/count_tests.py "$scratch/bad.xml"
must_fail "count_tests: a script's failure" tools/count_tests.py "$scratch/script.txt"
must_fail "count_tests: a script that died" tools/count_tests.py "$scratch/died.txt"
must_fail "count_tests: no test" tools/count_tests.py "$scratch/none.xml"
must_pass "count_tests: a skip" tools/count_tests.py "$scratch/skip.xml"
must_fail "count_tests: a skip that is not allowed" \
    tools/count_tests.py --no-skips "$scratch/skip.xml"
if [ "$(tools/count_tests.py "$scratch/good.xml" "$scratch/skip.xml" | tail -n 1)" != \
    "6 passed, 0 failed, 1 skipped" ]; then
    printf 'gates self-test: count_tests adds up wrongly\n'
    faults=$((faults + 1))
fi

# Generated files: a copy of the tree in which one of them was edited by hand.
mkdir "$scratch/tree"
cp -r src test "$scratch/tree"
must_pass "check_generated" tools/check_generated.sh "$scratch/tree"
generated=$(grep -rlE '^/\* Generated by gen/' "$scratch/tree/src" | head -n 1)
printf '/* by hand */\n' >>"$generated"
must_fail "check_generated" tools/check_generated.sh "$scratch/tree"

printf 'gates self-test: %d faults\n' "$faults" >&2
[ "$faults" -eq 0 ]
