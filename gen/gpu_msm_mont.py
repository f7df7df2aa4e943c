#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes src/gpu/kernel/gpu_msm_mont.h: two products more for additions of points, by the programs
and with the checks of gen/gpu_mont.py, whose notation and bounds these are.

mont_sqr    a^2 / R mod m + (0 or m). Row i multiplies a_i with the vector that is a_i at word i and
            2 a above it (2 a less what a_i itself puts there), nothing below: n (n + 1) / 2
            products instead of n^2. 2 a < R. A row's T / 2^32 < 2 a + m, and 2 a + m < R; the sum
            is that of mont_mul, and so is its bound.

mont_sum    (a b + c d) / R mod m: both products in each row, and one reduction. With
            a + c + m < R, T / 2^32 < a + c + m throughout, so that is the result's bound.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gpu_mont import WORD, Program, array, check, wrap  # noqa: E402


def finish(p, n, even, odd):
    """T / 2^32: the odd words, and the even ones one place down."""
    for j in range(n):
        carry = ("addc" if j else "add") + (".cc" if j < n - 1 else "")
        p.op(carry, f"{odd}{j}", f"{odd}{j}", f"{even}{j + 1}" if j < n - 1 else "0")
    for j in range(n):
        p.op("mov", f"r{j}", f"{odd}{j}")


