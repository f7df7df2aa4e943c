#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""C11: bytes a constraint, phase by phase, beside those that bytes_per_constraint.txt records.

    test_bytes_per_constraint.py FOLDER PROOFMILL [--least|--slow] [--record]

Growth of more than 5 % fails, and so does a phase that is not recorded. --record writes the file
anew, for a change that is meant.
"""
import os
import sys

from memory_runs import HERE, Checks, circuits, prove, wanted

FILE = os.path.join(HERE, "bytes_per_constraint.txt")
GROWTH = 1.05
THREADS = "2"  # scratch depends on how many there are
FORMS = {"fastest": [], "two+copy": ["--form", "two", "--b2", "copy"]}
HEADER = f"""# Bytes of host memory a constraint that prove holds at the end of each phase, beside
# key and witness, with {THREADS} threads: circuit, form, bytes, phase.
# test_bytes_per_constraint.py --record writes this file.
"""


def read_record():
    recorded = {}
    with open(FILE, encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                circuit, form, value, phase = line.rstrip("\n").split(" ", 3)
                recorded[circuit, form, phase] = float(value)
    return recorded


def measure(proofmill, circuit, form, checks):
    measured = {}
    with prove(proofmill, circuit, "--json", "--stats", "--threads", THREADS, *FORMS[form]) as run:
        if checks.expect(run.code == 0, f"{circuit.name} {form}: exit code {run.code}: {run.err}"):
            stats = run.json()["stats"]
            for phase, value in stats["phases_bytes_a_constraint"].items():
                measured[circuit.name, form, phase] = value
            peak = stats["prove_peak_bytes"] / stats["n_constraints"]
            measured[circuit.name, form, "at most"] = peak
    return measured


def main():
    folder, proofmill = sys.argv[1], sys.argv[2]
    checks, measured = Checks(), {}
    for circuit in circuits(folder, wanted(sys.argv)):
        for form in FORMS:
            measured.update(measure(proofmill, circuit, form, checks))
    recorded = read_record() if os.path.exists(FILE) else {}
    if "--record" in sys.argv:
        recorded.update(measured)
        with open(FILE, "w", encoding="ascii") as file:
            file.write(HEADER)
            for key, value in recorded.items():
                file.write(f"{key[0]} {key[1]} {value:.1f} {key[2]}\n")
        return
    for key, value in measured.items():
        case = " ".join(key)
        before = recorded.get(key)
        if not checks.expect(before is not None, f"{case}: {value:.1f}, not recorded"):
            continue
        checks.expect(value <= before * GROWTH + 0.1,
                      f"{case}: {value:.1f} bytes, {before} are recorded")
        if value < before / GROWTH - 0.1:
            print(f"{case}: {value:.1f} bytes, less than the {before} that are recorded: record it")
    checks.finish()


main()
