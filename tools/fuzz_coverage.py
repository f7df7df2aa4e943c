#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reads what tools/fuzz_coverage.sh measured and judges it.

    tools/fuzz_coverage.py COVERAGE.info UNCOVERED.txt

A line "FILE: TEXT -- REASON" of UNCOVERED.txt accounts for every run of uncovered lines of FILE,
one behind the other, in which TEXT occurs. Prints each parser's line coverage, the runs that
nothing accounts for, and the reasons that are not needed any more. The exit status is 1 if a file
is below 95 % and has a run that nothing accounts for.
"""
import fnmatch
import os
import sys

MINIMUM = 95.0
# What reads bytes from outside. Not io/params_cache.c: it compares a header with what it must be,
# and takes no length and no offset from it.
PARSERS = (
    "src/io/params.c", "src/io/params_[lp]*.c", "src/io/pmasg.c",
    "src/io/point_run.c", "src/io/container.c", "src/io/cursor.c",
    "src/io/modulus.c", "src/io/ptau.c", "src/io/r1cs*.c", "src/io/wtns.c", "src/io/zkey.c",
    "src/io/zkey_contributions.c", "src/io/zkey_points.c", "src/io/zkey_writer.c",
    "src/json/json_[dmprtv]*.c", "src/api/api_proof.c", "src/api/api_key_arrays.c",
    "src/cli/cli_options.c", "src/cli/cli_verbs.c", "src/cli/cmd_simulate_scenario.c",
    "src/curve/curve_codec.inc", "src/daemon/config_read.c", "src/daemon/config_value.c",
    "src/daemon/service_decode.c",
)


def read_lcov(path, root):
    """{file: {line: count}} of the parsers."""
    files, lines = {}, None
    with open(path, encoding="utf-8") as stream:
        for record in stream:
            key, _, value = record.rstrip("\n").partition(":")
            if key == "SF":
                name = os.path.relpath(value, root)
                is_parser = any(fnmatch.fnmatch(name, pattern) for pattern in PARSERS)
                lines = files.setdefault(name, {}) if is_parser else None
            elif key == "DA" and lines is not None:
                line, count = (int(part) for part in value.split(",")[:2])
                lines[line] = lines.get(line, 0) + count
    return files


def read_reasons(path):
    """[(file, text, reason)]."""
    reasons = []
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if line.startswith("#") or not line.strip():
                continue
            file, _, rest = line.strip().partition(": ")
            text, _, reason = rest.partition(" -- ")
            if not reason:
                sys.exit(f"{path}:{number}: must be FILE: TEXT -- REASON")
            reasons.append((file, text, reason))
    return reasons


def uncovered_runs(lines):
    """Lists of uncovered lines that follow one another among the measured ones."""
    runs, previous_covered = [], True
    for line in sorted(lines):
        if lines[line] > 0:
            previous_covered = True
        elif previous_covered:
            runs.append([line])
            previous_covered = False
        else:
            runs[-1].append(line)
    return runs


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files, reasons = read_lcov(arguments[0], root), read_reasons(arguments[1])
    needed, status = set(), 0
    if not files:
        print("coverage: no parser was measured", file=sys.stderr)
        return 1
    print(f"{'file':34} {'lines':>6} {'reached':>8} {'accounted':>10}")
    for name, lines in sorted(files.items()):
        with open(os.path.join(root, name), encoding="utf-8") as stream:
            text = stream.read().split("\n")
        runs, open_runs, accounted = uncovered_runs(lines), [], 0
        for run in runs:
            matching = [reason for reason in reasons if reason[0] == name
                        and any(reason[1] in text[line - 1] for line in run)]
            needed.update(matching)
            accounted += len(run) if matching else 0
            if not matching:
                open_runs.append(run)
        n_covered = sum(1 for count in lines.values() if count > 0)
        percent = 100.0 * n_covered / len(lines)
        fails = percent < MINIMUM and open_runs
        status |= int(bool(fails))
        verdict = "  FAILED" if fails else ""
        print(f"{name:34} {len(lines):6} {percent:7.1f}% {accounted:10}{verdict}")
        for run in open_runs:
            place = f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}"
            print(f"    {name}:{place}: {text[run[0] - 1].strip()}")
    for reason in reasons:
        if reason not in needed:
            print(f"no longer needed in {arguments[1]}: {reason[0]}: {reason[1]}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