def chain(p, n, present, to, words, y, limit):
    """to += y * sum of words[j] 2^(32 j); words: {position: name}, neighbours two apart and the
    last one at the top. A carry past the top goes into `limit`, or cannot occur (None)."""
    places = sorted(words)
    for k, j in enumerate(places):
        last = k == len(places) - 1
        p.wide("", to, j // 2 * 2, words[j], y, k > 0, not last or limit, present)
    if limit and places:
        p.op("addc", limit, limit, "0")


def shift_and_add(p, n, even, odd, words, y):
    """The shift by one word that has exchanged both accumulators, and y times words at odd
    positions: {position: name}."""
    p.op("add.cc", f"{even}0", f"{even}0", f"{odd}1")
    for j in range(0, n, 2):
        last = j + 2 >= n
        low = "0" if last else f"{odd}{j + 2}"
        high = "0" if last else f"{odd}{j + 3}"
        if j + 1 in words:
            p.op("madc.lo.cc", f"{odd}{j}", words[j + 1], y, low)
            p.op("madc.hi" if last else "madc.hi.cc", f"{odd}{j + 1}", words[j + 1], y, high)
        else:
            p.op("addc.cc", f"{odd}{j}", low, "0")
            p.op("addc" if last else "addc.cc", f"{odd}{j + 1}", high, "0")


def reduce_row(p, n, present, even, odd):
    p.op("mul.lo", "q", f"{even}0", "inv")
    chain(p, n, present, odd, {j: f"m{j}" for j in range(1, n, 2)}, "q", None)
    chain(p, n, present, even, {j: f"m{j}" for j in range(0, n, 2)}, "q", f"{odd}{n - 1}")


def first_row(p, n, even, odd, words, y):
    for to, start in ((odd, 1), (even, 0)):
        for j in range(start, n, 2):
            p.op("mul.lo", f"{to}{j // 2 * 2}", words[j], y)
            p.op("mul.hi", f"{to}{j // 2 * 2 + 1}", words[j], y)


def parity(words, odd):
    return {j: w for j, w in words.items() if j % 2 == (1 if odd else 0)}


def mont_sqr(n):
    p = Program(f"pm_gpu_msm_sqr_{n}", "r = a^2 / R mod m, plus m or not, for 2 a < R.",
                array("a", n) + array("m", n) + ["inv"], array("r", n))
    even, odd = "e", "o"
    present = set(array("e", n) + array("o", n))
    for j in range(n):
        p.op(("addc" if j else "add") + (".cc" if j < n - 1 else ""), f"d{j}", f"a{j}", f"a{j}")
    for j in range(1, n):
        p.op("add", f"t{j}", f"a{j}", f"a{j}")
        p.wrapping.add(f"t{j}")
    for i in range(n):
        words = {j: f"a{j}" if j == i else f"t{j}" if j == i + 1 else f"d{j}"
                 for j in range(i, n)}
        if i == 0:
            first_row(p, n, even, odd, words, "a0")
        else:
            even, odd = odd, even
            shift_and_add(p, n, even, odd, parity(words, True), f"a{i}")
            chain(p, n, present, even, parity(words, False), f"a{i}", f"{odd}{n - 1}")
        reduce_row(p, n, present, even, odd)
    finish(p, n, even, odd)
    return p


def mont_sum(n):
    p = Program(f"pm_gpu_msm_sum_{n}", "r = (a b + c d) / R mod m, below a + c + m.",
                array("a", n) + array("b", n) + array("c", n) + array("d", n) + array("m", n) +
                ["inv"], array("r", n))
    even, odd = "e", "o"
    present = set(array("e", n) + array("o", n))
    a = {j: f"a{j}" for j in range(n)}
    c = {j: f"c{j}" for j in range(n)}
    for i in range(n):
        if i == 0:
            first_row(p, n, even, odd, a, "b0")
        else:
            even, odd = odd, even
            shift_and_add(p, n, even, odd, parity(a, True), f"b{i}")
            chain(p, n, present, even, parity(a, False), f"b{i}", f"{odd}{n - 1}")
        chain(p, n, present, odd, parity(c, True), f"d{i}", None)
        chain(p, n, present, even, parity(c, False), f"d{i}", f"{odd}{n - 1}")
        reduce_row(p, n, present, even, odd)
    finish(p, n, even, odd)
    return p


HEAD = """/* Generated by gen/gpu_msm_mont.py: do not edit, run gen/regen.py. */
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* clang-format off */
#ifndef PM_GPU_MSM_MONT_H
#define PM_GPU_MSM_MONT_H

/* Products for additions of points, as in gpu_mont.h. gen/gpu_msm_mont.py has the bounds. */

#include "gpu/ff/gpu_word.h"
"""


def self_check(programs, moduli):
    rng = random.Random(2)
    for m in moduli:
        n = (m.bit_length() + 63) // 64 * 2
        radix = 1 << 32 * n
        inverse, n0 = pow(radix, -1, m), -pow(m, -1, WORD) % WORD
        edge = [0, 1, 2, m - 1, m - 2, m // 2, WORD - 1, (m >> 32) << 32, m, 2 * m - 1, m + 1]
        edge += [(1 << k) - 1 for k in range(31, m.bit_length(), 32)]
        edge = [x for x in edge if x < 2 * m]
        some = edge + [rng.randrange(2 * m) for _ in range(300)]

        def good(got, value, wanted):
            assert got % m == wanted and got < 2 * m, (n, value)

        def good_sum(got, value, wanted):
            assert got % m == wanted and got < value["a"] + value["c"] + m, (n, value)
        check(programs[f"pm_gpu_msm_sqr_{n}"],
              [(dict(a=a, m=m, inv=n0), a * a * inverse % m) for a in some if a < m or
               a * a < m * radix], good)
        quads = []
        for _ in range(1500):
            a, b, c, d = (rng.choice(edge) if rng.random() < 0.6 else rng.randrange(m)
                          for _ in range(4))
            a, c = a % m, c % m
            if rng.random() < 0.3:
                b, d = radix - 1 - b, radix - 1 - d
            quads.append((dict(a=a, b=b, c=c, d=d, m=m, inv=n0),
                          (a * b + c * d) * inverse % m))
        check(programs[f"pm_gpu_msm_sum_{n}"], quads, good_sum)


def main(root):
    from params import bls12_381, bn254, tiny
    programs = [mont_sqr(2), mont_sqr(8), mont_sqr(12), mont_sum(2), mont_sum(8), mont_sum(12)]
    self_check({p.name: p for p in programs}, [c.p for c in (bn254(), bls12_381(), tiny())])
    lines = HEAD.split("\n")
    for program in programs:
        lines += program.text()
    lines.append("#endif /* PM_GPU_MSM_MONT_H */")
    with open(os.path.join(root, "src/gpu/kernel/gpu_msm_mont.h"), "w", encoding="utf-8") as out:
        out.write("\n".join(wrap(lines)) + "\n")


if __name__ == "__main__":
    main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
