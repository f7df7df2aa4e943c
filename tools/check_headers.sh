#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Each header compiles alone, twice included, under gcc and clang; the public ones as C++ too.
#
#   tools/check_headers.sh [HEADER...]      default: all headers under include/ and src/
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

flags=(-std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -fsyntax-only -Wall -Wextra -Werror -Wundef)
status=0

# The messages' headers, as the build generates them.
messages=$(mktemp -d)
trap 'rm -rf "$messages"' EXIT
if command -v protoc-c >/dev/null; then
    protoc-c --c_out="$messages" -I proto proto/*/v1/*.proto || status=1
    flags+=("-isystem" "$messages")
fi

# alone HEADER COMPILER FLAG...
alone() {
    local header=$1
    shift
    if ! printf '#include "%s"\n#include "%s"\n' "$PWD/$header" "$PWD/$header" | "$@" -; then
        printf '%s: does not compile alone: %s\n' "$header" "$*" >&2
        status=1
    fi
}

if [ $# -gt 0 ]; then
    headers=("$@")
else
    mapfile -t headers < <(find include src -name '*.h' | sort)
fi
compilers=()
for compiler in gcc clang; do
    if command -v "$compiler" >/dev/null; then
        compilers+=("$compiler")
    fi
done
for header in "${headers[@]}"; do
    for compiler in "${compilers[@]}"; do
        case $header in
        src/gpu/*) ;; # CUDA's compiler checks these
        src/daemon/*)
            if command -v protoc-c >/dev/null; then
                alone "$header" "$compiler" "${flags[@]}" -x c
            fi
            ;;
        *) alone "$header" "$compiler" "${flags[@]}" -x c ;;
        esac
    done
    case $header in
    include/*)
        if command -v g++ >/dev/null; then
            alone "$header" g++ -std=c++11 -Iinclude -fsyntax-only -Wall -Wextra -Werror -x c++
        fi
        ;;
    esac
done
printf '%d headers, %s\n' "${#headers[@]}" "${compilers[*]}" >&2
exit $status
