#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Peak anonymous memory of a whole process is what the plan said, within 10 % or 4 MiB, and of a
key that is streamed no more than a window is in memory.

    test_rss.py FOLDER PROOFMILL [--least|--slow]

FOLDER is that of make_memory_circuits.py. The kernel's RssAnon is asked every millisecond; a busy
machine may keep us from asking at the peak, so that what seems to be too little is measured again.
"""
import sys

from memory_runs import MIB, STREAM_BYTES, Checks, circuits, predicted_bytes, prove, wanted

FORMS = [
    [],
    ["--form", "three", "--residency", "keep", "--b2", "later"],
    ["--form", "two", "--residency", "stream", "--b2", "copy"],
    ["--form", "three", "--residency", "stream", "--b2", "start"],
]


ATTEMPTS = 6


def allowance(planned):
    return max(planned / 10, 4 * MIB)


def check_case(checks, case, run, options, is_last):
    """Whether the case is decided."""
    if not checks.expect(run.code == 0, f"{case}: exit code {run.code}: {run.err}"):
        return True
    memory = run.json()["memory"]
    planned, measured = predicted_bytes(memory), run.peak_anonymous_bytes
    if planned - measured > allowance(planned) and not is_last:
        return False
    print(f"{case}: planned {planned / MIB:.1f} MiB, measured {measured / MIB:.1f} MiB")
    checks.expect(abs(measured - planned) <= allowance(planned),
                  f"{case}: planned {planned}, measured {measured}")
    if "stream" in options:
        checks.expect(run.peak_file_bytes <= STREAM_BYTES,
                      f"{case}: {run.peak_file_bytes} bytes of files in memory")
    checks.expect(memory["divergences"] == 0, f"{case}: {memory['divergences']} divergences")
    return True


def main():
    folder, proofmill, how_many = sys.argv[1], sys.argv[2], wanted(sys.argv)
    checks = Checks()
    for circuit in circuits(folder, how_many):
        for options in FORMS:
            if circuit.params and "stream" in options:
                options = [o if o != "stream" else "keep" for o in options]
            case = f"{circuit.name} {' '.join(options)}"
            for attempt in range(ATTEMPTS):
                with prove(proofmill, circuit, "--json", "--memory", *options) as run:
                    if check_case(checks, case, run, options, attempt == ATTEMPTS - 1):
                        break
    checks.finish()


main()
