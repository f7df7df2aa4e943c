/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a caller has sent does not stay in the server's memory: a client in a process of its own
 * sends a pattern, and then every page of this one is searched for it. */
#include "daemon/rpc_case.h"
#include "engine/engine_case.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FOUND_BYTES 48 /* in a row, so that no chance makes them */

/* Byte i of the pattern, which is computed where it is needed and so lies nowhere. */
static uint8_t pattern(size_t i) {
    const uint64_t mixed = (i % 256 + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint8_t)(mixed >> 37 ^ mixed >> 13);
}

/* The client: sends messages of the pattern, as a stream and as one request. */
static int send_patterns(const char *address) {
    static const size_t sizes[] = {64, 300, 5000, 70000, 1 << 20, 8 << 20};
    grpc_init();
    grpc_channel *channel = rpc_dial(address, NULL);
    int n_failed = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        uint8_t *bytes = malloc(sizes[s]);
        for (size_t i = 0; i < sizes[s]; ++i) {
            bytes[i] = pattern(i);
        }
        struct rpc_outgoing out;
        rpc_dial_begin(channel, "/test/Sum", 0, &out);
        (void)rpc_dial_write(&out, bytes, sizes[s]);
        (void)rpc_dial_write(&out, bytes, sizes[s]);
        rpc_dial_writes_done(&out);
        n_failed += rpc_dial_finish(&out, NULL) != 0;
        n_failed += rpc_dial_unary(channel, "/test/Silent", 0, bytes, sizes[s], NULL, NULL, NULL) !=
                    PM_RPC_INTERNAL;
        free(bytes);
    }
    grpc_channel_destroy(channel);
    grpc_shutdown_blocking();
    return n_failed;
}

static bool is_pattern(const volatile uint8_t *at) {
    for (size_t i = 0; i < FOUND_BYTES; ++i) {
        if (at[i] != pattern(i)) {
            return false;
        }
    }
    return true;
}

/* How often the pattern's beginning lies in writable memory. */
static uint64_t search_memory(void) {
    char line[512];
    uint64_t n_found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long begin = 0;
        unsigned long long end = 0;
        char rights[5] = "";
        if (sscanf(line, "%llx-%llx %4s", &begin, &end, rights) != 3 || rights[0] != 'r' ||
            rights[1] != 'w' || strstr(line, "[v") != NULL) {
            continue;
        }
        const volatile uint8_t *at = (const volatile uint8_t *)(uintptr_t)begin;
        for (uint64_t i = 0; i + FOUND_BYTES <= end - begin; ++i) {
            n_found += at[i] == pattern(0) && is_pattern(at + i);
        }
    }
    (void)fclose(maps);
    return n_found;
}

static int run_client(const char *address) {
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)execl("/proc/self/exe", "test_rpc_wipe", address, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void requests_are_wiped(void **state) {
    (void)state;
    struct rpc_case it;
    grpc_init();
    rpc_case_open(&it, NULL);
    uint8_t *kept = malloc(FOUND_BYTES);
    for (size_t i = 0; i < FOUND_BYTES; ++i) {
        kept[i] = pattern(i);
    }
    const uint64_t n_before = search_memory();
    assert_int_equal(n_before, 1); /* what is there is found */
    pm_memory_wipe(kept, FOUND_BYTES);
    assert_int_equal(run_client(it.address), 0);
    rpc_case_quiet(&it);
    assert_int_equal(search_memory(), 0);
    free(kept);
    rpc_case_close(&it);
    grpc_shutdown_blocking();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_are_wiped)};
    if (argc == 2) {
        return send_patterns(argv[1]);
    }
    /* The loader, when it binds a name at its first call, leaves all vector registers on the stack,
     * with what memcpy() had in them last. So it is to bind all names when the program starts. */
    if (getenv("LD_BIND_NOW") == NULL && setenv("LD_BIND_NOW", "1", 1) == 0) {
        (void)execv("/proc/self/exe", argv);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
