#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Seeds for the fuzz targets, from test/data and by hand.

    test/fuzz/make_seeds.py FOLDER

Writes FOLDER/TARGET/NAME: the files of test/data in the form that each target reads, and the ways
to be wrong that we know of. tools/run_fuzz.sh gives them to the fuzzers beside the corpus.
"""
import hashlib
import json
import os
import struct
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
BN254 = {
    "name": "bn128", "byte": 0, "fp_bytes": 32,
    "q": 21888242871839275222246405745257275088696311157297823662689037894645226208583,
    "r": 21888242871839275222246405745257275088548364400416034343698204186575808495617,
}
BLS12_381 = {
    "name": "bls12381", "byte": 1, "fp_bytes": 48,
    "q": int("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
             "1eabfffeb153ffffb9feffffffffaaab", 16),
    "r": 52435875175126190479447740508185965837690552500527637822603658699938581184513,
}
CANONICAL, MONTGOMERY, ZCASH_FULL, ZCASH_COMPRESSED = 1, 2, 3, 4


class Seeds:
    def __init__(self, folder):
        self.folder = folder
        self.n = 0

    def put(self, target, name, data):
        if isinstance(data, str):
            data = data.encode()
        os.makedirs(os.path.join(self.folder, target), exist_ok=True)
        with open(os.path.join(self.folder, target, name), "wb") as stream:
            stream.write(data)
        self.n += 1


def read(name, suffix):
    path = os.path.join(DATA, name, name + suffix if suffix.startswith(".") else suffix)
    with open(path, "rb") as stream:
        return stream.read()


def u32(value):
    return struct.pack("<I", value)


def le(value, n_bytes):
    return value.to_bytes(n_bytes, "little")


# ---------------------------------------------------------------------------------------------
# Containers
# ---------------------------------------------------------------------------------------------


def sections_of(image):
    """[(type, data)] of a container."""
    sections, at = [], 12
    for _ in range(struct.unpack_from("<I", image, 8)[0]):
        kind, n_bytes = struct.unpack_from("<IQ", image, at)
        sections.append((kind, image[at + 12 : at + 12 + n_bytes]))
        at += 12 + n_bytes
    return sections


def container(magic, sections, version=1):
    body = b"".join(u32(kind) + struct.pack("<Q", len(data)) + data for kind, data in sections)
    return magic + u32(version) + u32(len(sections)) + body


def patched(sections, kind, at, data):
    """The sections with some bytes of one overwritten; a negative offset counts from its end."""
    result = []
    for found, old in sections:
        if found == kind:
            start = at if at >= 0 else len(old) + at
            old = old[:start] + data + old[start + len(data) :]
        result.append((found, old))
    return result


def put_container_faults(seeds, targets, magic, image):
    """What can be wrong with any container."""
    sections, version = sections_of(image), struct.unpack_from("<I", image, 4)[0]
    faults = {
        "order": container(magic, sections[::-1], version),
        "unknown": container(magic, sections + [(77, b"12345")], version),
        "many": container(magic, [(100 + i, b"") for i in range(65)], version),
        "trailing": image + b"\0",
        "version": image[:4] + u32(9) + image[8:],
        "empty": magic + u32(version) + u32(0),
        "cut": image[:-1],
    }
    for index, (kind, data) in enumerate(sections):
        before, after = sections[:index], sections[index + 1 :]
        faults[f"missing{kind}"] = container(magic, before + after, version)
        faults[f"double{kind}"] = container(magic, sections + [(kind, data)], version)
        faults[f"longer{kind}"] = container(magic, before + [(kind, data + b"\0")] + after, version)
        shorter = container(magic, before + [(kind, data[:-1])] + after, version)
        faults[f"shorter{kind}"] = shorter
    for target in targets:
        seeds.put(target, f"{magic.decode()}_good", image)
        for name, data in faults.items():
            seeds.put(target, f"{magic.decode()}_{name}", data)


def tiny_key(sections, curve):
    """The sections of a key cut down to one signal, a domain of one and no contribution."""
    n8 = curve["fp_bytes"]
    kept = {3: 2 * n8, 4: 4 + 44, 5: 2 * n8, 6: 2 * n8, 7: 4 * n8, 8: 0, 9: 2 * n8, 10: 68}
    sections = [(kind, data[: kept.get(kind, len(data))]) for kind, data in sections]
    for kind, at, data in ((2, 4 + n8 + 4 + 32, u32(1) + u32(0) + u32(1)), (4, 0, u32(1)),
                           (4, 8, u32(0) + u32(0)), (10, 64, u32(0))):
        sections = patched(sections, kind, at, data)
    return sections


def zkey_faults(sections, curve):
    """(name, sections) of keys that are wrong in one place."""
    n8 = curve["fp_bytes"]
    sizes = 4 + n8 + 4 + 32
    alpha = sizes + 12
    r = le(curve["r"], 32)
    all_ones = b"\xff" * 2 * n8
    yield "plonk", patched(sections, 1, 0, u32(2))
    yield "fflonk", patched(sections, 1, 0, u32(10))
    yield "protocol", patched(sections, 1, 0, u32(5))
    yield "n8q", patched(sections, 2, 0, u32(33))
    yield "q", patched(sections, 2, 4, b"\x01")
    yield "r", patched(sections, 2, 4 + n8 + 4, b"\x03")
    for name, at, values in (("vars", 0, (0, 1, 2**32 - 1)), ("public", 4, (0, 2**32 - 1)),
                             ("domain", 8, (0, 1, 3, 2**27, 2**28, 2**31))):
        for value in values:
            yield f"{name}{value}", patched(sections, 2, sizes + at, u32(value))
    for name, at in (("count", 0), ("matrix", 4), ("row", 8), ("column", 12)):
        yield f"coefficient_{name}", patched(sections, 4, at, u32(2**31))
    yield "coefficient_value", patched(sections, 4, 16, r)
    yield "no_coefficients", patched([(k, d if k != 4 else d[:4]) for k, d in sections], 4, 0,
                                     u32(0))
    yield "rows_unsorted", patched(sections, 4, 8, u32(1))
    yield "alpha_infinite", patched(sections, 2, alpha, bytes(2 * n8))
    yield "alpha_not_canonical", patched(sections, 2, alpha, all_ones)
    yield "delta_off_curve", patched(sections, 2, -1, b"\0")
    yield "no_ic", [(k, d) for k, d in sections if k != 3]
    yield "neither", [(k, d) for k, d in sections if k not in (3, 10)]
    for kind in (3, 5, 6, 7, 9):
        yield f"off_curve{kind}", patched(sections, kind, 0, b"\x5a")
        yield f"infinite{kind}", patched(sections, kind, 0, bytes(2 * n8))
    yield "h_all_infinite", [(k, d if k != 9 else bytes(len(d))) for k, d in sections]
    yield "contributions", patched(sections, 10, 64, u32(2**32 - 1))


def put_zkeys(seeds):
    for name, curve in (("one", BN254), ("one_bls", BLS12_381)):
        image = read(name, ".zkey")
        parameters = 64 + 4 + 10 * curve["fp_bytes"] + 64 + 4
        long = patched(sections_of(image), 10, parameters, u32(2**32 - 1))
        seeds.put("zkey", f"{name}_parameters", container(b"zkey", long))
        unsorted = patched(sections_of(image), 4, 8, u32(1))
        seeds.put("zkey", f"{name}_unsorted", container(b"zkey", unsorted))
        sections = tiny_key(sections_of(image), curve)
        seeds.put("zkey", f"{name}_tiny", container(b"zkey", sections))
        seeds.put("describe", f"{name}_tiny", container(b"zkey", sections))
        for fault, wrong in zkey_faults(sections, curve):
            data = container(b"zkey", wrong)
            seeds.put("zkey", f"{name}_{fault}", data)
            if fault in ("off_curve5", "alpha_not_canonical", "plonk"):
                seeds.put("describe", f"{name}_{fault}", data)
    for name in ("one_bls", "nopriv", "mult3", "nopriv_bls"):
        seeds.put("zkey", name, read(name, ".zkey"))
    tiny = container(b"zkey", tiny_key(sections_of(read("one", ".zkey")), BN254))
    put_container_faults(seeds, ("zkey", "describe", "container"), b"zkey", tiny)


def put_wtns(seeds):
    image = read("one", ".wtns")
    sections = sections_of(image)
    put_container_faults(seeds, ("wtns", "describe", "container"), b"wtns", image)
    r = le(BN254["r"], 32)
    wrong = {
        "bls": read("one_bls", ".wtns"),
        "version1": container(b"wtns", sections, 1),
        "n8": container(b"wtns", patched(sections, 1, 0, u32(31)), 2),
        "prime": container(b"wtns", patched(sections, 1, 4, b"\0"), 2),
        "count": container(b"wtns", patched(sections, 1, 36, u32(2**32 - 1)), 2),
        "none": container(b"wtns", [(1, sections[0][1][:36] + u32(0)), (2, b"")], 2),
        "first": container(b"wtns", patched(sections, 2, 0, b"\2"), 2),
        "large": container(b"wtns", patched(sections, 2, 64, r), 2),
        "largest": container(b"wtns", patched(sections, 2, 64, le(BN254["r"] - 1, 32)), 2),
    }
    for name, data in wrong.items():
        seeds.put("wtns", f"wtns_{name}", data)
    one = le(1, 32)
    for curve in (BN254, BLS12_381):
        byte, r = bytes([curve["byte"]]), le(curve["r"], 32)
        last = le(curve["r"] - 1, 32)
        lists = (("good", one + last), ("large", one + r), ("first", last), ("none", b""))
        for name, data in lists:
            seeds.put("witness_values", f"{curve['name']}_{name}", byte + data)
    seeds.put("witness_values", "no_curve", b"\x07" + one)


def r1cs_row(*combinations):
    return b"".join(u32(len(terms)) + b"".join(u32(wire) + le(value, 32) for wire, value in terms)
                    for terms in combinations)


def put_r1cs(seeds):
    image = read("one", ".r1cs")
    sections = sections_of(image)
    put_container_faults(seeds, ("r1cs", "describe", "container"), b"r1cs", image)
    for name in ("mult3", "one_bls", "nopriv"):
        seeds.put("r1cs", name, read(name, ".r1cs"))
    for field, at in (("wires", 36), ("outputs", 40), ("inputs", 44), ("private", 48),
                      ("labels", 52), ("constraints", 60)):
        for value in (0, 1, 2**32 - 1):
            data = container(b"r1cs", patched(sections, 1, at, u32(value)))
            seeds.put("r1cs", f"{field}{value}", data)
    r = BN254["r"]
    rows = {
        "wire": r1cs_row([(2**31, 1)], [], []),
        "value": r1cs_row([(0, r)], [], []),
        "empty": r1cs_row([], [], []),
        "false": r1cs_row([], [], [(0, 1)]),
        "cancel": r1cs_row([(0, 1), (0, r - 1)], [(1, r - 1)], []),
        "cut": r1cs_row([], [], [])[:-1],
    }
    for name, row in rows.items():
        header = next(data for kind, data in sections if kind == 1)[:60] + u32(1)
        seeds.put("r1cs", f"row_{name}", container(b"r1cs", [(1, header), (2, row)]))
    two = r1cs_row([(0, 1)], [(0, 1)], [(0, 1)]) + rows["false"]
    header = next(data for kind, data in sections if kind == 1)[:60] + u32(2)
    seeds.put("r1cs", "second_fails", container(b"r1cs", [(2, two), (1, header)]))


def whole_ptau(curve, power, prepared, contributions=b""):
    """Powers of tau of the right lengths; the points themselves are not looked at."""
    n8 = 32 if curve is BN254 else 48
    n, g1, g2 = 2**power, 2 * n8, 4 * n8
    sections = [(1, u32(n8) + le(curve["q"], n8) + u32(power) + u32(power + 1)),
                (2, bytes((2 * n - 1) * g1)), (3, bytes(n * g2)), (4, bytes(n * g1)),
                (5, bytes(n * g1)), (6, bytes(g2)),
                (7, contributions or u32(0))]
    if prepared:
        sections += [(12, bytes((4 * n - 1) * g1)), (13, bytes((2 * n - 1) * g2)),
                     (14, bytes((2 * n - 1) * g1)), (15, bytes((2 * n - 1) * g1))]
    return sections


def put_whole_ptau(seeds):
    for name, curve in (("bn254", BN254), ("bls12_381", BLS12_381)):
        n8 = 32 if curve is BN254 else 48
        for power in (0, 1):
            for prepared in (False, True):
                sections = whole_ptau(curve, power, prepared)
                label = f"{name}_{power}_{prepared}"
                seeds.put("ptau", label, container(b"ptau", sections))
        sections = whole_ptau(curve, 0, True)
        for at, (kind, data) in enumerate(sections):
            for fault, changed in (("short", data[:-1]), ("long", data + b"\0")):
                swapped_in = sections[:at] + [(kind, changed)] + sections[at + 1:]
                seeds.put("ptau", f"{name}_{kind}_{fault}", container(b"ptau", swapped_in))
            seeds.put("ptau", f"{name}_without_{kind}",
                      container(b"ptau", sections[:at] + sections[at + 1:]))
        old = [(k, d[:2 * n8] if k == 12 else d) for k, d in sections]
        seeds.put("ptau", f"{name}_old", container(b"ptau", old))
        entry = bytes(9 * 2 * n8 + 5 * 4 * n8 + 216 + 64 + 4)
        for length in (0, 5):
            contributions = u32(1) + entry + u32(length) + bytes(length)
            seeds.put("ptau", f"{name}_contribution{length}", container(
                b"ptau", whole_ptau(curve, 0, False, contributions)))
        for power in (29, 32, 2**32 - 1):
            header = u32(n8) + le(curve["q"], n8) + u32(power) + u32(power)
            seeds.put("ptau", f"{name}_power{power}",
                      container(b"ptau", [(1, header)] + sections[1:]))


def put_ptau(seeds):
    header = u32(32) + le(BN254["q"], 32) + u32(4) + u32(4)
    image = container(b"ptau", [(1, header), (2, b"\1" * 64), (3, b"\2" * 64), (7, u32(0))])
    put_container_faults(seeds, ("describe", "container", "ptau"), b"ptau", image)
    put_whole_ptau(seeds)
    others = {"gzip": b"\x1f\x8b\x08", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd",
              "zip": b"PK\x03\x04", "wasm": b"\0asm", "json": b"{}", "list": b"[1]",
              "page": b"<html>", "lfs": b"version https://git-lfs.github.com/spec/v1\n",
              "text": b"hello", "short": b"zke", "nothing": b""}
    for name, data in others.items():
        seeds.put("describe", name, data)
        seeds.put("container", name, data)


# ---------------------------------------------------------------------------------------------
# Points
# ---------------------------------------------------------------------------------------------


def numbers(value):
    return [numbers(inner) for inner in value] if isinstance(value, list) else int(value)


def encode(point, form, curve):
    """A JSON point, affine, in one of the library's forms."""
    q, n = curve["q"], curve["fp_bytes"]
    coordinates = [c if isinstance(c, list) else [c] for c in point[:2]]
    if form in (CANONICAL, MONTGOMERY):
        factor = pow(2, 8 * n, q) if form == MONTGOMERY else 1
        return b"".join(le(part * factor % q, n) for c in coordinates for part in c)
    x, y = ([*reversed(c)] for c in coordinates)
    data = bytearray(b"".join(part.to_bytes(n, "big") for part in x))
    if form == ZCASH_FULL:
        return bytes(data) + b"".join(part.to_bytes(n, "big") for part in y)
    largest = y > [(q - part) % q for part in y]
    data[0] |= 0x80 | (0x20 if largest else 0)
    return bytes(data)


