/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the engine's events say of a run: steady state, idle time, a trace. */
#include "card_engine.h"

#include <stdlib.h>
#include <string.h>

#define GIB ((double)(UINT64_C(1) << 30))
/* Proofs at either end that do not count as steady state. */
#define FIRST_PROOFS 3
#define LAST_PROOFS 2

static double ms_of(uint64_t ns) {
    return (double)ns / CARD_ENGINE_NS_PER_MS;
}

/* ---- Events --------------------------------------------------------------------------------- */

static void note_event(const pm_engine_event *event, struct card_engine_run *run) {
    const uint64_t index = event->job - run->first_job;
    if (event->job < run->first_job || index >= run->n_jobs) {
        return;
    }
    struct card_engine_span *step = &run->step[index][event->stage];
    if (event->kind == PM_ENGINE_EVENT_BEGIN) {
        *step = (struct card_engine_span){.begin_ns = event->at_ns};
    } else if (event->kind == PM_ENGINE_EVENT_END) {
        step->end_ns = event->at_ns;
        if (event->taken_ns != 0) {
            run->held[index] = (struct card_engine_span){event->taken_ns, event->left_ns};
        }
    } else if (event->kind == PM_ENGINE_EVENT_JOB && event->state == PM_ENGINE_DONE) {
        CARD_ENGINE_CHECK(run->n_ended < run->n_jobs, "a job has ended twice");
        run->ended_ns[run->n_ended++] = event->at_ns;
    }
}

void card_engine_collect(pm_engine *engine, struct card_engine_run *run) {
    pm_engine_event event;
    for (uint64_t after = 0; pm_engine_next_event(engine, after, 0, &event) == PM_OK;
         after = event.sequence) {
        CARD_ENGINE_CHECK(event.sequence == after + 1, "the engine has forgotten events");
        note_event(&event, run);
    }
    CARD_ENGINE_CHECK(run->n_ended == run->n_jobs, "%u of %u jobs have said that they are done",
                      run->n_ended, run->n_jobs);
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        CARD_ENGINE_CHECK(!run->is_card || run->held[i].end_ns != 0,
                          "a proof does not say when it had the card");
    }
}

/* ---- Steady state --------------------------------------------------------------------------- */

struct steady {
    struct card_engine_span window;
    uint32_t n_proofs;
    uint64_t busy_ns, longest_gap_ns;
    uint32_t n_gaps;
};

static int by_begin(const void *a, const void *b) {
    const struct card_engine_span *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void add_gap(uint64_t from_ns, uint64_t to_ns, struct steady *steady) {
    if (to_ns > from_ns) {
        ++steady->n_gaps;
        steady->longest_gap_ns =
            to_ns - from_ns > steady->longest_gap_ns ? to_ns - from_ns : steady->longest_gap_ns;
        steady->busy_ns -= to_ns - from_ns;
    }
}

/* Proofs may overlap, as they do on the CPU: what no proof covers is idle. */
static void find_gaps(const struct card_engine_run *run, struct steady *steady) {
    struct card_engine_span spans[CARD_ENGINE_JOBS_MAX];
    uint64_t covered_ns = steady->window.begin_ns;
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        spans[i] = run->is_card ? run->held[i] : run->step[i][PM_ENGINE_STAGE_PROVE];
    }
    qsort(spans, run->n_jobs, sizeof spans[0], by_begin);
    steady->busy_ns = steady->window.end_ns - steady->window.begin_ns;
    for (uint32_t i = 0; i < run->n_jobs && covered_ns < steady->window.end_ns; ++i) {
        const uint64_t begin_ns =
            spans[i].begin_ns < steady->window.end_ns ? spans[i].begin_ns : steady->window.end_ns;
        add_gap(covered_ns, begin_ns, steady);
        covered_ns = spans[i].end_ns > covered_ns ? spans[i].end_ns : covered_ns;
    }
    add_gap(covered_ns, steady->window.end_ns, steady);
}

/* False: too few proofs. It begins when nothing is being submitted any more. */
static bool find_steady(const struct card_engine_run *run, struct steady *steady) {
    uint32_t first = FIRST_PROOFS - 1;
    *steady = (struct steady){0};
    while (first < run->n_ended && run->ended_ns[first] < run->accepted_ns) {
        ++first;
    }
    if (first + LAST_PROOFS + 1 >= run->n_ended) {
        return false;
    }
    const uint32_t last = run->n_ended - 1 - LAST_PROOFS;
    steady->n_proofs = last - first;
    steady->window = (struct card_engine_span){run->ended_ns[first], run->ended_ns[last]};
    find_gaps(run, steady);
    return true;
}

/* ---- Words ---------------------------------------------------------------------------------- */

struct spread {
    double least, median, most;
};

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(double *values, uint32_t n) {
    qsort(values, n, sizeof values[0], by_value);
    return (struct spread){values[0], values[n / 2], values[n - 1]};
}

static struct spread spread_of_spans(const struct card_engine_run *run, int stage) {
    double values[CARD_ENGINE_JOBS_MAX];
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        const struct card_engine_span *span = stage < 0 ? &run->held[i] : &run->step[i][stage];
        values[i] = ms_of(span->end_ns - span->begin_ns);
    }
    return spread_of(values, run->n_jobs);
}

static void print_spread(const char *what, struct spread spread) {
    (void)printf("  %-20s least %.1f ms, median %.1f ms, most %.1f ms\n", what, spread.least,
                 spread.median, spread.most);
}

