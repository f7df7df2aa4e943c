/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/characters.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct engine_key *pm_engine_find_key(struct pm_engine *engine, const char *name) {
    for (uint32_t k = 0; name != NULL && k < PM_ENGINE_KEYS_MAX; ++k) {
        struct engine_key *key = engine->keys[k];
        if (key != NULL && strcmp(key->name, name) == 0) {
            return key;
        }
    }
    return NULL;
}

static pm_status no_such_key(const char *name, pm_error *error) {
    return pm_error_set(error, PM_INVALID_ARGUMENT, "there is no key named \"%.60s\"",
                        name != NULL ? name : "");
}

/* ---- Registering ---------------------------------------------------------------------------- */

static pm_status check_name(const char *name, pm_error *error) {
    const size_t length = name == NULL ? 0 : strlen(name);
    PM_FAIL_IF(length == 0 || length >= PM_ENGINE_NAME_BYTES, error, PM_INVALID_ARGUMENT,
               "a key's name has 1 to %d characters", PM_ENGINE_NAME_BYTES - 1);
    PM_FAIL_IF(!pm_is_name(name, length), error, PM_INVALID_ARGUMENT,
               "a key's name has letters, digits and -_.: alone");
    return PM_OK;
}

static pm_status copy_path(char out[PM_ENGINE_PATH_BYTES], const char *path, pm_error *error) {
    const size_t length = strlen(path);
    PM_FAIL_IF(length == 0 || length >= PM_ENGINE_PATH_BYTES, error, PM_INVALID_ARGUMENT,
               "a path has 1 to %d bytes", PM_ENGINE_PATH_BYTES - 1);
    memcpy(out, path, length + 1);
    return PM_OK;
}

/* known: a key whose digest may be this file's; NULL: none. */
static pm_status find_digest(struct engine_key *made, const uint8_t *given,
                             const struct engine_key *known, const pm_control *control,
                             pm_error *error) {
    uint8_t head[16];
    int fd = -1;
    PM_TRY(pm_engine_check_r1cs(made, error));
    PM_TRY(pm_engine_open_file(made->path, "the key cannot be opened", &fd, &made->file, error));
    pm_status status = PM_OK;
    if (given != NULL) {
        memcpy(made->digest, given, sizeof made->digest);
    } else if (known != NULL && strcmp(known->path, made->path) == 0 &&
               pm_engine_same_file(&known->file, &made->file)) {
        memcpy(made->digest, known->digest, sizeof made->digest);
    } else {
        status = pm_engine_file_digest(fd, made->path, made->file.n_bytes, made->digest,
                                       sizeof made->digest, head, control, error);
    }
    (void)close(fd);
    return status;
}

static void take_sizes(struct engine_key *made) {
    const pm_key_facts *facts = &made->facts;
    made->bytes = facts->memory_bytes + facts->mapped_bytes;
    made->is_streamed = false;
}

/* A mapped key that leaves no room for its own proofs is not kept: its pages go behind the reader.
 */
static pm_status plan_proofs(struct pm_engine *engine, struct engine_key *made, const pm_key *key,
                             pm_error *error) {
    const uint64_t total_bytes = engine->sched.total_bytes[PM_POOL_HOST];
    const uint32_t shape = pm_engine_usual_shape(made);
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX];
    take_sizes(made);
    if (made->bytes < total_bytes) {
        PM_TRY(pm_engine_make_curves(engine, made, key, shape, error));
        const uint32_t n = pm_engine_variants(engine, made, shape, variants);
        for (uint32_t v = 0; v < n; ++v) {
            uint64_t need[PM_SCHED_KINDS];
            pm_sched_curve_remaining(variants[v].curve, 0, need);
            if (need[PM_KIND_HOST] <= total_bytes - made->bytes) {
                return PM_OK;
            }
        }
    }
    if (made->facts.mapped_bytes != 0 && !made->is_params) {
        pm_engine_free_curves(made);
        made->bytes = made->facts.memory_bytes;
        made->is_streamed = true;
    }
    return pm_engine_make_curves(engine, made, key, shape, error);
}

