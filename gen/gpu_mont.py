#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes src/gpu/ff/gpu_mont.h: products of the device's fields over 32-bit words, as PTX for the
device and as the very same sequence of operations in C for the host, so that a test on any machine
runs the algebra that the card runs.

gen/gpu_program.py has the accumulators, even and odd, that products are gathered in.

mont_mul    a b / R mod m + (0 or m), R = 2^(32 n), by interleaved rows (Koc, Acar, Kaliski 1996,
            CIOS). With T the accumulators' value, a row computes T <- T / 2^32 + a b_i + q m. If
            T / 2^32 < a + m before it, then after it T < (a + m) + (2^32 - 1)(a + m) =
            2^32 (a + m), whatever b_i is. So n + 1 words hold T where a + m < R, and the result is
            below a + m: below 2m, even 3m (for a < 2m), before it is reduced.
            2 n^2 + n products. Where the modulus ends in the words (1, 2^32 - 1), as BLS12-381's r
            does, three products of each row become additions.

shoup_mul   x w mod m + (0 or m) for a constant w < m that comes with s = floor(w R / m):
            Harvey, "Faster arithmetic for number-theoretic transforms" (J. Symb. Comput. 60, 2014),
            section 2, there for one word. q is floor(x s / R), from the product's columns n - 2
            and above; the columns left out lower x s / R by less than
            n 2^(32 (n - 1)) / R = n 2^-32. The result r = x w - q m is computed mod R alone. With
                r / m < x w / m - (x s / R - n 2^-32 - 1) < x / R + 1 + n 2^-32
            it is below 2m where x < 2m and 2m < 0.99 R. Three half products: about 1.5 n^2.
            With the same ending, -m ends in (2^32 - 1, 0): two rows of q (-m) become additions.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gpu_program import (MASK, WORD, Program, add, array, chain, check, finish,  # noqa: E402
                         first_row, parity, reduce_row, shift_and_add, sub, write)


def mont_mul(n, ends_in_one):
    p = Program(f"pm_gpu_mont_mul_{n}" + ("_one" if ends_in_one else ""),
                "r = a b / R mod m, plus m or not: below a + m" +
                (", for m that ends in the words 1, 2^32 - 1." if ends_in_one else "."),
                array("a", n) + array("b", n) + array("m", n) +
                ([] if ends_in_one else ["inv"]), array("r", n))
    even, odd = "e", "o"
    present = set(array("e", n) + array("o", n))
    a, m = ({j: f"{name}{j}" for j in range(n)} for name in "am")
    for i in range(n):
        if i == 0:
            first_row(p, n, even, odd, a, "b0")
        else:
            even, odd = odd, even  # a shift by one word exchanges their parts
            shift_and_add(p, n, even, odd, parity(a, True), f"b{i}")
            chain(p, present, even, parity(a, False), f"b{i}", f"{odd}{n - 1}")
        if not ends_in_one:
            reduce_row(p, n, present, even, odd)
            continue
        # q = -T mod 2^32; q (2^32 - 1) is -q, and above it q less its borrow.
        p.op("sub", "q", "0", f"{even}0")
        p.op("sub.cc", "u", "0", "q")
        p.op("subc", "v", "q", "0")
        p.op("add.cc", f"{odd}0", f"{odd}0", "u")
        p.op("addc.cc", f"{odd}1", f"{odd}1", "v")
        chain(p, present, odd, {j: m[j] for j in range(3, n, 2)}, "q", None, pending=True)
        p.op("add.cc", f"{even}0", f"{even}0", "q")
        p.op("addc.cc", f"{even}1", f"{even}1", "0")
        chain(p, present, even, {j: m[j] for j in range(2, n, 2)}, "q", f"{odd}{n - 1}",
              pending=True)
    finish(p, n, even, odd)
    return p


class Sum:
    """Two accumulators for products at even and at odd word positions, with the largest value each
    can hold, so that a carry word is written exactly where a carry can occur."""

    def __init__(self, program, names, top):
        self.p, self.names, self.top = program, names, top
        self.present, self.most = set(), [0, 0]

    def row(self, terms):
        """terms: (position, x, y), of one row; those at or above `top` are left out."""
        for parity in (0, 1):
            mine = sorted(t for t in terms if t[0] % 2 == parity and t[0] < self.top)
            acc, carry = self.names[parity], False
            if not mine:
                continue
            self.most[parity] += sum(MASK * MASK << 32 * t[0] for t in mine)
            for k, (at, x, y) in enumerate(mine):
                if at + 1 == self.top:  # the lower half of the last product, mod R
                    old = f"{acc}{at}" if f"{acc}{at}" in self.present else None
                    if old:
                        self.p.op("madc.lo" if carry else "mad.lo", f"{acc}{at}", x, y, old)
                    elif carry:
                        self.p.op("madc.lo", f"{acc}{at}", x, y, "0")
                    else:
                        self.p.op("mul.lo", f"{acc}{at}", x, y)
                    self.present.add(f"{acc}{at}")
                    continue
                untouched = not {f"{acc}{at}", f"{acc}{at + 1}"} & self.present
                last = k == len(mine) - 1
                beyond = at + 2 < self.top and self.most[parity] >> 32 * (at + 2) > 0
                mod_r = at + 2 >= self.top
                p_carry = (not last) or (beyond and last)
                self.p.wide(acc, at, x, y, carry, p_carry and not (mod_r and last),
                            self.present)
                carry = not (untouched and not carry)
                if last and beyond and carry:
                    over = f"{acc}{at + 2}"
                    self.p.op("addc", over, over if over in self.present else "0", "0")
                    self.present.add(over)

    def words(self, at):
        return [f"{acc}{at}" for acc in self.names if f"{acc}{at}" in self.present]


