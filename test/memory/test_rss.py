#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Peak anonymous memory of a whole process is what the plan said, within 10 % or 4 MiB, and of a
key that is streamed no more than a window is in memory.

    test_rss.py FOLDER PROOFMILL [--least|--slow]

FOLDER is that of make_memory_circuits.py. The kernel's RssAnon is asked every millisecond.
"""
import sys

from memory_runs import MIB, STREAM_BYTES, Checks, circuits, predicted_bytes, prove, wanted

FORMS = [
    [],
    ["--form", "three", "--residency", "keep", "--b2", "later"],
    ["--form", "two", "--residency", "stream", "--b2", "copy"],
    ["--form", "three", "--residency", "stream", "--b2", "start"],
]


def main():
    folder, proofmill, how_many = sys.argv[1], sys.argv[2], wanted(sys.argv)
    checks = Checks()
    for circuit in circuits(folder, how_many):
        for options in FORMS:
            if circuit.params and "stream" in options:
                options = [o if o != "stream" else "keep" for o in options]
            case = f"{circuit.name} {' '.join(options)}"
            with prove(proofmill, circuit, "--json", "--memory", *options) as run:
                if not checks.expect(run.code == 0, f"{case}: exit code {run.code}: {run.err}"):
                    continue
                memory = run.json()["memory"]
                planned, measured = predicted_bytes(memory), run.peak_anonymous_bytes
                print(f"{case}: planned {planned / MIB:.1f} MiB, measured {measured / MIB:.1f} MiB")
                checks.expect(abs(measured - planned) <= max(planned / 10, 4 * MIB),
                              f"{case}: planned {planned}, measured {measured}")
                if "stream" in options:
                    checks.expect(run.peak_file_bytes <= STREAM_BYTES,
                                  f"{case}: {run.peak_file_bytes} bytes of files in memory")
                checks.expect(memory["divergences"] == 0,
                              f"{case}: {memory['divergences']} divergences")
    checks.finish()


main()