static pm_status open_to_plan(struct pm_engine *engine, struct engine_key *made,
                              const pm_control *control, pm_error *error) {
    pm_key *key = NULL;
    PM_TRY(pm_engine_open_key_file(engine, made, control, &key, error));
    made->facts.struct_bytes = sizeof made->facts;
    pm_status status = pm_key_get_facts(key, &made->facts);
    if (status == PM_OK && !made->facts.has_ic) {
        status = pm_error_set(error, PM_SECTION,
                              "the key has no verifying key in it (IC), so its proofs could not be "
                              "verified before they are given out");
    }
    if (status == PM_OK) {
        status = plan_proofs(engine, made, key, error);
    }
    pm_key_destroy(key);
    return status;
}

static pm_status open_once(struct pm_engine *engine, struct engine_key *made,
                           const pm_control *control, pm_error *error) {
    uint32_t place;
    PM_TRY(pm_engine_reserve_opening(engine, made, control, &place, error));
    const pm_status status = open_to_plan(engine, made, control, error);
    pm_engine_give_back_opening(engine, place);
    return status;
}

static void fill_journal_key(const struct engine_key *key, struct pm_journal_key *record) {
    *record =
        (struct pm_journal_key){.name = key->name,
                                .path = key->path,
                                .r1cs_path = key->r1cs_path[0] != '\0' ? key->r1cs_path : NULL,
                                .check = key->check,
                                .file = key->file};
    memcpy(record->digest, key->digest, sizeof record->digest);
}

static pm_status enter_key(struct pm_engine *engine, struct engine_key *made, pm_error *error) {
    const uint64_t bytes[PM_SCHED_KINDS] = {
        [PM_KIND_HOST] = made->bytes, [PM_KIND_DEVICE] = made->device_bytes};
    const uint64_t load_ns[2] = {made->load_ns, 0};
    PM_TRY(pm_sched_add_key(&engine->sched, bytes, load_ns, &made->index, error));
    if (made->index >= PM_ENGINE_KEYS_MAX) {
        (void)pm_sched_remove_key(&engine->sched, made->index, NULL);
        PM_FAIL(error, PM_COUNT, "more than %d keys", PM_ENGINE_KEYS_MAX);
    }
    engine->keys[made->index] = made;
    return PM_OK;
}

static void free_key(struct engine_key *key) {
    if (key != NULL) {
        pm_engine_free_curves(key);
        pm_vk_destroy(key->vk);
        pm_key_destroy(key->key);
        pm_memory_free(key);
    }
}

static pm_status make_key(const pm_engine_key *asked, struct engine_key **key, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(check_name(asked->name, error));
    PM_FAIL_IF(asked->path == NULL, error, PM_INVALID_ARGUMENT, "path is NULL");
    PM_FAIL_IF(asked->check > PM_CHECK_FULL, error, PM_INVALID_ARGUMENT,
               "check %u is not a pm_check", asked->check);
    PM_TRY(pm_memory_alloc(NULL, "key of the engine", sizeof(struct engine_key), PM_MEMORY_PLAIN,
                           &buffer, error));
    struct engine_key *made = buffer;
    (void)snprintf(made->name, sizeof made->name, "%s", asked->name);
    made->check = asked->check;
    pm_status status = copy_path(made->path, asked->path, error);
    if (status == PM_OK && asked->r1cs_path != NULL) {
        status = copy_path(made->r1cs_path, asked->r1cs_path, error);
    }
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    *key = made;
    return PM_OK;
}

/* Under the lock. Takes the old key of the name away, if nobody uses it: it is the caller's, who
 * puts it back when the journal does not follow. */
static pm_status take_key(struct pm_engine *engine, struct engine_key *old,
                          const pm_control *control, pm_error *error) {
    PM_FAIL_IF(old->n_jobs != 0, error, PM_BUDGET_BUSY,
               "the key \"%s\" is used by %u jobs, so it cannot be replaced now", old->name,
               old->n_jobs);
    PM_TRY(pm_engine_evict_all(engine, old->name, 0, control, error));
    PM_TRY(pm_sched_remove_key(&engine->sched, old->index, error));
    engine->keys[old->index] = NULL;
    return PM_OK;
}

/* Under the lock. Its place cannot have been taken: keys are entered one at a time. */
static void put_key_back(struct pm_engine *engine, struct engine_key *old) {
    if (enter_key(engine, old, NULL) != PM_OK) {
        free_key(old);
    }
}

