#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes src/gpu/ff/gpu_mont.h: products of the device's fields over 32-bit words, as PTX for the
device and as the very same sequence of operations in C for the host, so that a test on any machine
runs the algebra that the card runs.

The multiplier of these cards takes 32 x 32 bits and adds a 64-bit number (IMAD.WIDE); a pair
mad.lo.cc, madc.hi.cc on neighbouring words becomes one of them. An accumulator in which products
stand at even word positions, and a second one for odd positions, make every product such a pair:
Emmart, Luitjens, Weems, Woolley, "Optimizing Modular Multiplication for NVIDIA's Maxwell GPUs"
(ARITH 2016), section IV. The two are added once, at the end.

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

WORD = 1 << 32
MASK = WORD - 1


class Program:
    """A list of operations on named words, in static single line order."""

    def __init__(self, name, about, inputs, outputs):
        self.name, self.about, self.inputs, self.outputs = name, about, inputs, outputs
        self.ops, self.words = [], []
        self.wrapping = set()  # words whose carry out is dropped on purpose: tops of sums mod R

    def word(self, name):
        if name not in self.words:
            self.words.append(name)
        return name

    def op(self, name, to, *sources):
        self.ops.append((name, self.word(to), sources))

    def wide(self, kind, to, at, x, y, carry_in, carry_out, present):
        """to[at], to[at+1] (those in `present` count, others are zero) plus x y."""
        lo, hi = f"{to}{at}", f"{to}{at + 1}"
        old_lo = lo if lo in present else "0"
        old_hi = hi if hi in present else "0"
        if not carry_in and old_lo == "0" and old_hi == "0":
            self.op("mul.lo", lo, x, y)
            self.op("mul.hi", hi, x, y)
        else:
            self.op("madc.lo.cc" if carry_in else "mad.lo.cc", lo, x, y, old_lo)
            self.op("madc.hi.cc" if carry_out else "madc.hi", hi, x, y, old_hi)
        present.update((lo, hi))

    def run(self, values):
        """Executes on integers: values maps input words; returns the outputs."""
        v, cc = dict(values), 0
        v["0"] = 0
        for name, to, sources in self.ops:
            s = [v[x] if x in v else int(x) for x in sources]
            parts = name.split(".")
            uses, sets = parts[0] in ("addc", "subc", "madc"), parts[-1] == "cc"
            carry = cc if uses else 0
            if parts[0] == "mov":
                total = s[0]
            elif parts[0] in ("add", "addc"):
                total = s[0] + s[1] + carry
            elif parts[0] in ("sub", "subc"):
                total = s[0] - s[1] - carry
            else:
                product = s[0] * s[1]
                half = product & MASK if parts[1] == "lo" else product >> 32
                total = half + (s[2] if len(s) > 2 else 0) + carry
            if sets:
                cc = 1 if total < 0 or total > MASK else 0
            else:
                assert 0 <= total <= MASK or to in self.wrapping or parts[0] == "sub", \
                    (self.name, name, to, "loses a carry")
            v[to] = total & MASK
        return [v[x] for x in self.outputs]

    # ---- output

    def c_arrays(self):
        """The C arrays that make up inputs and outputs, in order of first use."""
        arrays = {}
        for word in self.inputs + self.outputs:
            array = word.rstrip("0123456789")
            arrays[array] = arrays.get(array, 0) + 1
        return arrays

    def c_name(self, word):
        if word.isdigit() or word in self.words:
            return word
        array = word.rstrip("0123456789")
        return f"{array}[{word[len(array):]}]" if self.c_arrays()[array] > 1 else array

    def text(self):
        out = [f"/* {self.about} */"]
        arguments = [f"uint32_t r[{len(self.outputs)}]"]
        for array, count in self.c_arrays().items():
            if array != "r":
                arguments.append(f"const uint32_t {array}[{count}]" if count > 1
                                 else f"uint32_t {array}")
        out += [f"PM_GPU_INLINE void {self.name}({', '.join(arguments)}) {{",
                "#if defined(__CUDA_ARCH__)"]
        out += self.ptx()
        out += ["#else"]
        out += [f"    uint32_t {w} = 0;" for w in self.words if w not in self.outputs]
        out += ["    uint32_t cc = 0;"]
        for name, to, sources in self.ops:
            values = ", ".join(self.c_name(s) for s in sources)
            target = self.c_name_out(to)
            out.append(f"    {target} = pm_gpu_{name.replace('.', '_')}({values}"
                       f"{', ' if values else ''}&cc);")
        used = {s for _, _, sources in self.ops for s in sources}
        out += [f"    (void){w};" for w in self.words if w not in used and w not in self.outputs]
        out += ["    (void)cc;", "#endif", "}", ""]
        return out

    def c_name_out(self, word):
        return f"r[{word[1:]}]" if word in self.outputs else word

    def ptx(self):
        number = {}
        for index, word in enumerate(self.outputs + self.inputs):
            number[word] = f"%{index}"
        inner = [w for w in self.words if w not in self.outputs]

        def name(word):
            return number.get(word, word)

        lines = ["    asm(\"{\\n\\t\""]
        for i in range(0, len(inner), 12):
            lines.append(f"        \".reg .u32 {', '.join(inner[i:i + 12])};\\n\\t\"")
        for op, to, sources in self.ops:
            kind = op.replace("mov", "mov.u32") if op == "mov" else op + ".u32"
            lines.append(f"        \"{kind} {', '.join(name(w) for w in (to, *sources))};\\n\\t\"")
        lines.append("        \"}\"")
        outs = ", ".join(f"\"=r\"(r[{w[1:]}])" for w in self.outputs)
        ins = ", ".join(f"\"r\"({self.c_name(w)})" for w in self.inputs)
        lines += [f"        : {outs}", f"        : {ins});"]
        return lines


