#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes src/gpu/kernel/gpu_msm_mont.h: products for additions of points, of the carry chains of
gen/gpu_program.py. The notation and the bounds are those of gen/gpu_mont.py.

mont_sqr    a^2 / R mod m + (0 or m). Row i multiplies a_i with the vector that is a_i at word i and
            2 a above it (2 a less what a_i itself puts there), nothing below: n (n + 1) / 2
            products instead of n^2. 2 a < R. A row's T / 2^32 < 2 a + m, and 2 a + m < R; the sum
            is that of mont_mul, and so is its bound.

mont_sum    (a b + c d) / R mod m: both products in each row, and one reduction. With
            a + c + m < R, T / 2^32 < a + c + m throughout, so that is the result's bound.

mont_acc    (t + a b) / R mod m for t < R^2: the rows of mont_mul begin with the lower half of t,
            not with nothing, and the upper half is added at the end. With a + m < R - 1,
            T / 2^32 < a + m + 1 throughout, and the result is below t / R + a b / R + m + 1, which
            is to be below R. mont_acc2 is (t + a b + c d) / R, with a + c + m < R - 1.

wide_mul    a b, all of it, for any a and b below R: partial products at even positions and at odd
            ones in a sum each, so that each is one multiplication with a carry, and then both.

wide_reduce t / R mod m for t < R: (t + q m) / R <= m. Of T < m R the lower half is reduced by this,
            and the upper half added: below 2 m.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gpu_program import (WORD, Program, add, array, chain, check, finish,  # noqa: E402
                         first_row, parity, reduce_row, shift_and_add, sub, write)


def mont_sqr(n):
    p = Program(f"pm_gpu_msm_sqr_{n}", "r = a^2 / R mod m, plus m or not, for 2 a < R.",
                array("a", n) + array("m", n) + ["inv"], array("r", n))
    even, odd = "e", "o"
    present = set(array("e", n) + array("o", n))
    p.each("add", [(f"d{j}", f"a{j}", f"a{j}") for j in range(n)])
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
            chain(p, present, even, parity(words, False), f"a{i}", f"{odd}{n - 1}")
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
            chain(p, present, even, parity(a, False), f"b{i}", f"{odd}{n - 1}")
        chain(p, present, odd, parity(c, True), f"d{i}", None)
        chain(p, present, even, parity(c, False), f"d{i}", f"{odd}{n - 1}")
        reduce_row(p, n, present, even, odd)
    finish(p, n, even, odd)
    return p


def mont_acc(n, factors):
    """factors: pairs of names of vector and multiplier."""
    sums = " + ".join(f"{a} {b}" for a, b in factors)
    names = [name for pair in factors for name in pair]
    p = Program(f"pm_gpu_msm_acc{len(factors) if len(factors) > 1 else ''}_{n}",
                f"r = (t + {sums}) / R mod m, below that and m more.",
                array("t", 2 * n) + [w for name in names for w in array(name, n)] +
                array("m", n) + ["inv"], array("r", n))
    even, odd = "e", "o"
    present = set(array("e", n))
    for j in range(n):
        p.op("mov", f"e{j}", f"t{j}")
    for i in range(n):
        for k, (a, b) in enumerate(factors):
            words = {j: f"{a}{j}" for j in range(n)}
            if k == 0 and i == 0:
                for j in range(1, n, 2):
                    p.op("mul.lo", f"o{j - 1}", words[j], f"{b}0")
                    p.op("mul.hi", f"o{j}", words[j], f"{b}0")
                present.update(array("o", n))
            elif k == 0:
                even, odd = odd, even
                shift_and_add(p, n, even, odd, parity(words, True), f"{b}{i}")
            else:
                chain(p, present, odd, parity(words, True), f"{b}{i}", None)
            chain(p, present, even, parity(words, False), f"{b}{i}", f"{odd}{n - 1}")
        reduce_row(p, n, present, even, odd)
    finish(p, n, even, odd, upper=array("t", 2 * n)[n:])
    return p


