#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes src/ff/mont_adx_x86_64.S: Montgomery multiplication and squaring for 4 and 6 limbs with
MULX, ADCX and ADOX (System V ABI, AT&T syntax). The modulus is an argument, so one text serves
every field. The algorithm and its bounds are those of src/ff/ff_field.inc; this file only assigns
registers. Two carry chains at once: Ozturk, Guilford, Gopal, Feghali, "New Instructions Supporting
Large Integer Arithmetic on Intel Architecture Processors" (Intel white paper 327831, 2012).

Multiplication, rows i = 0 .. N-1 over the accumulator t[0..N]:
    t += a_i b;  q = t[0] n0 mod 2^64;  t += q p;  t[0] is now 0 and the words move down by one.
Nothing moves in fact: the generator renames registers, and the register that just became zero is
the next row's top word. In a row the low halves of the products ride one carry chain (CF, adcx) and
the high halves the other (OF, adox), so each product costs one mulx and two additions.

Squaring computes the 2N-word square first (N(N+1)/2 instead of N^2 products), reduces its lower
half alone (rows of q p: the result stays within N words) and adds the upper half at the end:
    (low + Q p) / R <= p  and  high <= p^2 / R < p,  a sum below 2p.
Here too a may be up to 2p where 4p < R: the sum is then at most p + 4p^2 / R < 2p.

In Fp2 = Fp[u] / (u^2 + 1) a coefficient is a sum of two products, reduced once: 4 N^2 + 2 (N^2 + N)
multiplications, no more than three products and as many reductions have (Longa, "Efficient
Algorithms for Large Prime Characteristic Fields and Their Application to Bilinear Pairings", TCHES
2023(3), section 3), and nothing is added or subtracted in between. With y, y' <= p the rows stay
below y + y' + p <= 3p < R, and the result below p (1 + 2p / R) < 2p. This needs 4p < R, which both
base fields have.

