#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The plan and the ledger say what the process really asks for: neither is believed.

    test_ledger_is_true.py FOLDER PROOFMILL RECORDER [--least|--slow]

RECORDER (allocation_recorder.c) is preloaded and writes down each call of mmap, munmap and the
heap. Its events are laid beside the trace that the command writes of its own ledger: the same
blocks, at the same steps, and no step asks for anything else.
"""
import json
import os
import sys

from memory_runs import Checks, circuits, prove, wanted

PAGE = os.sysconf("SC_PAGESIZE")
HEADER = 64  # base/memory.c puts one before each buffer of the heap
CLOCK_NS = 100  # times of the trace are rounded
FORMS = [
    [],
    ["--form", "two", "--b2", "copy"],
    ["--form", "three", "--residency", "stream", "--b2", "start"],
]


def block_bytes(entry):
    """What a buffer of the ledger costs, headers and whole pages included."""
    size = entry["args"]["bytes"]
    if entry["args"]["mechanism"] == "malloc":
        return size + HEADER
    return (size + PAGE + PAGE - 1) // PAGE * PAGE


class Record:
    """The events of one run: blocks with the times at which they came and went."""

    def __init__(self, path):
        self.blocks, live, ended = [], {}, False
        for line in open(path, encoding="ascii"):
            at, operation, address, size = line.split()
            ended |= operation == "end"
            if operation in ("map", "take") and int(size) != 0:
                block = {"from": int(at), "to": None, "bytes": int(size),
                         "mapped": operation == "map",
                         "entry": None}
                self.blocks.append(block)
                live[address] = block
            elif operation in ("unmap", "give") and address in live:
                live.pop(address)["to"] = int(at)
        assert ended, "the record was cut off"

    def claim(self, entry, at):
        """The block of an allocation: the last of its size that came before it was noted."""
        mapped = entry["args"]["mechanism"] == "mmap"
        for block in reversed(self.blocks):
            if block["from"] <= at and block["entry"] is None and block["mapped"] == mapped \
                    and block["bytes"] == block_bytes(entry):
                block["entry"] = entry
                return block
        return None


class Trace:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        self.origin = trace["otherData"]["origin_ns"]
        events = trace["traceEvents"]
        steps = [e for e in events if e["ph"] == "X" and e["cat"] in ("start", "finish")]
        self.steps = sorted(([self.at(e), self.at(e) + e["dur"] * 1000, e["name"]] for e in steps))
        self.entries = [e for e in events if e["ph"] in "be"]

    def at(self, event):
        return self.origin + event["ts"] * 1000

    def step_of_arrival(self, at):
        """Buffers come before their step has ended and after the one before has."""
        return 1 + sum(end < at for _, end, _ in self.steps)

    def step_of_departure(self, at):
        return sum(end <= at for _, end, _ in self.steps)


def check_entries(checks, case, trace, record):
    """Each line of the ledger has its block, which comes and goes at the step that it says."""
    lives = {}
    for entry in trace.entries:
        if entry["args"]["mechanism"] not in ("malloc", "mmap"):
            continue
        what = f"{case}: {entry['name']}, {entry['args']['bytes']} bytes"
        step = entry["args"]["step"]
        if entry["ph"] == "b":
            block = record.claim(entry, trace.at(entry) + CLOCK_NS)
            if checks.expect(block is not None, f"{what}: no such block was asked for"):
                lives[entry["id"]] = block
                checks.expect(step is None or trace.step_of_arrival(block["from"]) == step,
                              f"{what}: came at {trace.step_of_arrival(block['from'])}, not {step}")
        else:
            block = lives.pop(entry["id"], None)
            if checks.expect(block is not None and block["to"] is not None,
                             f"{what}: never given back"):
                checks.expect(block["to"] >= trace.at(entry) - CLOCK_NS,
                              f"{what}: went before it was noted")
                checks.expect(step is None or trace.step_of_departure(block["to"]) == step,
                              f"{what}: went at {trace.step_of_departure(block['to'])}, not {step}")
    checks.expect(not lives,
                  f"{case}: not given back: {[b['entry']['name'] for b in lives.values()]}")


def check_silence(checks, case, trace, record):
    """What is asked for while the steps run is in the ledger: a step allocates nothing."""
    begin = trace.steps[0][0]
    for _, end, name in trace.steps:
        strangers = [b for b in record.blocks if b["entry"] is None and begin <= b["from"] <= end]
        begin = end
        n_bytes = sum(b["bytes"] for b in strangers)
        checks.expect(not strangers,
                      f"{case}: {name}: {len(strangers)} blocks that no ledger knows, "
                      f"{n_bytes} bytes: {strangers[:3]}")


def check_curve(checks, case, trace, record, memory):
    """The plan's bytes at each step are those of the blocks that lived then."""
    for step in memory["steps"]:
        begin, end, name = trace.steps[step["step"] - 1]
        checks.expect(name == step["name"], f"{case}: step {step['step']} is {name}")
        live = sum(b["entry"]["args"]["bytes"] for b in record.blocks if b["entry"] is not None and
                   b["from"] < end and (b["to"] is None or b["to"] >= end))
        checks.expect(live == step["planned_bytes"],
                      f"{case}: {step['name']}: {live} bytes, {step['planned_bytes']} were planned")


def main():
    folder, proofmill, recorder, how_many = sys.argv[1], sys.argv[2], sys.argv[3], wanted(sys.argv)
    checks = Checks()
    for circuit in circuits(folder, how_many):
        for options in FORMS:
            if circuit.params:
                options = [o if o != "stream" else "keep" for o in options]
            case = f"{circuit.name} {' '.join(options)}"
            environment = dict(os.environ, LD_PRELOAD=os.path.abspath(recorder), PM_RECORD="record")
            with prove(proofmill, circuit, "--json", "--memory", "--trace", "trace.json", *options,
                       environment=environment) as run:
                if not checks.expect(run.code == 0, f"{case}: exit code {run.code}: {run.err}"):
                    continue
                memory = run.json()["memory"]
                trace, record = Trace(run.path("trace.json")), Record(run.path("record"))
                before = checks.n_failed
                check_entries(checks, case, trace, record)
                check_silence(checks, case, trace, record)
                check_curve(checks, case, trace, record, memory)
                print(f"{case}: {len(trace.entries)} entries of the ledger, "
                      f"{len(record.blocks)} blocks of the process, "
                      f"{checks.n_failed - before} failed")
    checks.finish()


main()
