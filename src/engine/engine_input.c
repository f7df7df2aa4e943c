/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/blake2b.h"
#include "base/control.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* First bytes of a .wtns and of a .pmasg (doc/format_pmasg.md). */
static const char wtns_magic[4] = "wtns";

/* ---- Taking in ------------------------------------------------------------------------------ */

static pm_status copy_text(const char *text, char **copy, pm_error *error) {
    void *buffer = NULL;
    const size_t n_bytes = strlen(text) + 1;
    PM_TRY(pm_memory_alloc(NULL, "path of an input", n_bytes, PM_MEMORY_PLAIN, &buffer, error));
    *copy = memcpy(buffer, text, n_bytes);
    return PM_OK;
}

/* What of an assignment decides its proof's memory. */
static pm_status read_shape(const char *path, struct engine_part *part, pm_error *error) {
    pm_assignment_file *file = NULL;
    pm_assignment assignment = {.struct_bytes = sizeof assignment};
    struct pm_journal_file facts;
    char held[64];
    int fd = -1;
    part->shape = 0;
    if (!part->is_assignment) {
        return PM_OK;
    }
    PM_TRY(pm_engine_open_file(path, "the input cannot be opened", &fd, &facts, error));
    (void)snprintf(held, sizeof held, "/proc/self/fd/%d", fd);
    pm_status status = pm_assignment_file_open(held, NULL, &file, error);
    (void)close(fd);
    if (status != PM_OK) {
        pm_error_at(error, path, PM_NO_OFFSET);
        return status;
    }
    status = pm_assignment_file_get(file, &assignment, error);
    part->shape = (uint8_t)pm_engine_shape(true, assignment.a != NULL,
                                           assignment.form == PM_SCALAR_MONTGOMERY);
    pm_assignment_file_destroy(file);
    return status;
}

static pm_status check_length(uint64_t n_bytes, uint64_t bytes_max, const char *path,
                              pm_error *error) {
    if (n_bytes <= bytes_max) {
        return PM_OK;
    }
    pm_error_set(error, PM_WITNESS_MISMATCH,
                 "the input has %llu bytes, none for this key has more than %llu",
                 (unsigned long long)n_bytes, (unsigned long long)bytes_max);
    pm_error_at(error, path, PM_NO_OFFSET);
    pm_error_need_have(error, bytes_max, n_bytes);
    return PM_WITNESS_MISMATCH;
}

static pm_status take_path(const char *path, uint64_t bytes_max, const pm_control *control,
                           struct engine_part *part, pm_error *error) {
    uint8_t head[16];
    struct pm_journal_file after;
    PM_FAIL_IF(path[0] == '\0' || strlen(path) >= PM_ENGINE_PATH_BYTES, error, PM_INVALID_ARGUMENT,
               "the path of an input has 1 to %d bytes", PM_ENGINE_PATH_BYTES - 1);
    int fd = -1;
    PM_TRY(pm_engine_open_file(path, "the input cannot be opened", &fd, &part->file, error));
    pm_status status = check_length(part->file.n_bytes, bytes_max, path, error);
    if (status == PM_OK) {
        status = pm_engine_file_digest(fd, path, part->file.n_bytes, part->digest,
                                       sizeof part->digest, head, control, error);
    }
    if (status == PM_OK) {
        status = pm_engine_file_facts(fd, path, &after, error);
    }
    (void)close(fd);
    if (status == PM_OK && !pm_engine_same_file(&part->file, &after)) {
        status = pm_error_set(error, PM_FILE_CHANGED, "the input changed while it was read");
        pm_error_at(error, path, PM_NO_OFFSET);
    }
    PM_TRY(status);
    part->has_file = true;
    part->n_bytes = part->file.n_bytes;
    part->is_assignment = memcmp(head, wtns_magic, sizeof wtns_magic) != 0;
    PM_TRY(read_shape(path, part, error));
    return copy_text(path, &part->path, error);
}

static void digest_bytes(const void *bytes, uint64_t n_bytes, struct engine_part *part) {
    struct pm_blake2b state;
    pm_blake2b_init(&state, sizeof part->digest);
    pm_blake2b_update(&state, bytes, n_bytes);
    pm_blake2b_final(&state, part->digest);
}

