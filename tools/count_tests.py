#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Counts the single tests inside the programs that ctest ran.

    tools/count_tests.py [--no-skips] RESULTS...

RESULTS.txt has lines "N passed, N failed, N skipped". RESULTS.xml is what `ctest --output-junit`
writes, with the whole output of each program. A cmocka program counts as the tests it says it ran;
any other program, and one that died before it had counted, as one. A line "N passed, N failed, N
skipped" of a script adds those numbers instead.

Prints the names of what failed or was skipped, then the sum as the last line. The exit status is 1
if anything failed, if nothing ran, or, with --no-skips, if anything was skipped.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def count_output(output):
    """[passed, failed, skipped] that the program counted itself, or None."""
    total = [0, 0, 0]
    counted = False
    for index, word in enumerate(("PASSED", "FAILED", "SKIPPED")):
        for number in re.findall(rf"^\[\s+{word}\s+\] (\d+) test\(s\)", output, re.MULTILINE):
            total[index] += int(number)
            counted = True
    for numbers in re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.MULTILINE):
        total = [a + int(b) for a, b in zip(total, numbers)]
        counted = True
    return total if counted else None


def count_case(case):
    """[passed, failed, skipped] of one <testcase>."""
    status = case.get("status")
    output = "".join(element.text or "" for element in case.findall("system-out"))
    total = count_output(output)
    if case.find("failure") is not None or status == "fail":
        if total is None:
            return [0, 1, 0]
        return [total[0], max(total[1], 1), total[2]]
    if case.find("skipped") is not None or status in ("notrun", "disabled"):
        return [0, 0, 1]
    return total if total is not None else [1, 0, 0]


def count_file(path):
    """Yields (name, [passed, failed, skipped]) for each program."""
    if path.endswith(".txt"):
        with open(path, encoding="utf-8") as stream:
            yield path, count_output(stream.read()) or [0, 1, 0]
        return
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield case.get("name"), count_case(case)


def main(arguments):
    no_skips = "--no-skips" in arguments
    paths = [argument for argument in arguments if argument != "--no-skips"]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    total = [0, 0, 0]
    for path in paths:
        for name, counts in count_file(path):
            total = [a + b for a, b in zip(total, counts)]
            if counts[1]:
                print(f"failed: {name}: {counts[1]}")
            if counts[2]:
                print(f"skipped: {name}: {counts[2]}")
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] or (no_skips and total[2]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
