/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "synthetic_plan.h"

#include <math.h>
#include <string.h>

/* ---- Presets --------------------------------------------------------------------------------- */

/* porep: the counts of the 32 GiB circuit (130,278,869 rows, 130,169,893 wires, non-zeros
 * 309,405,051 / 130,327,340 / 282,656,500, 129,753,292 wires in A, 33,112,281 in B). sha256 and
 * rollup: as circom compiles SHA-256 of 512 bits, and 20 transfers with signatures and Merkle paths
 * of Poseidon hashes. */
static const struct {
    const char *name;
    struct synthetic_options options;
} presets[] = {
    {"porep",
     {.n_public = 327,
      .wires_per_row = 0.99916,
      .values = {0.49, 0.49, 0.005, 0.015},
      .terms_per_row = {2.3749, 1.0004, 2.1696},
      .density = {0.9968, 0.2544, 0.9},
      .constant = {0.1, 0.5, 0.01},
      .boolean_rows = 0.2,
      .full_rows = 0.02}},
    {"sha256",
     {.n_public = 256,
      .wires_per_row = 0.9982,
      .values = {0.598, 0.402, 0, 0},
      .terms_per_row = {2.1166, 0.9486, 2.6139},
      .density = {0.6283, 0.3432, 1},
      .constant = {0.1, 0, 0.002},
      .boolean_rows = 0.335,
      .linear_rows = 0.0514}},
    {"rollup",
     {.n_public = 4,
      .wires_per_row = 0.9999,
      .values = {0.12, 0.08, 0.02, 0.78},
      .terms_per_row = {0.9382, 0.6233, 2.2571},
      .density = {0.5654, 0.3205, 0.9427},
      .constant = {0.05, 0, 0.08},
      .boolean_rows = 0.038,
      .linear_rows = 0.377,
      .full_rows = 0.4}},
    {"uniform",
     {.n_public = 16,
      .wires_per_row = 1,
      .values = {0, 0, 0, 1},
      .terms_per_row = {1.5, 1.2, 2.2},
      .density = {0.9, 0.8, 0.95},
      .constant = {0.02, 0.02, 0.02},
      .linear_rows = 0.1,
      .full_rows = 0.2}},
};

bool synthetic_preset(const char *name, struct synthetic_options *options) {
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(name, presets[i].name) == 0) {
            const struct synthetic_options given = *options;
            *options = presets[i].options;
            options->curve = given.curve;
            options->seed = given.seed;
            options->n_rows = given.n_rows;
            return true;
        }
    }
    return false;
}

void synthetic_fill_domain(struct synthetic_options *options, uint32_t log_n) {
    const uint64_t n = UINT64_C(1) << log_n;
    if (options->n_public > n / 8) {
        options->n_public = (uint32_t)(n / 8);
    }
    options->n_rows = n - options->n_public - 1;
}

/* ---- Decks ----------------------------------------------------------------------------------- */

void synthetic_deck_add(struct synthetic_deck *deck, uint32_t kind, uint64_t n) {
    if (n > 0) {
        deck->kind[deck->n_kinds] = kind;
        deck->n_left[deck->n_kinds++] = n;
        deck->n_all += n;
    }
}

uint32_t synthetic_deck_draw(struct synthetic_deck *deck, uint64_t *random) {
    uint64_t at = synthetic_below(random, deck->n_all--);
    uint32_t i = 0;
    while (at >= deck->n_left[i]) {
        at -= deck->n_left[i++];
    }
    deck->n_left[i]--;
    return deck->kind[i];
}

/* A fifth of the terms, at most half of those beyond the shortest rows, is in the tail: the same
 * number of terms for each of its lengths. The other rows are as short as their mean, some of them
 * one shorter and one longer. */