static bool has_place(const struct pm_engine *engine) {
    uint32_t k = 0;
    while (k < PM_ENGINE_KEYS_MAX && engine->keys[k] != NULL) {
        ++k;
    }
    return k < PM_ENGINE_KEYS_MAX;
}

/* One whose file was written to in place is opened anew, even when it has the same bytes again:
 * proofs are refused as long as its file is not the one that was opened. */
static bool is_the_same(const struct engine_key *a, const struct engine_key *b) {
    const bool is_written =
        a->file.device == b->file.device && a->file.inode == b->file.inode &&
        (a->file.n_bytes != b->file.n_bytes || a->file.modified_ns != b->file.modified_ns);
    return !is_written && strcmp(a->path, b->path) == 0 &&
           strcmp(a->r1cs_path, b->r1cs_path) == 0 &&
           memcmp(a->digest, b->digest, sizeof a->digest) == 0 && a->check == b->check;
}

/* Whether a proof with it fits beside it, on any device; else why not, with the numbers. */
static pm_status check_fits(const struct pm_engine *engine, const struct engine_key *key,
                            pm_error *error) {
    const uint64_t total_bytes = engine->sched.total_bytes[PM_POOL_HOST];
    const uint32_t shape = pm_engine_usual_shape(key);
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX];
    const uint32_t n = pm_engine_variants(engine, key, shape, variants);
    uint64_t least_bytes = UINT64_MAX;
    if (n == 0) {
        return pm_engine_no_curve(&key->curves[shape], error);
    }
    for (uint32_t v = 0; v < n; ++v) {
        uint64_t need[PM_SCHED_KINDS];
        pm_sched_curve_remaining(variants[v].curve, 0, need);
        least_bytes = need[PM_KIND_HOST] < least_bytes ? need[PM_KIND_HOST] : least_bytes;
    }
    if (key->bytes <= total_bytes && least_bytes <= total_bytes - key->bytes) {
        return PM_OK;
    }
    pm_error_set(error, PM_OVER_BUDGET,
                 "the key \"%s\" takes %llu bytes and a proof with it %llu, together more than the "
                 "budget of %llu bytes",
                 key->name, (unsigned long long)key->bytes, (unsigned long long)least_bytes,
                 (unsigned long long)total_bytes);
    pm_error_need_have(error, key->bytes + least_bytes, total_bytes);
    return PM_OVER_BUDGET;
}

/* In its turn, so that the key that is found stays. */
static pm_status register_key(struct pm_engine *engine, const pm_engine_key *asked,
                              struct engine_key **made, const pm_control *control,
                              pm_error *error) {
    struct pm_journal_key record;
    pm_engine_lock(engine);
    struct engine_key *old = pm_engine_find_key(engine, (*made)->name);
    const bool is_one_too_many = old == NULL && !has_place(engine);
    pm_engine_unlock(engine);
    PM_FAIL_IF(is_one_too_many, error, PM_COUNT, "more than %d keys", PM_ENGINE_KEYS_MAX);
    PM_TRY(find_digest(*made, asked->digest, old, control, error));
    if (old != NULL && is_the_same(old, *made)) {
        return PM_OK;
    }
    PM_TRY(open_once(engine, *made, control, error));
    if (asked->must_fit != 0) {
        PM_TRY(check_fits(engine, *made, error));
    }
    pm_engine_lock(engine);
    pm_status status = old != NULL ? take_key(engine, old, control, error) : PM_OK;
    if (status != PM_OK) {
        pm_engine_unlock(engine);
        return status;
    }
    fill_journal_key(*made, &record);
    pm_engine_unlock(engine);
    if (engine->journal != NULL) {
        status = pm_journal_keep_key(engine->journal, &record, error);
    }
    pm_engine_lock(engine);
    if (status == PM_OK) {
        status = enter_key(engine, *made, error);
    }
    if (status == PM_OK) {
        *made = NULL; /* the registry's */
        free_key(old);
    } else if (old != NULL) {
        put_key_back(engine, old);
    }
    pm_engine_unlock(engine);
    return status;
}