def put_proofs(seeds):
    for name, curve in (("one", BN254), ("one_bls", BLS12_381)):
        proof = json.loads(read(name, "proof.snarkjs.json"))
        points = [numbers(proof[key]) for key in ("pi_a", "pi_b", "pi_c")]
        publics = json.loads(read(name, "public.json"))
        byte = bytes([curve["byte"]])
        forms = range(1, 5) if curve is BLS12_381 else (1, 2)
        for form in forms:
            data = b"".join(encode(point, form, curve) for point in points)
            start = byte + bytes([form])
            seeds.put("proof_bytes", f"{name}_{form}", start + data)
            seeds.put("proof_bytes", f"{name}_{form}_short", start + data[:-1])
            seeds.put("proof_bytes", f"{name}_{form}_infinite", start + bytes(len(data)))
            large = start + b"\x1f" + b"\xff" * (len(data) - 1)
            seeds.put("proof_bytes", f"{name}_{form}_large", large)
            flags = start + bytes([data[0] ^ 0xC0]) + data[1:]
            seeds.put("proof_bytes", f"{name}_{form}_flags", flags)
            sign = start + bytes([data[0] ^ 0x20]) + data[1:]
            seeds.put("proof_bytes", f"{name}_{form}_sign", sign)
            off = start + data[:-1] + bytes([data[-1] ^ 1])
            seeds.put("proof_bytes", f"{name}_{form}_off", off)
        if curve is BLS12_381:
            # x = 4 is on the curve of G1, outside the subgroup.
            outside = (4).to_bytes(48, "big")
            outside = bytes([outside[0] | 0x80]) + outside[1:]
            rest = b"".join(encode(point, ZCASH_COMPRESSED, curve) for point in points[1:])
            seeds.put("proof_bytes", "outside", byte + b"\x04" + outside + rest)
            large = byte + b"\x04\x9f" + b"\xff" * 47 + rest
            seeds.put("proof_bytes", "compressed_large", large)
            infinite = b"\xc0" + bytes(47)
            seeds.put("proof_bytes", "infinite", byte + b"\x04" + infinite + rest)
        data = b"".join(encode(point, CANONICAL, curve) for point in points)
        values = [le(int(value), 32) for value in publics]
        seeds.put("verify", name, byte + data + b"".join(values))
        seeds.put("verify", f"{name}_other", byte + data + le(5, 32) * len(values))
        seeds.put("verify", f"{name}_large", byte + data + le(curve["r"], 32) * len(values))
        seeds.put("verify", f"{name}_more", byte + data + le(1, 32) * (len(values) + 1))
        seeds.put("verify", f"{name}_infinite", byte + bytes(len(data)) + b"".join(values))
        seeds.put("verify", f"{name}_off", byte + b"\1" + data[1:] + b"".join(values))
    seeds.put("proof_bytes", "no_curve", b"\x07\x01")
    seeds.put("proof_bytes", "no_form", b"\x00\x05")


