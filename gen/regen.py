#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs every generator of this folder. CI does so and then fails on any difference, so a generated
file is never edited by hand and a generator never drifts from its output."""
import importlib
import os
import sys

# Each is gen/<name>.py with a main(root) that writes its files below root.
GENERATORS = (
    "params",
    "mont_adx",
    "curve_params",
    "pairing_params",
    "gpu_mont",
    "gpu_msm_mont",
)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    sys.dont_write_bytecode = True
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(here)
    for name in GENERATORS:
        importlib.import_module(name).main(root)


if __name__ == "__main__":
    main()