static void print_steady(const struct card_engine_run *run) {
    struct steady steady;
    if (!find_steady(run, &steady)) {
        (void)printf("  too few proofs after the last submission for a steady state\n");
        return;
    }
    const uint64_t window_ns = steady.window.end_ns - steady.window.begin_ns;
    double busy = 100 * (double)steady.busy_ns / (double)window_ns;
    (void)printf("  steady state, %u proofs in %.1f ms: %.1f ms a proof\n", steady.n_proofs,
                 ms_of(window_ns), ms_of(window_ns) / steady.n_proofs);
    (void)printf("  of that %s %.2f %%, idle %.2f %%: %u gaps, the longest %.2f ms\n",
                 run->is_card ? "a proof had the card to itself" : "a proof was at its prove step",
                 busy, 100 - busy, steady.n_gaps, ms_of(steady.longest_gap_ns));
    const uint32_t n_samples =
        run->is_card ? card_engine_samples(run->device, &steady.window, &busy) : 0;
    if (n_samples != 0) {
        (void)printf("  the driver: a kernel ran %.1f %%, idle %.1f %% (%u samples)\n", busy,
                     100 - busy, n_samples);
    } else if (run->is_card) {
        (void)printf("  the driver has no samples of that time\n");
    }
}

static void print_memory(pm_engine *engine) {
    pm_engine_metrics metrics;
    CARD_ENGINE_CHECK(pm_engine_metrics_now(engine, &metrics) == PM_OK, "no metrics");
    for (uint32_t i = 0; i < metrics.n_pools; ++i) {
        const pm_engine_pool *pool = &metrics.pools[i];
        (void)printf("  peak of %s: %.3f GiB", pool->name, (double)pool->peak_bytes / GIB);
        if (pool->total_bytes != UINT64_MAX) {
            (void)printf(" of %.3f GiB", (double)pool->total_bytes / GIB);
        }
        (void)printf("\n");
    }
    CARD_ENGINE_CHECK(
        metrics.n_retries == 0 && metrics.n_wrong_proofs == 0 && metrics.n_failed == 0,
        "%llu parts were tried again, %llu proofs were wrong, %llu jobs failed",
        (unsigned long long)metrics.n_retries, (unsigned long long)metrics.n_wrong_proofs,
        (unsigned long long)metrics.n_failed);
}

void card_engine_print(pm_engine *engine, const struct card_engine_run *run) {
    double latency_ms[CARD_ENGINE_JOBS_MAX];
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        latency_ms[i] = ms_of(run->job[i].total_ns);
    }
    (void)printf("%s, %u worker%s, %u proofs: %.1f ms from the first submission to the last proof; "
                 "all were accepted after %.1f ms\n",
                 run->device, run->n_workers, run->n_workers == 1 ? "" : "s", run->n_jobs,
                 ms_of(run->ended_ns[run->n_ended - 1] - run->submit_ns),
                 ms_of(run->accepted_ns - run->submit_ns));
    print_steady(run);
    print_spread("a job, queue and all", spread_of(latency_ms, run->n_jobs));
    print_spread("prepare", spread_of_spans(run, PM_ENGINE_STAGE_PREPARE));
    print_spread("prove", spread_of_spans(run, PM_ENGINE_STAGE_PROVE));
    if (run->is_card) {
        print_spread("  with the card", spread_of_spans(run, -1));
    }
    print_spread("finish", spread_of_spans(run, PM_ENGINE_STAGE_FINISH));
    print_spread("verify", spread_of_spans(run, PM_ENGINE_STAGE_VERIFY));
    print_memory(engine);
    (void)fflush(stdout);
}

/* ---- Trace ---------------------------------------------------------------------------------- */

enum { PROCESS_DEVICE = 1, PROCESS_JOBS = 2 };

static void trace_name(FILE *file, const char *what, int process, uint64_t row, const char *name) {
    (void)fprintf(file,
                  ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%llu,"
                  "\"args\":{\"name\":\"%s\"}}",
                  what, process, (unsigned long long)row, name);
}

static void trace_span(FILE *file, const struct card_engine_run *run, const char *name, int process,
                       uint64_t row, const struct card_engine_span *span) {
    (void)fprintf(
        file, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%llu,\"ts\":%.3f,\"dur\":%.3f}",
        name, process, (unsigned long long)row,
        ((double)span->begin_ns - (double)run->submit_ns) / 1e3,
        (double)(span->end_ns - span->begin_ns) / 1e3);
}

void card_engine_trace(const struct card_engine_run *run, FILE *file) {
    char name[32];
    (void)fprintf(file,
                  "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"origin_ns\":%llu},"
                  "\"traceEvents\":[\n",
                  (unsigned long long)run->submit_ns);
    (void)fprintf(file,
                  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,"
                  "\"args\":{\"name\":\"%s\"}}",
                  PROCESS_DEVICE, run->device);
    trace_name(file, "process_name", PROCESS_JOBS, 0, "jobs");
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        const uint64_t job = run->first_job + i;
        (void)snprintf(name, sizeof name, "job %llu", (unsigned long long)job);
        trace_name(file, "thread_name", PROCESS_JOBS, job, name);
        if (run->is_card) {
            trace_span(file, run, name, PROCESS_DEVICE, 1, &run->held[i]);
        }
        for (int stage = PM_ENGINE_STAGE_PREPARE; stage <= PM_ENGINE_STAGE_VERIFY; ++stage) {
            trace_span(file, run, pm_engine_stage_name((pm_engine_stage)stage), PROCESS_JOBS, job,
                       &run->step[i][stage]);
        }
    }
    (void)fprintf(file, "\n]}\n");
}
