#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Breaks the scheduler in one place at a time and expects its tests to notice.

    check_policy_mutants.py SOURCE_DIR CC

Each mutant is one replacement in a copy of src/sched; the copy is compiled with the test that is
named, which must fail. A text that is not found exactly once fails too: the list keeps up with the
source.
"""
import os
import shutil
import subprocess
import sys
import tempfile

MODEL = "test_sched_model"
JOB = "test_sched_job"
# (what is broken, file, text, replacement, test)
MUTANTS = [
    ("what is set aside for the first in turn is not kept for it", "policy.c",
     "if (need == 0 || (aside <= have && need <= have - aside)) {",
     "if (need == 0 || need <= have) {", MODEL),
    ("nothing is set aside", "policy.c",
     "    claim(question, index, &verdict);\n", "", MODEL),
    ("the aged have no turn", "policy.c",
     "if (sched->n_since_aged < sched->config.age_every) {",
     "if (sched->n_since_aged <= sched->config.age_every) {", MODEL),
    ("turns are not counted", "sched_events.c",
     "        sched->n_since_aged++;\n", "", MODEL),
    ("the first in turn is passed without end for a key's sake", "policy.c",
     "sched->n_passed < sched->config.group_max", "sched->config.group_max != 0", MODEL),
    ("a device lends a little more than it has", "policy.c",
     "if (aside <= have && need <= have - aside) {\n        return true;",
     "if (aside <= have && need <= have - aside + 2) {\n        return true;", MODEL),
    ("the process lends a little more than it has", "policy.c",
     "need <= have - aside)) {", "need <= have - aside + 2)) {", MODEL),
    ("a cold key weighs nothing in the process", "policy.c",
     "remaining[kind] + (is_cold ? key->bytes[kind] : 0)", "remaining[kind]", MODEL),
    ("a cold key weighs nothing on the device", "policy.c",
     "task_bytes + (suit.is_cold ? key_bytes : 0)", "task_bytes", MODEL),
    ("nothing wakes it when time has passed", "policy.c",
     "if (at_ns > question->now_ns && at_ns < question->until_ns) {",
     "if (at_ns > question->now_ns && at_ns < question->now_ns) {", MODEL),
    ("tasks start on devices in quarantine", "sched_setup.c",
     "(variant->device_mask >> d & 1) != 0 && !sched->devices[d].quarantined &&",
     "(variant->device_mask >> d & 1) != 0 &&", MODEL),
    ("a key that is in use may leave", "sched_setup.c",
     "found->process.residency != PM_RESIDENT || found->process.n_users != 0",
     "found->process.residency != PM_RESIDENT", MODEL),
    ("a copy that is in use may leave", "policy.c",
     "copy->residency == PM_RESIDENT && copy->n_users == 0", "copy->residency == PM_RESIDENT",
     MODEL),
    ("bytes of a key come back before it has left", "sched_events.c",
     "    leaving->residency = PM_EVICTING;\n",
     "    leaving->residency = PM_COLD;\n"
     "    if (decision->device == PM_SCHED_NONE) {\n"
     "        sched->reserved_bytes[0] -= key->bytes[0];\n"
     "        sched->reserved_bytes[1] -= key->bytes[1];\n"
     "    } else {\n"
     "        sched->reserved_bytes[sched->devices[decision->device].pool] -= key->bytes[2];\n"
     "    }\n", MODEL),
    ("a fault keeps the bytes", "sched_events.c",
     "    shrink(sched, task, true);\n", "", MODEL),
    ("a step gives nothing back", "sched_events.c",
     "    shrink(sched, task, false);\n", "", MODEL),
    ("a step gives back one step too early", "sched_events.c",
     "pm_sched_task_curve(sched, task), task->step, remaining);",
     "pm_sched_task_curve(sched, task), task->step + 1, remaining);", MODEL),
    ("a worker is not given back", "sched_events.c",
     "        sched->devices[task->device].workers[task->worker] = PM_SCHED_NONE;\n", "", MODEL),
    ("a slot is not given back", "sched_events.c",
     "        leave_slot(sched, task);\n", "", MODEL),
    ("only one of those who wait for a key is told", "sched_events.c",
     "        PM_TRY(status == PM_OK\n                   ? pm_sched_begin(sched, i, error)",
     "        return (status == PM_OK\n                   ? pm_sched_begin(sched, i, error)",
     MODEL),
    ("a lost device's prepared tasks wait for it", "sched_events.c",
     "    pm_sched_release(sched, index, now_ns);\n"
     "    return pm_sched_move(task, PM_JOB_RETRY, error);", "    return PM_OK;", MODEL),
    ("a job that no device is left for waits", "sched_events.c",
     "            PM_TRY(pm_sched_fail_job(sched, j, PM_NO_DEVICE, now_ns, error));\n",
     "", MODEL),
    ("a device that failed a task has it again at once", "sched_setup.c",
     " & ~(others != 0 ? avoid_mask : 0);", ";", MODEL),
    ("whom to avoid is asked of each way alone", "sched_setup.c",
     "others |= working_devices(sched, request, &request->variants[v]) & ~avoid_mask;",
     "others |= working_devices(sched, request, variant) & ~avoid_mask;", MODEL),
    ("what waits for a device to avoid goes on doing so", "sched_events.c",
     "                                task->avoid_mask) != 0) {",
     "                                0) != 0) {", MODEL),
    ("a device that is restored changes nobody's way", "sched_events.c",
     "    sched->devices[device].n_faults = 0;\n"
     "    return choose_all_again(sched, now_ns, error);\n",
     "    sched->devices[device].n_faults = 0;\n    return PM_OK;\n", MODEL),
    ("a device that is acquitted changes nobody's way", "sched_events.c",
     "    blamed->quarantined = blamed->for_faults = false;\n"
     "    return choose_all_again(sched, now_ns, error);\n",
     "    blamed->quarantined = blamed->for_faults = false;\n    return PM_OK;\n", MODEL),
    ("a device that is acquitted rests", "sched_events.c",
     "    blamed->quarantined = blamed->for_faults = false;\n", "", MODEL),
    ("a dead device is acquitted", "sched_events.c",
     "if (!blamed->for_faults || blamed->n_faults >=", "if (blamed->n_faults >=", MODEL),
    ("a cancelled part counts as not ended", "sched_events.c",
     "    sched->jobs[task->job].n_ended++;\n", "", MODEL),
    ("a failed task is given up without a word", "sched_events.c",
     "    PM_TRY(pm_sched_move(task, PM_JOB_RETRY, error));\n    if (fault",
     "    task->state = PM_JOB_FAILED;\n    if (fault", MODEL),
    ("what has been cancelled while it ran is given out", "sched_events.c",
     "    if (task->stopping) {\n        return stopped",
     "    if (false) {\n        return stopped", MODEL),
    ("a proof need not be verified", "job.c",
     "{PM_JOB_PROVING, PM_JOB_FINISH, PM_JOB_FINISHING},",
     "{PM_JOB_PROVING, PM_JOB_FINISH, PM_JOB_FINISHING},\n"
     "    {PM_JOB_PROVING, PM_JOB_COMPLETE, PM_JOB_DONE},", JOB),
    ("what is done can fail", "job.c",
     "{PM_JOB_VERIFYING, PM_JOB_CANCEL, PM_JOB_CANCELLED},",
     "{PM_JOB_VERIFYING, PM_JOB_CANCEL, PM_JOB_CANCELLED},\n"
     "    {PM_JOB_DONE, PM_JOB_FAIL, PM_JOB_FAILED},", JOB),
    ("a missing key is tried again", "job.c",
     "    case PM_BUDGET_BUSY:\n", "    case PM_BUDGET_BUSY:\n    case PM_IO:\n", JOB),
]


def build_and_run(source, cc, folder, test):
    """The exit status of the test, or None if it does not compile."""
    sched = os.path.join(folder, "src", "sched")
    units = [os.path.join(sched, name) for name in sorted(os.listdir(sched))
             if name.endswith(".c") and not name.startswith("simulat")]
    units += [os.path.join(source, "src", "base", name)
              for name in ("status.c", "ledger.c", "memory.c")]
    units += [os.path.join(source, "test", "sched", name)
              for name in (test + ".c", "sched_world.c")]
    program = os.path.join(folder, test)
    done = subprocess.run(
        [cc, "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-w", "-I", os.path.join(folder, "src"),
         "-I", os.path.join(source, "include"), "-I", os.path.join(source, "src"),
         "-I", os.path.join(source, "test"), *units, "-o", program, "-lcmocka", "-lpthread"],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[:2000])
        return None
    try:
        return subprocess.run([program], capture_output=True, check=False, timeout=120).returncode
    except subprocess.TimeoutExpired:
        return -1


def try_mutant(source, cc, mutant):
    what, name, text, replacement, test = mutant
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(source, "src", "sched"), os.path.join(folder, "src", "sched"))
        path = os.path.join(folder, "src", "sched", name)
        with open(path, encoding="utf-8") as stream:
            before = stream.read()
        if before.count(text) != 1:
            return f"{name} has the text {before.count(text)} times: {what}"
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(before.replace(text, replacement))
        status = build_and_run(source, cc, folder, test)
    if status is None:
        return f"does not compile: {what}"
    return f"not noticed: {what}" if status == 0 else None


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    failures = 0
    for mutant in MUTANTS:
        complaint = try_mutant(arguments[0], arguments[1], mutant)
        if complaint is not None:
            failures += 1
            print("FAIL:", complaint, flush=True)
    print(f"{len(MUTANTS)} mutants, {failures} that nothing notices")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
