/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/density.h"

#include "msm/msm.h"

#define WORD_BITS 64u

uint64_t pm_density_words_bytes(uint64_t n) {
    return (n / WORD_BITS + (n % WORD_BITS != 0)) * sizeof(uint64_t);
}

pm_status pm_density_check(const struct pm_density *density, uint64_t n, pm_error *error) {
    PM_FAIL_IF(density->n != n, error, PM_INTERNAL, "the key has no density for its %llu variables",
               (unsigned long long)n);
    return PM_OK;
}

uint64_t pm_density_bytes(uint64_t n) {
    return pm_density_words_bytes(n) + pm_msm_rank_bytes(n);
}

pm_status pm_density_create(uint64_t n, const char *name, struct pm_ledger *ledger,
                            struct pm_density *density, pm_error *error) {
    PM_FAIL_IF(n > UINT32_MAX, error, PM_COUNT, "%s: %llu variables are more than 32 bits number",
               name, (unsigned long long)n);
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(ledger, name, pm_density_bytes(n), PM_MEMORY_PLAIN, &buffer, error));
    *density = (struct pm_density){
        .n = n,
        .words = buffer,
        .rank = (uint32_t *)((unsigned char *)buffer + pm_density_words_bytes(n))};
    return PM_OK;
}

void pm_density_destroy(struct pm_density *density) {
    pm_memory_free(density->words);
    *density = (struct pm_density){0};
}

/* Up to 64 bits at any place. */
static void set_bits(struct pm_density *density, uint64_t first, uint64_t bits) {
    const uint64_t word = first / WORD_BITS, shift = first % WORD_BITS;
    density->words[word] |= bits << shift;
    if (shift > 0 && bits >> (WORD_BITS - shift) != 0) {
        density->words[word + 1] |= bits >> (WORD_BITS - shift);
    }
}

void pm_density_set_words(struct pm_density *density, uint64_t first, uint64_t n,
                          const uint64_t *words) {
    for (uint64_t i = 0; i < n; i += WORD_BITS) {
        const uint64_t left = n - i;
        const uint64_t mask = left < WORD_BITS ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
        set_bits(density, first + i, words[i / WORD_BITS] & mask);
    }
}

void pm_density_count(struct pm_density *density) {
    density->n_set = pm_msm_rank_fill(density->words, density->n, density->rank);
}

uint64_t pm_density_rank(const struct pm_density *density, uint64_t i) {
    uint64_t rank = 0, at = 0;
    if (i / PM_MSM_RANK_STEP * PM_MSM_RANK_STEP < density->n) {
        at = i / PM_MSM_RANK_STEP * PM_MSM_RANK_STEP;
        rank = density->rank[at / PM_MSM_RANK_STEP];
    } else if (density->n > 0) {
        at = (density->n - 1) / PM_MSM_RANK_STEP * PM_MSM_RANK_STEP;
        rank = density->rank[at / PM_MSM_RANK_STEP];
    }
    for (; at < i; at += WORD_BITS) {
        const uint64_t left = i - at;
        const uint64_t mask = left < WORD_BITS ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
        rank += (uint64_t)__builtin_popcountll(density->words[at / WORD_BITS] & mask);
    }
    return rank;
}

uint64_t pm_density_find(const struct pm_density *density, uint64_t k) {
    uint64_t low = 0, high = density->n; /* at most k bits before low; more before high + 1 */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (pm_density_rank(density, middle + 1) > k) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}
