/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/blake2b.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)
/* Of a .wtns, beside its values: headers, and sections that nobody knows. */
#define BESIDE_VALUES_BYTES 65536

/* ---- Jobs and lists of them ----------------------------------------------------------------- */

pm_status pm_engine_job_make(uint32_t n_parts, struct engine_job **job, pm_error *error) {
    void *buffer = NULL, *parts = NULL, *part_of = NULL;
    PM_TRY(
        pm_memory_alloc(NULL, "job", sizeof(struct engine_job), PM_MEMORY_PLAIN, &buffer, error));
    pm_status status =
        pm_memory_alloc_array(NULL, "parts of a job", n_parts, sizeof(struct engine_part),
                              PM_MEMORY_PLAIN, &parts, error);
    if (status == PM_OK) {
        status = pm_memory_alloc_array(NULL, "parts of a job", n_parts, sizeof(uint32_t),
                                       PM_MEMORY_PLAIN, &part_of, error);
    }
    if (status != PM_OK) {
        pm_memory_free(parts);
        pm_memory_free(buffer);
        return status;
    }
    struct engine_job *made = buffer;
    made->parts = parts;
    made->part_of = part_of;
    made->n_parts = n_parts;
    made->n_references = 1;
    made->sched_job = PM_SCHED_NONE;
    made->device = -1;
    for (uint32_t i = 0; i < n_parts; ++i) {
        made->parts[i].device = -1;
    }
    *job = made;
    return PM_OK;
}

void pm_engine_job_free(struct pm_engine *engine, struct engine_job *job) {
    if (job == NULL) {
        return;
    }
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        struct engine_part *part = &job->parts[i];
        pm_engine_close_input(engine, part);
        pm_pending_drop(part->pending);
        if (engine != NULL) {
            pm_engine_forget_input(engine, part);
        }
        pm_memory_free(part->bytes);
        pm_memory_free(part->path);
        pm_memory_free(part->publics);
    }
    pm_memory_free(job->part_of);
    pm_memory_free(job->parts);
    pm_memory_free(job);
}

void pm_engine_job_unref(struct pm_engine *engine, struct engine_job *job) {
    if (--job->n_references == 0) {
        pm_engine_unlock(engine);
        pm_engine_job_free(engine, job);
        pm_engine_lock(engine);
    }
}

/* Numbers come from the journal one by one, but those who got them may be overtaken. */
void pm_engine_job_enlist(struct pm_engine *engine, struct engine_job *job) {
    struct engine_job *before = engine->last;
    while (before != NULL && before->id > job->id) {
        before = before->previous;
    }
    job->previous = before;
    job->next = before != NULL ? before->next : engine->first;
    *(before != NULL ? &before->next : &engine->first) = job;
    *(job->next != NULL ? &job->next->previous : &engine->last) = job;
    engine->last_id = job->id > engine->last_id ? job->id : engine->last_id;
}

struct engine_job *pm_engine_job_of(struct pm_engine *engine, uint64_t id) {
    struct engine_job *job = engine->last;
    while (job != NULL && job->id > id) {
        job = job->previous;
    }
    return job != NULL && job->id == id ? job : NULL;
}

static bool has_name(const struct engine_job *job, const char *request_id) {
    return strcmp(job->request_id, request_id) == 0;
}

/* The last one with this request id, those that are arriving included. */
struct engine_job *pm_engine_job_named(struct pm_engine *engine, const char *request_id) {
    for (struct engine_job *job = engine->arriving; job != NULL; job = job->next) {
        if (has_name(job, request_id)) {
            return job;
        }
    }
    struct engine_job *job = engine->last;
    while (job != NULL && !has_name(job, request_id)) {
        job = job->previous;
    }
    return job;
}

static void leave_arriving(struct pm_engine *engine, const struct engine_job *job) {
    struct engine_job **link = &engine->arriving;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
}

/* ---- The scheduler's part ------------------------------------------------------------------- */

/* Parts may have inputs of several shapes: what is reserved for each is what the largest takes. The
 * shape with vectors takes most, so the highest number decides. */
static uint32_t shape_of(const struct engine_job *job) {
    uint32_t shape = 0;
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        shape = job->parts[i].shape > shape ? job->parts[i].shape : shape;
    }
    return shape;
}

