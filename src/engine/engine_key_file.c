/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Keys come from their files and leave again: what chores do. */
#include "engine/engine_internal.h"

#include "base/blake2b.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define PIECE_BYTES (UINT64_C(1) << 20)
/* What is no more than this is not reserved for opening a key. */
#define TOO_FEW_BYTES (UINT64_C(64) << 10)

/* ---- Files ---------------------------------------------------------------------------------- */

pm_status pm_engine_file_facts(int fd, const char *path, struct pm_journal_file *file,
                               pm_error *error) {
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "the file cannot be looked at");
    }
    if (!S_ISREG(facts.st_mode)) {
        pm_error_set(error, PM_IO, "it is not a regular file, so it could not be read again");
        pm_error_at(error, path, PM_NO_OFFSET);
        return PM_IO;
    }
    *file = (struct pm_journal_file){
        .device = (uint64_t)facts.st_dev,
        .inode = (uint64_t)facts.st_ino,
        .n_bytes = (uint64_t)facts.st_size,
        .modified_ns = (int64_t)facts.st_mtim.tv_sec * SECOND + facts.st_mtim.tv_nsec,
        .changed_ns = (int64_t)facts.st_ctim.tv_sec * SECOND + facts.st_ctim.tv_nsec};
    return PM_OK;
}

/* Files are named by callers: none may hold a thread, as opening a FIFO would, and a pseudo-file
 * says that it is empty, whatever reading it does. */
pm_status pm_engine_open_file(const char *path, const char *refusal, int *fd,
                              struct pm_journal_file *file, pm_error *error) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, refusal);
    }
    pm_status status = pm_engine_file_facts(*fd, path, file, error);
    if (status == PM_OK && file->n_bytes == 0) {
        status = pm_error_set(error, PM_TRUNCATED, "the file is empty");
        pm_error_at(error, path, PM_NO_OFFSET);
    }
    if (status != PM_OK) {
        (void)close(*fd);
    }
    return status;
}

pm_status pm_engine_check_r1cs(const struct engine_key *key, pm_error *error) {
    struct pm_journal_file file = {0};
    int fd = -1;
    if (key->r1cs_path[0] == '\0') {
        return PM_OK;
    }
    PM_TRY(pm_engine_open_file(key->r1cs_path, "the constraint system cannot be opened", &fd, &file,
                               error));
    (void)close(fd);
    return PM_OK;
}

