#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Installs into an empty folder, moves it, and uses what is there as a stranger would: pkg-config
# with the shared and the static library, CMake's find_package, the header in C++, the command.
#
#   check_install.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

source=${1:?usage: check_install.sh SOURCE_DIR BUILD_DIR}
build=${2:?usage: check_install.sh SOURCE_DIR BUILD_DIR}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf 'check_install: %s\n' "$*" >&2
    exit 1
}

# The tree must work where it lies, not where it was configured for.
cmake --install "$build" --prefix "$scratch/before" >"$scratch/install.log"
mv "$scratch/before" "$scratch/tree"
tree=$scratch/tree
pc=$(find "$tree" -name proofmill.pc)
[ -n "$pc" ] || fail "no proofmill.pc was installed"
export PKG_CONFIG_PATH=${pc%/*}
libdir=$(pkg-config --variable=libdir proofmill)
version=$(pkg-config --modversion proofmill)

# A key and a witness to use it on.
"$build/demo/pm_demo_r1cs" bn254 20 "$scratch/circuit.r1cs"
"$build/src/proofmill" setup -q --insecure-known-tau "$scratch/circuit.r1cs" "$scratch/key.zkey"
"$build/demo/pm_demo_witness" bn254 20 5 "$scratch/witness.wtns"

# uses NAME PROGRAM: the program proves and verifies, and says so in words.
uses() {
    local said
    said=$(LD_LIBRARY_PATH=$libdir "$2" "$scratch/key.zkey" "$scratch/witness.wtns")
    case $said in
    *", valid") printf '%s: %s\n' "$1" "$said" ;;
    *) fail "$1: said: $said" ;;
    esac
}

read -ra shared_flags < <(pkg-config --cflags --libs proofmill)
gcc -std=c17 -Wall -Wextra -Werror "$source/examples/prove_and_verify.c" "${shared_flags[@]}" \
    -o "$scratch/with_shared"
readelf -d "$scratch/with_shared" | grep -q 'NEEDED.*\[libproofmill\.so\.0\]' ||
    fail "the program does not ask for libproofmill.so.0"
uses "shared" "$scratch/with_shared"

read -ra cflags < <(pkg-config --cflags proofmill)
read -ra private < <(pkg-config --static --libs-only-other proofmill)
gcc -std=c17 "${cflags[@]}" "$source/examples/prove_and_verify.c" "$libdir/libproofmill.a" \
    "${private[@]}" -o "$scratch/with_static"
uses "static" "$scratch/with_static"

# Nothing but the C library behind the shared object.
strangers=$(readelf -d "$libdir/libproofmill.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libpthread|ld-linux.*)\.so\.[0-9]+$' || true)
[ -z "$strangers" ] || fail "libproofmill.so needs: $strangers"

# rapidsnark's interface, by its own pkg-config file, and under the name that its callers ask for.
read -ra rapidsnark < <(pkg-config --cflags --libs proofmill-rapidsnark)
gcc -std=c17 -Wall -Wextra -Werror "$source/test/shim/rapidsnark_caller.c" "${rapidsnark[@]}" \
    -Wl,-rpath-link,"$libdir" -o "$scratch/with_rapidsnark"
ln -s libproofmill-rapidsnark.so "$libdir/librapidsnark.so"
gcc -std=c17 "$source/test/shim/rapidsnark_caller.c" "${rapidsnark[0]}" -L"$libdir" -lrapidsnark \
    -Wl,-rpath-link,"$libdir" -o "$scratch/with_link"
read -ra private < <(pkg-config --static --libs proofmill-rapidsnark)
gcc -std=c17 "$source/test/shim/rapidsnark_caller.c" "${rapidsnark[0]}" -Wl,-Bstatic \
    -L"$libdir" -lproofmill-rapidsnark -lproofmill -Wl,-Bdynamic "${private[@]}" \
    -o "$scratch/with_rapidsnark_static"
"$tree/bin/proofmill" export -q vkey "$scratch/key.zkey" "$scratch/vkey.json"
for caller in with_rapidsnark with_link with_rapidsnark_static; do
    said=$(LD_LIBRARY_PATH=$libdir "$scratch/$caller" "$scratch/key.zkey" "$scratch/witness.wtns" \
        "$scratch/vkey.json") || fail "$caller: exit status $?"
    [ "${said##*$'\n'}" = valid ] || fail "$caller: said: $said"
    printf '%s: valid\n' "$caller"
done

# SupraSeal's interface in both generations, as bellperson's and Curio's build scripts link it.
"$build/demo/pm_demo_r1cs" bls12_381 20 "$scratch/bls.r1cs"
"$tree/bin/proofmill" setup -q --insecure-known-tau --format params "$scratch/bls.r1cs" \
    "$scratch/key.params"
for flavour in supraseal supraseal-curio; do
    read -ra flags < <(pkg-config --cflags --libs "proofmill-$flavour")
    gcc -std=c17 -Wall -Wextra -Werror "$source/test/shim/supraseal_caller.c" "${flags[@]}" \
        -Wl,-rpath-link,"$libdir" -o "$scratch/with_$flavour"
    read -ra defines < <(pkg-config --cflags "proofmill-$flavour")
    gcc -std=c17 "${defines[@]}" "$source/test/shim/supraseal_caller.c" -Wl,-Bstatic -L"$libdir" \
        "-lproofmill-$flavour" -lproofmill -Wl,-Bdynamic -pthread \
        -o "$scratch/with_${flavour}_static"
    for caller in "with_$flavour" "with_${flavour}_static"; do
        said=$(PROOFMILL_DEVICE=cpu LD_LIBRARY_PATH=$libdir "$scratch/$caller" \
            "$scratch/key.params") || fail "$caller: exit status $?"
        [ "${said%%:*}" = refused ] || fail "$caller: said: $said"
        printf '%s: %s\n' "$caller" "$said"
    done
done

mkdir "$scratch/project"
cat >"$scratch/project/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES C)
find_package(proofmill $version REQUIRED)
foreach(kind IN ITEMS shared static)
    add_executable(cmake_\${kind} $source/examples/prove_and_verify.c)
    target_link_libraries(cmake_\${kind} PRIVATE proofmill::proofmill_\${kind})
endforeach()
CMAKE
cmake -S "$scratch/project" -B "$scratch/project/build" -G Ninja -DCMAKE_PREFIX_PATH="$tree" \
    >"$scratch/cmake.log"
cmake --build "$scratch/project/build" >>"$scratch/cmake.log"
uses "find_package, shared" "$scratch/project/build/cmake_shared"
uses "find_package, static" "$scratch/project/build/cmake_static"

if command -v g++ >/dev/null; then
    printf '#include <proofmill/proofmill.h>\nint main() { pm_error e = PM_ERROR_INIT; %s }\n' \
        'return pm_version()[0] == 0 || e.status;' >"$scratch/header.cpp"
    g++ -std=c++11 -Wall -Wextra -Werror "$scratch/header.cpp" "${shared_flags[@]}" \
        -o "$scratch/with_cpp"
    LD_LIBRARY_PATH=$libdir "$scratch/with_cpp" || fail "the C++ program failed"
fi

said=$("$tree/bin/proofmill" --version)
case $said in
*"$version"*) ;;
*) fail "the command says '$said', pkg-config says '$version'" ;;
esac
header=$(sed -n 's/^#define PM_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' \
    "$tree/include/proofmill/proofmill.h" | paste -sd .)
[ "$header" = "$version" ] || fail "the header says $header, pkg-config says $version"
for licence in LICENSE-APACHE LICENSE-MIT; do
    [ -n "$(find "$tree" -name "$licence")" ] || fail "$licence was not installed"
done
[ -f "$tree/share/proofmill/scenarios/predecessor.json" ] || fail "no scenarios were installed"

# The daemon: `proofmill` finds it, and what a service and other people's clients need is there.
if [ -f "$build/src/proofmilld" ]; then
    said=$("$tree/bin/proofmill" serve --version)
    [ "$said" = "proofmilld $version" ] || fail "\`proofmill serve --version\` says '$said'"
    unit=$tree/lib/systemd/system/proofmill.service
    grep -q '^ExecStart=/.*/proofmilld serve$' "$unit" || fail "the unit starts no proofmilld"
    if command -v systemd-analyze >/dev/null; then
        sed "s|^ExecStart=[^ ]*|ExecStart=$tree/bin/proofmilld|" "$unit" \
            >"$scratch/proofmill.service"
        systemd-analyze verify "$scratch/proofmill.service" 2>"$scratch/unit.log" ||
            fail "the unit: $(cat "$scratch/unit.log")"
    fi
    [ -s "$tree/share/proofmill/proofmill.protoset" ] || fail "no protoset was installed"
    for proto in proofmill/v1/proofmill cuzk/v1/cuzk; do
        [ -s "$tree/share/proofmill/proto/$proto.proto" ] || fail "no $proto.proto was installed"
    done
    "$tree/bin/proofmilld" --print-config >"$scratch/proofmill.toml"
    "$tree/bin/proofmilld" --config "$scratch/proofmill.toml" --check-config >/dev/null ||
        fail "the daemon's own configuration is refused"
fi