/* What reading a witness takes was reserved for one of this key. */
static pm_status check_sizes(const struct engine_job *job, pm_error *error) {
    const uint64_t most = (uint64_t)job->key->facts.n_vars * PM_FR_BYTES + BESIDE_VALUES_BYTES;
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        const struct engine_part *part = &job->parts[i];
        if (!part->is_assignment && part->n_bytes > most) {
            pm_error_set(error, PM_WITNESS_MISMATCH,
                         "the witness has %llu bytes, one for the key \"%s\" %llu at most",
                         (unsigned long long)part->n_bytes, job->key->name,
                         (unsigned long long)most);
            pm_error_need_have(error, most, part->n_bytes);
            return PM_WITNESS_MISMATCH;
        }
    }
    return PM_OK;
}

pm_status pm_engine_schedule(struct pm_engine *engine, struct engine_job *job, pm_error *error) {
    struct engine_key *key = job->key;
    const uint32_t shape = shape_of(job);
    bool known;
    PM_TRY(check_sizes(job, error));
    job->n_remaining = 0;
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        PM_FAIL_IF(job->parts[i].shape != shape, error, PM_INVALID_ARGUMENT,
                   "the inputs of a job are all of one kind: part %u is not", i);
        if (!job->parts[i].is_proved) {
            job->part_of[job->n_remaining++] = i;
        }
    }
    PM_FAIL_IF(shape == 0 && !key->facts.has_matrices, error, PM_INVALID_ARGUMENT,
               "the key \"%s\" has no matrices: register it with its constraint system, or bring "
               "a, b and c as an assignment",
               key->name);
    PM_TRY(pm_engine_make_curves(engine, key, NULL, shape, error));
    job->n_variants = pm_engine_variants(engine, key, shape, job->variants);
    if (job->n_variants == 0) {
        return pm_engine_no_curve(&key->curves[shape], error);
    }
    struct pm_sched_request request = {.priority = (enum pm_priority)(job->priority - 1),
                                       .deadline_ns = job->deadline_at_ns,
                                       .key = key->index,
                                       .n_parts = job->n_remaining,
                                       .n_variants = job->n_variants};
    memcpy(request.variants, job->variants, sizeof request.variants);
    PM_TRY(pm_sched_submit(&engine->sched, &request, pm_engine_now_ns(engine), &job->sched_job,
                           &known, error));
    engine->live[job->sched_job] = job;
    ++engine->n_open;
    ++key->n_jobs;
    job->curve = key->facts.curve;
    job->n_public = key->facts.n_public;
    return PM_OK;
}

/* ---- Submitting ----------------------------------------------------------------------------- */

static pm_status check_request(const pm_engine_request *request, pm_error *error) {
    PM_FAIL_IF(request->n_inputs == 0 || request->n_inputs > PM_ENGINE_PARTS_MAX ||
                   request->inputs == NULL,
               error, PM_INVALID_ARGUMENT, "a job has 1 to %d inputs, not %u", PM_ENGINE_PARTS_MAX,
               request->n_inputs);
    PM_FAIL_IF(request->priority > PM_ENGINE_CRITICAL, error, PM_INVALID_ARGUMENT,
               "priority %u is not a pm_engine_priority", request->priority);
    PM_FAIL_IF(request->request_id != NULL && strlen(request->request_id) >= PM_ENGINE_NAME_BYTES,
               error, PM_INVALID_ARGUMENT, "a request id has at most %d bytes",
               PM_ENGINE_NAME_BYTES - 1);
    return PM_OK;
}

/* No input for the key is larger: five values for each variable or row of the domain, whichever
 * there are more of, and what stands beside them. Known before the file is read, as a file of any
 * size would take its time. */
static uint64_t input_bytes_max(struct pm_engine *engine, const char *name) {
    uint64_t n = 0;
    pm_engine_lock(engine);
    const struct engine_key *key = pm_engine_find_key(engine, name);
    if (key != NULL) {
        const uint64_t domain = UINT64_C(1) << (key->facts.log_n & 63);
        n = key->facts.n_vars > domain ? key->facts.n_vars : domain;
    }
    pm_engine_unlock(engine);
    return n != 0 ? 5 * n * PM_FR_BYTES + 16 * BESIDE_VALUES_BYTES : UINT64_MAX;
}

static pm_status take_inputs(struct pm_engine *engine, const pm_engine_request *request,
                             const pm_control *control, struct engine_job *job, pm_error *error) {
    const uint64_t bytes_max = input_bytes_max(engine, request->key);
    for (uint32_t i = 0; i < request->n_inputs; ++i) {
        PM_TRY(pm_engine_take_input(engine, &request->inputs[i], bytes_max, control, &job->parts[i],
                                    error));
    }
    return PM_OK;
}

