#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# valgrind over the command on the small keys of the repository: no error, nothing leaked.
# The portable arithmetic runs, since valgrind 3.19 does not know ADCX and ADOX.
#
#   tools/memcheck.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/memcheck.sh BUILD_DIR}
if ! command -v valgrind >/dev/null; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    printf 'Installing with apt: valgrind: looks for uses of undefined memory and for leaks\n'
    "${as_root[@]}" apt-get install -y -qq valgrind >/dev/null
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0

# clean COMMAND...: ends with 0 and nothing to report.
clean() {
    valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=all \
        --errors-for-leak-kinds=definite,indirect,possible "$build/src/proofmill" "$@" \
        >"$scratch/out" 2>"$scratch/err" || {
        printf 'memcheck: proofmill %s\n' "$*" >&2
        cat "$scratch/err" >&2
        exit 1
    }
    n=$((n + 1))
}

for folder in test/data/*/; do
    name=$(basename "$folder")
    if [ ! -f "$folder/$name.zkey" ] || [ ! -f "$folder/vkey.json" ]; then
        continue
    fi
    clean prove --arithmetic portable "$folder/$name.zkey" "$folder/$name.wtns" \
        "$scratch/p.json" "$scratch/pub.json"
    clean verify --arithmetic portable "$folder/vkey.json" "$scratch/pub.json" "$scratch/p.json"
    clean info "$folder/$name.zkey"
    clean check --arithmetic portable "$folder/$name.r1cs" "$folder/$name.wtns"
    clean export vkey --arithmetic portable "$folder/$name.zkey" "$scratch/vk.json"
done
printf 'memcheck: %d commands, nothing to report\n' "$n"