bool pm_engine_same_file(const struct pm_journal_file *a, const struct pm_journal_file *b) {
    return a->device == b->device && a->inode == b->inode && a->n_bytes == b->n_bytes &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

/* Bytes at an offset, so many or up to the end. */
static pm_status read_piece(int fd, const char *path, uint64_t offset, uint8_t *bytes,
                            size_t n_bytes, size_t *n_read, pm_error *error) {
    *n_read = 0;
    while (*n_read < n_bytes) {
        const ssize_t n = pread(fd, bytes + *n_read, n_bytes - *n_read, (off_t)(offset + *n_read));
        if (n < 0 && errno != EINTR) {
            return pm_error_set_errno(error, PM_IO, errno, path, "the file cannot be read");
        }
        if (n == 0) {
            break;
        }
        *n_read += n > 0 ? (size_t)n : 0;
    }
    return PM_OK;
}

pm_status pm_engine_file_digest(int fd, const char *path, uint64_t n_bytes, uint8_t *digest,
                                size_t digest_bytes, uint8_t head[16], const pm_control *control,
                                pm_error *error) {
    struct pm_blake2b state;
    void *piece = NULL;
    pm_status status = PM_OK;
    /* What is read may be a witness. */
    PM_TRY(pm_memory_alloc(NULL, "piece of a file", PIECE_BYTES, PM_MEMORY_SECRET, &piece, error));
    pm_blake2b_init(&state, digest_bytes);
    memset(head, 0, 16);
    for (uint64_t offset = 0; offset < n_bytes && status == PM_OK;) {
        const uint64_t left = n_bytes - offset;
        size_t n = 0;
        status = pm_control_check(control, error);
        if (status == PM_OK) {
            status = read_piece(fd, path, offset, piece,
                                left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, &n, error);
        }
        if (status == PM_OK && n == 0) {
            status = pm_error_set(error, PM_FILE_CHANGED, "the file shrank while it was read");
            pm_error_at(error, path, offset);
        }
        if (status == PM_OK && offset == 0) {
            memcpy(head, piece, n < 16 ? n : 16);
        }
        if (status == PM_OK) {
            pm_blake2b_update(&state, piece, n);
            offset += n;
        }
    }
    pm_blake2b_final(&state, digest);
    pm_memory_free(piece);
    return status;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* The file must be the one that was registered: the same bytes, if not the same file. */
static pm_status check_file(struct engine_key *key, const pm_control *control, pm_error *error) {
    struct pm_journal_file now;
    uint8_t digest[PM_JOURNAL_KEY_DIGEST_BYTES], head[16];
    int fd = -1;
    PM_TRY(pm_engine_check_r1cs(key, error));
    PM_TRY(pm_engine_open_file(key->path, "the key cannot be opened", &fd, &now, error));
    pm_status status = PM_OK;
    if (!pm_engine_same_file(&now, &key->file)) {
        status = pm_engine_file_digest(fd, key->path, now.n_bytes, digest, sizeof digest, head,
                                       control, error);
        if (status == PM_OK && memcmp(digest, key->digest, sizeof digest) != 0) {
            status = pm_error_set(error, PM_FILE_CHANGED,
                                  "the key's file is not the one that was registered: register it "
                                  "again, if that was meant");
            pm_error_at(error, key->path, PM_NO_OFFSET);
        }
        if (status == PM_OK) {
            key->file = now;
        }
    }
    (void)close(fd);
    return status;
}

pm_status pm_engine_open_key_file(struct pm_engine *engine, struct engine_key *key,
                                  const pm_control *control, pm_key **open, pm_error *error) {
    const pm_key_options options = {.struct_bytes = sizeof options, .check = key->check};
    pm_file_info *info;
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "description of a file", sizeof *info, PM_MEMORY_PLAIN, &buffer,
                           error));
    info = buffer;
    info->struct_bytes = sizeof *info;
    pm_status status = pm_file_describe(engine->host, key->path, 0, control, info, error);
    if (status == PM_OK) {
        key->is_params = info->kind == PM_FILE_PARAMS;
        status = key->is_params
                     ? pm_key_open_params(engine->host, key->path,
                                          key->r1cs_path[0] != '\0' ? key->r1cs_path : NULL,
                                          &options, control, open, error)
                     : pm_key_open(engine->host, key->path, &options, control, open, error);
    }
    pm_memory_free(buffer);
    return status;
}

/* ---- What opening takes --------------------------------------------------------------------- */

static pm_status describe(struct pm_engine *engine, const char *path, const pm_control *control,
                          pm_file_info *info, pm_error *error) {
    memset(info, 0, sizeof *info);
    info->struct_bytes = sizeof *info;
    return pm_file_describe(engine->host, path, 0, control, info, error);
}

/*
 * At its most. Points of bellman's parameters are as large in memory as in the file. Of the
 * constraint system each term becomes a column and the number of its coefficient, and coefficients
 * that differ are kept once, in tables that grow by doubling: twice the file has room for that.
 * Then roots of unity, and two bits a variable; of a .zkey there is no more than these, as its
 * points are mapped and the pages of a file are the kernel's.
 */
static pm_status find_opening_bytes(struct pm_engine *engine, const struct engine_key *key,
                                    const pm_control *control, uint64_t *bytes, pm_error *error) {
    void *buffer = NULL;
    *bytes = 0;
    PM_TRY(pm_memory_alloc(NULL, "description of a file", sizeof(pm_file_info), PM_MEMORY_PLAIN,
                           &buffer, error));
    pm_file_info *info = buffer;
    pm_status status = describe(engine, key->path, control, info, error);
    const bool is_params = info->kind == PM_FILE_PARAMS;
    const uint64_t n = is_params ? (uint64_t)info->n_h + 1 : UINT64_C(1) << (info->log_n & 63);
    *bytes = n / 2 * PM_FR_BYTES + info->n_vars / 4 + (is_params ? info->parameters_bytes : 0);
    if (status == PM_OK && is_params && key->r1cs_path[0] != '\0') {
        status = describe(engine, key->r1cs_path, control, info, error);
        *bytes += 2 * info->file_bytes;
    }
    pm_memory_free(buffer);
    return status;
}