/* What a proof is decided by: the key's bytes and the inputs', in order. */
static void digest_content(const struct engine_key *key, struct engine_job *job) {
    struct pm_blake2b state;
    pm_blake2b_init(&state, sizeof job->content);
    pm_blake2b_update(&state, key->digest, sizeof key->digest);
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        pm_blake2b_update(&state, job->parts[i].digest, sizeof job->parts[i].digest);
    }
    pm_blake2b_final(&state, job->content);
}

static pm_status may_submit(const struct pm_engine *engine, pm_error *error) {
    PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
    PM_FAIL_IF(engine->is_draining, error, PM_CANCELLED, "the engine takes no more jobs");
    PM_FAIL_IF(engine->journal_fails, error, PM_IO,
               "the journal cannot be written now, so nothing can be accepted");
    return PM_OK;
}

/* Under the lock. A job that has this request id and has not gone wrong; waits for one that is just
 * arriving. NULL: none. */
static pm_status find_same(struct pm_engine *engine, struct engine_job *job,
                           struct engine_job **same, pm_error *error) {
    *same = NULL;
    if (job->request_id[0] == '\0') {
        return PM_OK;
    }
    struct engine_job *found = pm_engine_job_named(engine, job->request_id);
    while (found != NULL && !found->is_recorded) {
        ++found->n_references;
        while (!found->is_recorded && !found->was_refused && !engine->is_stopping) {
            (void)pm_engine_wait_changed(engine, 0);
        }
        pm_engine_job_unref(engine, found);
        PM_TRY(may_submit(engine, error));
        found = pm_engine_job_named(engine, job->request_id);
    }
    if (found == NULL || (found->is_final && found->state != PM_ENGINE_DONE)) {
        return PM_OK;
    }
    PM_FAIL_IF(memcmp(found->content, job->content, sizeof job->content) != 0, error,
               PM_INVALID_ARGUMENT,
               "the request id is that of job %llu, which has another key or other inputs",
               (unsigned long long)found->id);
    *same = found;
    return PM_OK;
}

/* Under the lock: it is in the scheduler, not yet to be run. */
static pm_status enter(struct pm_engine *engine, const pm_engine_request *request,
                       struct engine_job *job, uint64_t *known_id, pm_error *error) {
    struct engine_job *same;
    PM_TRY(may_submit(engine, error));
    struct engine_key *key = pm_engine_find_key(engine, request->key);
    PM_FAIL_IF(key == NULL, error, PM_INVALID_ARGUMENT, "there is no key named \"%.60s\"",
               request->key != NULL ? request->key : "");
    digest_content(key, job);
    PM_TRY(find_same(engine, job, &same, error));
    if (same != NULL) {
        *known_id = same->id;
        return PM_OK;
    }
    /* The lock may have been given up meanwhile. */
    key = pm_engine_find_key(engine, request->key);
    PM_FAIL_IF(key == NULL, error, PM_INVALID_ARGUMENT, "the key was forgotten meanwhile");
    job->key = key;
    job->accepted_at_ns = pm_engine_now_ns(engine);
    job->accepted_ms = pm_engine_wall_ms(engine);
    job->deadline_at_ns = request->timeout_ms != 0 && request->timeout_ms < UINT64_MAX / 4 / MS
                              ? job->accepted_at_ns + request->timeout_ms * MS
                              : 0;
    memcpy(job->key_name, key->name, sizeof job->key_name);
    PM_TRY(pm_engine_schedule(engine, job, error));
    job->above = engine->last_id; /* numbers are given in order, and those up to it were before */
    job->next = engine->arriving;
    engine->arriving = job;
    ++engine->n_submitting;
    return PM_OK;
}

/* Without the lock: on record, or not. */
static pm_status record(struct pm_engine *engine, struct engine_job *job, pm_error *error) {
    void *parts = NULL;
    struct pm_journal_job row;
    if (engine->journal == NULL) {
        return PM_OK;
    }
    PM_TRY(pm_memory_alloc_array(NULL, "parts for the journal", job->n_parts,
                                 sizeof(struct pm_journal_part), PM_MEMORY_PLAIN, &parts, error));
    pm_engine_job_record(job, parts, &row);
    const pm_status status = pm_journal_accept(engine->journal, &row, &job->id, error);
    pm_memory_free(parts);
    return status;
}