def put_vks(seeds):
    for name, curve in (("one", BN254), ("nopriv_bls", BLS12_381)):
        vk = json.loads(read(name, "vkey.json"))
        g2 = [numbers(vk[key]) for key in ("vk_beta_2", "vk_gamma_2", "vk_delta_2")]
        points = [numbers(vk["vk_alpha_1"]), *g2, *numbers(vk["IC"])]
        for form in range(1, 5) if curve is BLS12_381 else (1, 2):
            data = b"".join(encode(point, form, curve) for point in points)
            start = bytes([curve["byte"], form, len(vk["IC"]) - 1])
            seeds.put("vk_arrays", f"{name}_{form}", start + data)
            seeds.put("vk_arrays", f"{name}_{form}_off", start + b"\2" + data[1:])
            seeds.put("vk_arrays", f"{name}_{form}_cut", start + data[:-1])
            seeds.put("vk_arrays", f"{name}_{form}_zero", start + bytes(len(data)))
    seeds.put("vk_arrays", "no_curve", b"\x07\x01\x00")


def header_points(image, curve):
    """The six points of a zkey's section 2, each a list of its canonical coordinates' parts."""
    data = dict(sections_of(image))[2]
    n, q = curve["fp_bytes"], curve["q"]
    at, inverse = 4 + n + 4 + 32 + 12, pow(pow(2, 8 * n, q), -1, q)
    for parts in (1, 1, 2, 2, 1, 2):
        point = []
        for _ in range(2):
            values = [int.from_bytes(data[at + i * n : at + (i + 1) * n], "little") * inverse % q
                      for i in range(parts)]
            point.append(values if parts == 2 else values[0])
            at += parts * n
        yield point


