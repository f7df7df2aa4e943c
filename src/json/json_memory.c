/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "json/json_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <stddef.h>

static json_malloc_t allocate_as_before;
static json_free_t release_as_before;
static _Thread_local uint64_t n_failures;

static void *allocate_and_count(size_t n_bytes) {
    void *block = allocate_as_before(n_bytes);
    n_failures += block == NULL && n_bytes != 0;
    return block;
}

static void put_in_front(void) {
    json_get_alloc_funcs(&allocate_as_before, &release_as_before);
    json_set_alloc_funcs(allocate_and_count, release_as_before);
}

uint64_t pm_json_memory_failures(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, put_in_front);
    return n_failures;
}
