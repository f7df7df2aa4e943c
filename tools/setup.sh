#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Finds what proofmill needs and this machine lacks, says so, and installs it with apt.
#
#   tools/setup.sh [build] [lint] [full] [interop] [browser]      default: build
#
#   build     compile the library, the command, the tests and the demo
#   lint      the style checks: clang-format, clang, shellcheck, python3
#   full      lint, clang's sanitizer runtimes, valgrind: for `make test-full` and `make fuzz`
#   interop   node and npm, to compare with snarkjs
#   browser   Chromium, to look at the daemon's page
#
# Silent, and without a question, when nothing is missing.
set -euo pipefail

cmake_minimum=3.25
packages=()
reasons=()

# need PACKAGE REASON CHECK...: notes the package when the check fails.
need() {
    local package=$1 reason=$2
    shift 2
    if ! "$@" >/dev/null 2>&1; then
        packages+=("$package")
        reasons+=("$package: $reason")
    fi
}

has_command() {
    command -v "$1"
}

has_cmake() {
    local found
    has_command cmake || return 1
    found=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    [ "$(printf '%s\n%s\n' "$cmake_minimum" "$found" | sort -V | head -n 1)" = "$cmake_minimum" ]
}

has_header() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <%s>\n' "$1" |
        gcc -fsyntax-only -x c -
}

has_pkg() {
    pkg-config --exists "$1"
}

links_with_clang() {
    printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d != 0 && n < 0; }\n' |
        clang -fsanitize=fuzzer,address -x c - -o /dev/null
}

# The tools that read clang's coverage, of clang's own version.
has_llvm_tools() {
    local version
    version=$(clang -dumpversion | cut -d . -f 1)
    has_command "llvm-cov-$version" || has_command llvm-cov
}

need_build() {
    need gcc "compiles everything" has_command gcc
    need libc6-dev "the C library's headers" has_header pthread.h
    need make "runs the targets you type" has_command make
    need cmake "configures the build (at least $cmake_minimum)" has_cmake
    need ninja-build "runs the build" has_command ninja
    need pkg-config "finds the libraries below" has_command pkg-config
    need libjansson-dev "JSON in the command" has_pkg jansson
    need libsqlite3-dev "the journal of the engine" has_pkg sqlite3
    need libgrpc-dev "the daemon's calls" has_pkg grpc
    need protobuf-c-compiler "the daemon's messages" has_command protoc-c
    need libprotobuf-c-dev "the daemon's messages" has_pkg libprotobuf-c
    need libmicrohttpd-dev "the daemon's status page" has_pkg libmicrohttpd
    need libtomlplusplus-dev "the daemon's configuration" has_pkg tomlplusplus
    need g++ "links the daemon: gRPC is C++ inside" has_command g++
    need libcmocka-dev "the tests' framework" has_pkg cmocka
    need libgmp-dev "an independent bignum to test field arithmetic against" has_header gmp.h
    need python3 "checks of exported symbols and test counts" has_command python3
}

need_lint() {
    need git "lists the files of the repository" has_command git
    need clang-format "checks the layout of the source" has_command clang-format
    need clang "compiles each header alone, a second opinion" has_command clang
    need shellcheck "checks shell scripts" has_command shellcheck
}

need_full() {
    need_lint
    need g++ "checks that the public header is valid C++" has_command g++
    need libclang-rt-dev "sanitizer and fuzzer runtimes of clang" links_with_clang
    need valgrind "counts instructions, looks for uses of undefined memory" has_command valgrind
    need llvm "line coverage of the fuzz corpora" has_llvm_tools
}

need_interop() {
    need nodejs "runs snarkjs, the reference to compare with" has_command node
    need npm "fetches snarkjs" has_command npm
}

need_browser() {
    need chromium "looks at the daemon's page" has_command chromium
}

# as_root COMMAND...
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

explain_and_stop() {
    printf 'proofmill: %s\n' "$1" >&2
    printf 'proofmill: please install what these Debian packages hold, then try again:\n    %s\n' \
        "${packages[*]}" >&2
    exit 1
}

install_missing() {
    printf 'proofmill: this machine lacks:\n' >&2
    printf '    %s\n' "${reasons[@]}" >&2
    has_command apt-get >/dev/null || explain_and_stop "there is no apt-get on this machine."
    if [ "$(id -u)" -ne 0 ]; then
        has_command sudo >/dev/null || explain_and_stop "not root, and there is no sudo."
        printf 'proofmill: sudo is used for apt-get only; it may ask for your password.\n' >&2
    fi
    printf 'proofmill: installing with: apt-get install %s\n' "${packages[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq >&2 ||
        explain_and_stop "apt-get update failed; is this machine offline?"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${packages[@]}" >&2 || explain_and_stop "apt-get could not install them."
}

# collect WHAT...: fills packages and reasons.
collect() {
    local what
    packages=()
    reasons=()
    for what in "$@"; do
        case $what in
        build | lint | full | interop | browser) "need_$what" ;;
        *)
            printf 'usage: %s [build] [lint] [full] [interop] [browser]\n' "$0" >&2
            exit 2
            ;;
        esac
    done
}

[ $# -gt 0 ] || set -- build
collect "$@"
if [ ${#packages[@]} -gt 0 ]; then
    install_missing
    collect "$@"
    if [ ${#packages[@]} -gt 0 ]; then
        explain_and_stop "installed, yet still not found or too old: ${packages[*]}."
    fi
fi