def fresh_top(p, present, word):
    """The carry of a chain into a word that holds nothing yet."""
    p.op("addc", word, word if word in present else "0", "0")
    present.add(word)


def or_zero(present, word):
    return word if word in present else "0"


def sum_both(p, present, to, start, count):
    """r = words start and above of the sums "e" and "o" of wide_mul, by way of words `to`."""
    p.each("add", [(f"{to}{k}", or_zero(present, f"e{start + k}"),
                    or_zero(present, f"o{start + k - 1}")) for k in range(count)])
    p.results(to)


def wide_mul(n):
    p = Program(f"pm_gpu_msm_wide_mul_{n}", "r = a b.", array("a", n) + array("b", n),
                array("r", 2 * n))
    present = set()
    for i in range(n):
        # Pair k of the sum "e" is at word k, of "o" at word k + 1.
        for to, start, lower in (("o", 1 - i % 2, 1), ("e", i % 2, 0)):
            for j in range(start, n, 2):
                last = j + 2 >= n
                open_top = last and j == n - 2 and i > 0
                p.wide(to, i + j - lower, f"a{j}", f"b{i}", i > 0 and j > start,
                       i > 0 and (not last or open_top), present)
                if open_top:
                    fresh_top(p, present, f"{to}{i + n - lower}")
    sum_both(p, present, "t", 0, 2 * n)
    return p


def full_mul(n):
    """wide_mul, but that the carry of the chain which ends lower in a row goes into the other's
    last word, the upper half of a product so far. (Where it has a word of its own, the assembler
    keeps such carries as predicates, runs out of those, and packs them into registers.)"""
    p = Program(f"pm_gpu_msm_full_mul_{n}", "r = a b.", array("a", n) + array("b", n),
                array("r", 2 * n))
    present = set()
    for i in range(n):
        # Names as in wide_mul. The first chain ends in two words that hold nothing yet.
        (first, high), (second, low) = (("o", 1), ("e", 0)) if i % 2 == 0 else (("e", 0), ("o", 1))
        for j in range(1, n, 2):
            p.wide(first, i + j - high, f"a{j}", f"b{i}", i > 0 and j > 1, i > 0 and j < n - 1,
                   present)
        for j in range(0, n, 2):
            p.wide(second, i + j - low, f"a{j}", f"b{i}", i > 0 and j > 0, i > 0, present)
        if i > 0:
            p.op("addc", f"{first}{i + n - high}", f"{first}{i + n - high}", "0")
    sum_both(p, present, "t", 0, 2 * n)
    return p


def wide_reduce(n):
    p = Program(f"pm_gpu_msm_wide_reduce_{n}", "r = t / R mod m, at most m.",
                array("t", n) + array("m", n) + ["inv"], array("r", n))
    present = set()
    for k in range(n):
        p.op("mov", f"e{k}", f"t{k}")
        present.add(f"e{k}")
    for i in range(n):
        # This row clears word i, which is in `here`; the words above it at odd distances are in
        # `there`. Names as in wide_mul.
        (here, low), (there, high) = (("e", 0), ("o", 1)) if i % 2 == 0 else (("o", 1), ("e", 0))
        if i > 0:
            p.op("add.cc", f"{here}{i - low}", f"{here}{i - low}", f"{there}{i - high}")
        p.op("mul.lo", "q", f"{here}{i - low}", "inv")
        for j in range(1, n, 2):  # with the carry of the sum above, which has the same place
            p.wide(there, i + j - high, f"m{j}", "q", i > 0, i > 0 and j < n - 1, present)
        for j in range(0, n, 2):
            p.wide(here, i + j - low, f"m{j}", "q", j > 0, True, present)
        fresh_top(p, present, f"{there}{i + n - high}")
    sum_both(p, present, "s", n, n)
    return p


