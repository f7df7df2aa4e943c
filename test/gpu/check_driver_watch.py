#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plan, ledger and driver say the same of a card's memory: none of them is believed.

    check_driver_watch.py DRIVER_LOG LEDGER

DRIVER_LOG is of driver_watch.c, LEDGER of the program that ran over it (ledger_dump.h). Complaints
are about: an allocation that one of them knows and another does not, of another size, by another
thread or by another call; one that is never given back; a peak that differs by a byte; a buffer
that is inside the device's lock where plan or ledger say outside.

What the driver takes by itself is no call and is not seen here: its context, code of kernels, and
the pages that a pool asks for so that it can give out what it is asked for.
"""
import collections
import os
import sys

ONCE, STREAM, PINNED, REGISTERED = "cudaMalloc", "cudaMallocAsync", "cudaHostAlloc", \
    "cudaHostRegister"
GETS = {"cuMemAlloc": ONCE, "cuMemAllocFromPoolAsync": STREAM,
        "cuMemAllocFromPoolAsync_ptsz": STREAM, "cuMemHostAlloc": PINNED,
        "cuMemHostRegister": REGISTERED}
RELEASES = {"cuMemFree": ONCE, "cuMemFreeAsync": STREAM, "cuMemFreeAsync_ptsz": STREAM,
            "cuMemFreeHost": PINNED, "cuMemHostUnregister": REGISTERED}
# Without these in the runtime's hands nothing would be seen.
WATCHED = ["cuMemAlloc", "cuMemFree", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemHostAlloc",
           "cuMemFreeHost", "cuMemHostRegister", "cuMemHostUnregister", "cuMemPoolCreate",
           "cuMemPoolDestroy"]
# Memory that is no proof's: with a key, with the card, while a key is brought.
KEY_NAMES = ["key on device", "ntt factors", "coset powers"]
KEPT_NAMES = KEY_NAMES + ["staging", "staging of the key"]

complaints = []


def complain(text):
    complaints.append(text)


class Operation:
    """One allocation or release. block: what the driver has given out or taken back."""

    def __init__(self, at, thread, is_get, mechanism, size, block=None, name=None, in_lock=None):
        self.at, self.thread, self.is_get, self.mechanism, self.size = \
            at, thread, is_get, mechanism, size
        self.block, self.name, self.in_lock = block, name, in_lock

    def key(self):
        return self.thread, self.is_get, self.mechanism, self.size

    def __str__(self):
        what = "allocation" if self.is_get else "release"
        name = f" ({self.name})" if self.name else ""
        return f"{what} of {self.size} bytes by {self.mechanism}{name}, thread {self.thread}"


class Block:
    def __init__(self, size, mechanism):
        self.size, self.mechanism, self.name = size, mechanism, None
        self.get, self.release, self.owner = None, None, None  # indices of operations, a proof
        self.in_lock = [None, None]
        self.at = [None, None]
        self.thread = None


class Driver:
    """The calls in their order."""

    def __init__(self, path):
        self.operations, self.live, self.pools, self.n_failed = [], {}, {}, 0
        self.watched, ended = set(), False
        if not os.path.exists(path):
            sys.exit(f"{path} is not there: no runtime has opened the watch")
        with open(path, encoding="ascii") as file:
            lines = [line.split() for line in file]
        if not lines or any(len(line) != 6 for line in lines) or lines[0][2] != "begin":
            sys.exit(f"{path}: no log of the driver's watch")
        for at, thread, call, size, pointer, outcome in lines:
            ended |= call == "end"
            self.take(int(at), int(thread), call, int(size), int(pointer, 16), int(outcome))
        if not ended:
            complain(f"{path}: the process did not end by itself")
        missing = [call for call in WATCHED if call not in self.watched]
        if missing:
            complain(f"the runtime has not got these from the watch: {' '.join(missing)}")

    def take(self, at, thread, call, size, pointer, outcome):
        if call.startswith("watching:"):
            self.watched.add(call[len("watching:"):])
        elif call in GETS:
            self.n_failed += outcome != 0
            if outcome == 0:
                if pointer in self.live:
                    complain(f"{call} gave out 0x{pointer:x}, which had not come back")
                block = Block(size, GETS[call])
                block.get = len(self.operations)
                self.live[pointer] = block
                self.operations.append(Operation(at, thread, True, GETS[call], size, block))
        elif call in RELEASES:
            if outcome == 0 and pointer != 0:
                block = self.live.pop(pointer, None)
                if block is None or block.mechanism != RELEASES[call]:
                    complain(f"{call} of 0x{pointer:x}, which no such call had given out")
                    return
                block.release = len(self.operations)
                self.operations.append(
                    Operation(at, thread, False, block.mechanism, block.size, block))
            elif outcome != 0:
                complain(f"{call} of 0x{pointer:x} failed with {outcome}")
        elif call in ("cuMemPoolCreate", "cuMemPoolDestroy"):
            if outcome == 0:
                self.pools[pointer] = self.pools.get(pointer, 0) + \
                    (1 if call == "cuMemPoolCreate" else -1)
        elif call not in ("begin", "end", "cuMemPoolTrimTo"):
            complain(f"{call} of {size} bytes: nothing of ours asks for memory that way")

    def check_end(self):
        for block in self.live.values():
            complain(f"never given back: {block.size} bytes by {block.mechanism}, {block.name}")
        n_left = sum(n for n in self.pools.values())
        if n_left != 0 or any(n not in (0, 1) for n in self.pools.values()):
            complain(f"{n_left} pools are left")


Proof = collections.namedtuple("Proof", "plan resident peak enters leaves")


class Ledger:
    def __init__(self, path):
        self.operations, ended = [], False
        self.proofs = collections.defaultdict(lambda: Proof([], {}, [], [], []))
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        if not lines or any(len(line) != 9 for line in lines):
            sys.exit(f"{path}: no ledger")
        for at, thread, kind, mechanism, size, lock, owner, where, name in lines:
            ended |= kind == "end"
            entry = Operation(int(at), int(thread), kind in ("get", "enter"), mechanism, int(size),
                              None, name, lock == "1")
            if kind in ("get", "release"):
                self.operations.append(entry)
            elif kind in ("plan", "peak", "enter", "leave"):
                proof = self.proofs[int(owner)]
                if kind == "plan" and where == "resident":
                    proof.resident[name] = int(size)
                else:
                    {"plan": proof.plan, "peak": proof.peak, "enter": proof.enters,
                     "leave": proof.leaves}[kind].append(entry)
        if not ended:
            complain(f"{path}: the ledger was cut off")


def lay_side_by_side(driver, ledger):
    """Both were written in the order of the calls. What does not fit is named, and the rest goes on
    with what does."""
    theirs, ours, i, n_pairs = driver.operations, ledger.operations, 0, 0
    for operation in theirs:
        if i < len(ours) and ours[i].key() != operation.key():
            ahead = next((k for k in range(i, min(i + 64, len(ours)))
                          if ours[k].key() == operation.key()), None)
            if ahead is None:
                complain(f"the driver's {operation}: no ledger knows of it")
                continue
            for missing in ours[i:ahead]:
                complain(f"the ledger's {missing}: the driver was not asked for it")
            i = ahead
        elif i == len(ours):
            complain(f"the driver's {operation}: no ledger knows of it")
            continue
        mine, block, end = ours[i], operation.block, 0 if operation.is_get else 1
        if end == 1 and block.name != mine.name:
            complain(f"the ledger's {mine} is the driver's of {block.name}")
        block.name, block.in_lock[end], block.at[end] = mine.name, mine.in_lock, mine.at
        block.thread = mine.thread if end == 0 else block.thread
        i, n_pairs = i + 1, n_pairs + 1
    for missing in ours[i:]:
        complain(f"the ledger's {missing}: the driver was not asked for it")
    return n_pairs


def peaks(operations):
    live, most = collections.Counter(), collections.Counter()
    for operation in operations:
        live[operation.mechanism] += operation.size if operation.is_get else -operation.size
        live["device"] = live[ONCE] + live[STREAM]
        for what in (operation.mechanism, "device"):
            most[what] = max(most[what], live[what])
    return most


def check_peaks(driver, ledger):
    theirs, ours = peaks(driver.operations), peaks(ledger.operations)
    for what in sorted(set(theirs) | set(ours)):
        if theirs[what] != ours[what]:
            complain(f"{what}: {theirs[what]} bytes at most by the driver, {ours[what]} by the "
                     "ledger")
        print(f"  most at once, {what}: {theirs[what]:,} bytes")


def describe(entry):
    return entry.name, entry.mechanism, entry.size, entry.in_lock


def check_plan(number, proof):
    """The plan's lines are the ledger's entries, lock included, and all are given back."""
    planned, entered = (collections.Counter(map(describe, entries))
                        for entries in (proof.plan, proof.enters))
    for line in planned - entered:
        complain(f"proof {number}: planned and never had: {line}")
    for line in entered - planned:
        complain(f"proof {number}: had and not planned: {line}")
    gone = collections.Counter((e.name, e.mechanism, e.size) for e in proof.leaves)
    came = collections.Counter((e.name, e.mechanism, e.size) for e in proof.enters)
    if gone != came:
        complain(f"proof {number}: what went is not what came: {gone - came}, {came - gone}")


def claim(number, proof, blocks):
    """Each entry of the ledger has its block, on the side of the lock that it says."""
    mine = {}
    for entry in proof.enters:
        block = next((b for b in reversed(blocks[entry.name]) if b.owner is None and
                      b.size == entry.size and b.mechanism == entry.mechanism and
                      b.thread == entry.thread and b.at[0] <= entry.at), None)
        if block is None:
            complain(f"proof {number}: the ledger's {entry}: no such block")
            continue
        block.owner = number
        mine[entry.name] = block
        if block.in_lock[0] != entry.in_lock:
            complain(f"proof {number}: {entry} did not come "
                     f"{'inside' if entry.in_lock else 'outside'} the lock")
    for entry in proof.leaves:
        block = mine.get(entry.name)
        if block is None or block.at[1] is None:
            continue
        if block.at[1] > entry.at or block.in_lock[1] != entry.in_lock:
            complain(f"proof {number}: {entry} did not go "
                     f"{'inside' if entry.in_lock else 'outside'} the lock, or later than noted")
    return list(mine.values())


def key_groups(driver):
    """Blocks of one key, which are asked for one behind the other."""
    groups = []
    for operation in driver.operations:
        if operation.is_get and operation.block.name in KEY_NAMES:
            if operation.block.name == KEY_NAMES[0] or not groups:
                groups.append([])
            groups[-1].append(operation.block)
    return groups


class Curve:
    """Live bytes after each operation of the driver."""

    def __init__(self, driver):
        self.once, self.stream = [], []
        live = collections.Counter()
        for operation in driver.operations:
            live[operation.mechanism] += operation.size if operation.is_get else -operation.size
            self.once.append(live[ONCE])
            self.stream.append(live[STREAM])

    def peak(self, first, last):
        return max(self.once[i] + self.stream[i] for i in range(first, last + 1))


def span(driver, blocks):
    ends = [b.release if b.release is not None else len(driver.operations) - 1 for b in blocks]
    return min(b.get for b in blocks), max(ends)


def check_proof_peak(number, proof, driver, curve, groups, own):
    """The most that the driver had given out while it ran is the plan's peak, to the byte."""
    first, last = span(driver, own)
    key_bytes = proof.resident.get(KEY_NAMES[0], 0)
    here = [g for g in groups if g[0].get < first and
            (g[0].release is None or g[0].release > last)]
    if key_bytes != 0 and all(sum(b.size for b in g) != key_bytes for g in here):
        complain(f"proof {number}: no key of the planned {key_bytes} bytes is on the card: "
                 f"{[sum(b.size for b in g) for g in here]}")
        return
    others = curve.once[first] - key_bytes
    measured = curve.peak(first, last) - others
    if measured != proof.peak[0].size:
        complain(f"proof {number}: {proof.peak[0].size} bytes of {proof.peak[0].name} planned at "
                 f"most, {measured} by the driver")