bool synthetic_lengths(uint64_t n_rows, uint64_t n_terms, uint32_t shortest,
                       struct synthetic_deck *deck) {
    static const uint32_t tail[] = {256, 128, 64, 33, 16, 8, 5};
    const uint32_t n_tail = sizeof tail / sizeof tail[0];
    *deck = (struct synthetic_deck){0};
    if (n_rows == 0 || n_terms < n_rows * shortest) {
        return n_rows == 0 && n_terms == 0;
    }
    const uint64_t surplus = n_terms - n_rows * shortest;
    const uint64_t in_tail = surplus / 2 < n_terms / 5 ? surplus / 2 : n_terms / 5;
    const double mean = (double)n_terms / (double)n_rows;
    uint64_t rows = n_rows, terms = n_terms;
    for (uint32_t i = 0; i < n_tail; i++) {
        const uint64_t n = tail[i] > 2 * mean ? in_tail / n_tail / tail[i] : 0;
        synthetic_deck_add(deck, tail[i], n);
        rows -= n;
        terms -= n * tail[i];
    }
    const uint32_t base = (uint32_t)(terms / rows);
    const uint64_t longer = terms % rows;
    const uint64_t spread = base > shortest ? (rows - longer) / 4 : 0;
    synthetic_deck_add(deck, base, rows - longer - 2 * spread);
    synthetic_deck_add(deck, base + 1, longer + spread);
    synthetic_deck_add(deck, base - 1, spread);
    return base < SYNTHETIC_LENGTH_MAX;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static uint64_t share_of(double share, uint64_t n) {
    const double part = share * (double)n;
    return part <= 0 ? 0 : part >= (double)n ? n : (uint64_t)llround(part);
}

static bool is_share(double x) {
    return x >= 0 && x <= 1;
}

static pm_status check_options(const struct synthetic_options *options, pm_error *error) {
    bool good = options->n_rows >= 4 && options->n_rows + options->n_public < UINT32_MAX / 2 &&
                options->wires_per_row > 0 && options->wires_per_row <= 4 &&
                is_share(options->boolean_rows) && is_share(options->linear_rows) &&
                is_share(options->full_rows) && options->boolean_rows + options->linear_rows <= 1;
    double all = 0;
    for (int i = 0; i < SYNTHETIC_VALUES; i++) {
        good = good && is_share(options->values[i]);
        all += options->values[i];
    }
    for (int i = 0; i < SYNTHETIC_MATRICES; i++) {
        good = good && is_share(options->density[i]) && is_share(options->constant[i]) &&
               options->terms_per_row[i] >= 0 && options->terms_per_row[i] <= 128;
    }
    PM_FAIL_IF(!good || fabs(all - 1) > 1e-9, error, PM_INVALID_ARGUMENT,
               "a share or a count of the synthetic system is out of its range");
    return PM_OK;
}

static void plan_values(const struct synthetic_options *options, struct synthetic_plan *plan) {
    const uint64_t n = plan->facts.n_wires - 1;
    uint64_t left = n;
    for (uint32_t i = SYNTHETIC_VALUES; i-- > 0;) {
        const uint64_t share = share_of(options->values[i], n);
        uint64_t *count = &plan->facts.n_values[i];
        *count = share < left ? share : left;
        left -= *count;
    }
    uint32_t most = 0; /* what rounding has left over goes where it is noticed least */
    for (uint32_t i = 1; i < SYNTHETIC_VALUES; i++) {
        most = plan->facts.n_values[i] > plan->facts.n_values[most] ? i : most;
    }
    plan->facts.n_values[most] += left;
    for (uint32_t i = 0; i < SYNTHETIC_VALUES; i++) {
        synthetic_deck_add(&plan->values, i, plan->facts.n_values[i]);
    }
}

/* n_product rows have terms in A and in B, and those and n_linear rows have terms in C. */
static bool plan_lengths(struct synthetic_plan *plan, uint64_t n_product) {
    const struct synthetic_facts *facts = &plan->facts;
    const uint64_t n_linear = facts->n_linear, n_free = n_product + n_linear;
    const uint64_t a = facts->n_terms[SYNTHETIC_A], b = facts->n_terms[SYNTHETIC_B],
                   c = facts->n_terms[SYNTHETIC_C], n_boolean = facts->n_boolean;
    uint64_t linear = n_free == 0 ? 0 : share_of((double)n_linear / (double)n_free, c);
    linear = linear < 2 * n_linear ? 2 * n_linear : linear;
    if (a < 2 * n_boolean || b < n_boolean || c < linear) {
        return false;
    }
    plan->n_slots[SYNTHETIC_A] = a - 2 * n_boolean - n_product;
    plan->n_slots[SYNTHETIC_B] = b - n_boolean;
    /* The last one of a row is for what is missing. */
    plan->n_slots[SYNTHETIC_C] = c - n_free - n_linear;
    return synthetic_lengths(n_product, a - 2 * n_boolean, 1, &plan->lengths[SYNTHETIC_A]) &&
           synthetic_lengths(n_product, b - n_boolean, 1, &plan->lengths[SYNTHETIC_B]) &&
           synthetic_lengths(n_product, c - linear, 1, &plan->lengths[SYNTHETIC_C]) &&
           synthetic_lengths(n_linear, linear, 2, &plan->linear_lengths);
}

pm_status synthetic_plan_make(const struct synthetic_options *options, struct synthetic_plan *plan,
                              pm_error *error) {
    PM_TRY(check_options(options, error));
    *plan = (struct synthetic_plan){0};
    struct synthetic_facts *facts = &plan->facts;
    const uint64_t n_rows = options->n_rows;
    uint64_t wires = (uint64_t)llround(options->wires_per_row * (double)n_rows);
    wires = wires <= options->n_public ? options->n_public + UINT64_C(1) : wires;
    facts->n_rows = n_rows;
    facts->n_wires = wires + 1;
    while (UINT64_C(1) << facts->log_n < n_rows + options->n_public + 1) {
        facts->log_n++;
    }
    facts->n_boolean = share_of(options->boolean_rows, n_rows);
    facts->n_linear = share_of(options->linear_rows, n_rows);
    if (facts->n_boolean + facts->n_linear > n_rows) {
        facts->n_linear = n_rows - facts->n_boolean;
    }
    const uint64_t n_product = n_rows - facts->n_boolean - facts->n_linear;
    for (int i = 0; i < SYNTHETIC_MATRICES; i++) {
        facts->n_terms[i] = (uint64_t)llround(options->terms_per_row[i] * (double)n_rows);
        plan->n_in[i] = share_of(options->density[i], wires);
        facts->n_in[i] = plan->n_in[i];
    }
    plan_values(options, plan);
    PM_FAIL_IF(!plan_lengths(plan, n_product), error, PM_INVALID_ARGUMENT,
               "so few or so many terms cannot be spread over these rows");
    const uint64_t *const n_in = plan->n_in;
    uint64_t *const n_first = plan->n_first;
    n_first[SYNTHETIC_A] = n_in[SYNTHETIC_A] < n_product ? n_in[SYNTHETIC_A] : n_product;
    n_first[SYNTHETIC_C] =
        n_in[SYNTHETIC_C] < facts->n_linear ? n_in[SYNTHETIC_C] : facts->n_linear;
    bool has_room = wires - n_in[SYNTHETIC_A] <= n_in[SYNTHETIC_C];
    for (int i = 0; i < SYNTHETIC_MATRICES; i++) {
        has_room = has_room && n_in[i] - n_first[i] <= plan->n_slots[i];
    }
    PM_FAIL_IF(!has_room, error, PM_INVALID_ARGUMENT,
               "there are too few terms for every wire to have one");
    synthetic_deck_add(&plan->rows, SYNTHETIC_PRODUCT, n_product);
    synthetic_deck_add(&plan->rows, SYNTHETIC_LINEAR, facts->n_linear);
    synthetic_deck_add(&plan->rows, SYNTHETIC_BOOLEAN, facts->n_boolean);
    return PM_OK;
}