The multiplier is the floor: mulx and imul both run on one port, one a cycle, and a multiplication
needs 2 N^2 + N of them: 36 for N = 4, 78 for N = 6. Squaring needs N(N+1)/2 + N^2 + N: 30 and 63.
"""
import os
import sys

CALLEE_SAVED = ["rbx", "rbp", "r12", "r13", "r14", "r15"]


class Function:
    """One function: collects lines, and knows which registers it must save."""

    def __init__(self, name, about, saved):
        self.name, self.about, self.saved, self.lines = name, about, saved, []

    def op(self, text, comment=""):
        line = f"    {text}"
        self.lines.append(f"{line:<40}/* {comment} */" if comment else line)

    def row(self, comment):
        self.lines.append("")
        self.lines.append(f"    /* {comment} */")

    def text(self):
        out = ["", self.about,
               f"    .globl {self.name}", f"    .hidden {self.name}",
               f"    .type {self.name}, @function", "    .p2align 5", f"{self.name}:",
               "    .cfi_startproc", "    endbr64"]
        for reg in self.saved:
            out += [f"    pushq %{reg}", "    .cfi_adjust_cfa_offset 8",
                    f"    .cfi_rel_offset %{reg}, 0"]
        out += self.lines
        for reg in reversed(self.saved):
            out += [f"    popq %{reg}", "    .cfi_adjust_cfa_offset -8", f"    .cfi_restore %{reg}"]
        out += ["    ret", "    .cfi_endproc", f"    .size {self.name}, . - {self.name}"]
        return "\n".join(out)


def at(base, i):
    return f"{8 * i}(%{base})" if i else f"(%{base})"


def product_row(f, t, top, base, n, lo, hi, first=0):
    """t[0..n-1], top += rdx * base[first..first+n-1]; the sum must fit: no carry is taken out."""
    f.op(f"xorl %{dword(lo)}, %{dword(lo)}", "CF = OF = 0")
    words = t + [top]
    for j in range(n):
        f.op(f"mulxq {at(base, first + j)}, %{lo}, %{hi}")
        f.op(f"adcxq %{lo}, %{words[j]}")
        f.op(f"adoxq %{hi}, %{words[j + 1]}")
    f.op(f"adcq $0, %{top}", "OF is clear: no overflow")


def quotient(f, t0, n0):
    f.op(f"movq %{t0}, %rdx")
    f.op(f"imulq %{n0}, %rdx", "q = t[0] n0")


def dword(reg):
    """The lower half of a register: writing it clears the upper half, with a shorter opcode."""
    return reg + "d" if reg[1].isdigit() else "e" + reg[1:]


def reduce_and_store(f, t, spare, r, p):
    """r = t - p if t >= p, else t."""
    n = len(t)
    f.row("r = t - (t < p ? 0 : p)")
    for j in range(n):
        f.op(f"movq %{t[j]}, %{spare[j]}")
    for j in range(n):
        f.op(f"{'subq' if j == 0 else 'sbbq'} {at(p, j)}, %{t[j]}")
    for j in range(n):
        f.op(f"cmovcq %{spare[j]}, %{t[j]}")
        f.op(f"movq %{t[j]}, {at(r, j)}")


def first_product_row(f, t, top, base, n, lo, first=0):
    """t[0..n-1], top = rdx * base[first..first+n-1]."""
    words = t + [top]
    f.op(f"mulxq {at(base, first)}, %{words[0]}, %{words[1]}")
    for j in range(1, n):
        f.op(f"mulxq {at(base, first + j)}, %{lo}, %{words[j + 1]}")
        f.op(f"{'addq' if j == 1 else 'adcq'} %{lo}, %{words[j]}")
    f.op(f"adcq $0, %{top}")


def mul(n):
    t = ["r9", "r10", "r11", "r12", "r13", "r14"][:n]
    top = ["r13", "r15"][n == 6]
    lo, hi, b, a, p, r, n0 = "rax", "rbp", "rbx", "rsi", "rcx", "rdi", "r8"
    saved = [x for x in CALLEE_SAVED if x in t + [top, lo, hi, b]]
    f = Function(f"pm_mont_mul_{n}_adx",
                 f"/* void pm_mont_mul_{n}_adx(r = rdi, a = rsi, b = rdx, p = rcx, n0 = r8)\n"
                 f" * rbx: b   rdx: a_i, then q   rax, rbp: low and high half of a product\n"
                 f" * {' '.join(t)} {top}: t[0..{n}], renamed from row to row */", saved)
    f.op(f"movq %rdx, %{b}")
    f.row("t = a_0 b")
    f.op(f"movq {at(a, 0)}, %rdx")
    first_product_row(f, t, top, b, n, lo)
    for i in range(n):
        if i > 0:
            f.row(f"t += a_{i} b")
            f.op(f"movq {at(a, i)}, %rdx")
            product_row(f, t, top, b, n, lo, hi)
        f.row("t = (t + q p) / 2^64, so that t < p + b")
        quotient(f, t[0], n0)
        product_row(f, t, top, p, n, lo, hi)
        t, top = t[1:] + [top], t[0]                    # t[0] is zero now: the next top
    spare = [top, lo, hi, b, a, "rdx"][:n]
    reduce_and_store(f, t, spare, r, p)
    return f.text()


def sum_of_products(f, n, t, top, lo, hi, p, n0, terms):
    """t = (sum of x y over terms) / R by rows t <- (t + x_i y + x'_i y' + ... + q p) / 2^64. A
    term is (base of x, its first word, base of y, its first word). Returns the renamed t, top."""
    for i in range(n):
        f.row(f"t += word {i} of each first factor times the second; t = (t + q p) / 2^64")
        for k, (x, x_first, y, y_first) in enumerate(terms):
            f.op(f"movq {at(x, x_first + i)}, %rdx")
            if i == 0 and k == 0:
                first_product_row(f, t, top, y, n, lo, y_first)
            else:
                product_row(f, t, top, y, n, lo, hi, y_first)
        quotient(f, t[0], n0)
        product_row(f, t, top, p, n, lo, hi)
        t, top = t[1:] + [top], t[0]
    return t, top


def reduce_through(f, t, p, slot):
    """t = t - p if t >= p, by way of the words from slot on; t is left in both."""
    f.row("t - (t < p ? 0 : p)")
    for j, word in enumerate(t):
        f.op(f"movq %{word}, {at('rsp', slot + j)}")
    for j, word in enumerate(t):
        f.op(f"{'subq' if j == 0 else 'sbbq'} {at(p, j)}, %{word}")
    for j, word in enumerate(t):
        f.op(f"cmovcq {at('rsp', slot + j)}, %{word}")
        f.op(f"movq %{word}, {at('rsp', slot + j)}")


def fp2_mul(n):
    t = ["r9", "r10", "r11", "r12", "r13", "r14"][:n]
    top = ["r13", "r15"][n == 6]
    lo, hi, b, a, p, r, n0 = "rax", "rbp", "rbx", "rsi", "rcx", "rdi", "r8"
    minus_b1, c1 = -n, -2 * n                           # words in the red zone
    saved = [x for x in CALLEE_SAVED if x in t + [top, lo, hi, b]]
    f = Function(f"pm_mont_fp2_mul_{n}_adx",
                 f"/* void pm_mont_fp2_mul_{n}_adx(r = rdi, a = rsi, b = rdx, p = rcx, n0 = r8)\n"
                 " * rbx: b   rdx: a word of a, then q   rax, rbp: halves of a product\n"
                 f" * {' '.join(t)} {top}: t[0..{n}]   red zone: c1, and p - b1 above it */", saved)
    f.op(f"movq %rdx, %{b}")
    f.row("p - b1")
    for j in range(n):
        f.op(f"movq {at(p, j)}, %{t[j]}")
    for j in range(n):
        f.op(f"{'subq' if j == 0 else 'sbbq'} {at(b, n + j)}, %{t[j]}")
    for j in range(n):
        f.op(f"movq %{t[j]}, {at('rsp', minus_b1 + j)}")
    f.row("c1 = a0 b1 + a1 b0")
    t, top = sum_of_products(f, n, t, top, lo, hi, p, n0, [(a, 0, b, n), (a, n, b, 0)])
    reduce_through(f, t, p, c1)
    f.row("c0 = a0 b0 + a1 (p - b1)")
    t, top = sum_of_products(f, n, t, top, lo, hi, p, n0, [(a, 0, b, 0), (a, n, "rsp", minus_b1)])
    reduce_through(f, t, p, minus_b1)
    f.row("r = c0 + c1 u: the inputs may be gone now")
    for j in range(n):
        f.op(f"movq %{t[j]}, {at(r, j)}")
    for j in range(n):
        f.op(f"movq {at('rsp', c1 + j)}, %{lo}")
        f.op(f"movq %{lo}, {at(r, n + j)}")
    return f.text()


def square_words(f, n, w, lo, hi, a, done):
    """The 2n-word square of a in the registers w[0..2n-1], of which the last is hi. done(k) is told
    when word k is final. w[0] may hold an argument until the squares come."""
    f.row("w[1..] = the products a_i a_j, i < j, each once")
    f.op(f"movq {at(a, 0)}, %rdx")
    f.op(f"mulxq {at(a, 1)}, %{w[1]}, %{w[2]}", "a_0 a_j")
    for j in range(2, n):
        f.op(f"mulxq {at(a, j)}, %{lo}, %{w[j + 1]}")
        f.op(f"{'addq' if j == 2 else 'adcq'} %{lo}, %{w[j]}")
    f.op(f"adcq $0, %{w[n]}")
    for i in range(1, n - 1):
        # Row i adds to w[2i+1 .. i+n-1] and opens the word w[i+n], which starts from zero.
        f.op(f"movq {at(a, i)}, %rdx")
        f.op(f"xorl %{dword(w[i + n])}, %{dword(w[i + n])}", f"a_{i} a_j; CF = OF = 0")
        for j in range(i + 1, n):
            f.op(f"mulxq {at(a, j)}, %{lo}, %{hi}")
            f.op(f"adcxq %{lo}, %{w[i + j]}")
            f.op(f"adoxq %{hi}, %{w[i + j + 1]}")
        f.op(f"adcq $0, %{w[i + n]}")
    f.row("w = 2 w + the squares a_i^2: doubling on CF, squares on OF")
    f.op(f"movq {at(a, 0)}, %rdx")
    f.op(f"xorl %{dword(lo)}, %{dword(lo)}", "CF = OF = 0")
    f.op(f"mulxq %rdx, %{w[0]}, %{hi}")
    done(0)
    for k in range(1, 2 * n - 1):
        if k % 2 == 0:
            f.op(f"movq {at(a, k // 2)}, %rdx")
            f.op(f"mulxq %rdx, %{lo}, %{hi}")
        f.op(f"adcxq %{w[k]}, %{w[k]}")
        f.op(f"adoxq %{lo if k % 2 == 0 else hi}, %{w[k]}")
        done(k)
    # The last word takes both carries; the square fits, so they add up to no third one.
    f.op(f"movl $0, %{dword(lo)}")
    f.op(f"adcxq %{lo}, %{hi}")
    f.op(f"adoxq %{lo}, %{hi}")
    done(2 * n - 1)


def reduction_row(f, t, p, lo, hi):
    """t <- (t + q p) / 2^64 over n words alone, q = rdx: once t[0] + low(q p[0]) has vanished, its
    register is free for the last high half. Returns the renamed words."""
    n = len(t)
    f.op(f"xorl %{dword(lo)}, %{dword(lo)}", "CF = OF = 0")
    for j in range(n):
        f.op(f"mulxq {at(p, j)}, %{lo}, %{hi}")
        f.op(f"adcxq %{lo}, %{t[j]}")
        f.op(f"adoxq %{hi}, %{t[(j + 1) % n]}")
    f.op(f"adcq $0, %{t[0]}", "no overflow: q p / 2^64 < p")
    return t[1:] + t[:1]


def sqr(n):
    lo, hi, a = "rax", "rbp", "rsi"
    if n == 4:
        # All eight words stay in registers.
        w = ["rbx", "r9", "r10", "r11", "r12", "r13", "r14", "rbp"]
        parked = {}
        r, p, n0, hi_reducing = "rdi", "rcx", "r8", "rsi"
        spare = ["rax", "rdx", "rsi", "r8"]
        saved = ["rbx", "rbp", "r12", "r13", "r14"]
        about = (" * rbx r9..r14 rbp: w[0..7]   rdx: a_i, then q   rcx: p   r8: n0\n"
                 " * rax, and rbp while squaring, rsi while reducing: halves of a product */")
    else:
        # Twelve words do not fit. r, p and n0 wait in the red zone while the square is made, and
        # its upper six words while the lower six are reduced.
        w = ["rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rbx", "rcx", "rbp"]
        parked = {k: f"{-8 * (k - 5)}(%rsp)" for k in range(6, 12)}
        r, p, n0, hi_reducing = "rsi", "rcx", "rbx", "rbp"
        spare = ["rax", "rdx", "rbp", "rbx", "r13", "r14"]
        saved = CALLEE_SAVED
        about = (" * rdi r8..r15 rbx rcx rbp: w[0..11]   rdx: a_i, then q   rax, rbp: halves of a "
                 "product\n"
                 " * red zone: w[6..11], r, p, n0; then rsi: r   rcx: p   rbx: n0 */")
    f = Function(f"pm_mont_sqr_{n}_adx",
                 f"/* void pm_mont_sqr_{n}_adx(r = rdi, a = rsi, p = rdx, n0 = rcx)\n" + about,
                 saved)
    waiting = ((-56, "rdi", r), (-64, "rdx", p), (-72, "rcx", n0))
    if n == 4:
        f.op(f"movq %rcx, %{n0}")
        f.op(f"movq %rdx, %{p}")
    else:
        for slot, source, _ in waiting:
            f.op(f"movq %{source}, {slot}(%rsp)")
    square_words(f, n, w, lo, hi, a,
                 lambda k: f.op(f"movq %{w[k]}, {parked[k]}", f"w[{k}]") if k in parked else None)
    if n == 6:
        for slot, _, target in waiting:
            f.op(f"movq {slot}(%rsp), %{target}")

    t = w[:n]
    for i in range(n):
        f.row("t = w[0..%d]; t = (t + q p) / 2^64" % (n - 1) if i == 0 else "t = (t + q p) / 2^64")
        quotient(f, t[0], n0)
        t = reduction_row(f, t, p, lo, hi_reducing)
    f.row("t += the upper half of the square: below 2p")
    for j in range(n):
        f.op(f"{'addq' if j == 0 else 'adcq'} {parked.get(n + j, '%' + w[n + j])}, %{t[j]}")
    reduce_and_store(f, t, spare, r, p)
    return f.text()


def conditionally_subtract(f, t, spare, p, store):
    """t = t - p if t >= p, word by word to store(j, word)."""
    for j in range(len(t)):
        f.op(f"movq %{t[j]}, %{spare[j]}")
    for j in range(len(t)):
        f.op(f"{'subq' if j == 0 else 'sbbq'} {at(p, j)}, %{t[j]}")
    for j in range(len(t)):
        f.op(f"cmovcq %{spare[j]}, %{t[j]}")
        store(j, t[j])


def difference(f, t, x, take, p, choice, store):
    """t = x - y mod p, y being what take(j) says; x is in memory. The multiple of p that is added
    is chosen by its address: p, or the four zeros in the red zone."""
    for j in range(4):
        f.op(f"movq {at(x, j)}, %{t[j]}")
    for j in range(4):
        f.op(f"{'subq' if j == 0 else 'sbbq'} {take(j)}, %{t[j]}")
    f.op(f"leaq {at('rsp', -4)}, %{choice}")
    f.op(f"cmovcq %{p}, %{choice}")
    for j in range(4):
        f.op(f"{'addq' if j == 0 else 'adcq'} {at(choice, j)}, %{t[j]}")
        store(j, t[j])


def butterflies(is_split, negated):
    """A loop over butterflies with one factor; poly/ntt.inc has the algebra."""
    t, top = ["r10", "r11", "r12", "r13"], "r14"
    x, y, z, p, n0 = "rdi", "rsi", "rcx", "r8", "r9"
    lo, hi, other, choice = "rax", "rbx", "rbp", "r15"
    name = f"pm_ntt_{'split' if is_split else 'merge'}{'_negated' if negated else ''}_adx"
    f = Function(name,
                 f"/* void {name}(x = rdi, y = rsi, n = rdx, z = rcx, p = r8, n0 = r9)\n"
                 " * rdx: a word of a factor, then q   rax, rbx: halves of a product\n"
                 " * r10 r11 r12 r13 r14: t[0..4]   r15: p or zero\n"
                 " * red zone: four zeros, the end of x, the factor of a merge */", CALLEE_SAVED)
    end, factor = -5, -9                                # words in the red zone
    f.op("shlq $5, %rdx", "32 bytes an element")
    f.op(f"addq %{x}, %rdx")
    f.op(f"movq %rdx, {at('rsp', end)}")
    for j in range(4):
        f.op(f"movq $0, {at('rsp', j - 4)}")
    f.lines += ["", "    .p2align 4", "1:"]

    def to(base, first=0):
        return lambda j, word: f.op(f"movq %{word}, {at(base, first + j)}")

    if is_split:
        f.row("t = y z")
        t, top = sum_of_products(f, 4, t, top, lo, hi, p, n0, [(y, 0, z, 0)])
        spare = [lo, hi, other, top]
        conditionally_subtract(f, t, spare, p, lambda j, word: None)
        f.row("x - t")
        low = [lo, hi, other, top]
        difference(f, low, x, lambda j: f"%{t[j]}", p, choice, lambda j, word: None)
        f.row("x + t, and both to where they belong")
        for j in range(4):
            f.op(f"{'addq' if j == 0 else 'adcq'} {at(x, j)}, %{t[j]}")
        for j in range(4):
            f.op(f"movq %{low[j]}, {at(x if negated else y, j)}")
        conditionally_subtract(f, t, spare, p, to(y if negated else x))
    else:
        f.row("y - x" if negated else "x - y")
        first, second = (y, x) if negated else (x, y)
        difference(f, t, first, lambda j: at(second, j), p, choice, to("rsp", factor))
        f.row("x = x + y")
        for j in range(4):
            f.op(f"movq {at(x, j)}, %{t[j]}")
        for j in range(4):
            f.op(f"{'addq' if j == 0 else 'adcq'} {at(y, j)}, %{t[j]}")
        conditionally_subtract(f, t, [lo, hi, other, top], p, to(x))
        f.row("y = the difference times z")
        t, top = sum_of_products(f, 4, t, top, lo, hi, p, n0, [("rsp", factor, z, 0)])
        conditionally_subtract(f, t, [lo, hi, other, top], p, to(y))
    f.lines.append("")
    f.op(f"addq $32, %{x}")
    f.op(f"addq $32, %{y}")
    f.op(f"cmpq %{x}, {at('rsp', end)}")
    f.op("jne 1b")
    return f.text()


HEADER = """\
/* Generated by gen/mont_adx.py: do not edit, run gen/regen.py. */
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Montgomery multiplication with MULX, ADCX and ADOX: see mont_adx.h for the contract, the head of
 * the generator for the scheme, and ff_field.inc for the bounds.
 */
#if defined(__CET__)
#include <cet.h>
#endif

#if defined(__x86_64__)
    .text
"""

FOOTER = """

#endif

#if defined(__linux__)
    .section .note.GNU-stack, "", @progbits
#endif
"""


def main(root):
    functions = [part(n) for n in (4, 6) for part in (mul, sqr, fp2_mul)]
    functions += [butterflies(is_split, negated)
                  for is_split in (True, False) for negated in (False, True)]
    with open(os.path.join(root, "src", "ff", "mont_adx_x86_64.S"), "w", encoding="ascii",
              newline="\n") as out:
        out.write(HEADER + "\n".join(functions) + FOOTER)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
