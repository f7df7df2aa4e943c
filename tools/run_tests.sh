#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Runs ctest in a build folder and counts the single tests.
#
#   tools/run_tests.sh BUILD_DIR JOBS [CTEST ARGUMENT...]
#
# JOBS cores are kept busy by half as many tests more, since many wait for sockets and clocks.
# Leaves BUILD_DIR/results.xml. The last line is "N passed, N failed, N skipped".
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: tools/run_tests.sh BUILD_DIR JOBS [CTEST ARGUMENT...]}
jobs=${2:?usage: tools/run_tests.sh BUILD_DIR JOBS [CTEST ARGUMENT...]}
shift 2
results=$(cd "$build" && pwd)/results.xml

# The peers that tools/setup_interop.sh has installed; without them those tests are skipped.
peers=$(dirname "$here")/build/interop/node_modules
if [ -z "${PM_NODE_MODULES:-}" ] && [ -d "$peers" ]; then
    export PM_NODE_MODULES=$peers
fi

rm -f "$results"
status=0
ctest --test-dir "$build" --parallel $((jobs + (jobs + 1) / 2)) \
    --output-on-failure --no-tests=error \
    --test-output-size-passed 4000000 --test-output-size-failed 4000000 \
    --output-junit "$results" "$@" || status=$?
[ -f "$results" ] || exit 1
python3 "$here/count_tests.py" "$results" || status=1
exit $status