static pm_status reserve_stored(struct pm_engine *engine, uint64_t n_bytes, pm_error *error) {
    const uint64_t most = engine->limits.stored_bytes_max;
    pm_engine_lock(engine);
    const uint64_t have = most - engine->stored_bytes;
    if (n_bytes <= have) {
        engine->stored_bytes += n_bytes;
    }
    pm_engine_unlock(engine);
    if (n_bytes > have) {
        pm_error_set(error, n_bytes > most ? PM_OVER_BUDGET : PM_BUDGET_BUSY,
                     "an input of %llu bytes does not fit what may be stored (%llu of %llu bytes "
                     "are free): hand it over by path",
                     (unsigned long long)n_bytes, (unsigned long long)have,
                     (unsigned long long)most);
        pm_error_need_have(error, n_bytes, have);
        return n_bytes > most ? PM_OVER_BUDGET : PM_BUDGET_BUSY;
    }
    return PM_OK;
}

/* Whoever watches is told when the disk does not take it. */
static pm_status store(struct pm_engine *engine, const pm_engine_input *input,
                       char name[PM_JOURNAL_STORED_NAME_BYTES], pm_error *error) {
    const pm_status status =
        pm_journal_store(engine->journal, input->bytes, input->n_bytes, name, error);
    pm_engine_lock(engine);
    if (status == PM_OK ? engine->stores_fail : status == PM_IO) {
        pm_engine_note_store(engine, status == PM_OK);
        pm_engine_pump(engine); /* for the next try */
    }
    pm_engine_unlock(engine);
    return status;
}

static pm_status take_bytes(struct pm_engine *engine, const pm_engine_input *input,
                            struct engine_part *part, pm_error *error) {
    PM_FAIL_IF(input->n_bytes < sizeof wtns_magic, error, PM_TRUNCATED,
               "an input of %llu bytes is no witness", (unsigned long long)input->n_bytes);
    PM_TRY(reserve_stored(engine, input->n_bytes, error));
    part->is_stored = true;
    part->n_bytes = input->n_bytes;
    part->is_assignment = memcmp(input->bytes, wtns_magic, sizeof wtns_magic) != 0;
    digest_bytes(input->bytes, input->n_bytes, part);
    if (engine->journal != NULL) {
        char name[PM_JOURNAL_STORED_NAME_BYTES], path[2 * PM_ENGINE_PATH_BYTES];
        PM_TRY(store(engine, input, name, error));
        PM_TRY(copy_text(name, &part->path, error));
        PM_TRY(pm_journal_stored_path(engine->journal, name, path, sizeof path, error));
        return read_shape(path, part, error);
    }
    PM_FAIL_IF(part->is_assignment, error, PM_UNSUPPORTED,
               "an assignment is handed over by path where no journal can store it");
    PM_TRY(pm_memory_alloc(NULL, "input", input->n_bytes, PM_MEMORY_SECRET, &part->bytes, error));
    memcpy(part->bytes, input->bytes, input->n_bytes);
    return PM_OK;
}

pm_status pm_engine_take_input(struct pm_engine *engine, const pm_engine_input *input,
                               uint64_t bytes_max, const pm_control *control,
                               struct engine_part *part, pm_error *error) {
    PM_FAIL_IF((input->path == NULL) == (input->bytes == NULL), error, PM_INVALID_ARGUMENT,
               "an input is either a path or bytes");
    PM_TRY(pm_control_check(control, error));
    return input->path != NULL ? take_path(input->path, bytes_max, control, part, error)
                               : take_bytes(engine, input, part, error);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* The file is what it was, or has at least the same bytes. */
static pm_status check_unchanged(int fd, const char *path, struct engine_part *part,
                                 const pm_control *control, pm_error *error) {
    struct pm_journal_file now;
    uint8_t digest[PM_JOURNAL_DIGEST_BYTES], head[16];
    PM_TRY(pm_engine_file_facts(fd, path, &now, error));
    if (part->has_file && pm_engine_same_file(&part->file, &now)) {
        return PM_OK;
    }
    PM_TRY(
        pm_engine_file_digest(fd, path, now.n_bytes, digest, sizeof digest, head, control, error));
    if (memcmp(digest, part->digest, sizeof digest) != 0) {
        pm_error_set(error, PM_FILE_CHANGED, "the input is not what it was when it was submitted");
        pm_error_at(error, path, PM_NO_OFFSET);
        return PM_FILE_CHANGED;
    }
    part->file = now;
    part->has_file = true;
    return PM_OK;
}

static pm_status find_path(struct pm_engine *engine, const struct engine_part *part, char *path,
                           size_t path_bytes, pm_error *error) {
    if (part->is_stored) {
        return pm_journal_stored_path(engine->journal, part->path, path, path_bytes, error);
    }
    (void)snprintf(path, path_bytes, "%s", part->path);
    return PM_OK;
}

static pm_status open_path(struct pm_engine *engine, pm_context *context, struct engine_part *part,
                           const pm_control *control, pm_error *error) {
    char path[2 * PM_ENGINE_PATH_BYTES], held[64];
    struct pm_journal_file after;
    PM_TRY(find_path(engine, part, path, sizeof path, error));
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "the input cannot be opened");
    }
    /* The same file, whatever has its name by now. */
    (void)snprintf(held, sizeof held, "/proc/self/fd/%d", fd);
    pm_status status = check_unchanged(fd, path, part, control, error);
    if (status == PM_OK) {
        status = part->is_assignment
                     ? pm_assignment_file_open(held, control, &part->assignment, error)
                     : pm_witness_open(context, held, control, &part->witness, error);
    }
    if (status == PM_OK) {
        status = pm_engine_file_facts(fd, path, &after, error);
    }
    if (status == PM_OK && !pm_engine_same_file(&part->file, &after)) {
        status = pm_error_set(error, PM_FILE_CHANGED, "the input changed while it was read");
    }
    (void)close(fd);
    if (status != PM_OK) {
        pm_error_at(error, path, PM_NO_OFFSET);
        pm_engine_close_input(engine, part);
    }
    return status;
}

