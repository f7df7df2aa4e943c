#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Counts the instructions of field, transforms, sums and a small proof under callgrind and
compares them with instructions.txt: growth of more than 3 % fails.

    check_instructions.py PROBE TEST_DIR COMPILER [--record | --against FILE]

PROBE is instruction_probe, TEST_DIR has data/ and perf/, COMPILER is what compiled it: GNU 12.2.0.
--record writes instructions.txt instead; --against compares with another file. Ends with 77
(skipped) without valgrind, and with a compiler that the record is not of.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

GROWTH_MAX = 0.03
CIRCUITS = {"bn254": "own_mimc", "bls12_381": "mult3_bls"}
# What is counted, in the order of the record: function, and whose instructions those are, with all
# that it calls.
COUNTED = {
    "counted_field_fr": "field Fr",
    "counted_field_fp": "field Fp",
    "counted_ntt_forward": "ntt forward",
    "counted_ntt_odd_coset": "ntt to the odd coset",
    "counted_msm_g1": "msm G1",
    "counted_msm_g2": "msm G2",
    "pm_cpu_products": "proof: matrix products",
    "pm_cpu_quotient": "proof: quotient",
    "pm_cpu_msm_h": "proof: msm h",
    "pm_cpu_msm_a": "proof: msm a",
    "pm_cpu_msm_b1": "proof: msm b1",
    "pm_cpu_msm_l": "proof: msm l",
    "pm_cpu_msm_b2": "proof: msm b2",
    "pm_groth16_assemble": "proof: assembly",
    "pm_groth16_verify": "proof: self-verification",
    "counted_proof": "proof: all of it, with opening",
}
# "1,234 (56.7%)  file:function [object]"; the compiler may have named a copy function.part.0.
LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+\S*?:(\w+)(?:\.[\w.]+)?(?:'\d+)?(?:\s\[|$)")


def fail(message):
    sys.exit(f"check_instructions: {message}")


def skip(reason):
    print(f"SKIP: instructions are not counted: {reason}")
    sys.exit(77)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{command[0]} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def count(probe, data, curve, scratch):
    """Instructions by function, each with all that it calls."""
    circuit = CIRCUITS[curve]
    profile = scratch / f"{curve}.callgrind"
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", probe, curve,
        str(data / circuit / f"{circuit}.zkey"), str(data / circuit / f"{circuit}.wtns"))
    table = run("callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no",
                str(profile))
    found = {}
    for line in table.splitlines():
        match = LINE.match(line)
        if match and match[2] in COUNTED:
            found[match[2]] = max(found.get(match[2], 0), int(match[1].replace(",", "")))
    missing = [name for name in COUNTED if name not in found]
    if missing:
        fail(f"{curve}: callgrind saw no call of {', '.join(missing)}")
    return {f"{curve} {what}": found[name] for name, what in COUNTED.items()}


def read_record(path):
    compiler, record = None, {}
    for line in path.read_text().splitlines():
        if line.startswith("compiler: "):
            compiler = line.removeprefix("compiler: ")
        elif line and not line.startswith("#"):
            what, number = line.rsplit(maxsplit=1)
            record[what.rstrip()] = int(number)
    return compiler, record


def write_record(path, compiler, counts):
    lines = ["# Instructions of test/perf/instruction_probe.c under callgrind, portable bodies,",
             "# one thread. Written by `cmake --build BUILD --target record_instructions`.",
             f"compiler: {compiler}"]
    lines += [f"{what:<42} {number:>12}" for what, number in counts.items()]
    path.write_text("\n".join(lines) + "\n")


def compare(record, counts):
    """Prints a table; returns what has grown, or is in one of the two alone."""
    bad = [what for what in record if what not in counts]
    n_fallen = 0
    print(f"{'':<42} {'recorded':>12} {'counted':>12} {'change':>8}")
    for what, number in counts.items():
        if what not in record:
            bad.append(what)
            continue
        change = number / record[what] - 1
        is_grown, is_fallen = change > GROWTH_MAX, change < -GROWTH_MAX
        n_fallen += is_fallen
        note = "  GROWN" if is_grown else "  fallen: record it" if is_fallen else ""
        print(f"{what:<42} {record[what]:>12} {number:>12} {change:>+8.2%}{note}")
        if is_grown:
            bad.append(what)
    if n_fallen:
        print(f"{n_fallen} have fallen by more than {GROWTH_MAX:.0%}: "
              "cmake --build BUILD --target record_instructions")
    return bad


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (3, 4, 5):
        sys.exit(__doc__)
    probe, tests, compiler = arguments[0], pathlib.Path(arguments[1]), arguments[2]
    path = tests / "perf" / "instructions.txt"
    if arguments[3:4] == ["--against"]:
        path = pathlib.Path(arguments[4])
    for program in ("valgrind", "callgrind_annotate"):
        if shutil.which(program) is None:
            skip(f"there is no {program}: tools/setup.sh full installs it")
    is_recording = arguments[3:] == ["--record"]
    if not is_recording:
        recorded_by, record = read_record(path)
        if recorded_by != compiler:
            skip(f"{path.name} is of {recorded_by}, this is {compiler}")
    counts = {}
    with tempfile.TemporaryDirectory() as scratch:
        for curve in CIRCUITS:
            counts |= count(probe, tests / "data", curve, pathlib.Path(scratch))
    if is_recording:
        write_record(path, compiler, counts)
        print(f"{len(counts)} counts are in {path}")
        return
    bad = compare(record, counts)
    if bad:
        fail(f"more than {GROWTH_MAX:.0%} more instructions, or not in both: {', '.join(bad)}")


main()