def put_bellman(seeds):
    curve = BLS12_381
    alpha, beta1, beta2, gamma2, delta1, delta2 = header_points(read("nopriv_bls", ".zkey"), curve)
    ic = numbers(json.loads(read("nopriv_bls", "vkey.json"))["IC"])
    fixed = b"".join(encode(p, ZCASH_FULL, curve)
                     for p in (alpha, beta1, beta2, gamma2, delta1, delta2))
    tail = b"".join(encode(p, ZCASH_FULL, curve) for p in ic)
    good = fixed + struct.pack(">I", len(ic)) + tail
    seeds.put("bellman_vk", "good", good)
    seeds.put("bellman_vk", "trailing", good + b"parameters")
    seeds.put("bellman_vk", "cut", good[:-1])
    for count in (0, 1, len(ic) + 1, 2**32 - 1):
        seeds.put("bellman_vk", f"count{count}", fixed + struct.pack(">I", count) + tail)
    for at in (0, 96, 192, 384, 576, 672, 868):
        seeds.put("bellman_vk", f"flag{at}", good[:at] + bytes([good[at] | 0x80]) + good[at + 1 :])
        infinite = b"\x40" + bytes(95)
        seeds.put("bellman_vk", f"infinite{at}", good[:at] + infinite + good[at + 96 :])
        off = good[: at + 95] + bytes([good[at + 95] ^ 1]) + good[at + 96 :]
        seeds.put("bellman_vk", f"off{at}", off)
        seeds.put("bellman_vk", f"short{at}", good[:at])


def put_params(seeds):
    curve = BLS12_381
    header = list(header_points(read("nopriv_bls", ".zkey"), curve))
    fixed = b"".join(encode(p, ZCASH_FULL, curve) for p in header)
    g1, g2 = encode(header[0], ZCASH_FULL, curve), encode(header[2], ZCASH_FULL, curve)
    delta1, delta2 = (encode(p, ZCASH_FULL, curve) for p in header[4:])

    def part(point, n, count=None):
        return struct.pack(">I", n if count is None else count) + point * n

    def params(ic=2, h=3, l=1, a=3, b=2, b2=2, count=None):
        return (fixed + part(g1, ic) + part(g1, h) + part(g1, l) + part(g1, a) + part(g1, b)
                + part(g2, b2, count))

    contribution = delta1 + g1 + delta1 + g2 + bytes(64)
    transcript = bytes(64) + part(contribution, 1)
    good = params()
    files = {
        "good": good, "smallest": params(1, 0, 0, 1, 0, 0), "transcript": good + transcript,
        "no_contribution": good + bytes(68), "trailing": good + b"x", "cut": good[:-1],
        "h": params(h=2), "h_small": params(ic=5, h=3), "a_few": params(a=1), "a_many": params(a=4),
        "b_many": params(b=4), "b2": params(b2=1), "b2_count": params(count=2**32 - 1),
        "ic_none": params(ic=0), "h_huge": fixed + part(g1, 1) + struct.pack(">I", 2**32 - 1),
        "transcript_off": good + bytes(64) + part(b"\5" + contribution[1:], 1),
        "transcript_off2": good + bytes(64) + part(contribution[:300] + g2[12:] + bytes(64), 1),
        "other_delta": good + bytes(64) + part(g1 + contribution[96:], 1),
        "delta2": good + bytes(64) + part(contribution[:288] + delta2 + bytes(64), 1),
        "off": good[:-1] + bytes([good[-1] ^ 1]), "flag": good[:868] + b"\x80" + good[869:],
        "infinite": good[:-192] + b"\x40" + bytes(191), "large": good[:868] + b"\x1f" + good[869:],
        "header": fixed, "half": good[:1000], "point": g1, "tiny": b"\x01",
    }
    for name, data in files.items():
        seeds.put("params", name, data)
        if name in ("good", "transcript", "cut", "off", "smallest", "other_delta", "header"):
            seeds.put("describe", f"params_{name}", data)


