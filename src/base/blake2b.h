/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/blake2b.h - BLAKE2b (RFC 7693), unkeyed, digests of 1 to 64 bytes. */
#ifndef PM_BASE_BLAKE2B_H
#define PM_BASE_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

struct pm_blake2b {
    uint64_t h[8];
    uint64_t t[2]; /* bytes compressed so far, 128 bits */
    uint8_t block[128];
    size_t n_block; /* bytes waiting in block */
    size_t digest_bytes;
};

void pm_blake2b_init(struct pm_blake2b *state, size_t digest_bytes);
void pm_blake2b_update(struct pm_blake2b *state, const void *bytes, size_t n_bytes);
/* Writes digest_bytes bytes and wipes the state. */
void pm_blake2b_final(struct pm_blake2b *state, void *digest);

#endif