/* Under the lock, which is given up while others have their turn. */
static pm_status take_turn(struct pm_engine *engine, const pm_control *control, pm_error *error) {
    while (engine->is_registering) {
        PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
        PM_TRY(pm_control_check(control, error));
        (void)pm_engine_wait_changed(engine, pm_engine_until_ns(PM_ENGINE_LOOK_MS));
    }
    engine->is_registering = true;
    return PM_OK;
}

static void end_turn(struct pm_engine *engine) {
    engine->is_registering = false;
    (void)pthread_cond_broadcast(&engine->changed);
}

pm_status pm_engine_key_register(pm_engine *engine, const pm_engine_key *key,
                                 const pm_control *control, pm_error *error) {
    PM_FAIL_IF(engine == NULL || key == NULL, error, PM_INVALID_ARGUMENT, "engine or key is NULL");
    pm_engine_key known = {0};
    struct engine_key *made = NULL;
    memcpy(&known, key, key->struct_bytes < sizeof known ? key->struct_bytes : sizeof known);
    PM_TRY(make_key(&known, &made, error));
    pm_engine_lock(engine);
    pm_status status = take_turn(engine, control, error);
    pm_engine_unlock(engine);
    if (status == PM_OK) {
        status = register_key(engine, &known, &made, control, error);
        pm_engine_lock(engine);
        end_turn(engine);
        pm_engine_unlock(engine);
    }
    free_key(made);
    return status;
}

pm_status pm_engine_restore_key(struct pm_engine *engine, const struct pm_journal_key *key,
                                const pm_control *control, pm_error *error) {
    const pm_engine_key asked = {
        .name = key->name, .path = key->path, .r1cs_path = key->r1cs_path, .check = key->check};
    struct engine_key *made = NULL, known;
    PM_TRY(make_key(&asked, &made, error));
    memset(&known, 0, sizeof known);
    (void)snprintf(known.path, sizeof known.path, "%s", key->path);
    known.file = key->file;
    memcpy(known.digest, key->digest, sizeof known.digest);
    pm_status status = find_digest(made, NULL, &known, control, error);
    if (status == PM_OK && memcmp(made->digest, key->digest, sizeof made->digest) != 0) {
        status = pm_error_set(error, PM_FILE_CHANGED,
                              "the key's file is not the one that was registered");
        pm_error_at(error, made->path, PM_NO_OFFSET);
    }
    if (status == PM_OK) {
        status = open_once(engine, made, control, error);
    }
    if (status == PM_OK) {
        status = enter_key(engine, made, error);
    }
    if (status != PM_OK) {
        free_key(made);
    }
    return status;
}

void pm_engine_close_keys(struct pm_engine *engine) {
    for (uint32_t k = 0; k < PM_ENGINE_KEYS_MAX; ++k) {
        free_key(engine->keys[k]);
    }
}

/* ---- Wishes of an operator ------------------------------------------------------------------ */

/* Why a wait ended that was not long enough; OK: it may go on. */
static pm_status may_wait(const struct pm_engine *engine, uint64_t until_ns, pm_error *error) {
    PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
    PM_FAIL_IF(until_ns != 0 && pm_clock_now_ns() >= until_ns, error, PM_DEADLINE,
               "it took longer than was allowed");
    return PM_OK;
}

/* Under the lock. */
static pm_status preload(struct pm_engine *engine, const char *name, uint64_t until_ns,
                         int *already, pm_error *error) {
    struct engine_key *key = pm_engine_find_key(engine, name);
    if (key == NULL) {
        return no_such_key(name, error);
    }
    const uint64_t n_ends = key->n_load_ends;
    if (already != NULL) {
        *already = engine->sched_keys[key->index].process.residency == PM_RESIDENT;
    }
    for (;;) {
        key = pm_engine_find_key(engine, name);
        if (key == NULL) {
            return no_such_key(name, error);
        }
        if (engine->sched_keys[key->index].process.residency == PM_RESIDENT) {
            return PM_OK;
        }
        if (key->n_load_ends != n_ends && key->status != PM_OK) {
            return pm_error_set(error, key->status, "%s", key->message);
        }
        PM_TRY(may_wait(engine, until_ns, error));
        PM_TRY(pm_sched_preload(&engine->sched, key->index, error));
        pm_engine_pump(engine);
        (void)pm_engine_wait_changed(engine, until_ns);
    }
}