def put_key_arrays(seeds):
    for name, curve in (("one", BN254), ("one_bls", BLS12_381)):
        sections = dict(sections_of(read(name, ".zkey")))
        n, r = curve["fp_bytes"], curve["r"]
        head = sections[2][4 + n + 4 + 32 :]
        n_vars, n_public, domain = struct.unpack_from("<III", head)
        g1, g2 = 2 * n, 4 * n
        alpha, beta1 = head[12 : 12 + g1], head[12 + g1 : 12 + 2 * g1]
        beta2, gamma2 = (head[12 + 2 * g1 + i * g2 :][:g2] for i in range(2))
        delta1 = head[12 + 2 * g1 + 2 * g2 :][:g1]
        delta2 = head[-g2:]
        records, inverse = b"", pow(pow(2, 512, r), -1, r)
        n_records = (len(sections[4]) - 4) // 44
        for i in range(n_records):
            record = sections[4][4 + i * 44 :][:44]
            value = int.from_bytes(record[12:], "little") * inverse % r
            records += bytes([record[0], record[4], record[8]]) + le(value, 32)
        log_n = domain.bit_length() - 1
        sizes = bytes([curve["byte"], MONTGOMERY, log_n, n_vars, n_public, n_records])
        points = b"".join((alpha, beta1, delta1, beta2, gamma2, delta2))
        points += b"".join(sections[kind] for kind in (3, 5, 6, 7, 8, 9))
        good = sizes + points + records
        seeds.put("key_arrays", name, good)
        # One signal, a domain of one, one coefficient.
        sizes1 = bytes([curve["byte"], MONTGOMERY, 0, 1, 0, 1])
        ones = b"".join(sections[kind][: 4 * n if kind == 7 else 2 * n]
                        for kind in (3, 5, 6, 7, 9))
        small = alpha + beta1 + delta1 + beta2 + gamma2 + delta2 + ones
        seeds.put("key_arrays", f"{name}_tiny", sizes1 + small + bytes(3) + le(1, 32))
        seeds.put("key_arrays", f"{name}_matrix", sizes1 + small + b"\2\0\0" + le(1, 32))
        seeds.put("key_arrays", f"{name}_row", sizes1 + small + b"\0\1\0" + le(1, 32))
        seeds.put("key_arrays", f"{name}_value", sizes1 + small + bytes(3) + le(r, 32))
        seeds.put("key_arrays", f"{name}_large", sizes1 + b"\xff" * len(small))
        seeds.put("key_arrays", f"{name}_off", sizes1 + b"\5" + small[1:])
        for index, value in ((0, 7), (1, CANONICAL), (1, 3), (2, 0xF8), (3, 0), (4, 7), (5, 0)):
            changed = bytearray(sizes1 + small)
            changed[index] = value
            seeds.put("key_arrays", f"{name}_{index}_{value}", bytes(changed))
        seeds.put("key_arrays", f"{name}_cut", sizes + points[:200])


# ---------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------


def swapped(point):
    return [[c[1], c[0]] for c in point[:2]] + point[2:]


def put_json_proofs(seeds):
    for name in ("one", "one_bls"):
        proof = json.loads(read(name, "proof.snarkjs.json"))
        q = (BLS12_381 if name.endswith("bls") else BN254)["q"]
        no_curve = {k: v for k, v in proof.items() if k != "curve"}
        changes = {
            "good": {}, "plonk": {"protocol": "plonk"}, "protocol": {"protocol": "x"},
            "protocol_type": {"protocol": 1},
            "curve": {"curve": "bn158"}, "curve_type": {"curve": 1},
            "alias": {"curve": "BLS12-381" if name.endswith("bls") else "alt_bn128"},
            "swapped": {"pi_b": swapped(proof["pi_b"])},
            "projective": {"pi_a": proof["pi_a"][:2] + ["2"]},
            "infinite": {"pi_a": ["0", "1", "0"]},
            "infinite_b": {"pi_b": [["0", "0"], ["1", "0"], ["0", "0"]]},
            "zero": {"pi_c": ["0", "0", "1"]}, "two": {"pi_a": proof["pi_a"][:2]},
            "object": {"pi_a": {"length": 3}}, "number": {"pi_a": [1, 2, 1]},
            "large": {"pi_a": [str(q), "2", "1"]}, "leading": {"pi_a": ["01", "2", "1"]},
            "hex": {"pi_a": ["0x1", "2", "1"]}, "sign": {"pi_a": ["-1", "2", "1"]},
            "null": {"pi_b": [None, True, 1.5]}, "off": {"pi_a": ["1", "3", "1"]},
            "deep": {"x": [[[[[[[[[]]]]]]]]]}, "long": {"x": "y" * 1100},
            "escape": {"x": "\\\"\u00fc"}, "many": {"x": [0] * 260},
        }
        for change, members in changes.items():
            seeds.put("json_proof", f"{name}_{change}", json.dumps({**proof, **members}))
        seeds.put("json_proof", f"{name}_no_curve", json.dumps(no_curve))
    seeds.put("json_proof", "double", '{"protocol": "groth16", "protocol": "groth16"}')
    for name, text in (("list", "[]"), ("cut", '{"protocol": "gro'), ("tail", "{} {}"),
                       ("nul", '{"protocol\\u0000": 1}'), ("utf8", b'{"\xff": 1}'),
                       ("control", '{"\n": 1}'), ("umlaut", "{\u00fc"), ("nothing", ""),
                       ("int", "[1e999]")):
        for target in ("json_proof", "json_public", "json_vk"):
            seeds.put(target, name, text)


def put_json_publics(seeds):
    for name in ("one", "mult3"):
        seeds.put("json_public", name, read(name, "public.json"))
    seeds.put("json_public", "long", json.dumps(["1" * 75] * 60))
    for curve in (BN254, BLS12_381):
        for delta in (-1, 0, 1):
            text = json.dumps([str(curve["r"] + delta)])
            seeds.put("json_public", f"{curve['name']}{delta}", text)
    texts = ('[""]', '["0"]', '["-1"]', '["00"]', '["1e3"]', '["0x1"]', '[1]', '[1.0]', '[[]]',
             '[[[]]]', '{"length": 1}', '[" 1"]', '["1",]', '["9999999999"]', '"1"',
             '[true, null]')
    for index, text in enumerate(texts):
        seeds.put("json_public", f"text{index}", text)


