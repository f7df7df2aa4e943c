#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""C2, C7: where memory is short a proof is refused before any work, or stays within what there is.

    test_caps.py FOLDER PROOFMILL [--least|--slow]

The limit is a part of what the plan of the fastest proof predicts, told by --mem or by a cgroup
(v1, v2) in a made-up tree (--system-root). A run that goes on is watched: its anonymous memory must
stay below the limit, and of a key that is streamed but a small part may be in memory. The need that
a refusal names must be exact: with as much the proof is made, with a byte less it is refused again.
"""
import os
import re
import shutil
import sys
import tempfile

from memory_runs import MIB, STREAM_BYTES, Checks, circuits, predicted_bytes, prove, wanted

PARTS = [0.1, 0.5, 0.8, 1.0, 1.2, 2.0]
MEMORY = 5  # the exit code
LEFT_OVER_SHARE = 20  # of what is free the command leaves a twentieth alone
SENTENCE = re.compile(r"needs at least \S+ \S+ of memory \((\d+) bytes\), "
                      r"(.*) (allows|leaves) \S+ \S+ \((\d+) bytes\)")


def put(root, path, text):
    full = root + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="ascii") as file:
        file.write(text)


def tree(version, free_bytes):
    """A machine of 64 GiB with a cgroup that has free_bytes left: a limit less usage, of which most
    is page cache that can be reclaimed."""
    root = tempfile.mkdtemp(prefix="proofmill-root-")
    used, cache = 300 * MIB, 290 * MIB
    limit = free_bytes + used - cache
    put(root, "/proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n")
    if version == 2:
        put(root, "/proc/self/cgroup", "0::/outer/job\n")
        group = "/sys/fs/cgroup/outer/"
        put(root, group + "memory.max", f"{limit}\n")
        put(root, group + "memory.current", f"{used}\n")
        put(root, group + "memory.stat",
            f"anon {used - cache}\ninactive_file {cache}\nactive_file 0\n")
        put(root, group + "job/memory.max", "max\n")
    else:
        put(root, "/proc/self/cgroup", "7:cpu,cpuacct:/\n4:memory:/job\n0::/\n")
        group = "/sys/fs/cgroup/memory/job/"
        put(root, group + "memory.limit_in_bytes", f"{limit}\n")
        put(root, group + "memory.usage_in_bytes", f"{used}\n")
        put(root, group + "memory.stat", f"total_inactive_file {cache // 2}\n"
            f"total_active_file {cache // 2}\n")
    return root


class Caps:
    def __init__(self, proofmill, checks, circuit):
        self.proofmill, self.checks, self.circuit = proofmill, checks, circuit
        with prove(proofmill, circuit, "--json", "--memory") as run:
            self.is_ready = checks.expect(run.code == 0, f"{circuit.name}: {run.err}")
            if self.is_ready:
                self.predicted = predicted_bytes(run.json()["memory"])
                self.cpu_s = run.cpu_s

    def refused(self, case, run, limit):
        """The refusal itself; returns the need that it names."""
        expect = self.checks.expect
        expect(run.has_outputs() == [False, False], f"{case}: outputs after a refusal")
        found = SENTENCE.search(run.err)
        if not expect(found is not None, f"{case}: no two numbers in: {run.err}"):
            return None
        need, have = int(found.group(1)), int(found.group(4))
        expect(have == limit and need > limit, f"{case}: need {need}, have {have}, limit {limit}")
        expect(run.cpu_s < max(self.cpu_s / 2, 0.05),
               f"{case}: {run.cpu_s} s before the refusal, the proof takes {self.cpu_s} s")
        return need

    def finished(self, case, run, limit):
        expect = self.checks.expect
        expect(run.has_outputs() == [True, True], f"{case}: no outputs")
        expect(run.peak_anonymous_bytes <= limit,
               f"{case}: {run.peak_anonymous_bytes} bytes, {limit} were allowed")
        if "streamed" in run.err:  # C8
            print(f"    the key is streamed: {run.peak_file_bytes / MIB:.1f} MiB of files")
            expect(run.peak_file_bytes <= STREAM_BYTES,
                   f"{case}: {run.peak_file_bytes} bytes of the key in memory, it is streamed")

    def run(self, case, part, limit, options):
        """limit: what the command may take, by the options."""
        with prove(self.proofmill, self.circuit, *options) as run:
            print(f"{case}: exit code {run.code}, {run.peak_anonymous_bytes / MIB:.1f} MiB")
            self.checks.expect(run.code in (0, MEMORY), f"{case}: exit code {run.code}: {run.err}")
            self.checks.expect(run.code == MEMORY or part > 0.1, f"{case}: a tenth cannot do")
            self.checks.expect(run.code == 0 or part < 2,
                               f"{case}: refused twice the need: {run.err}")
            if run.code == 0:
                self.finished(case, run, limit)
                return None
            return self.refused(case, run, limit)

    def by_option(self, part):
        limit = int(self.predicted * part)
        case = f"{self.circuit.name} --mem {part:.1f}"
        need = self.run(case, part, limit, ["--mem", str(limit)])
        if need is not None and part == 0.5:
            self.need_is_exact(case, need)

    def need_is_exact(self, case, need):
        """What is said before the key is opened may be less than what its contents turn out to
        need, but no run is refused a third time."""
        for _ in range(2):
            with prove(self.proofmill, self.circuit, "--mem", str(need)) as run:
                if run.code == 0:
                    self.finished(case + ", with the need", run, need)
                    break
                need = self.refused(case + ", with the need", run, need) or need
        else:
            self.checks.expect(False, f"{case}: refused with the need, twice")
        with prove(self.proofmill, self.circuit, "--mem", str(need - 1)) as run:
            self.checks.expect(run.code == MEMORY, f"{case}: {need - 1} bytes are enough as well")

    def by_cgroup(self, part, version):
        free = int(self.predicted * part)
        root = tree(version, free)
        try:
            self.run(f"{self.circuit.name} cgroup v{version} {part:.1f}", part,
                     free - free // LEFT_OVER_SHARE, ["--system-root", root])
        finally:
            shutil.rmtree(root)


def main():
    folder, proofmill, how_many = sys.argv[1], sys.argv[2], wanted(sys.argv)
    checks = Checks()
    for circuit in circuits(folder, how_many):
        caps = Caps(proofmill, checks, circuit)
        for part in PARTS if caps.is_ready else []:
            caps.by_option(part)
            caps.by_cgroup(part, 2)
            if part in (0.5, 2.0):
                caps.by_cgroup(part, 1)
    checks.finish()


main()
