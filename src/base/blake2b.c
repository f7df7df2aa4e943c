/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/blake2b.h"

#include "base/memory.h"

#include <string.h>

#define BLOCK_BYTES 128u

/* RFC 7693 section 2.6: the fractional parts of the square roots of the first eight primes. */
static const uint64_t initial_state[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

/* RFC 7693 section 2.7; rounds 10 and 11 use rows 0 and 1 again. */
static const uint8_t message_schedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t rotate_right(uint64_t x, unsigned n) {
    return x >> n | x << (64 - n);
}

/* The mixing function G of section 3.1. */
static void mix(uint64_t v[16], unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x,
                uint64_t y) {
    v[a] = v[a] + v[b] + x;
    v[d] = rotate_right(v[d] ^ v[a], 32);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 24);
    v[a] = v[a] + v[b] + y;
    v[d] = rotate_right(v[d] ^ v[a], 16);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 63);
}

/* The compression function F of section 3.2. */
static void compress(struct pm_blake2b *state, const uint8_t block[BLOCK_BYTES], int is_last) {
    uint64_t m[16], v[16];
    memcpy(m, block, BLOCK_BYTES);
    memcpy(v, state->h, sizeof state->h);
    memcpy(v + 8, initial_state, sizeof initial_state);
    v[12] ^= state->t[0];
    v[13] ^= state->t[1];
    if (is_last) {
        v[14] = ~v[14];
    }
    for (unsigned round = 0; round < 12; ++round) {
        const uint8_t *s = message_schedule[round % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (unsigned i = 0; i < 8; ++i) {
        state->h[i] ^= v[i] ^ v[i + 8];
    }
}

static void count_bytes(struct pm_blake2b *state, uint64_t n) {
    state->t[0] += n;
    state->t[1] += state->t[0] < n;
}

void pm_blake2b_init(struct pm_blake2b *state, size_t digest_bytes) {
    memset(state, 0, sizeof *state);
    memcpy(state->h, initial_state, sizeof initial_state);
    /* The parameter block of section 2.5: digest length, no key, fanout 1, depth 1. */
    state->h[0] ^= UINT64_C(0x01010000) ^ (uint64_t)digest_bytes;
    state->digest_bytes = digest_bytes;
}

void pm_blake2b_update(struct pm_blake2b *state, const void *bytes, size_t n_bytes) {
    const uint8_t *in = bytes;
    while (n_bytes > 0) {
        /* A full block is held back until more follows: the last one is compressed by final. */
        if (state->n_block == BLOCK_BYTES) {
            count_bytes(state, BLOCK_BYTES);
            compress(state, state->block, 0);
            state->n_block = 0;
        }
        const size_t room = BLOCK_BYTES - state->n_block;
        const size_t n = n_bytes < room ? n_bytes : room;
        memcpy(state->block + state->n_block, in, n);
        state->n_block += n;
        in += n;
        n_bytes -= n;
    }
}

void pm_blake2b_final(struct pm_blake2b *state, void *digest) {
    count_bytes(state, state->n_block);
    memset(state->block + state->n_block, 0, BLOCK_BYTES - state->n_block);
    compress(state, state->block, 1);
    memcpy(digest, state->h, state->digest_bytes);
    pm_memory_wipe(state, sizeof *state);
}
