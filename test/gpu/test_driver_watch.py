#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""driver_watch.c over a driver of no card, and check_driver_watch.py over what it wrote.

    test_driver_watch.py FOLDER PROBE WATCH STUB

FOLDER is written to. WATCH and STUB are both called libcuda.so.1, in folders of their own.
"""
import os
import re
import subprocess
import sys

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_driver_watch.py")
# What driver_probe does under `calls`: call, bytes, result.
CALLS = [
    ("cuMemAlloc", 1001, 0), ("cuMemFree", 0, 0), ("cuMemAllocManaged", 1002, 0),
    ("cuMemFree", 0, 0), ("cuMemAllocPitch", 3072, 0), ("cuMemFree", 0, 0), ("cuMemFree", 0, 1),
    ("cuMemAlloc", 1 << 50, 2), ("cuMemCreate", 2097152, 0), ("cuMemRelease", 0, 0),
    ("cuArrayCreate", 0, 0), ("unwatched", 2000, 0), ("cuMemPoolCreate", 0, 0),
    ("cuMemAllocAsync", 1003, 0), ("cuMemFreeAsync", 0, 0), ("cuMemAllocFromPoolAsync", 1004, 0),
    ("cuMemFreeAsync", 0, 0), ("cuMemAllocAsync_ptsz", 1003, 0), ("cuMemFreeAsync_ptsz", 0, 0),
    ("cuMemAllocFromPoolAsync_ptsz", 1004, 0), ("cuMemFreeAsync_ptsz", 0, 0),
    ("cuMemPoolTrimTo", 4096, 0), ("cuMemPoolDestroy", 0, 0), ("cuMemHostAlloc", 1005, 0),
    ("cuMemFreeHost", 0, 0), ("cuMemAllocHost", 1006, 0), ("cuMemFreeHost", 0, 0),
    ("cuMemHostRegister", 4096, 0), ("cuMemHostUnregister", 0, 0), ("cuMemAlloc", 1007, 0),
    ("cuMemFree", 0, 0)]

n_failed = 0


def expect(condition, what):
    global n_failed
    if not condition:
        n_failed += 1
        print(f"FAILED: {what}")


def run_probe(probe, *arguments, **variables):
    environment = dict(os.environ, **variables)
    return subprocess.run([probe, *arguments], env=environment, capture_output=True, text=True,
                          check=False, timeout=120)


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def check(driver, ledger):
    """Exit status and words of the checker on these lines."""
    for name, lines in (("changed_driver.txt", driver), ("changed_ledger.txt", ledger)):
        with open(name, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
    run = subprocess.run([sys.executable, CHECKER, "changed_driver.txt", "changed_ledger.txt"],
                         capture_output=True, text=True, check=False, timeout=120)
    return run.returncode, run.stdout + run.stderr


def find(lines, pattern, which=0):
    return [i for i, line in enumerate(lines) if re.search(pattern, line)][which]


def without(lines, pattern, which=0):
    i = find(lines, pattern, which)
    return lines[:i] + lines[i + 1:]


def changed(lines, pattern, old, new, which=0):
    i = find(lines, pattern, which)
    assert re.search(old, lines[i]), lines[i]
    return lines[:i] + [re.sub(old, new, lines[i], count=1)] + lines[i + 1:]


def moved(lines, pattern, behind, which=0):
    """A line, with the times of those that it passes, so that only the order is another."""
    i = find(lines, pattern, which)
    line, rest = lines[i], lines[:i] + lines[i + 1:]
    at = find(rest, behind)
    time = re.match(r"\d+", rest[at]).group()
    return rest[:at + 1] + [re.sub(r"^\d+", time, line)] + rest[at + 1:]


def check_calls(probe, folders):
    run = run_probe(probe, "calls", LD_LIBRARY_PATH=folders, PM_WATCH_LOG="calls.txt")
    expect(run.returncode == 0, f"calls: {run.stderr}")
    lines = [line.split() for line in lines_of("calls.txt")]
    calls = [(c, int(n), int(r)) for _, _, c, n, _, r in lines
             if c not in ("begin", "end") and not c.startswith("watching:")]
    expect(calls == CALLS, f"calls: {[c for c in zip(calls, CALLS) if c[0] != c[1]]}")
    expect(lines[0][2] == "begin" and lines[-1][2] == "end", "calls: begin and end")
    times = [int(line[0]) for line in lines]
    expect(times == sorted(times), "calls: the order of time")
    watching = {line[2][9:] for line in lines if line[2].startswith("watching:")}
    expect(watching == {c for c, _, _ in CALLS} - {"unwatched"}, f"calls: {watching}")


def check_threads(probe, folders):
    """Lines of several threads neither mix nor overtake each other."""
    run = run_probe(probe, "threads", LD_LIBRARY_PATH=folders, PM_WATCH_LOG="threads.txt")
    expect(run.returncode == 0, f"threads: {run.stderr}")
    live, n = set(), 0
    for line in lines_of("threads.txt"):
        _, _, call, _, pointer, result = line.split()
        if call == "cuMemAlloc":
            expect(pointer not in live and result == "0", f"threads: {line}")
            live.add(pointer)
            n += 1
        elif call == "cuMemFree":
            expect(pointer in live, f"threads: {line}")
            live.discard(pointer)
    expect(n == 2000 and not live, f"threads: {n} allocations, {len(live)} left")


def check_no_driver(probe, watch):
    """Without a driver behind it the watch refuses, and does not find itself."""
    nowhere = "/nowhere/libcuda.so.1"
    run = run_probe(probe, "threads", LD_LIBRARY_PATH=watch, PM_WATCH_DRIVER=nowhere)
    expect(run.returncode == 1 and "no driver found" in run.stderr, f"no driver: {run.stderr}")
    itself = os.path.join(watch, "libcuda.so.1")
    run = run_probe(probe, "threads", LD_LIBRARY_PATH=watch, PM_WATCH_DRIVER=itself)
    expect(run.returncode == 1 and "no driver found" in run.stderr, f"itself: {run.stderr}")


def check_checker(probe, folders):
    run = run_probe(probe, "proof", "ledger.txt", LD_LIBRARY_PATH=folders,
                    PM_WATCH_LOG="driver.txt")
    expect(run.returncode == 0, f"proof: {run.stderr}")
    driver, ledger = lines_of("driver.txt"), lines_of("ledger.txt")
    status, words = check(driver, ledger)
    expect(status == 0, f"a good log: {words}")
    w, a, key = "cuMemAllocFromPoolAsync 4000", "cuMemAllocFromPoolAsync 768", "cuMemAlloc 9000"
    stranger = driver[find(driver, key)].replace("9000", "9001").replace("0x1", "0x9")
    mutants = [
        ("an allocation that no ledger knows",
         driver[:-1] + [stranger] + driver[-1:], ledger, "no ledger knows"),
        ("one that the driver was not asked for", without(driver, w), ledger, "was not asked for"),
        ("another size", changed(driver, a, "768", "769"), ledger, "no ledger knows"),
        ("another size in the ledger", driver,
         changed(ledger, "\tget\t.*\tkey on device", "9000", "9001"), "no ledger knows"),
        ("never given back", without(driver, " cuMemFree 0", 3),
         without(ledger, "\trelease\t.*key on device"), "never given back: 9000"),
        ("a pool is left", without(driver, " cuMemPoolDestroy 0"), ledger, "1 pools are left"),
        ("another mechanism", changed(driver, a, "cuMemAllocFromPoolAsync", "cuMemAlloc"), ledger,
         "no ledger knows"),
        ("a call that is none of ours", changed(driver, key, "cuMemAlloc", "cuMemAllocManaged"),
         ledger, "nothing of ours asks"),
        ("another thread", changed(driver, a, r" \d+ ", " 1 "), ledger, "thread 1: no ledger"),
        ("released by the wrong call", changed(driver, " cuMemFreeHost 0", "FreeHost", "Free"),
         ledger, "which no such call had given out"),
        ("given out twice", changed(driver, a, "0x[0-9a-f]+", driver[find(driver, w)].split()[4]),
         ledger, "had not come back"),
        ("a release that failed", changed(driver, " cuMemFreeHost 0", "0$", "1"), ledger,
         "failed with 1"),
        ("the end is missing", without(driver, " end "), ledger, "did not end by itself"),
        ("the ledger's end is missing", driver, without(ledger, "\tend\t"), "cut off"),
        ("an unwatched runtime", [l for l in driver if "watching:cuMemAlloc " not in l], ledger,
         "has not got these"),
        ("a peak of the plan", driver, changed(ledger, "\tpeak\t", "15236", "15237"),
         "15237 bytes of vram:0 planned at most, 15236 by the driver"),
        ("a key of the plan", driver, changed(ledger, "\tplan\t.*key on", "9700", "9701"),
         "no key of the planned 9701 bytes"),
        ("planned outside the lock", driver,
         changed(ledger, "\tplan\t.*\ta$", "\t768\t1", "\t768\t0"), "had and not planned"),
        ("entered inside the lock", driver,
         changed(ledger, "\tenter\t.*\tw$", "\t4000\t0", "\t4000\t1"), "inside the lock"),
        ("left outside the lock", driver,
         changed(ledger, "\tleave\t.*\ta$", "\t768\t1", "\t768\t0"), "outside the lock"),
        ("came outside the lock", driver,
         changed(ledger, "\tget\t.*\ta$", "\t768\t1", "\t768\t0"), "inside the lock"),
        ("not in the proof's ledger", driver, without(ledger, "\tenter\t.*\tb$"),
         "planned and never had"),
        ("noted before it was there", driver,
         changed(ledger, "\tenter\t.*\tw$", r"^\d+", "1"), "no such block"),
        ("never left the ledger", driver, without(ledger, "\tleave\t.*\tb$"),
         "what went is not what came"),
        ("another order", moved(driver, " cuMemFree 0", " cuMemPoolDestroy 0"), ledger,
         "the driver was not asked for it"),
        ("no proof at all", driver,
         [l for l in ledger if not re.search("\t(plan|peak|enter|leave)\t", l)], "no proof"),
    ]
    for what, theirs, ours, reason in mutants:
        status, words = check(theirs, ours)
        expect(status == 1 and reason in words, f"{what}: {status}, {words}")
    print(f"{len(mutants)} mutants of a log and a ledger")


def main():
    folder, probe, watch, stub = sys.argv[1:5]
    probe, watch, stub = os.path.abspath(probe), os.path.abspath(watch), os.path.abspath(stub)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    folders = f"{os.path.dirname(watch)}:{os.path.dirname(stub)}"
    check_calls(probe, folders)
    check_threads(probe, folders)
    check_no_driver(probe, os.path.dirname(watch))
    check_checker(probe, folders)
    print("good" if n_failed == 0 else f"{n_failed} failed")
    sys.exit(1 if n_failed else 0)


main()
