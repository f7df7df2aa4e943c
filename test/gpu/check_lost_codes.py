#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every error after which a process must be relaunched, by CUDA's own header, marks a device bad.

    check_lost_codes.py SOURCE_DIR DRIVER_TYPES_H
"""
import os
import re
import sys

# Judged by us, as gpu_device.c says: the header is silent about what works after them.
JUDGED = {"cudaErrorECCUncorrectable", "cudaErrorNvlinkUncorrectable",
          "cudaErrorContextIsDestroyed", "cudaErrorUnknown"}


def documented(path):
    """The numbers of all codes; names and numbers of those whose comment says that the process is
    lost."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    errors = text[text.index("cudaSuccess"):text.index("cudaErrorApiFailureBase")]
    every = {int(number) for number in re.findall(r"cudaError\w+\s*=\s*(\d+)", errors)}
    found = {}
    for comment, name, number in re.findall(
            r"/\*\*((?:(?!\*/).)*)\*/\s*(cudaError\w+)\s*=\s*(\d+)", errors, re.S):
        if "process must" in re.sub(r"[\s*]+", " ", comment):
            found[name] = int(number)
    return every, found


def ours(source):
    with open(os.path.join(source, "src/gpu/device/gpu_device.c"), encoding="utf-8") as file:
        text = file.read()
    numbers = dict(re.findall(r"\b(ERROR_\w+) = (\d+)", text))
    table = re.search(r"sticky\[\] = \{(.*?)\};", text, re.S).group(1)
    names = re.findall(r"\w+", table)
    return {n for n in names if n not in numbers}, {int(numbers[n]) for n in names if n in numbers}


def main():
    (every, lost), (names, numbers) = documented(sys.argv[2]), ours(sys.argv[1])
    missing = [n for n, number in lost.items() if n not in names and number not in numbers]
    extra = [n for n in names - JUDGED if n not in lost]
    extra += [n for n in numbers & every if n not in lost.values()]
    print(f"{sys.argv[2]}: {len(lost)} codes after which a process must be relaunched")
    for words, what in (("not in gpu_device.c", missing), ("of which CUDA does not say so", extra)):
        if what:
            print(f"FAILED: {words}: {what}")
    sys.exit(1 if missing or extra or len(lost) < 10 else 0)


main()