def put_json_vks(seeds):
    for name in ("one", "one_bls"):
        vk = json.loads(read(name, "vkey.json"))
        bare = {k: v for k, v in vk.items() if k != "vk_alphabeta_12"}
        g2 = ("vk_beta_2", "vk_gamma_2", "vk_delta_2")
        off = vk["IC"][0][:1] + ["5", "1"]
        changes = {
            "good": {}, "swapped": {key: swapped(vk[key]) for key in g2},
            "more": {"nPublic": vk["nPublic"] + 1}, "negative": {"nPublic": -1},
            "huge": {"nPublic": 2**62}, "real": {"nPublic": 1.0}, "text": {"nPublic": "1"},
            "no_ic": {"IC": None}, "ic_off": {"IC": [off] * len(vk["IC"])},
            "ic_shape": {"IC": [["1"]] * len(vk["IC"])},
            "ic_infinite": {"IC": [["0", "1", "0"]] * len(vk["IC"])},
            "alpha_infinite": {"vk_alpha_1": ["0", "1", "0"]}, "beta": {"vk_beta_2": []},
            "curve": {"curve": "x"}, "plonk": {"protocol": "plonk"},
        }
        for change, members in changes.items():
            seeds.put("json_vk", f"{name}_{change}", json.dumps({**bare, **members}))
        seeds.put("json_vk", name, json.dumps(vk))
        for index, value in enumerate(([], [[], []], [[[], [], []]] * 2, 1,
                                       [[["x", "0"]] * 3] * 2)):
            seeds.put("json_vk", f"{name}_alphabeta{index}",
                      json.dumps({**bare, "vk_alphabeta_12": value}))


def put_decimals(seeds):
    for curve in (BN254, BLS12_381):
        for key in ("q", "r"):
            for delta in (-1, 0, 1):
                value = curve[key] + delta
                seeds.put("decimal", f"{curve['name']}_{key}{delta}", str(value))
                n = curve["fp_bytes"] if key == "q" else 32
                seeds.put("decimal", f"{curve['name']}_{key}{delta}_bytes", le(value, n))
    for index, text in enumerate(("", "0", "00", "1", "999999999", "1000000000", "10000000000",
                                  "-1", "1 ", "9" * 77, "9" * 116)):
        seeds.put("decimal", f"text{index}", text)
    for index, data in enumerate((b"\xff" * 48, bytes(48), bytes(31) + b"\1", b"\0" * 4 + b"\1")):
        seeds.put("decimal", f"bytes{index}", data)


def put_pmasg(seeds):
    def pad(data):
        return data + bytes(-len(data) % 64)

    def pmasg(inputs=2, aux=3, rows=4, flags=7, form=1, curve=2, bits=(2, 1, 1), words=(5, 1, 2),
              version=1, digest=True, length=0, tail=b"", value=b"\1" + bytes(31)):
        r = BN254["r"] if curve == 1 else BLS12_381["r"]
        one = le(2**256 % r if form == 1 else 1, 32)
        body = b"".join(pad(struct.pack("<Q", word)) for word in words if flags & 1)
        body += pad(one + value * (inputs - 1)) + pad(value * aux)
        body += pad(value * rows) * ((2 if flags & 2 else 0) + (1 if flags & 4 else 0))
        n_rows = rows if flags & 2 else 0
        counts = (inputs, aux, n_rows, *(bits if flags & 1 else (0, 0, 0)))
        header = b"pmasg\0\0\0" + struct.pack("<4I6Q", version, curve, form, flags, *counts)
        header += struct.pack("<Q", 128 + len(body) + 64 + length)
        data = header + bytes(128 - len(header)) + body
        return data + (hashlib.blake2b(data).digest() if digest else bytes(64)) + tail

    good = pmasg()
    files = {
        "good": good, "canonical": pmasg(form=0), "bn254": pmasg(curve=1), "bare": pmasg(flags=0),
        "a_b": pmasg(flags=3), "no_densities": pmasg(flags=6), "c_alone": pmasg(flags=4),
        "flags": pmasg(flags=15), "form": pmasg(form=2), "curve": pmasg(curve=3),
        "version": pmasg(version=2), "digest": pmasg(digest=False), "longer": pmasg(tail=b"\0"),
        "length": pmasg(length=64), "bits": pmasg(bits=(3, 1, 1)), "many": pmasg(bits=(9, 1, 1)),
        "behind": pmasg(words=(13, 1, 2), bits=(2, 1, 1)), "no_aux": pmasg(aux=0, bits=(0, 1, 0)),
        "large": pmasg(value=b"\xff" * 32), "one": pmasg(form=0)[:256] + good[256:],
        "reserved": good[:90] + b"\1" + good[91:], "padding": good[:136] + b"\1" + good[137:],
        "no_inputs": good[:24] + bytes(8) + good[32:],
        "huge": good[:24] + struct.pack("<3Q", 2**32, 2**32, 2**32) + good[48:],
        "beyond": good[:32] + struct.pack("<Q", 2**64 - 1) + good[40:],
        "magic": good[:8], "header": good[:128], "header_cut": good[:127], "cut": good[:-1],
    }
    for name, data in files.items():
        seeds.put("pmasg", name, data)
        if name in ("good", "digest", "large", "cut", "bare"):
            seeds.put("describe", f"pmasg_{name}", data)


def put_command_lines(seeds):
    lines = (
        "prove", "prove a b c d", "prove a b c d e", "groth16 prove a", "g16p", "verify",
        "verify --vkey k --public p --proof x", "verify --vk k --vk l", "info a b", "info",
        "file info x --digest", "check a.r1cs b.wtns", "wtns check",
        "zkey export verificationkey a b",
        "zkesc", "help prove", "version", "--version", "-V", "-vvq", "-t4 prove", "-t 4 prove",
        "prove --threads=4096", "prove --threads=4097", "prove --threads", "prove --threads=",
        "prove --threads=99999999999", "prove --timeout 0", "prove --arithmetic adx",
        "prove --arithmetic fast", "prove --load read", "prove --load=map --stats",
        "prove --no-self-verify=1", "prove --zkye a", "prove --json --quiet --help", "-x",
        "-- --zkey", "plonk prove", "groth16", "pruve", "prove --zkey=", "verify --load map",
        "prove --check fast", "prove --check none", "prove --check=slow", "prove a b c",
        "verify a b",
        "prove --r1cs x", "export calldata - -", "zkey", "export", "--zkey", "prove --jsn",
        "prove --mem 1.5GiB --form two --residency stream --b2 copy --memory --trace t.json",
        "simulate s.json --svg x.svg", "simulate", "prove --svg x.svg",
        "prove --mem=0.000001T --r1cs c.r1cs", "prove --mem 99999999999999999999G",
    )
    for index, line in enumerate(lines):
        seeds.put("cli", f"line{index}", line.replace(" ", "\n"))
    seeds.put("cli", "empty_name", "prove\n")
    seeds.put("cli", "empty_names", "prove\n\n\n")
    seeds.put("cli", "escape", b"prove\n\x1b[31m\n--\x07x")
    seeds.put("cli", "escape_verb", b"\x1b[31m")
    seeds.put("cli", "escape_option", b"--\x1b[31m")
    seeds.put("cli", "long", "prove\n--" + "x" * 600)
    seeds.put("cli", "long_verb", "x" * 600)