/* Under the lock, which is given up while it waits. */
static pm_status wait_for_room(struct pm_engine *engine, uint32_t place, const pm_control *control,
                               pm_error *error) {
    PM_TRY(pm_sched_preload(&engine->sched, place, error));
    pm_engine_pump(engine);
    while (engine->sched_keys[place].process.residency != PM_LOADING) {
        PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
        PM_TRY(pm_control_check(control, error));
        (void)pm_engine_wait_changed(engine, pm_engine_until_ns(PM_ENGINE_LOOK_MS));
    }
    return PM_OK;
}

pm_status pm_engine_reserve_opening(struct pm_engine *engine, const struct engine_key *key,
                                    const pm_control *control, uint32_t *place, pm_error *error) {
    uint64_t bytes[PM_SCHED_KINDS] = {0};
    const uint64_t load_ns[2] = {0};
    *place = PM_SCHED_NONE;
    PM_TRY(find_opening_bytes(engine, key, control, &bytes[PM_KIND_HOST], error));
    if (bytes[PM_KIND_HOST] <= TOO_FEW_BYTES) {
        return PM_OK;
    }
    pm_engine_lock(engine);
    /* To the scheduler it is a key that somebody wishes to have, and that never arrives. */
    pm_status status = pm_sched_add_key(&engine->sched, bytes, load_ns, place, error);
    if (status == PM_OK) {
        status = wait_for_room(engine, *place, control, error);
    }
    if (status != PM_OK && *place != PM_SCHED_NONE) {
        (void)pm_sched_remove_key(&engine->sched, *place, NULL);
        *place = PM_SCHED_NONE;
    }
    pm_engine_unlock(engine);
    return status;
}

void pm_engine_give_back_opening(struct pm_engine *engine, uint32_t place) {
    if (place != PM_SCHED_NONE) {
        pm_engine_lock(engine);
        (void)pm_sched_key_loaded(&engine->sched, place, PM_SCHED_NONE, PM_CANCELLED,
                                  pm_engine_now_ns(engine), NULL);
        (void)pm_sched_remove_key(&engine->sched, place, NULL);
        pm_engine_pump(engine);
        pm_engine_unlock(engine);
    }
}

/* ---- Loading -------------------------------------------------------------------------------- */

static pm_status load(struct pm_engine *engine, struct engine_key *key, pm_key **open, pm_vk **vk,
                      pm_error *error) {
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &engine->stop};
    PM_TRY(check_file(key, &control, error));
    PM_TRY(pm_engine_open_key_file(engine, key, &control, open, error));
    const pm_status status = pm_vk_from_key(engine->host, *open, vk, error);
    if (status != PM_OK) {
        pm_key_destroy(*open);
        *open = NULL;
    }
    return status;
}

/* Jobs that were admitted and wait for it: that was their time for the key. */
static void note_wait(struct pm_engine *engine, const struct engine_key *key, uint64_t took_ns) {
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        if (task->used && task->uses_key && task->state == PM_JOB_ADMITTED &&
            engine->live[task->job]->key == key) {
            engine->live[task->job]->stage_ns[PM_ENGINE_STAGE_KEY] = took_ns;
        }
    }
}

void pm_engine_load_key(struct pm_engine *engine, uint32_t index) {
    struct engine_key *key = engine->keys[index];
    pm_error error = PM_ERROR_INIT;
    pm_key *open = NULL;
    pm_vk *vk = NULL;
    const uint64_t began_ns = pm_clock_now_ns();
    if (engine->hooks.opening != NULL) {
        engine->hooks.opening(engine->hooks.user);
    }
    const pm_status status = load(engine, key, &open, &vk, &error);
    const uint64_t took_ns = pm_clock_now_ns() - began_ns;
    pm_engine_lock(engine);
    key->key = open;
    key->vk = vk;
    key->status = status;
    ++key->n_load_ends;
    note_wait(engine, key, took_ns);
    if (status == PM_OK) {
        key->message[0] = '\0';
        key->load_ns = took_ns;
        key->warm_since_ns = pm_clock_now_ns();
        ++key->n_loads;
        ++engine->metrics.n_key_loads;
        pm_engine_measure(engine, PM_ENGINE_STAGE_KEY, took_ns);
    } else {
        (void)snprintf(key->message, sizeof key->message, "the key \"%s\": %.100s", key->name,
                       error.message);
        pm_engine_say(engine, PM_LOG_WARNING, "%s", key->message);
    }
    pm_engine_event_key(engine, key, status == PM_OK ? PM_ENGINE_WARM : PM_ENGINE_COLD, -1, status);
    (void)pm_sched_key_loaded(&engine->sched, index, PM_SCHED_NONE, status,
                              pm_engine_now_ns(engine), NULL);
    if (status != PM_OK) {
        pm_engine_settle_all(engine);
    }
    pm_engine_pump(engine);
    pm_engine_unlock(engine);
}

