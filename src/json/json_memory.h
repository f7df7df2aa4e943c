/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json_memory.h - whether jansson has run out of memory.
 *
 * It does not always say so: when the buffer of a string cannot grow, jansson 2.14 leaves out the
 * character and reads on, which turns one number into another; and a member that cannot be added is
 * missing from what is printed. So failures are counted where they happen.
 */
#ifndef PM_JSON_MEMORY_H
#define PM_JSON_MEMORY_H

#include <stdint.h>

/* How many allocations of jansson have failed in this thread since its first call of this function,
 * which puts the counter in front of the allocator that jansson had. */
uint64_t pm_json_memory_failures(void);

#endif