def put_scenarios(seeds):
    folder = os.path.join(DATA, "..", "..", "examples", "scenarios")
    small = {
        "title": "t", "seed": 3, "machine": {"memory": "64GiB", "devices": 1},
        "policy": {"slots": 2}, "rates": {"msm": 1e6}, "keys": [{"name": "k", "host": "1GiB"}],
        "proofs": [{"name": "p", "key": "k", "partitions": 2, "steps": [
            {"name": "a", "stage": "prepare", "time": [1, 2.5], "host": "3GiB"},
            {"name": "b", "stage": "prove", "time": 1, "device": "1GiB", "lock": True,
             "transfer": "1GiB", "chunk": 0.5, "work": 2e6, "rate": "msm"},
            {"name": "c", "stage": "finish", "worker": True}]}],
        "load": [{"proof": "p", "jobs": 5, "priority": "high", "every": 1, "random": True,
                  "deadline": 60}],
        "runs": [{"name": "one"}, {"name": "two", "machine": {"memory": "8GiB", "vram": "2GiB",
                                                              "count": 2, "bus": "1GB"}}],
    }
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as stream:
            seeds.put("scenario", name, stream.read())
    seeds.put("scenario", "small", json.dumps(small, indent=1))
    for member in small:
        for value in (None, -1, 1e300, "x", [], {}, [[]], {"\u20ac": 1}, True):
            seeds.put("scenario", f"{member}_{type(value).__name__}_{len(str(value))}",
                      json.dumps({**small, member: value}))
    for member in small["proofs"][0]["steps"][1]:
        for value in (None, -1, 1e300, "x", [3, 1], 18446744073709551616):
            step = {**small["proofs"][0]["steps"][1], member: value}
            proof = {**small["proofs"][0], "steps": [step]}
            seeds.put("scenario", f"step_{member}_{type(value).__name__}_{len(str(value))}",
                      json.dumps({**small, "proofs": [proof]}))
    seeds.put("scenario", "unknown", json.dumps({**small, "colour": 1}))
    seeds.put("scenario", "escaped", json.dumps(small).replace('"seed"', '"se\\u0065d"'))
    seeds.put("scenario", "bytes", b"\xff\xfe{}")
    seeds.put("scenario", "deep", "[" * 50)


CONFIG_KEYS = {
    "daemon": ("listen", "status_listen", "insecure_listen", "state_dir", "drain_timeout",
               "restart_on_hang", "guardian"),
    "tls": ("certificate", "key", "client_ca"),
    "rpc": ("max_message", "max_upload", "threads", "max_connections", "max_calls",
            "allow_paths_over_tcp"),
    "memory": ("total_budget", "safety_margin", "pinned_budget", "eviction_min_idle",
               "working_memory_budget"),
    "gpus": ("devices", "gpu_workers_per_device", "gpu_threads", "vram_limit", "library",
             "stall_timeout"),
    "scheduler": ("max_jobs", "max_attempts", "ageing", "retry_delay", "sort_by_type"),
    "journal": ("enabled", "max_stored", "results_age", "max_results", "max_results_bytes"),
    "logging": ("level", "format"),
    "srs": ("param_cache", "preload"),
    "pipeline": ("enabled",),
}


def put_configs(seeds):
    values = ('"a"', '""', '"1.5GiB"', '"5m"', '"auto"', '"debug"', '"7d"', "3", "-1", "true",
              '["a", "b"]', "[]", "[1]", "1.5", "1979-05-27", "{}", '"a\\u0000b"', '"\\u20ac"',
              "99999999999", '"99999999999GiB"', "'''a\n\x7f'''")
    for section, keys in CONFIG_KEYS.items():
        for key in keys:
            for index, value in enumerate(values):
                seeds.put("config", f"{section}_{key}_{index}", f"[{section}]\n{key} = {value}\n")
        seeds.put("config", f"{section}_unknown", f"[{section}]\n\nlissten = 1\n")
    key = "[[key]]\nname = 'a'\npath = 'b.params'\n"
    for index, value in enumerate(values):
        for name in ("r1cs", "check", "preload", "digest", "other"):
            seeds.put("config", f"key_{name}_{index}", f"{key}{name} = {value}\n")
    whole = key + "r1cs = 'c'\ncheck = 'full'\npreload = true\ndigest = '" + "aB" * 64 + "'\n"
    seeds.put("config", "two_keys", whole + whole.replace("'a'", "'b'"))
    seeds.put("config", "many_keys", "".join(key.replace("'a'", f"'k{i}'") for i in range(257)))
    for index, option in enumerate((
            "daemon.listen=127.0.0.1:1", "daemon.listen=unix:///a ", "rpc.threads=3", "a.b=c",
            "memory.total_budget=5GiB", "memory.total_budget=lots", "daemon.insecure_listen=true",
            "daemon.insecure_listen=perhaps")):
        seeds.put("config", f"option{index}", option)
    for size in ("99999999999999999999999", "1.0000001GiB", "16777215.999999TiB", "1.GiB"):
        seeds.put("config", f"size_{size}", f"memory.total_budget = '{size}'\n")
    for duration in ("99999999999999999999999d", "9999999999999999d", "5", "5 m"):
        seeds.put("config", f"for_{duration}", f"daemon.drain_timeout = '{duration}'\n")
    seeds.put("config", "bad_digest", key + "digest = '" + "ag" * 64 + "'\n")
    seeds.put("config", "long_list", f"gpus.devices = {[str(i) for i in range(20)]}\n")
    for name, text in (("twice", key + key), ("single", key[1:].replace("]]", "]", 1)),
                       ("no_name", "[[key]]\npath = 'a'\n"), ("no_path", "[[key]]\nname='a'\n"),
                       ("bad_name", "[[key]]\npath = 'a'\nname = 'a b'\n"),
                       ("table_in_key", key + "[key.r1cs]\n"), ("array", "[[daemon]]\n"),
                       ("top", "listen = 1\n"), ("top_unknown", "zzz = 1\n"), ("keys", "[keys]\n"),
                       ("section", "[memroy]\n"), ("far", "[zzzzzzzzzzz]\n"), ("empty", ""),
                       ("dotted", "daemon.listen = 'a'\nkey = [{name='a', path='b'}]\n"),
                       ("deep", "a = " + "[" * 300), ("bytes", b"\xff\xfe"), ("open", "[daemon")):
        seeds.put("config", name, text)


