/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A and B of a zkey for the card: from records of 44 bytes to rows of 8-byte terms (poly/sparse.h).
 *
 * Records come row by row, so one walk suffices: each window of them is counted, which says where
 * each chunk's terms go, and filled into half of the staging memory. A row starts where the first
 * record of it, or of a later one, is met. Records may change while they are read, as the file they
 * lie in may: whatever they say then, nothing is written or read out of place.
 */
#include "groth16/backend_cuda_card.h"

#include "base/random.h"

#include <string.h>

#define RECORDS_PER_WINDOW (UINT64_C(1) << 18)
#define CHUNKS 64u

/* ---- The dictionary ---------------------------------------------------------------------------
 *
 * An open hash table with a random key. Threads look values up without a lock: a slot is written
 * once, after its value. It grows between windows alone.
 */
struct dictionary {
    struct pm_ledger *ledger;
    pthread_mutex_t mutex; /* of adding */
    uint64_t key[PM_FR_LIMBS_MAX];
    uint32_t n_slots_log;
    uint32_t *slots;  /* index + 1; 0: free */
    uint64_t *values; /* room for half as many as there are slots */
    uint64_t n_values;
};

#define VALUE_BYTES (PM_FR_LIMBS_MAX * sizeof(uint64_t))
_Static_assert(VALUE_BYTES == PM_FR_BYTES, "a coefficient is a scalar");