pm_status pm_engine_key_preload(pm_engine *engine, const char *name, uint64_t timeout_ms,
                                int *already, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    pm_engine_lock(engine);
    const pm_status status = preload(engine, name, pm_engine_until_ns(timeout_ms), already, error);
    pm_engine_unlock(engine);
    return status;
}

/* Asks it to leave the devices, then the process. */
static pm_status ask_to_leave(struct pm_engine *engine, const struct engine_key *key,
                              pm_error *error) {
    const struct pm_sched_key *scheduled = &engine->sched_keys[key->index];
    PM_FAIL_IF(scheduled->process.n_users != 0, error, PM_BUDGET_BUSY,
               "the key \"%s\" is used by %u proofs", key->name, scheduled->process.n_users);
    bool is_on_device = false;
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        is_on_device |= scheduled->devices[d].residency != PM_COLD;
    }
    if (is_on_device || scheduled->process.residency != PM_RESIDENT) {
        for (uint32_t d = 0; d < engine->n_devices; ++d) {
            if (scheduled->devices[d].residency == PM_RESIDENT) {
                PM_TRY(pm_engine_begin_evict(engine, key->index, d, error));
            }
        }
        return PM_OK;
    }
    return pm_engine_begin_evict(engine, key->index, PM_SCHED_NONE, error);
}

pm_status pm_engine_evict_all(struct pm_engine *engine, const char *name, uint64_t until_ns,
                              const pm_control *control, pm_error *error) {
    for (;;) {
        const uint64_t look_ns = pm_engine_until_ns(PM_ENGINE_LOOK_MS);
        struct engine_key *key = pm_engine_find_key(engine, name);
        if (key == NULL) {
            return no_such_key(name, error);
        }
        engine->sched_keys[key->index].wanted = false;
        if (engine->sched_keys[key->index].process.residency == PM_COLD) {
            return PM_OK;
        }
        PM_TRY(may_wait(engine, until_ns, error));
        PM_TRY(pm_control_check(control, error));
        PM_TRY(ask_to_leave(engine, key, error));
        (void)pthread_cond_broadcast(&engine->work);
        const bool looks = control != NULL && (until_ns == 0 || look_ns < until_ns);
        (void)pm_engine_wait_changed(engine, looks ? look_ns : until_ns);
    }
}

pm_status pm_engine_key_evict(pm_engine *engine, const char *name, uint64_t timeout_ms,
                              uint64_t *freed_bytes, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    pm_engine_lock(engine);
    const struct engine_key *key = pm_engine_find_key(engine, name);
    const bool is_there =
        key != NULL && engine->sched_keys[key->index].process.residency != PM_COLD;
    const uint64_t bytes = is_there ? key->bytes : 0;
    const pm_status status =
        pm_engine_evict_all(engine, name, pm_engine_until_ns(timeout_ms), NULL, error);
    pm_engine_unlock(engine);
    if (status == PM_OK && freed_bytes != NULL) {
        *freed_bytes = bytes;
    }
    return status;
}

/* Under the lock, which is given up meanwhile. */
static pm_status forget_key(struct pm_engine *engine, const char *name, pm_error *error) {
    struct engine_key *key = pm_engine_find_key(engine, name);
    if (key == NULL) {
        return no_such_key(name, error);
    }
    PM_TRY(take_key(engine, key, NULL, error));
    pm_status status = PM_OK;
    if (engine->journal != NULL) {
        pm_engine_unlock(engine);
        status = pm_journal_drop_key(engine->journal, name, error);
        pm_engine_lock(engine);
    }
    if (status == PM_OK) {
        free_key(key);
    } else {
        put_key_back(engine, key);
    }
    return status;
}