def shoup_mul(n, ends_in_one):
    """The order matters little to the assembler, which schedules; it reads q, then r."""
    name = f"pm_gpu_shoup_mul_{n}" + ("_one" if ends_in_one else "")
    tail = ", for a modulus that ends in the words 1, 2^32 - 1" if ends_in_one else ""
    p = Program(name, f"r = x w mod m, plus m or not, for s = floor(w R / m) and z = R - m{tail}.",
                array("x", n) + array("w", n) + array("s", n) +
                array("z", n), array("r", n))
    low = max(n - 2, 0)
    high = Sum(p, ("e", "o"), 2 * n)
    for i in range(n):
        high.row([(i + j, f"x{i}", f"s{j}") for j in range(n) if i + j >= low])
    start = n - 1 if n > 2 else 1
    p.each("add", [(f"q{at - n}" if at >= n else "dropped", *(high.words(at) + ["0", "0"])[:2])
                   for at in range(start, 2 * n)])
    total = Sum(p, ("f", "g"), n)
    p.wrapping = {f"f{n - 1}", f"g{n - 1}"}
    for i in range(n):
        total.row([(i + j, f"x{i}", f"w{j}") for j in range(n)])
    for i in range(n):
        total.row([(i + j, f"q{i}", f"z{j}") for j in range(2 if ends_in_one else 0, n)])
    if ends_in_one:  # plus q (2^32 - 1): minus q, plus q one word up
        p.each("sub", [(f"f{at}", f"f{at}", f"q{at}") for at in range(n)])
        p.each("add", [(f"f{at}", f"f{at}", f"q{at - 1}") for at in range(1, n)])
    p.each("add", [(f"f{at}", f"f{at}", f"g{at}") for at in range(1, n)])
    p.results("f")
    return p


HEAD = """/* Generated by gen/gpu_mont.py: do not edit, run gen/regen.py. */
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* clang-format off */
#ifndef PM_GPU_MONT_H
#define PM_GPU_MONT_H

/* Products over little-endian 32-bit words, for the device as PTX and for the host as the same
 * operations in C. R is 2^(32 n). Outputs may be inputs. gen/gpu_mont.py has the bounds. */

#include "gpu/ff/gpu_word.h"
"""


def self_check(programs, moduli):
    """Every program on every modulus it is for; fails loudly on a wrong bound."""
    rng = random.Random(1)
    for m in moduli:
        n = (m.bit_length() + 63) // 64 * 2
        radix = 1 << 32 * n
        edge = [0, 1, 2, m - 1, m - 2, m // 2, (1 << 32) - 1, (m >> 32) << 32]
        edge = [x % m for x in edge]
        pairs = [(a, b) for a in edge for b in edge]
        pairs += [(rng.randrange(m), rng.randrange(m)) for _ in range(200)]
        inverse = pow(radix, -1, m)
        n0 = -pow(m, -1, WORD) % WORD

        def same(got, value, wanted):
            assert got == wanted, value

        def good(got, value, wanted):
            assert got % m == wanted and got < 2 * m, (p.name, value)
        check(programs[f"pm_gpu_add_{n}"], [(dict(a=a, b=b), a + b) for a, b in pairs], same)
        check(programs[f"pm_gpu_sub_{n}"],
              [(dict(a=a, b=b), (a - b) % (radix * WORD)) for a, b in pairs], same)
        for suffix in ("", "_one") if m % (1 << 64) == (MASK << 32 | 1) else ("",):
            p = programs[f"pm_gpu_mont_mul_{n}{suffix}"]
            check(p, [(dict(a=a, b=b, m=m, inv=n0), a * b * inverse % m) for a, b in pairs], good)
            p = programs.get(f"pm_gpu_shoup_mul_{n}{suffix}")
            if p is None:
                continue
            wide = [(x + m, w) for x, w in pairs]
            check(p, [(dict(x=x, w=w, s=w * radix // m, z=radix - m), x * w % m)
                      for x, w in pairs + wide], good)


def main(root):
    from params import bls12_381, bn254, tiny
    programs = [add(2), add(8), add(12), sub(2), sub(8), sub(12), mont_mul(2, False),
                mont_mul(8, False), mont_mul(12, False), mont_mul(8, True), shoup_mul(2, False),
                shoup_mul(8, False), shoup_mul(8, True)]
    curves = [bn254(), bls12_381(), tiny()]
    self_check({p.name: p for p in programs}, [m for c in curves for m in (c.p, c.r)])
    write(os.path.join(root, "src/gpu/ff/gpu_mont.h"), HEAD, programs, "PM_GPU_MONT_H")


if __name__ == "__main__":
    main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