/* Under the lock: it may run now, or it never was. */
static void settle_arrival(struct pm_engine *engine, struct engine_job *job, pm_status status) {
    leave_arriving(engine, job);
    --engine->n_submitting;
    if (engine->journal != NULL && (status == PM_OK || status == PM_IO)) {
        pm_engine_note_arrival(engine, status == PM_OK);
    }
    if (status == PM_OK) {
        if (engine->journal == NULL) {
            job->id = ++engine->last_id;
        }
        job->is_recorded = true;
        ++engine->metrics.n_submitted;
        pm_engine_job_enlist(engine, job);
        (void)pm_sched_record(&engine->sched, job->sched_job, pm_engine_now_ns(engine), NULL);
        pm_engine_event_job(engine, job);
        pm_engine_settle(engine, job);
    } else {
        job->was_refused = true;
        (void)pm_sched_cancel(&engine->sched, job->sched_job, pm_engine_now_ns(engine), NULL);
        (void)pm_sched_forget(&engine->sched, job->sched_job, NULL);
        engine->live[job->sched_job] = NULL;
        --engine->n_open;
        --job->key->n_jobs;
    }
    (void)pthread_cond_broadcast(&engine->changed);
    pm_engine_pump(engine);
}

static pm_status submit(struct pm_engine *engine, const pm_engine_request *request,
                        struct engine_job **made, uint64_t *id, int *known, pm_error *error) {
    struct engine_job *job = *made;
    uint64_t known_id = 0;
    pm_engine_lock(engine);
    pm_status status = enter(engine, request, job, &known_id, error);
    if (status == PM_OK && known_id == 0) {
        pm_engine_unlock(engine);
        status = record(engine, job, error);
        pm_engine_lock(engine);
        settle_arrival(engine, job, status);
        if (status == PM_OK) {
            *made = NULL; /* the table's */
        } else if (--job->n_references != 0) {
            *made = NULL; /* whoever waits for it frees it */
        }
    }
    if (status == PM_OK) {
        *id = known_id != 0 ? known_id : job->id;
        engine->metrics.n_known += known_id != 0;
        if (known != NULL) {
            *known = known_id != 0;
        }
    } else {
        ++engine->metrics.n_refused;
    }
    pm_engine_unlock(engine);
    return status;
}

pm_status pm_engine_submit(pm_engine *engine, const pm_engine_request *request,
                           const pm_control *control, uint64_t *job, int *known, pm_error *error) {
    PM_FAIL_IF(engine == NULL || request == NULL || job == NULL, error, PM_INVALID_ARGUMENT,
               "engine, request or job is NULL");
    pm_engine_request asked = {0};
    struct engine_job *made = NULL;
    memcpy(&asked, request,
           request->struct_bytes < sizeof asked ? request->struct_bytes : sizeof asked);
    PM_TRY(check_request(&asked, error));
    PM_TRY(pm_engine_job_make(asked.n_inputs, &made, error));
    made->priority = asked.priority != 0 ? asked.priority : PM_ENGINE_NORMAL;
    (void)snprintf(made->request_id, sizeof made->request_id, "%s",
                   asked.request_id != NULL ? asked.request_id : "");
    pm_status status = take_inputs(engine, &asked, control, made, error);
    if (status == PM_OK) {
        status = submit(engine, &asked, &made, job, known, error);
    } else {
        pm_engine_lock(engine);
        ++engine->metrics.n_refused;
        pm_engine_unlock(engine);
    }
    pm_engine_job_free(engine, made);
    return status;
}

pm_status pm_engine_find(pm_engine *engine, const char *request_id, uint64_t *job,
                         pm_error *error) {
    PM_FAIL_IF(engine == NULL || request_id == NULL || job == NULL, error, PM_INVALID_ARGUMENT,
               "engine, request_id or job is NULL");
    pm_engine_lock(engine);
    const struct engine_job *found =
        request_id[0] != '\0' ? pm_engine_job_named(engine, request_id) : NULL;
    const uint64_t id = found != NULL ? found->id : 0;
    pm_engine_unlock(engine);
    PM_FAIL_IF(id == 0, error, PM_INVALID_ARGUMENT, "there is no job with the request id \"%.80s\"",
               request_id);
    *job = id;
    return PM_OK;
}