# In the order of world_requests (test/daemon/service_world.c), then of the methods' tables.
RPC_MESSAGES = (
    "prover.SubmitRequest", "prover.SubmitChunk", "prover.AwaitRequest", "prover.JobRequest",
    "prover.ListJobsRequest", "prover.RegisterKeyRequest", "prover.KeyRequest",
    "prover.ListKeysRequest", "prover.Empty", "prover.PlanRequest", "prover.DeviceRequest",
    "cuzk.SubmitProofRequest", "cuzk.AwaitProofRequest", "cuzk.ProveRequest",
    "cuzk.CancelProofRequest", "cuzk.GetStatusRequest", "cuzk.PreloadSrsRequest",
    "cuzk.EvictSrsRequest", "cuzk.GetMetricsRequest",
)
RPC_METHODS = (0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 16, 17)
RPC_STREAM = 2


def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: a number, a text, bytes or an inner message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def rpc_messages():
    """(name of the message, name of the case, its bytes)."""
    folder = os.path.join(DATA, "..", "daemon", "golden")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".bin"):
            with open(os.path.join(folder, name), "rb") as stream:
                service, message, case, _ = name.split(".")
                yield f"{service}.{message}", case, stream.read()
    for key in ("mult3", "nopriv_bls"):
        data = field(2, field(2, read(key, ".wtns")))
        yield "prover.SubmitRequest", key, field(1, key) + data
        yield "prover.SubmitRequest", key + "_named", (field(1, key) + data + data + field(3, 4)
                                                       + field(4, "seed") + field(5, 60000))
        yield "prover.PlanRequest", key, field(1, key)
        yield "prover.KeyRequest", key, field(1, key) + field(2, 1000)
        yield "cuzk.PreloadSrsRequest", key, field(1, key)
        yield "cuzk.EvictSrsRequest", key, field(1, key)
    for name in RPC_MESSAGES:
        yield name, "empty", b""
        yield name, "unknown", field(1000, 1) + field(1001, b"x") + b"\xd1\x3e" + bytes(8)
    for number in (1, 2, 3, 4):
        yield "prover.JobRequest", f"job{number}", field(1, number)
        yield "prover.AwaitRequest", f"job{number}", (field(1, number) + field(3, 1)
                                                      + field(5, number) + field(6, 1))
        yield "cuzk.AwaitProofRequest", f"job{number}", field(1, str(number)) + field(2, 1)
    yield "prover.JobRequest", "seed", field(2, "seed")
    yield "prover.DeviceRequest", "cpu", field(1, "cpu")
    yield "prover.ListJobsRequest", "open", field(1, 2) + field(2, 3) + field(3, 1)
    for kind in range(6):
        submit = field(1, "id") + field(2, kind) + field(11, b"v") + field(11, b"w")
        yield "cuzk.SubmitProofRequest", f"kind{kind}", submit
        yield "cuzk.ProveRequest", f"kind{kind}", field(1, submit)


def put_rpc(seeds):
    for message, case, data in rpc_messages():
        kind = RPC_MESSAGES.index(message)
        seeds.put("rpc_decode", f"{message}_{case}", bytes([kind]) + data)
        for method, takes in enumerate(RPC_METHODS):
            if takes == kind and method != RPC_STREAM:
                for flag in (0, 1):
                    seeds.put("rpc_calls", f"{method}_{message}_{case}_{flag}",
                              bytes([method, flag]) + data)
    witness = read("mult3", ".wtns")
    request = field(1, field(1, "mult3"))
    pieces = [witness[at : at + 100] for at in range(0, len(witness), 100)]
    for promised in (0, len(witness), len(witness) + 1, 99, 1 << 21):
        chunks = [request] + [
            field(2, piece) + (field(3, 1) + field(4, promised) if index == 0 else b"")
            for index, piece in enumerate(pieces)]
        stream = b"".join(struct.pack("<H", len(chunk)) + chunk for chunk in chunks)
        seeds.put("rpc_calls", f"stream_{promised}", bytes([RPC_STREAM, 0]) + stream)
    seeds.put("rpc_calls", "stream_twice",
              bytes([RPC_STREAM, 0]) + 2 * (struct.pack("<H", len(request)) + request))
    n_kinds = len(RPC_MESSAGES)
    for name, data in (
            ("cut", b"\x0a"), ("long", b"\x0a\x05k"), ("varint", b"\x28" + b"\xff" * 10),
            ("group", b"\x33\x34"), ("field0", b"\0\0"), ("fixed", b"\x31\1\x35\1"),
            ("wire", b"\x08\1"), ("twice", field(1, "k") * 2), ("nul", field(1, "a\0b")),
            ("inner", field(2, b"\x12\5")), ("both", field(2, field(1, "/") + field(2, "x"))),
            ("text", field(1, "k" * 4096)), ("many", b"\x12\0" * 4097),
            ("utf8", field(1, "\u00e9\u20ac\U0001f600")), ("surrogate", field(1, b"\xed\xa0\x80")),
            ("overlong", field(1, b"\xe0\x80\x80")), ("beyond", field(1, b"\xf4\x90\x80\x80")),
            ("lead", field(1, b"\xff")), ("short", field(1, b"\xe2\x82"))):
        seeds.put("rpc_decode", name, b"\0" + data)
        seeds.put("rpc_decode", "mend_" + name, bytes([n_kinds + 1]) + data)
    seeds.put("rpc_decode", "answer", bytes([n_kinds]))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    seeds = Seeds(sys.argv[1])
    for put in (put_zkeys, put_wtns, put_r1cs, put_ptau, put_proofs, put_vks, put_bellman,
                put_params, put_key_arrays, put_json_proofs, put_json_publics, put_json_vks,
                put_decimals, put_pmasg,
                put_command_lines, put_scenarios, put_configs, put_rpc):
        put(seeds)
    print(f"{seeds.n} seeds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
