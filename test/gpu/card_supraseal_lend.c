/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Arrays as a caller holds them: there when a proof is started, gone at the first moment that the
 * interface allows. They lie in files of memory, so that each proof gets addresses of its own and
 * no second copy.
 */
#include "card_supraseal.h"

#include "card_prove.h"
#include "par/bulk.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)

static struct {
    int fd;
    uint64_t bytes; /* whole pages */
} lent[CARD_LENTS];

static void make(const struct card_partition *p, enum card_lent which, const void *from,
                 uint64_t n_bytes) {
    const uint64_t bytes = (n_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    const int fd = memfd_create("lent", MFD_CLOEXEC);
    CARD_PROVE_CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "no file in memory: %s",
                     strerror(errno));
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CARD_PROVE_CHECK(memory != MAP_FAILED, "%llu bytes", (unsigned long long)bytes);
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    pm_team_copy(p->kernels.team, memory, from, n_bytes, CARD_CHUNK);
    (void)munmap(memory, bytes);
    lent[which].fd = fd;
    lent[which].bytes = bytes;
}

/* Bits first to first + n - 1, from bit 0 on; what follows them is of no account. */
static void make_bits(const struct card_partition *p, enum card_lent which,
                      const struct pm_density *density, uint64_t first, uint64_t n) {
    const uint64_t n_words = n / 64 + 1, n_words_all = (density->n + 63) / 64;
    uint64_t *words = calloc(n_words, sizeof *words);
    CARD_PROVE_CHECK(words != NULL, "no memory");
    for (uint64_t i = 0; i < n_words; ++i) {
        const uint64_t at = first / 64 + i, shift = first % 64;
        words[i] = at < n_words_all ? density->words[at] >> shift : 0;
        if (shift != 0 && at + 1 < n_words_all) {
            words[i] |= density->words[at + 1] << (64 - shift);
        }
    }
    make(p, which, words, n_words * sizeof *words);
    free(words);
}

void card_lend_densities(const struct card_partition *p) {
    const struct pm_plan_sizes *sizes = &p->sizes;
    make_bits(p, CARD_LENT_A_AUX, &p->key.a_density, sizes->n_inputs, sizes->n_l);
    make_bits(p, CARD_LENT_B_INPUTS, &p->key.b_density, 0, sizes->n_inputs);
    make_bits(p, CARD_LENT_B_AUX, &p->key.b_density, sizes->n_inputs, sizes->n_l);
}

void card_lend_scalars(struct card_partition *p) {
    const struct pm_plan_sizes *sizes = &p->sizes;
    for (uint32_t i = 0; i < 3; ++i) {
        make(p, CARD_LENT_A + i, p->lent[i], sizes->n_rows * PM_FR_BYTES);
        card_room_free(p->lent[i], sizes->n_rows * PM_FR_BYTES);
        p->lent[i] = NULL;
    }
    make(p, CARD_LENT_INPUTS, p->lent_w, sizes->n_inputs * PM_FR_BYTES);
    make(p, CARD_LENT_AUX, p->lent_w + sizes->n_inputs * PM_FR_BYTES, sizes->n_l * PM_FR_BYTES);
    card_room_free(p->lent_w, sizes->n_vars * PM_FR_BYTES);
    p->lent_w = NULL;
}

void card_lend(const struct card_partition *p, void *at[CARD_LENTS],
               pm_supraseal_assignment *assignment) {
    const struct pm_plan_sizes *sizes = &p->sizes;
    const uint64_t n_b_inputs = pm_density_rank(&p->key.b_density, sizes->n_inputs);
    for (enum card_lent i = 0; i < CARD_LENTS; ++i) {
        at[i] = NULL;
        if (lent[i].bytes == 0) {
            continue;
        }
        at[i] = mmap(NULL, lent[i].bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, lent[i].fd, 0);
        CARD_PROVE_CHECK(at[i] != MAP_FAILED, "%llu bytes", (unsigned long long)lent[i].bytes);
    }
    *assignment = (pm_supraseal_assignment){.a_aux_density = at[CARD_LENT_A_AUX],
                                            .a_aux_bit_len = sizes->n_l,
                                            .a_aux_popcount = sizes->n_a - sizes->n_inputs,
                                            .b_inp_density = at[CARD_LENT_B_INPUTS],
                                            .b_inp_bit_len = sizes->n_inputs,
                                            .b_inp_popcount = n_b_inputs,
                                            .b_aux_density = at[CARD_LENT_B_AUX],
                                            .b_aux_bit_len = sizes->n_l,
                                            .b_aux_popcount = sizes->n_b - n_b_inputs,
                                            .a = at[CARD_LENT_A],
                                            .b = at[CARD_LENT_B],
                                            .c = at[CARD_LENT_C],
                                            .abc_size = sizes->n_rows,
                                            .inp_assignment_data = at[CARD_LENT_INPUTS],
                                            .inp_assignment_size = sizes->n_inputs,
                                            .aux_assignment_data = at[CARD_LENT_AUX],
                                            .aux_assignment_size = sizes->n_l};
}

void card_lend_end(void *const at[CARD_LENTS], enum card_lent first, enum card_lent last) {
    for (enum card_lent i = first; i <= last; ++i) {
        if (at[i] == NULL) {
            continue;
        }
        /* In one step: between munmap() and this another thread could be given the addresses. */
        void *nothing = mmap(at[i], lent[i].bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        CARD_PROVE_CHECK(nothing == at[i], "an array cannot be unmapped: %s", strerror(errno));
    }
}