def array(name, n):
    return [f"{name}{i}" for i in range(n)]


def mont_mul(n, ends_in_one):
    p = Program(f"pm_gpu_mont_mul_{n}" + ("_one" if ends_in_one else ""),
                "r = a b / R mod m, plus m or not: below a + m" +
                (", for m that ends in the words 1, 2^32 - 1." if ends_in_one else "."),
                array("a", n) + array("b", n) + array("m", n) +
                ([] if ends_in_one else ["inv"]), array("r", n))
    even, odd, present = "e", "o", set()

    def chain(to, x, start, y, limit_carry):
        """to += y * sum of x[j] 2^(32 j), j = start, start + 2, ...; a carry past the top goes into
        the other accumulator's last word (limit_carry) or cannot occur (None)."""
        for k, j in enumerate(range(start, n, 2)):
            last = j + 2 >= n
            p.wide("", to, j - start, f"{x}{j}", y, k > 0, not last or limit_carry, present)
        if limit_carry:
            p.op("addc", limit_carry, limit_carry, "0")

    def rest(to, start, limit_carry):
        """The chain of q m behind its first pair, whose carry is pending."""
        for j in range(start, n, 2):
            p.wide("", to, j // 2 * 2, f"m{j}", "q", True, j + 2 < n or limit_carry, present)
        if limit_carry:
            p.op("addc", limit_carry, limit_carry, "0")

    for i in range(n):
        b = f"b{i}"
        if i == 0:
            for j in range(0, n, 2):
                p.op("mul.lo", f"{odd}{j}", f"a{j + 1}", b)
                p.op("mul.hi", f"{odd}{j + 1}", f"a{j + 1}", b)
            for j in range(0, n, 2):
                p.op("mul.lo", f"{even}{j}", f"a{j}", b)
                p.op("mul.hi", f"{even}{j + 1}", f"a{j}", b)
            present.update(array("e", n) + array("o", n))
        else:
            even, odd = odd, even  # a shift by one word exchanges their parts
            p.op("add.cc", f"{even}0", f"{even}0", f"{odd}1")
            for j in range(0, n, 2):
                a, last = f"a{j + 1}", j + 2 >= n
                low = "0" if last else f"{odd}{j + 2}"
                high = "0" if last else f"{odd}{j + 3}"
                p.op("madc.lo.cc", f"{odd}{j}", a, b, low)
                p.op("madc.hi" if last else "madc.hi.cc", f"{odd}{j + 1}", a, b, high)
            chain(even, "a", 0, b, f"{odd}{n - 1}")
        if ends_in_one:  # q = -T mod 2^32; q (2^32 - 1) is -q, and above it q less its borrow
            p.op("sub", "q", "0", f"{even}0")
            p.op("sub.cc", "u", "0", "q")
            p.op("subc", "v", "q", "0")
            p.op("add.cc", f"{odd}0", f"{odd}0", "u")
            p.op("addc.cc", f"{odd}1", f"{odd}1", "v")
            rest(odd, 3, None)
            p.op("add.cc", f"{even}0", f"{even}0", "q")
            p.op("addc.cc", f"{even}1", f"{even}1", "0")
            rest(even, 2, f"{odd}{n - 1}")
            continue
        p.op("mul.lo", "q", f"{even}0", "inv")
        chain(odd, "m", 1, "q", None)
        chain(even, "m", 0, "q", f"{odd}{n - 1}")
    # T / 2^32: the odd words, and the even ones one place down.
    for j in range(n):
        carry = ("addc" if j else "add") + (".cc" if j < n - 1 else "")
        p.op(carry, f"{odd}{j}", f"{odd}{j}", f"{even}{j + 1}" if j < n - 1 else "0")
    for j in range(n):
        p.op("mov", f"r{j}", f"{odd}{j}")
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
                self.p.wide("", acc, at, x, y, carry, p_carry and not (mod_r and last),
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
    for at in range(start, 2 * n):
        words = high.words(at) + ["0", "0"]
        first, last = at == start, at == 2 * n - 1
        p.op(("add" if first else "addc") + ("" if last else ".cc"), f"q{at - n}" if at >= n else
             "dropped", words[0], words[1])
    total = Sum(p, ("f", "g"), n)
    p.wrapping = {f"f{n - 1}", f"g{n - 1}"}
    for i in range(n):
        total.row([(i + j, f"x{i}", f"w{j}") for j in range(n)])
    for i in range(n):
        total.row([(i + j, f"q{i}", f"z{j}") for j in range(2 if ends_in_one else 0, n)])
    result = array("f", n)
    if ends_in_one:  # plus q (2^32 - 1): minus q, plus q one word up
        for at in range(n):
            p.op(("subc" if at else "sub") + (".cc" if at < n - 1 else ""), f"f{at}", f"f{at}",
                 f"q{at}")
        for at in range(1, n):
            p.op(("addc" if at > 1 else "add") + (".cc" if at < n - 1 else ""), f"f{at}", f"f{at}",
                 f"q{at - 1}")
    for at in range(1, n):
        p.op(("addc" if at > 1 else "add") + (".cc" if at < n - 1 else ""), f"f{at}", f"f{at}",
             f"g{at}")
    for at in range(n):
        p.op("mov", f"r{at}", result[at])
    return p


def add(n):
    p = Program(f"pm_gpu_add_{n}", "r = a + b mod R.", array("a", n) + array("b", n),
                array("r", n))
    p.wrapping = {f"t{n - 1}"}
    for j in range(n):
        p.op(("addc" if j else "add") + (".cc" if j < n - 1 else ""), f"t{j}", f"a{j}", f"b{j}")
    for j in range(n):
        p.op("mov", f"r{j}", f"t{j}")
    return p


def sub(n):
    p = Program(f"pm_gpu_sub_{n}",
                "r = a - b mod R, and above it a word: all ones if a < b, else 0.", array("a", n) +
                array("b", n), array("r", n + 1))
    p.wrapping = {f"t{n}"}
    for j in range(n):
        p.op(("subc" if j else "sub") + ".cc", f"t{j}", f"a{j}", f"b{j}")
    p.op("subc", f"t{n}", "0", "0")
    for j in range(n + 1):
        p.op("mov", f"r{j}", f"t{j}")
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


def check(program, values, reference):
    """Runs the program on random and edge values and compares with integers."""
    for value, wanted in values:
        words = {}
        for name, number in value.items():
            mine = [w for w in program.inputs if w.rstrip("0123456789") == name]
            for word in mine:
                index = int(word[len(name):] or 0)
                words[word] = number >> 32 * index & MASK
        got = sum(w << 32 * i for i, w in enumerate(program.run(words)))
        reference(got, value, wanted)


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
    lines = HEAD.split("\n")
    for program in programs:
        lines += program.text()
    lines.append("#endif /* PM_GPU_MONT_H */")
    with open(os.path.join(root, "src/gpu/ff/gpu_mont.h"), "w", encoding="utf-8") as out:
        out.write("\n".join(wrap(lines)) + "\n")


def wrap(lines):
    """No line over 100 columns: breaks at the last comma that fits."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while len(line) > 100:
            cut = line.rfind(", ", 0, 100) + 1
            yield line[:cut]
            line = indent + line[cut:].lstrip()
        yield line


if __name__ == "__main__":
    import sys
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