def renamed(program, name):
    program.name = name
    return program


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
        if n > 2:
            check_wide(programs, n, m, rng, edge)
            check_acc(programs, n, m, rng, edge)


def check_wide(programs, n, m, rng, edge):
    radix = 1 << 32 * n
    inverse, n0 = pow(radix, -1, m), -pow(m, -1, WORD) % WORD
    edge = edge + [radix - 1 - x for x in edge]
    pairs = [(a, b) for a in edge for b in edge]
    pairs += [(rng.randrange(radix), rng.randrange(radix)) for _ in range(500)]

    def same(got, value, wanted):
        assert got == wanted, (n, value)

    def good(got, value, wanted):
        assert got % m == wanted and got <= m, (n, value)
    for name in ("wide", "full"):
        check(programs[f"pm_gpu_msm_{name}_mul_{n}"], [(dict(a=a, b=b), a * b) for a, b in pairs],
              same)
    check(programs[f"pm_gpu_msm_wide_reduce_{n}"],
          [(dict(t=t, m=m, inv=n0), t * inverse % m) for pair in pairs for t in pair], good)
    squares = [(a * b % radix ** 2, b * b) for a, b in pairs]
    check(programs[f"pm_gpu_msm_wide_add_{n}"],
          [(dict(a=a, b=b), (a + b) % radix ** 2) for a, b in squares], same)
    check(programs[f"pm_gpu_msm_wide_sub_{n}"],
          [(dict(a=a, b=b), (a - b) % (radix ** 2 * WORD)) for a, b in squares], same)


def check_acc(programs, n, m, rng, edge):
    """Factors up to the bounds of mont_acc, and t such that the result is below R."""
    radix = 1 << 32 * n
    inverse, n0 = pow(radix, -1, m), -pow(m, -1, WORD) % WORD
    most = (radix - 2 - m) // 2
    small = edge + [most, most - 1, radix // 4, radix // 3]
    words = edge + [radix - 1 - x for x in edge]
    for count in (1, 2):
        program = programs[f"pm_gpu_msm_acc{count if count > 1 else ''}_{n}"]
        values = []
        while len(values) < 1500:
            a, c = (min(rng.choice(small) if rng.random() < 0.6 else rng.randrange(most), most)
                    for _ in range(2))
            b, d = (rng.choice(words) if rng.random() < 0.6 else rng.randrange(radix)
                    for _ in range(2))
            total = a * b + (c * d if count == 2 else 0)
            room = radix * (radix - m - 2) - total
            if room <= 0:
                continue
            t = rng.choice([0, room - 1, room // 2, radix - 1, rng.randrange(room)])
            t = min(t, room - 1)
            value = dict(t=t, a=a, b=b, m=m, inv=n0)
            if count == 2:
                value.update(c=c, d=d)
            values.append((value, t + total))

        def good(got, value, wanted):
            assert got % m == wanted * inverse % m and got <= wanted // radix + m + 1, (n, value)
        check(program, values, good)


def main(root):
    from params import bls12_381, bn254, tiny
    programs = [mont_sqr(2), mont_sqr(8), mont_sqr(12), mont_sum(2), mont_sum(8), mont_sum(12)]
    for n in (8, 12):
        programs += [wide_mul(n), full_mul(n), wide_reduce(n),
                     renamed(add(2 * n), f"pm_gpu_msm_wide_add_{n}"),
                     renamed(sub(2 * n), f"pm_gpu_msm_wide_sub_{n}"),
                     mont_acc(n, [("a", "b")]), mont_acc(n, [("a", "b"), ("c", "d")])]
    self_check({p.name: p for p in programs}, [c.p for c in (bn254(), bls12_381(), tiny())])
    write(os.path.join(root, "src/gpu/kernel/gpu_msm_mont.h"), HEAD, programs, "PM_GPU_MSM_MONT_H")


if __name__ == "__main__":
    main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
