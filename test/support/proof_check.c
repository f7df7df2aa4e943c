/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/proof_check.h"

#include "api/api_report.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

const char *const place_names[PLACES] = {"cpu", "fake device, b2 on the cpu", "fake device"};

void places_open(uint32_t threads, struct places *places) {
    *places = (struct places){0};
    for (int i = 0; i < PLACES; ++i) {
        places->context[i] = toy_context(threads, PM_ARITHMETIC_BEST);
        pm_context_set_strict(places->context[i], true);
        if (i != PLACE_CPU) {
            places->device[i] = calloc(1, sizeof *places->device[i]);
            assert_non_null(places->device[i]);
            fake_device_init(places->device[i], i == PLACE_FAKE_B2);
            pm_context_set_backend(places->context[i], &places->device[i]->backend);
        }
    }
}

void places_close(struct places *places) {
    for (int i = 0; i < PLACES; ++i) {
        pm_context_destroy(places->context[i]);
        if (places->device[i] != NULL) {
            fake_device_close(places->device[i]);
            free(places->device[i]);
        }
    }
}

/* The one entry of a buffer that says it came, or went. */
static const struct pm_ledger_entry *only_entry(const pm_report *report, uint32_t line,
                                                bool released) {
    const struct pm_ledger_entry *found = NULL;
    for (uint32_t i = 0; i < report->n_entries; ++i) {
        const struct pm_ledger_entry *entry = &report->entries[i];
        if (entry->note.plan_line == line && entry->released == released) {
            assert_null(found);
            found = entry;
        }
    }
    assert_non_null(found);
    return found;
}

static void expect_buffer_as_planned(const pm_report *report, uint32_t line) {
    const struct pm_plan_buffer *buffer = &report->plan.plan.buffers[line];
    const struct pm_ledger_entry *came = only_entry(report, line, false);
    const struct pm_ledger_entry *went = only_entry(report, line, true);
    assert_int_equal(came->note.step, buffer->first_step);
    assert_int_equal(went->note.step, buffer->last_step);
    assert_int_equal(buffer->last_step, buffer->last_reader);
    assert_int_equal(came->bytes, buffer->bytes);
    assert_int_equal(went->bytes, buffer->bytes);
    assert_int_equal(came->note.pool, buffer->pool);
    assert_int_equal(went->note.pool, buffer->pool);
    assert_int_equal(came->note.mechanism, buffer->mechanism);
    assert_string_equal(came->note.name, pm_buffer_name(buffer->id));
    /* The other buffers may find it taken all the same: in between two steps that want it. */
    assert_true(!buffer->in_device_lock ||
                (came->note.in_device_lock && went->note.in_device_lock));
    assert_true(came->note.line != 0 && came->note.file != NULL);
}

/* The curve from the entries alone, against that of the plan without what is resident. */
static void expect_curve_as_planned(const pm_report *report) {
    const struct pm_plan *plan = &report->plan.plan;
    for (uint32_t step = 0; step < plan->n_steps; ++step) {
        uint64_t live[PM_POOLS_MAX] = {0};
        for (uint32_t i = 0; i < report->n_entries; ++i) {
            const struct pm_ledger_entry *entry = &report->entries[i];
            if (entry->released && entry->note.step < step) {
                live[entry->note.pool] -= entry->bytes;
            } else if (!entry->released && entry->note.step <= step) {
                live[entry->note.pool] += entry->bytes;
            }
        }
        assert_int_equal(report->records[step].live_bytes[0], live[PM_POOL_HOST]);
        if (plan->device_pool != PM_POOL_HOST) {
            assert_int_equal(report->records[step].live_bytes[1], live[plan->device_pool]);
        }
        for (uint32_t i = 0; i < plan->n_buffers; ++i) {
            if (plan->buffers[i].lifetime == PM_LIFETIME_RESIDENT) {
                live[plan->buffers[i].pool] += plan->buffers[i].bytes;
            }
        }
        for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
            assert_int_equal(live[pool], plan->live_bytes[step][pool]);
        }
    }
}

void report_expect_as_planned(const pm_report *report) {
    assert_true(report->has_plan);
    const struct pm_plan *plan = &report->plan.plan;
    assert_int_equal(pm_report_n_divergences(report), 0);
    uint32_t n_planned = 0;
    for (uint32_t line = 0; line < plan->n_buffers; ++line) {
        if (plan->buffers[line].lifetime != PM_LIFETIME_RESIDENT) {
            expect_buffer_as_planned(report, line);
            ++n_planned;
        }
    }
    assert_int_equal(report->n_entries, 2 * n_planned); /* and nothing else */
    for (uint32_t step = 0; step < plan->n_steps; ++step) {
        assert_true(report->records[step].end_ns >= report->records[step].begin_ns);
        assert_true(report->records[step].begin_ns != 0);
    }
    expect_curve_as_planned(report);
    report_expect_nothing_left(report);
}

void report_expect_nothing_left(const pm_report *report) {
    uint64_t live[PM_POOLS_MAX] = {0};
    for (uint32_t i = 0; i < report->n_entries; ++i) {
        const struct pm_ledger_entry *entry = &report->entries[i];
        live[entry->note.pool] += entry->released ? -entry->bytes : entry->bytes;
        assert_int_equal(live[entry->note.pool], entry->live_bytes);
    }
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        assert_int_equal(live[pool], 0);
    }
}