pm_status pm_engine_key_forget(pm_engine *engine, const char *name, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    pm_engine_lock(engine);
    pm_status status = take_turn(engine, NULL, error);
    if (status == PM_OK) {
        status = forget_key(engine, name, error);
        end_turn(engine);
    }
    pm_engine_unlock(engine);
    return status;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static uint64_t proof_bytes(const struct pm_engine *engine, const struct engine_key *key) {
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX];
    uint64_t most = 0;
    for (uint32_t shape = 0; shape < PM_ENGINE_SHAPES && most == 0; ++shape) {
        const uint32_t n = pm_engine_variants(engine, key, shape, variants);
        for (uint32_t v = 0; v < n; ++v) {
            uint64_t need[PM_SCHED_KINDS];
            pm_sched_curve_remaining(variants[v].curve, 0, need);
            most = need[PM_KIND_HOST] > most ? need[PM_KIND_HOST] : most;
        }
    }
    return most;
}

/* How long ago something began that lasts: never 0. */
static uint64_t since_ns(uint64_t began_ns) {
    const uint64_t now_ns = pm_clock_now_ns();
    return now_ns > began_ns ? now_ns - began_ns : 1;
}

static void fill_times(const struct pm_engine *engine, const struct engine_key *key,
                       pm_engine_key_info *info) {
    const struct pm_sched_key *scheduled = &engine->sched_keys[key->index];
    if (scheduled->process.residency == PM_LOADING) {
        info->opening_ns = since_ns(key->opening_since_ns);
    }
    if (scheduled->process.residency == PM_RESIDENT) {
        info->warm_ms = since_ns(key->warm_since_ns) / MS + 1;
    }
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if (scheduled->devices[d].residency == PM_RESIDENT) {
            const uint64_t hot_ms = since_ns(key->hot_since_ns[d]) / MS + 1;
            info->hot_ms = hot_ms > info->hot_ms ? hot_ms : info->hot_ms;
        }
    }
}

static void fill_info(const struct pm_engine *engine, const struct engine_key *key,
                      pm_engine_key_info *info) {
    const struct pm_sched_key *scheduled = &engine->sched_keys[key->index];
    const uint64_t now_ns = pm_engine_now_ns(engine);
    const uint64_t used_ns = scheduled->process.last_used_ns;
    *info = (pm_engine_key_info){
        .struct_bytes = sizeof *info,
        .tier = scheduled->process.residency == PM_RESIDENT ? PM_ENGINE_WARM : PM_ENGINE_COLD,
        .curve = key->facts.curve,
        .log_n = key->facts.log_n,
        .n_public = key->facts.n_public,
        .n_users = scheduled->process.n_users,
        .status = (int32_t)key->status,
        .n_vars = key->facts.n_vars,
        .bytes = key->bytes,
        .proof_bytes = proof_bytes(engine, key),
        .idle_ms = used_ns != 0 ? (now_ns - used_ns) / MS : 0,
        .n_loads = key->n_loads,
        .n_evictions = key->n_evictions,
        .load_ns = key->load_ns};
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if (scheduled->devices[d].residency == PM_RESIDENT) {
            info->device_mask |= UINT32_C(1) << d;
            info->tier = PM_ENGINE_HOT;
        }
    }
    fill_times(engine, key, info);
    memcpy(info->digest, key->digest, sizeof info->digest);
    memcpy(info->name, key->name, sizeof info->name);
    pm_engine_copy_tail(info->path, sizeof info->path, key->path);
}

pm_status pm_engine_keys(pm_engine *engine, pm_engine_key_info *infos, uint32_t *n) {
    uint32_t n_keys = 0;
    if (engine == NULL || n == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    pm_engine_lock(engine);
    for (uint32_t k = 0; k < PM_ENGINE_KEYS_MAX; ++k) {
        if (engine->keys[k] != NULL) {
            if (infos != NULL && n_keys < *n) {
                fill_info(engine, engine->keys[k], &infos[n_keys]);
            }
            ++n_keys;
        }
    }
    *n = n_keys;
    pm_engine_unlock(engine);
    return PM_OK;
}

pm_status pm_engine_key_find(pm_engine *engine, const char *name, pm_engine_key_info *info,
                             pm_error *error) {
    PM_FAIL_IF(engine == NULL || info == NULL, error, PM_INVALID_ARGUMENT,
               "engine or info is NULL");
    pm_engine_lock(engine);
    const struct engine_key *key = pm_engine_find_key(engine, name);
    if (key != NULL) {
        fill_info(engine, key, info);
    }
    pm_engine_unlock(engine);
    return key != NULL ? PM_OK : no_such_key(name, error);
}
