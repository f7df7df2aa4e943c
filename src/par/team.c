/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "par/team.h"

#include "base/limits.h"
#include "base/memory.h"
#include "par/background.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/*
 * A job lives on the stack of the thread that runs it. Everything but `next` is guarded by the
 * team's mutex. The owner leaves pm_team_run() only when the job is out of the queue and nobody
 * holds it, so a member never touches a job whose stack frame is gone.
 *
 * Nothing can wait in a circle: a thread waits only for holders of its own job, a holder is busy
 * with a task of that job, and if that task waits in turn, it waits for a job begun later.
 */
struct job {
    pm_task *task;
    void *argument;
    size_t n_tasks;
    size_t next;          /* first index nobody has taken; atomic; may run past n_tasks */
    uint32_t n_holders;   /* members between take and release */
    bool queued;          /* in the team's queue */
    struct job *newer;    /* towards the tail */
    pthread_cond_t freed; /* n_holders fell to 0 */
};

struct pm_team {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;      /* the queue is no longer empty, or the team is stopping */
    struct job *oldest, *newest; /* the queue: jobs that may have tasks left */
    uint32_t n_idle;             /* members asleep on `arrived` */
    uint32_t n_members;          /* members that were started */
    bool stopping;
    pthread_t members[]; /* threads - 1 */
};

static void enqueue(struct pm_team *team, struct job *job) {
    job->queued = true;
    if (team->newest != NULL) {
        team->newest->newer = job;
    } else {
        team->oldest = job;
    }
    team->newest = job;
}

/* The queue is as long as there are callers, so a walk is cheap. */
static void dequeue(struct pm_team *team, struct job *job) {
    struct job *older = NULL;
    for (struct job *at = team->oldest; at != job; at = at->newer) {
        older = at;
    }
    if (older != NULL) {
        older->newer = job->newer;
    } else {
        team->oldest = job->newer;
    }
    if (team->newest == job) {
        team->newest = older;
    }
    job->queued = false;
}

/* Runs tasks until none is left to take. */
static void work_on(struct job *job) {
    for (;;) {
        /* Relaxed: the counter hands out indices only; the mutex orders the tasks' data. */
        const size_t index = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (index >= job->n_tasks) {
            return;
        }
        job->task(job->argument, index);
    }
}

static void *member_main(void *argument) {
    struct pm_team *team = argument;
    pthread_mutex_lock(&team->mutex);
    for (;;) {
        while (team->oldest == NULL && !team->stopping) {
            team->n_idle++;
            pthread_cond_wait(&team->arrived, &team->mutex);
            team->n_idle--;
        }
        struct job *job = team->oldest;
        if (job == NULL) {
            break;
        }
        job->n_holders++;
        pthread_mutex_unlock(&team->mutex);
        work_on(job);
        pthread_mutex_lock(&team->mutex);
        if (job->queued) {
            dequeue(team, job);
        }
        if (--job->n_holders == 0) {
            pthread_cond_signal(&job->freed); /* under the mutex: the job is still there */
        }
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

/* Starts up to n members; returns 0 or the error number of the first that failed. */
static int start_members(struct pm_team *team, uint32_t n) {
    int failed = 0;
    while (failed == 0 && team->n_members < n) {
        failed = pm_thread_start(&team->members[team->n_members], member_main, team);
        team->n_members += failed == 0;
    }
    return failed;
}

pm_status pm_team_create(uint32_t threads, struct pm_team **out, pm_error *error) {
    PM_FAIL_IF(threads < 1 || threads > PM_THREADS_MAX, error, PM_INVALID_ARGUMENT,
               "a team has 1 to %d threads, not %u", PM_THREADS_MAX, threads);
    void *memory = NULL;
    PM_TRY(pm_memory_alloc(NULL, "team of threads",
                           sizeof(struct pm_team) + (threads - 1) * sizeof(pthread_t),
                           PM_MEMORY_PLAIN, &memory, error));
    struct pm_team *team = memory;
    (void)pthread_mutex_init(&team->mutex, NULL); /* cannot fail with default attributes */
    (void)pthread_cond_init(&team->arrived, NULL);
    const int failed = start_members(team, threads - 1);
    if (failed != 0) {
        const uint32_t started = team->n_members;
        pm_team_destroy(team);
        PM_FAIL(error, PM_NO_THREADS, "thread %u of %u could not be started: %s", started + 2,
                threads, strerrordesc_np(failed));
    }
    *out = team;
    return PM_OK;
}

void pm_team_destroy(struct pm_team *team) {
    if (team == NULL) {
        return;
    }
    pthread_mutex_lock(&team->mutex);
    team->stopping = true;
    pthread_cond_broadcast(&team->arrived);
    pthread_mutex_unlock(&team->mutex);
    for (uint32_t i = 0; i < team->n_members; i++) {
        (void)pthread_join(team->members[i], NULL);
    }
    (void)pthread_cond_destroy(&team->arrived);
    (void)pthread_mutex_destroy(&team->mutex);
    pm_memory_free(team);
}

uint32_t pm_team_threads(const struct pm_team *team) {
    return team != NULL ? team->n_members + 1 : 1;
}

/* Wakes as many sleeping members as the job has tasks beside the one its owner takes. */
static void wake_members(struct pm_team *team, size_t n_tasks) {
    if (n_tasks - 1 >= team->n_idle) {
        pthread_cond_broadcast(&team->arrived);
        return;
    }
    for (size_t i = 1; i < n_tasks; i++) {
        pthread_cond_signal(&team->arrived);
    }
}

void pm_team_run(struct pm_team *team, size_t n_tasks, pm_task *task, void *argument) {
    if (team == NULL || team->n_members == 0 || n_tasks <= 1) {
        for (size_t i = 0; i < n_tasks; i++) {
            task(argument, i);
        }
        return;
    }
    struct job job = {.task = task, .argument = argument, .n_tasks = n_tasks};
    (void)pthread_cond_init(&job.freed, NULL);
    pthread_mutex_lock(&team->mutex);
    enqueue(team, &job);
    wake_members(team, n_tasks);
    pthread_mutex_unlock(&team->mutex);

    work_on(&job);

    pthread_mutex_lock(&team->mutex);
    if (job.queued) {
        dequeue(team, &job);
    }
    while (job.n_holders > 0) {
        pthread_cond_wait(&job.freed, &team->mutex);
    }
    pthread_mutex_unlock(&team->mutex);
    (void)pthread_cond_destroy(&job.freed);
}

/* Enough pieces that one slow piece does not hold up the rest for long. */
#define PIECES_PER_THREAD 4

struct range_job {
    pm_range_task *task;
    void *argument;
    size_t n, piece;
};

static void run_piece(void *argument, size_t index) {
    const struct range_job *range = argument;
    const size_t begin = index * range->piece;
    const size_t left = range->n - begin;
    range->task(range->argument, begin, begin + (left < range->piece ? left : range->piece));
}

void pm_team_for(struct pm_team *team, size_t n, size_t grain, pm_range_task *task,
                 void *argument) {
    if (n == 0) {
        return;
    }
    const uint32_t threads = pm_team_threads(team);
    const size_t most = threads == 1 ? 1 : (size_t)threads * PIECES_PER_THREAD;
    size_t piece = n / most + (n % most != 0);
    if (piece < grain) {
        piece = grain;
    }
    struct range_job range = {.task = task, .argument = argument, .n = n, .piece = piece};
    pm_team_run(team, n / piece + (n % piece != 0), run_piece, &range);
}