def check_proofs(driver, ledger):
    blocks = collections.defaultdict(list)
    for operation in driver.operations:
        if operation.is_get:
            blocks[operation.block.name].append(operation.block)
    curve, groups, owned = Curve(driver), key_groups(driver), {}
    for number, proof in sorted(ledger.proofs.items()):
        check_plan(number, proof)
        owned[number] = claim(number, proof, blocks)
    spans = {number: span(driver, own) for number, own in owned.items() if own}
    n_alone = 0
    for number, own in owned.items():
        if not own or not ledger.proofs[number].peak:
            complain(f"proof {number}: nothing of it was on the card")
            continue
        first, last = spans[number]
        if all(begin > last or end < first for other, (begin, end) in spans.items()
               if other != number):
            n_alone += 1
            check_proof_peak(number, ledger.proofs[number], driver, curve, groups, own)
    for name, named in blocks.items():
        strays = [b for b in named if b.owner is None]
        if strays and name not in KEPT_NAMES:
            complain(f"{len(strays)} blocks {name} of {strays[0].size} bytes are in no proof's "
                     "ledger")
    return n_alone


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    driver, ledger = Driver(sys.argv[1]), Ledger(sys.argv[2])
    n_pairs = lay_side_by_side(driver, ledger)
    driver.check_end()
    check_peaks(driver, ledger)
    n_alone = check_proofs(driver, ledger)
    if not ledger.operations or not ledger.proofs or n_alone == 0:
        complain("there is no proof that had the card to itself: nothing was compared")
    print(f"  {n_pairs} allocations and releases of the driver are the ledger's, {driver.n_failed} "
          f"more failed; {len(ledger.proofs)} proofs, {n_alone} of them alone on the card")
    for complaint in complaints[:20]:
        print(f"  NOT SO: {complaint}")
    if len(complaints) > 20:
        print(f"  and {len(complaints) - 20} more")
    sys.exit(1 if complaints else 0)


main()
