# SPDX-License-Identifier: Apache-2.0 OR MIT
option(PM_BUILD_CLI "Build the command (needs jansson)" ON)
option(PM_STATIC "Link the command statically: one file that needs nothing" OFF)
option(PM_BUILD_TESTS "Build the tests (needs cmocka; GMP for the field oracles)" ON)
option(PM_BUILD_BENCH "Build the benchmarks" ON)
option(PM_GPU "Build libproofmill-gpu and its programs (needs CUDA's compiler)" OFF)
option(PM_BUILD_FUZZ "Build the fuzz targets (needs clang, see the preset fuzz)" OFF)
# The engine keeps its journal in SQLite; without that the rest is built all the same.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(SQLITE QUIET IMPORTED_TARGET sqlite3)
endif()
option(PM_BUILD_ENGINE "Build libproofmill-engine (needs SQLite)" "${SQLITE_FOUND}")
# The daemon needs more, C++ among it; without that the rest is built all the same.
set(daemon_found OFF)
if(PM_BUILD_CLI AND PM_BUILD_ENGINE AND NOT PM_STATIC AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(GRPC QUIET IMPORTED_TARGET grpc)
    pkg_check_modules(PROTOBUF_C QUIET IMPORTED_TARGET libprotobuf-c)
    pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd)
    pkg_check_modules(TOMLPLUSPLUS QUIET IMPORTED_TARGET tomlplusplus)
    include(CheckLanguage)
    check_language(CXX)
    if(GRPC_FOUND AND PROTOBUF_C_FOUND AND MICROHTTPD_FOUND AND TOMLPLUSPLUS_FOUND
       AND CMAKE_CXX_COMPILER)
        set(daemon_found ON)
    endif()
endif()
option(PM_BUILD_DAEMON "Build proofmilld (needs gRPC, protobuf-c, libmicrohttpd, toml++, C++)"
       ${daemon_found})
if(PM_BUILD_DAEMON) # here, so that the tests have it too
    enable_language(CXX)
endif()
set(PM_SANITIZE "" CACHE STRING "Sanitizers for the whole build: address,undefined or thread")

# What every target of ours is compiled with.
add_library(pm_flags INTERFACE)
target_compile_options(pm_flags INTERFACE -Wall -Wextra -Werror -Wshadow -Wvla -Wundef
                       "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
                       -Wno-unknown-warning-option)
# The ledger names source lines: the same ones wherever the tree lies.
target_compile_options(pm_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_compile_definitions(pm_flags INTERFACE _GNU_SOURCE)
target_include_directories(pm_flags INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
if(PM_SANITIZE)
    target_compile_options(pm_flags INTERFACE -fsanitize=${PM_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(pm_flags INTERFACE -fsanitize=${PM_SANITIZE})
endif()