static uint64_t hash_of(const struct dictionary *dictionary, const uint64_t *value) {
    uint64_t hash = 0;
    for (int i = 0; i < PM_FR_LIMBS_MAX; ++i) {
        const unsigned __int128 product =
            (unsigned __int128)(hash ^ value[i] ^ dictionary->key[i]) *
            UINT64_C(0x9e3779b97f4a7c15);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return hash;
}

/* The slot where the value stands, or the free one where it would. */
static uint32_t *find_slot(const struct dictionary *dictionary, const uint64_t *value) {
    const uint64_t mask = (UINT64_C(1) << dictionary->n_slots_log) - 1;
    for (uint64_t at = hash_of(dictionary, value);; ++at) {
        uint32_t *slot = &dictionary->slots[at & mask];
        const uint32_t found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (found == 0 || memcmp(dictionary->values + (uint64_t)(found - 1) * PM_FR_LIMBS_MAX,
                                 value, VALUE_BYTES) == 0) {
            return slot;
        }
    }
}

static uint32_t index_of(struct dictionary *dictionary, const uint64_t *value) {
    const uint32_t found = __atomic_load_n(find_slot(dictionary, value), __ATOMIC_ACQUIRE);
    if (found != 0) {
        return found - 1;
    }
    (void)pthread_mutex_lock(&dictionary->mutex);
    uint32_t *slot = find_slot(dictionary, value); /* somebody may have added it meanwhile */
    if (*slot == 0) {
        memcpy(dictionary->values + dictionary->n_values * PM_FR_LIMBS_MAX, value, VALUE_BYTES);
        __atomic_store_n(slot, (uint32_t)++dictionary->n_values, __ATOMIC_RELEASE);
    }
    const uint32_t index = *slot - 1;
    (void)pthread_mutex_unlock(&dictionary->mutex);
    return index;
}

/* Room for n values more. */
static pm_status make_room(struct dictionary *dictionary, uint64_t n, pm_error *error) {
    uint32_t n_slots_log = dictionary->n_slots_log;
    void *slots = NULL, *values = NULL;
    while ((UINT64_C(1) << n_slots_log) / 2 < dictionary->n_values + n) {
        ++n_slots_log;
    }
    if (dictionary->slots != NULL && n_slots_log == dictionary->n_slots_log) {
        return PM_OK;
    }
    PM_TRY(pm_memory_alloc_array(dictionary->ledger, "coefficient hash", UINT64_C(1) << n_slots_log,
                                 sizeof *dictionary->slots, PM_MEMORY_PLAIN, &slots, error));
    const pm_status status = pm_memory_alloc_array(dictionary->ledger, "coefficient values",
                                                   (UINT64_C(1) << n_slots_log) / 2, VALUE_BYTES,
                                                   PM_MEMORY_PLAIN, &values, error);
    if (status != PM_OK) {
        pm_memory_free(slots);
        return status;
    }
    if (dictionary->n_values > 0) {
        memcpy(values, dictionary->values, dictionary->n_values * VALUE_BYTES);
    }
    pm_memory_free(dictionary->slots);
    pm_memory_free(dictionary->values);
    dictionary->slots = slots;
    dictionary->values = values;
    dictionary->n_slots_log = n_slots_log;
    for (uint64_t i = 0; i < dictionary->n_values; ++i) {
        *find_slot(dictionary, dictionary->values + i * PM_FR_LIMBS_MAX) = (uint32_t)i + 1;
    }
    return PM_OK;
}

/* ---- A window of records ----------------------------------------------------------------------
 */

struct record {
    uint32_t matrix, row, column;
    uint64_t value[PM_FR_LIMBS_MAX];
};

/* Copied once: what it was read from may change. */
static struct record record_at(const uint8_t *records, uint64_t i) {
    const uint8_t *at = records + i * PM_ZKEY_COEFFICIENT_BYTES;
    struct record record;
    memcpy(&record.matrix, at, 4);
    memcpy(&record.row, at + 4, 4);
    memcpy(&record.column, at + 8, 4);
    memcpy(record.value, at + 12, sizeof record.value);
    __asm__("" : "+m"(record)); /* the compiler may not read again */
    record.matrix = record.matrix != 0;
    return record;
}

struct build {
    const uint8_t *records;
    uint64_t n_records, n_rows, n_columns;
    struct dictionary dictionaries[2];
    uint32_t *row_starts[2]; /* n_rows + 1 each */
    /* The window: records [first, first + n), of which each chunk has so many. */
    uint64_t first, n, per_chunk;
    uint64_t terms_before[2];      /* the window */
    uint64_t begin[2][CHUNKS + 1]; /* counted from the window's first term: those of each chunk */
    struct pm_sparse_entry *terms[2];
    bool changed; /* atomic */
};

static uint64_t chunk_end(const struct build *build, size_t chunk) {
    const uint64_t end = (chunk + 1) * build->per_chunk;
    return build->first + (end < build->n ? end : build->n);
}

/* begin[...][chunk + 1] becomes the chunk's own count. */
static void count_chunk(void *argument, size_t chunk) {
    struct build *build = argument;
    uint64_t n_of_b = 0;
    const uint64_t first = build->first + chunk * build->per_chunk, end = chunk_end(build, chunk);
    for (uint64_t i = first; i < end; ++i) {
        n_of_b += record_at(build->records, i).matrix;
    }
    build->begin[0][chunk + 1] = end - first - n_of_b;
    build->begin[1][chunk + 1] = n_of_b;
}

static void fill_chunk(void *argument, size_t chunk) {
    struct build *build = argument;
    const uint64_t first = build->first + chunk * build->per_chunk, end = chunk_end(build, chunk);
    uint64_t at[2] = {build->begin[0][chunk], build->begin[1][chunk]};
    /* Rows below this one have begun. */
    uint64_t next_row = first == 0 ? 0 : (uint64_t)record_at(build->records, first - 1).row + 1;
    for (uint64_t i = first; i < end; ++i) {
        const struct record record = record_at(build->records, i);
        const uint32_t matrix = record.matrix;
        if (record.row >= build->n_rows || (uint64_t)record.row + 1 < next_row ||
            record.column >= build->n_columns || at[matrix] >= build->begin[matrix][chunk + 1]) {
            __atomic_store_n(&build->changed, true, __ATOMIC_RELAXED);
            return;
        }
        for (; next_row <= record.row; ++next_row) {
            build->row_starts[0][next_row] = (uint32_t)(build->terms_before[0] + at[0]);
            build->row_starts[1][next_row] = (uint32_t)(build->terms_before[1] + at[1]);
        }
        build->terms[matrix][at[matrix]++] = (struct pm_sparse_entry){
            record.column, index_of(&build->dictionaries[matrix], record.value)};
    }
}

static pm_status build_window(struct pm_cuda_way *way, struct build *build,
                              const struct pm_cuda_key *key, struct pm_cuda_lane *lane,
                              pm_error *error) {
    const uint64_t per_chunk = (build->n + CHUNKS - 1) / CHUNKS;
    const uint64_t n_chunks = (build->n + per_chunk - 1) / per_chunk;
    build->per_chunk = per_chunk;
    build->terms[0] = (struct pm_sparse_entry *)(void *)lane->half;
    PM_TRY(make_room(&build->dictionaries[0], build->n, error));
    PM_TRY(make_room(&build->dictionaries[1], build->n, error));
    pm_team_run(way->team, n_chunks, count_chunk, build);
    for (uint64_t chunk = 0; chunk < n_chunks; ++chunk) {
        build->begin[0][chunk + 1] += build->begin[0][chunk];
        build->begin[1][chunk + 1] += build->begin[1][chunk];
    }
    build->terms[1] = build->terms[0] + build->begin[0][n_chunks];
    pm_team_run(way->team, n_chunks, fill_chunk, build);
    bool changed = __atomic_load_n(&build->changed, __ATOMIC_RELAXED);
    for (int i = 0; i < 2 && !changed; ++i) {
        const uint64_t n_terms = build->begin[i][n_chunks];
        changed = n_terms > key->sparse[i].n_terms - build->terms_before[i];
        if (!changed && n_terms > 0) {
            uint8_t *terms = (uint8_t *)(uintptr_t)key->sparse[i].terms;
            PM_TRY(way->cuda->api->upload(
                &lane->stream, terms + build->terms_before[i] * sizeof *build->terms[i],
                build->terms[i], n_terms * sizeof *build->terms[i], error));
            build->terms_before[i] += n_terms;
        }
    }
    PM_FAIL_IF(changed, error, PM_FILE_CHANGED,
               "the key's coefficients are not what they were when it was opened");
    return PM_OK;
}

/* ---- The whole --------------------------------------------------------------------------------
 */

static pm_status build_windows(struct pm_cuda_way *way, struct build *build,
                               const struct pm_cuda_key *key, pm_error *error) {
    const uint64_t room = way->piece_bytes / sizeof(struct pm_sparse_entry);
    const uint64_t window = room < RECORDS_PER_WINDOW ? room : RECORDS_PER_WINDOW;
    for (; build->first < build->n_records; build->first += build->n) {
        struct pm_cuda_lane *lane = NULL;
        const uint64_t left = build->n_records - build->first;
        build->n = left < window ? left : window;
        PM_TRY(pm_cuda_way_half(way, &lane, error));
        PM_TRY(build_window(way, build, key, lane, error));
    }
    return PM_OK;
}

/* Rows behind the last record begin at the end. */
static void end_rows(struct build *build) {
    uint64_t row = 0;
    if (build->n_records > 0) {
        row = (uint64_t)record_at(build->records, build->n_records - 1).row + 1;
    }
    for (; row <= build->n_rows; ++row) {
        build->row_starts[0][row] = (uint32_t)build->terms_before[0];
        build->row_starts[1][row] = (uint32_t)build->terms_before[1];
    }
}

/* Records that changed meanwhile may leave rows out, or begin them twice: the card, which looks at
 * no bounds, gets none that ends before it begins. */
static bool rows_are_in_order(const struct build *build, int matrix) {
    const uint32_t *starts = build->row_starts[matrix];
    bool in_order = starts[0] == 0 && starts[build->n_rows] == build->terms_before[matrix];
    for (uint64_t row = 0; row < build->n_rows; ++row) {
        in_order &= starts[row] <= starts[row + 1];
    }
    return in_order;
}

static pm_status build_all(struct pm_cuda_way *way, struct build *build,
                           const struct pm_cuda_key *key, pm_error *error) {
    for (int i = 0; i < 2; ++i) {
        void *memory = NULL;
        PM_TRY(
            pm_random_bytes(build->dictionaries[i].key, sizeof build->dictionaries[i].key, error));
        PM_TRY(pm_memory_alloc_array(key->ledger, "row starts", build->n_rows + 1,
                                     sizeof *build->row_starts[i], PM_MEMORY_PLAIN, &memory,
                                     error));
        build->row_starts[i] = memory;
    }
    PM_TRY(build_windows(way, build, key, error));
    end_rows(build);
    for (int i = 0; i < 2; ++i) {
        const struct pm_gpu_sparse *matrix = &key->sparse[i];
        PM_FAIL_IF(build->terms_before[i] != matrix->n_terms ||
                       build->dictionaries[i].n_values > matrix->n_coefficients ||
                       !rows_are_in_order(build, i),
                   error, PM_FILE_CHANGED,
                   "the key's coefficients are not what they were when it was opened");
        PM_TRY(pm_cuda_way_bytes(way, (void *)(uintptr_t)matrix->coefficients,
                                 build->dictionaries[i].values,
                                 build->dictionaries[i].n_values * VALUE_BYTES, error));
        PM_TRY(pm_cuda_way_bytes(way, (void *)(uintptr_t)matrix->row_starts, build->row_starts[i],
                                 (build->n_rows + 1) * sizeof *build->row_starts[i], error));
    }
    return PM_OK;
}

pm_status pm_cuda_bring_records(struct pm_cuda_way *way, const struct pm_proving_key *proving_key,
                                struct pm_cuda_key *key, pm_error *error) {
    struct build build = {.records = proving_key->records,
                          .n_records = proving_key->n_records,
                          .n_rows = UINT64_C(1) << proving_key->log_n,
                          .n_columns = proving_key->n_vars};
    for (int i = 0; i < 2; ++i) {
        build.dictionaries[i].ledger = key->ledger;
        (void)pthread_mutex_init(&build.dictionaries[i].mutex, NULL);
    }
    const pm_status status = build_all(way, &build, key, error);
    for (int i = 0; i < 2; ++i) {
        (void)pthread_mutex_destroy(&build.dictionaries[i].mutex);
        pm_memory_free(build.dictionaries[i].slots);
        pm_memory_free(build.dictionaries[i].values);
        pm_memory_free(build.row_starts[i]);
    }
    return status;
}
