#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Circuits, witnesses and development keys for the tests of this folder.

    make_memory_circuits.py FOLDER PROOFMILL PM_SYNTHETIC [--least|--slow]
"""
import sys

from memory_runs import prepare, wanted

prepare(sys.argv[1], sys.argv[2], sys.argv[3], wanted(sys.argv))
