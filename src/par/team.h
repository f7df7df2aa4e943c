/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * par/team.h - a team of threads: created, sized and joined by its owner.
 *
 * There is no global state. A team serves several callers at once: each pm_team_run() is a job of
 * numbered tasks; idle members take tasks from the oldest unfinished job, and the caller works on
 * its own job until none is left, then waits for the members that still hold one of its tasks. So a
 * caller never waits for a stranger's job to begin, runs may be nested, and a team of one is just a
 * loop.
 */
#ifndef PM_PAR_TEAM_H
#define PM_PAR_TEAM_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct pm_team;

/* One task of a job. index < n_tasks. Tasks of one job may run at the same time in any order. */
typedef void pm_task(void *argument, size_t index);
/* A piece [begin, end) of a range. */
typedef void pm_range_task(void *argument, size_t begin, size_t end);

/* Starts threads - 1 threads; the caller of each run is the other one. 1 <= threads <=
 * PM_THREADS_MAX. Errors: INVALID_ARGUMENT, NO_MEMORY, NO_THREADS (those already started are
 * joined). */
pm_status pm_team_create(uint32_t threads, struct pm_team **team, pm_error *error);
/* Joins every member. No run may be in progress. NULL is fine. */
void pm_team_destroy(struct pm_team *team);
/* 1 for NULL. */
uint32_t pm_team_threads(const struct pm_team *team);

/* Runs task(argument, i) for each i < n_tasks and returns when all have returned. team may be NULL:
 * then the caller does everything. Allocates nothing. */
void pm_team_run(struct pm_team *team, size_t n_tasks, pm_task *task, void *argument);
/* Splits [0, n) into pieces of at least `grain` (the last may be shorter), a few per thread, and
 * runs them as a job. */
void pm_team_for(struct pm_team *team, size_t n, size_t grain, pm_range_task *task, void *argument);

#endif