pm_status pm_engine_open_input(struct pm_engine *engine, pm_context *context,
                               struct engine_part *part, const pm_control *control,
                               pm_error *error) {
    pm_engine_close_input(engine, part);
    if (part->bytes != NULL) {
        return pm_witness_open_memory(context, part->bytes, part->n_bytes, "input", control,
                                      &part->witness, error);
    }
    return open_path(engine, context, part, control, error);
}

pm_status pm_engine_find_shape(struct pm_engine *engine, struct engine_part *part,
                               pm_error *error) {
    char path[2 * PM_ENGINE_PATH_BYTES];
    PM_TRY(find_path(engine, part, path, sizeof path, error));
    return read_shape(path, part, error);
}

pm_status pm_engine_read_publics(struct engine_part *part, uint32_t n, uint8_t *out,
                                 pm_error *error) {
    if (part->witness != NULL) {
        PM_FAIL_IF(pm_witness_values(part->witness, 1, n, out) != PM_OK, error, PM_WITNESS_MISMATCH,
                   "the witness has fewer values than the key has public "
                   "signals");
        return PM_OK;
    }
    pm_assignment assignment = {.struct_bytes = sizeof assignment};
    PM_TRY(pm_assignment_file_get(part->assignment, &assignment, error));
    PM_FAIL_IF(assignment.n_inputs != (uint64_t)n + 1, error, PM_COUNT,
               "the assignment has %llu inputs, the key %u",
               (unsigned long long)assignment.n_inputs, n + 1);
    const uint8_t *inputs = assignment.inputs;
    for (uint32_t i = 0; i < n; ++i) {
        const uint8_t *value = inputs + ((size_t)i + 1) * PM_FR_BYTES;
        uint8_t *canonical = out + (size_t)i * PM_FR_BYTES;
        if (assignment.form == PM_SCALAR_MONTGOMERY) {
            PM_TRY(pm_engine_from_montgomery(assignment.curve, value, canonical, error));
        } else {
            memcpy(canonical, value, PM_FR_BYTES);
        }
    }
    return PM_OK;
}

void pm_engine_close_input(struct pm_engine *engine, struct engine_part *part) {
    pm_witness_destroy_by(engine != NULL ? engine->host : NULL, part->witness);
    pm_assignment_file_destroy(part->assignment);
    part->witness = NULL;
    part->assignment = NULL;
}

void pm_engine_forget_input(struct pm_engine *engine, struct engine_part *part) {
    if (part->is_stored) {
        if (engine->journal != NULL && part->path != NULL) {
            pm_journal_wipe(engine->journal, part->path);
        }
        pm_engine_lock(engine);
        engine->stored_bytes -= part->n_bytes;
        pm_engine_unlock(engine);
        part->is_stored = false;
    }
    pm_memory_free(part->bytes);
    pm_memory_free(part->path);
    part->bytes = NULL;
    part->path = NULL;
}