/* The first proof there brings it; its bytes are reserved from now on. */
void pm_engine_load_on_device(struct pm_engine *engine, uint32_t index, uint32_t device) {
    pm_engine_lock(engine);
    struct engine_key *key = engine->keys[index];
    const pm_status status = key->key != NULL       ? PM_OK
                             : key->status != PM_OK ? key->status
                                                    : PM_INTERNAL;
    key->hot_since_ns[device] = pm_clock_now_ns();
    pm_engine_event_key(engine, key, status == PM_OK ? PM_ENGINE_HOT : PM_ENGINE_COLD,
                        (int32_t)device, status);
    (void)pm_sched_key_loaded(&engine->sched, index, device, status, pm_engine_now_ns(engine),
                              NULL);
    if (status != PM_OK) {
        pm_engine_settle_all(engine);
    }
    pm_engine_pump(engine);
    pm_engine_unlock(engine);
}

pm_status pm_engine_begin_evict(struct pm_engine *engine, uint32_t index, uint32_t device,
                                pm_error *error) {
    const struct pm_sched_decision decision = {.action = PM_SCHED_EVICT,
                                               .task = PM_SCHED_NONE,
                                               .key = index,
                                               .device = device,
                                               .worker = PM_SCHED_NONE};
    PM_TRY(pm_sched_apply(&engine->sched, &decision, pm_engine_now_ns(engine), error));
    pm_engine_add_chore(engine, CHORE_EVICT, index, device);
    return PM_OK;
}

void pm_engine_drop_key(struct pm_engine *engine, uint32_t index, uint32_t device) {
    struct engine_key *key = engine->keys[index];
    if (device != PM_SCHED_NONE) {
        (void)pm_key_leave_devices(key->key);
    } else {
        pm_vk_destroy(key->vk);
        pm_key_destroy(key->key);
    }
    pm_engine_lock(engine);
    if (device == PM_SCHED_NONE) {
        key->vk = NULL;
        key->key = NULL;
        ++key->n_evictions;
        ++engine->metrics.n_key_evictions;
    }
    pm_engine_event_key(engine, key, device != PM_SCHED_NONE ? PM_ENGINE_WARM : PM_ENGINE_COLD,
                        device != PM_SCHED_NONE ? (int32_t)device : -1, PM_OK);
    (void)pm_sched_key_evicted(&engine->sched, index, device, NULL);
    pm_engine_pump(engine);
    pm_engine_unlock(engine);
}

pm_status pm_engine_leave_device(struct pm_engine *engine, uint32_t device, pm_error *error) {
    for (bool is_empty = false; !is_empty;) {
        is_empty = engine->n_undropped == 0; /* they need their device's context */
        PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
        for (uint32_t k = 0; k < PM_ENGINE_KEYS_MAX; ++k) {
            const struct pm_sched_place *copy = &engine->sched_keys[k].devices[device];
            if (engine->keys[k] == NULL || copy->residency == PM_COLD) {
                continue;
            }
            PM_FAIL_IF(copy->n_users != 0, error, PM_BUDGET_BUSY, "proofs on %s have not ended yet",
                       engine->devices[device].name);
            if (copy->residency == PM_RESIDENT) {
                PM_TRY(pm_engine_begin_evict(engine, k, device, error));
            }
            is_empty = false;
        }
        if (!is_empty) {
            (void)pm_engine_wait_changed(engine, 0);
        }
    }
    return PM_OK;
}
