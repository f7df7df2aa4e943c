/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/work.h"

/* For each thread, between two reports. */
#define TASKS_PER_BATCH 32u

struct batch {
    pm_task *task;
    void *argument;
    uint64_t first;
};

static void run_one(void *argument, size_t index) {
    const struct batch *batch = argument;
    batch->task(batch->argument, batch->first + index);
}

pm_status pm_work_run(struct pm_work *work, struct pm_team *team, uint64_t n_tasks, pm_task *task,
                      void *argument, pm_error *error) {
    const uint64_t most = (uint64_t)TASKS_PER_BATCH * pm_team_threads(team);
    struct batch batch = {.task = task, .argument = argument};
    for (; batch.first < n_tasks; batch.first += most) {
        const uint64_t left = n_tasks - batch.first;
        PM_TRY(pm_control_check(work->control, error));
        pm_team_run(team, left < most ? left : most, run_one, &batch);
        pm_work_advance(work, 0);
    }
    return pm_control_check(work->control, error);
}
