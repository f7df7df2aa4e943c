#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A caller from another language: the shared library by its path, types written down by hand.

    check_rapidsnark_ctypes.py LIBRARY DATA_DIR

Proves and verifies each key of DATA_DIR the way wrappers of rapidsnark do: a pool of provers on one
buffer, a growing buffer on code 2, and lengths as the only word on where a text ends.
"""
import ctypes
import json
import os
import sys

OK, ERROR, SHORT_BUFFER = 0, 1, 2
SIZE = ctypes.c_ulonglong


class Library:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        text, handle, size = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(SIZE)
        output = (text, size, text, size, text, SIZE)
        types = {
            "groth16_public_size_for_zkey_buf": (handle, SIZE, size, text, SIZE),
            "groth16_public_size_for_zkey_file": (text, size, text, SIZE),
            "groth16_proof_size": (size,),
            "groth16_prover_create": (ctypes.POINTER(handle), handle, SIZE, text, SIZE),
            "groth16_prover_create_zkey_file": (ctypes.POINTER(handle), text, text, SIZE),
            "groth16_prover_prove": (handle, handle, SIZE, *output),
            "groth16_prover_destroy": (handle,),
            "groth16_prover": (handle, SIZE, handle, SIZE, *output),
            "groth16_prover_zkey_file": (text, handle, SIZE, *output),
            "groth16_verify": (text, text, text, text, ctypes.c_ulong),
        }
        for name, arguments in types.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = None if name.endswith(("_destroy", "proof_size")) else ctypes.c_int
            setattr(self, name, function)

    def prove(self, function, *inputs):
        """Calls with one byte of room, then with what the first call asks for."""
        sizes = SIZE(1), SIZE(1)
        for expected in (SHORT_BUFFER, OK):
            buffers = [ctypes.create_string_buffer(size.value) for size in sizes]
            error = ctypes.create_string_buffer(256)
            code = function(*inputs, buffers[0], ctypes.byref(sizes[0]), buffers[1],
                            ctypes.byref(sizes[1]), error, len(error))
            if code != expected:
                sys.exit(f"code {code} instead of {expected}: {error.value.decode()}")
        return [buffer.raw[:size.value] for buffer, size in zip(buffers, sizes)]


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as stream:
        return stream.read()


def check(library, folder):
    name = os.path.basename(folder)
    zkey, wtns = read(folder, name + ".zkey"), read(folder, name + ".wtns")
    path = os.path.join(folder, name + ".zkey").encode()
    error = ctypes.create_string_buffer(256)
    provers = [ctypes.c_void_p() for _ in range(3)]
    buffer = ctypes.create_string_buffer(zkey, len(zkey))
    for prover in provers:
        code = library.groth16_prover_create(ctypes.byref(prover), buffer, len(zkey), error, 256)
        if code != OK or not prover.value:
            sys.exit(f"{name}: {error.value.decode()}")
    ctypes.memset(buffer, 0xFF, len(zkey))  # no prover may look there any more
    results = [library.prove(library.groth16_prover_prove, p, wtns, len(wtns)) for p in provers]
    results.append(library.prove(library.groth16_prover, zkey, len(zkey), wtns, len(wtns)))
    results.append(library.prove(library.groth16_prover_zkey_file, path, wtns, len(wtns)))
    for prover in provers:
        library.groth16_prover_destroy(prover)
    vkey, expected = read(folder, "vkey.json"), json.loads(read(folder, "public.json"))
    for proof, publics in results:
        members = list(json.loads(proof))
        if members != ["pi_a", "pi_b", "pi_c", "protocol", "curve"]:
            sys.exit(f"{name}: the proof has {members}")
        if json.loads(publics) != expected:
            sys.exit(f"{name}: the public signals are {publics}")
        if library.groth16_verify(proof, publics, vkey, error, 256) != 0:
            sys.exit(f"{name}: {error.value.decode()}")
    if len({proof for proof, _ in results}) != len(results):
        sys.exit(f"{name}: the same proof twice")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    library, data = Library(arguments[0]), arguments[1]
    names = [n for n in sorted(os.listdir(data)) if os.path.exists(f"{data}/{n}/{n}.zkey")]
    for name in names:
        check(library, os.path.join(data, name))
    print(f"{len(names)} keys, {5 * len(names)} proofs")
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
