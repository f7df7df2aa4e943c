/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a run of card_prove says of its memory on the card: ledger_dump.h has the lines. */
#include "card_prove.h"

#include "ledger_dump.h"

#include <pthread.h>
#include <string.h>

static FILE *dump; /* NULL: nobody asked for it */
static struct pm_gpu_api watched;
static const struct pm_gpu_api *real;
static uint32_t n_proofs; /* atomic */
static __thread bool has_lock;

/* Held over each call that allocates or releases and its lines, so that they stand in the order in
 * which the driver was asked. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

/* ---- The library's door ---------------------------------------------------------------------- */

/* By the plan's words. */
static const char *mechanism_of(enum pm_gpu_mechanism mechanism) {
    static const uint32_t mechanisms[PM_GPU_MECHANISMS] = {PM_BY_DEVICE_ALLOC, PM_BY_STREAM_ORDER,
                                                           PM_BY_HOST_ALLOC, PM_BY_HOST_REGISTER};
    return pm_mechanism_name(mechanisms[mechanism]);
}

static void on_memory(void *user, const struct pm_gpu_memory_event *event) {
    char where[256];
    (void)user;
    (void)snprintf(where, sizeof where, "%s:%d", event->file, event->line);
    ledger_dump(dump, &(struct ledger_dump_line){.kind = event->is_release ? "release" : "get",
                                                 .mechanism = mechanism_of(event->mechanism),
                                                 .bytes = event->bytes,
                                                 .in_lock = has_lock,
                                                 .where = where,
                                                 .name = event->name});
}

static pm_status device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error) {
    struct pm_gpu_options told = {.report = on_memory};
    told.failing_allocation = options != NULL ? options->failing_allocation : 0;
    return real->device_open(ordinal, &told, device, error);
}

static pm_status memory_get(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                            enum pm_gpu_mechanism mechanism, const char *name, uint64_t bytes,
                            void *address, const char *file, int line, struct pm_gpu_buffer *buffer,
                            pm_error *error) {
    (void)pthread_mutex_lock(&order);
    const pm_status status = real->memory_get(device, stream, mechanism, name, bytes, address, file,
                                              line, buffer, error);
    (void)pthread_mutex_unlock(&order);
    return status;
}

static void memory_release(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                           struct pm_gpu_buffer *buffer) {
    (void)pthread_mutex_lock(&order);
    real->memory_release(device, stream, buffer);
    (void)pthread_mutex_unlock(&order);
}

static pm_status domain_create(const struct pm_gpu_stream *stream, pm_curve_id curve,
                               uint32_t log_n, enum pm_gpu_root root, uint32_t levels_max,
                               uint32_t tile_log, struct pm_gpu_domain *domain, pm_error *error) {
    (void)pthread_mutex_lock(&order);
    const pm_status status =
        real->domain_create(stream, curve, log_n, root, levels_max, tile_log, domain, error);
    (void)pthread_mutex_unlock(&order);
    return status;
}

static void domain_destroy(struct pm_gpu_domain *domain) {
    (void)pthread_mutex_lock(&order);
    real->domain_destroy(domain);
    (void)pthread_mutex_unlock(&order);
}

static pm_status h_create(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                          enum pm_gpu_reduction reduction, struct pm_gpu_h *h, pm_error *error) {
    (void)pthread_mutex_lock(&order);
    const pm_status status = real->h_create(domain, stream, reduction, h, error);
    (void)pthread_mutex_unlock(&order);
    return status;
}

static void h_destroy(struct pm_gpu_h *h) {
    (void)pthread_mutex_lock(&order);
    real->h_destroy(h);
    (void)pthread_mutex_unlock(&order);
}

/* ---- The device's lock ----------------------------------------------------------------------- */

static void took_lock(void) {
    has_lock = true;
    ledger_dump(dump, &(struct ledger_dump_line){.kind = "lock", .in_lock = true});
}

static void device_lock(struct pm_gpu_device *device) {
    real->device_lock(device);
    took_lock();
}

static bool device_lock_within(struct pm_gpu_device *device, uint32_t timeout_ms) {
    if (!real->device_lock_within(device, timeout_ms)) {
        return false;
    }
    took_lock();
    return true;
}

static void device_unlock(struct pm_gpu_device *device) {
    ledger_dump(dump, &(struct ledger_dump_line){.kind = "unlock"});
    has_lock = false;
    real->device_unlock(device);
}

/* ---- Ledgers --------------------------------------------------------------------------------- */

static bool is_of_device(uint32_t pool) {
    return pool == PM_POOL_PINNED || pool >= PM_POOL_VRAM_0;
}

static void dump_plan(const struct pm_plan *plan, uint32_t owner) {
    for (uint32_t i = 0; i < plan->n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        if (is_of_device(buffer->pool)) {
            ledger_dump(
                dump, &(struct ledger_dump_line){
                          .kind = "plan",
                          .mechanism = pm_mechanism_name(buffer->mechanism),
                          .bytes = buffer->bytes,
                          .in_lock = buffer->in_device_lock,
                          .owner = owner,
                          .where = buffer->lifetime == PM_LIFETIME_RESIDENT ? "resident" : "proof",
                          .name = pm_buffer_name(buffer->id)});
        }
    }
    ledger_dump(dump, &(struct ledger_dump_line){.kind = "peak",
                                                 .bytes = plan->peak_bytes[PM_POOL_VRAM_0],
                                                 .owner = owner,
                                                 .name = pm_pool_name(PM_POOL_VRAM_0)});
}

void card_prove_dump_ledger(const struct pm_plan *plan, const struct pm_ledger_entry *entries,
                            uint32_t n) {
    if (dump == NULL) {
        return;
    }
    const uint32_t owner = __atomic_add_fetch(&n_proofs, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&order);
    dump_plan(plan, owner);
    for (uint32_t i = 0; i < n; ++i) {
        const struct pm_ledger_entry *entry = &entries[i];
        char where[256];
        if (!is_of_device(entry->note.pool)) {
            continue;
        }
        (void)snprintf(where, sizeof where, "%s:%u", entry->note.file, entry->note.line);
        ledger_dump(
            dump, &(struct ledger_dump_line){.at_ns = entry->at_ns,
                                             .kind = entry->released ? "leave" : "enter",
                                             .mechanism = pm_mechanism_name(entry->note.mechanism),
                                             .bytes = entry->bytes,
                                             .in_lock = entry->note.in_device_lock,
                                             .owner = owner,
                                             .where = where,
                                             .name = entry->note.name});
    }
    (void)pthread_mutex_unlock(&order);
}

/* ---- Opened and closed ----------------------------------------------------------------------- */

const struct pm_gpu_api *card_prove_open_ledger(const struct pm_gpu_api *api, const char *path) {
    dump = fopen(path, "w");
    CARD_PROVE_CHECK(dump != NULL, "%s cannot be written", path);
    real = api;
    watched = *api;
    watched.device_open = device_open;
    watched.device_lock = device_lock;
    watched.device_lock_within = device_lock_within;
    watched.device_unlock = device_unlock;
    watched.memory_get = memory_get;
    watched.memory_release = memory_release;
    watched.domain_create = domain_create;
    watched.domain_destroy = domain_destroy;
    watched.h_create = h_create;
    watched.h_destroy = h_destroy;
    return &watched;
}

void card_prove_close_ledger(void) {
    if (dump != NULL) {
        ledger_dump(dump, &(struct ledger_dump_line){.kind = "end"});
        CARD_PROVE_CHECK(fclose(dump) == 0, "the ledger could not be written");
        dump = NULL;
    }
}
