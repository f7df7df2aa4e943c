#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Derives every constant of the fields and writes the parameter headers of src/ff and test/tiny.

The two real curves start from the seed x of their family, so that nothing below has to be
believed: p and r are polynomials in x, everything else follows from p and r.

  BN      Barreto, Naehrig, "Pairing-Friendly Elliptic Curves of Prime Order" (SAC 2005), section 2
  BLS12   Barreto, Lynn, Scott, "Constructing Elliptic Curves with Prescribed Embedding Degrees"
          (SCN 2002), section 3.1

Two more are for tests. "tiny" is found here by brute force; tests loop over all of it. "qap" is the
scalar field of bellman's dummy engine, whose published numbers a test compares with.
"""
import os
import sys

WORD = 64


# ---------------------------------------------------------------- numbers

def is_prime(n):
    """Miller-Rabin with the first 24 primes as bases: enough to catch a slip in a polynomial."""
    bases = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37,
             41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89]
    if n < 2:
        return False
    for q in bases:
        if n % q == 0:
            return n == q
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for a in bases:
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def two_adicity(n):
    """The largest s with 2^s | n."""
    return (n & -n).bit_length() - 1


def smallest_non_residue(p):
    g = 2
    while pow(g, (p - 1) // 2, p) != p - 1:
        g += 1
    return g


def fp2_mul(a, b, p):
    """(a0 + a1 u)(b0 + b1 u) with u^2 = -1."""
    return ((a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p)


def fp2_pow(a, e, p):
    r = (1, 0)
    for bit in bin(e)[2:]:
        r = fp2_mul(r, r, p)
        if bit == "1":
            r = fp2_mul(r, a, p)
    return r


def is_sextic_non_residue(a, p):
    """Neither a square nor a cube in F_p^2: then X^6 - a is irreducible and gives F_p^12."""
    order = p * p - 1
    return (fp2_pow(a, order // 2, p) != (1, 0)) and (fp2_pow(a, order // 3, p) != (1, 0))


def smallest_xi(p):
    c0 = 0
    while not is_sextic_non_residue((c0, 1), p):
        c0 += 1
    return c0


# ---------------------------------------------------------------- curves

class Curve:
    fr_limbs_min = 1

    def __init__(self, name, title, p, r, xi0, bellman_generator):
        self.name, self.title, self.p, self.r, self.xi0 = name, title, p, r, xi0
        self.bellman_generator = bellman_generator
        assert is_prime(p) and is_prime(r)
        assert p % 4 == 3, "u^2 = -1 needs a non-residue -1"
        assert is_sextic_non_residue((xi0, 1), p)


def bn254():
    x = 4965661367192848881
    p = 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
    r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    assert p == 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47
    assert r == 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001
    return Curve("bn254", ["x = 4965661367192848881",
                           "p = 36 x^4 + 36 x^3 + 24 x^2 + 6 x + 1",
                           "r = 36 x^4 + 36 x^3 + 18 x^2 + 6 x + 1"], p, r, 9, 5)


def bls12_381():
    x = -0xd201000000010000
    r = x**4 - x**2 + 1
    assert ((x - 1)**2 * r) % 3 == 0
    p = (x - 1)**2 * r // 3 + x
    assert p == int("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
                    "1eabfffeb153ffffb9feffffffffaaab", 16)
    assert r == 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001
    # The published roots of the two conventions, as an independent check of ours.
    assert pow(5, (r - 1) >> 32, r) == \
        0x212d79e5b416b6f0fd56dc8d168d6c0c4024ff270b3e0941b788f500b912f1f
    assert pow(7, (r - 1) >> 32, r) == \
        0x16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b
    return Curve("bls12_381", ["x = -0xd201000000010000",
                               "p = (x - 1)^2 (x^4 - x^2 + 1) / 3 + x",
                               "r = x^4 - x^2 + 1"], p, r, 1, 7)


def smallest_primitive_root(p):
    n, factors, q = p - 1, [], 2
    while q * q <= n:
        if n % q == 0:
            factors.append(q)
            while n % q == 0:
                n //= q
        q += 1
    if n > 1:
        factors.append(n)
    g = 2
    while any(pow(g, (p - 1) // f, p) == 1 for f in factors):
        g += 1
    return g


def tiny():
    """The largest p < 2^13 (p = 3 mod 4, 1 mod 3) with a curve y^2 = x^3 + b of prime order r,
    r != p and 2^6 | r - 1. Points are counted by summing over x the number of roots of x^3 + b."""
    for p in range(2**13 - 1, 2**12, -1):
        if p % 12 != 7 or not is_prime(p):
            continue
        roots = [0] * p                                 # roots[v]: number of y with y^2 = v
        for y in range(p):
            roots[y * y % p] += 1
        cubes = [x * x * x % p for x in range(p)]
        orders = set()
        for b in range(1, p):
            r = 1 + sum(roots[(c + b) % p] for c in cubes)
            if r not in orders and is_prime(r) and r != p and (r - 1) % 64 == 0:
                curve = Curve("tiny", [f"p = {p}, r = {r}, y^2 = x^3 + {b}: the largest p < 2^13 "
                                       "that is 7 mod 12", "with a curve of prime order r, "
                                       "r != p, r = 1 mod 64"], p, r, smallest_xi(p),
                              smallest_primitive_root(r))
                curve.b = b
                return curve
            orders.add(r)
            if len(orders) == 6:                        # six twists: no other b brings a new order
                break
    raise AssertionError("no tiny curve")


def qap(p):
    """A scalar field alone: nothing is computed over F_p, which is tiny's. Its elements have four
    limbs as the real ones have, so that what is not compiled per curve takes them too."""
    r = 64513
    curve = Curve("qap", [f"r = {r} = 63 2^10 + 1: the field of bellman's dummy engine, in as many "
                          "limbs as",
                          "those of the real curves have. No curve: p is any prime."],
                  p, r, smallest_xi(p), smallest_primitive_root(r))
    curve.fr_limbs_min = 4
    return curve


# ---------------------------------------------------------------- text

def limbs(value, n):
    words = [(value >> (WORD * i)) & (2**WORD - 1) for i in range(n)]
    assert sum(w << (WORD * i) for i, w in enumerate(words)) == value
    return words


class Header:
    def __init__(self, prefix, guard):
        self.prefix, self.guard, self.lines = prefix, guard, []

    def number(self, name, value, formula):
        self.lines.append(f"/* {formula} */")
        self.lines.append(f"#define {self.prefix}_{name} {value}")

    def word(self, name, value, formula):
        self.number(name, f"UINT64_C(0x{value:016x})", formula)

    def limbs(self, name, value, n, formula):
        words = [f"UINT64_C(0x{w:016x})" for w in limbs(value, n)]
        self.lines.append(f"/* {formula} */")
        self.lines.append(f"#define {self.prefix}_{name} \\")
        rows = [", ".join(words[i:i + 2]) for i in range(0, n, 2)]
        self.lines.append("    { " + ", \\\n      ".join(rows) + " }")

    def section(self, text):
        self.lines += ["", f"/* ---- {text} ---- */"]

    def text(self, about):
        body = "\n".join(self.lines).strip("\n")
        return (f"/* Generated by gen/params.py: do not edit, run gen/regen.py. */\n"
                f"/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n/* clang-format off */\n"
                f"#ifndef {self.guard}\n#define {self.guard}\n\n{about}\n\n"
                f"#include <stdint.h>\n\n{body}\n\n#endif /* {self.guard} */\n")


def emit_field(h, f, name, m, limbs_min=1):
    """What both fields have. f is the macro prefix (FP, FR), name the letter in the formulas."""
    n = max((m.bit_length() + WORD - 1) // WORD, limbs_min)
    R = 2**(WORD * n)
    # The bound behind the no-carry rows of the multiplier: 2m fits the limbs, see ff_field.inc.
    assert 2 * m < R
    # And behind the unreduced sums that ff_fp2.inc multiplies.
    assert f != "FP" or 4 * m < R
    s = two_adicity(m - 1)
    h.section(f"F_{name}: {m.bit_length()} bits in {n} limb{'s' if n > 1 else ''}")
    why = "as the real fields" if n > m.bit_length() / WORD + 1 else f"ceil(log2({name}) / 64)"
    h.number(f"{f}_LIMBS", n, why)
    h.number(f"{f}_BITS", m.bit_length(), f"floor(log2({name})) + 1")
    h.number(f"{f}_TWO_ADICITY", s, f"largest s with 2^s | {name} - 1")
    h.limbs(f"{f}_MODULUS", m, n, name)
    h.word(f"{f}_N0", -pow(m, -1, 2**WORD) % 2**WORD, f"-{name}^-1 mod 2^64")
    h.limbs(f"{f}_R1", R % m, n, f"R mod {name}, R = 2^{WORD * n}: one in Montgomery form")
    h.limbs(f"{f}_R2", R * R % m, n, f"R^2 mod {name}: takes an integer to Montgomery form")
    h.limbs(f"{f}_R3", R**3 % m, n, f"R^3 mod {name}: takes (a R)^-1 to a^-1 R")
    h.limbs(f"{f}_HALF", (m - 1) // 2, n, f"({name} - 1) / 2")
    if m % 4 == 3:
        h.limbs(f"{f}_SQRT_EXP", (m + 1) // 4, n, f"({name} + 1) / 4: a^this is a root of a if any")
        h.number(f"{f}_SQRT_IS_3MOD4", 1, f"{name} = 3 mod 4")
    else:
        t = (m - 1) >> s
        z = pow(smallest_non_residue(m), t, m)
        h.number(f"{f}_SQRT_IS_3MOD4", 0, f"{name} = 1 mod 4: Tonelli-Shanks")
        h.limbs(f"{f}_SQRT_EXP", (t - 1) // 2, n, f"(t - 1) / 2, where {name} - 1 = 2^{s} t, t odd")
        h.limbs(f"{f}_SQRT_Z", z * R % m, n, f"q^t R, q = {smallest_non_residue(m)} the smallest "
                                             f"non-residue: of order 2^{s}")
    return n, R, s


def emit_curve(curve, guard):
    prefix = curve.name.upper()
    h = Header(prefix, guard)
    p, r = curve.p, curve.r
    emit_field(h, "FP", "p", p)
    h.number("XI_C0", curve.xi0, "xi = XI_C0 + u, u^2 = -1: no square and no cube in F_p^2")
    n, R, s = emit_field(h, "FR", "r", r, curve.fr_limbs_min)
    q, g = smallest_non_residue(r), curve.bellman_generator
    w, wb = pow(q, (r - 1) >> s, r), pow(g, (r - 1) >> s, r)
    assert pow(w, 2**(s - 1), r) == r - 1 and pow(wb, 2**(s - 1), r) == r - 1
    h.section("roots of unity and coset shifts, in the two conventions in use")
    h.number("FR_NON_RESIDUE", q, "the smallest quadratic non-residue of F_r")
    h.limbs("FR_ROOT_OF_UNITY", w * R % r, n,
            f"{q}^((r - 1) / 2^{s}) R: snarkjs builds its domains from the smallest non-residue")
    h.number("FR_SNARKJS_SHIFT", q * q, f"{q}^2: the coset shift of snarkjs where log_n is {s} "
                                        "and no 2n-th root exists")
    h.limbs("FR_ROOT_OF_UNITY_BELLMAN", wb * R % r, n, f"{g}^((r - 1) / 2^{s}) R: bellman builds "
                                                       "its domains from a generator")
    h.number("FR_COSET_GENERATOR_BELLMAN", g, "the multiplicative generator that bellman shifts by")
    return h


def about(lines):
    lines = lines + ["Limbs are little-endian; \"R\" marks Montgomery form."]
    return "/* " + "\n * ".join(lines) + " */"


def add_points(a, b, p):
    """Affine addition on y^2 = x^3 + b; None is the point at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % p == 0:
            return None
        k = 3 * a[0] * a[0] * pow(2 * a[1], -1, p) % p
    else:
        k = (b[1] - a[1]) * pow(b[0] - a[0], -1, p) % p
    x = (k * k - a[0] - b[0]) % p
    return (x, (k * (a[0] - x) - a[1]) % p)


def emit_tiny_points(h, curve):
    p, r, b = curve.p, curve.r, curve.b
    x = y = 0
    while True:                                         # the smallest x on the curve, smaller y
        y = next((y for y in range(p) if (y * y - x**3 - b) % p == 0), None)
        if y is not None:
            break
        x += 1
    total, base, k = None, (x, y), r
    while k:
        if k & 1:
            total = add_points(total, base, p)
        base, k = add_points(base, base, p), k >> 1
    assert total is None, "r kills the generator, and r is prime"
    h.section("the curve y^2 = x^3 + B over F_p; canonical integers")
    h.number("G1_B", b, "smallest b whose curve has order r")
    h.number("G1_X", x, "smallest x of a point: r is prime, so any point generates")
    h.number("G1_Y", y, "the smaller of its two y")
    # The same group, carried to F_p^2 by (x, y) -> (w^2 x, w^3 y), w = 2 + u, so that coordinates
    # of the second group are honest elements of F_p^2.
    w = (2, 1)
    w2, w3, w6 = (fp2_pow(w, e, p) for e in (2, 3, 6))
    gx, gy, b2 = ([c * v % p for c in t] for t, v in ((w2, x), (w3, y), (w6, b)))
    lhs, rhs = fp2_mul(gy, gy, p), fp2_mul(fp2_mul(gx, gx, p), gx, p)
    assert all((lhs[i] - rhs[i] - b2[i]) % p == 0 for i in range(2))
    h.section("the isomorphic curve over F_p^2: (x, y) -> (w^2 x, w^3 y), w = 2 + u")
    h.limbs("G2_B", b2[0] + (b2[1] << WORD), 2, "w^6 B, as { c0, c1 }")
    h.limbs("G2_X", gx[0] + (gx[1] << WORD), 2, "w^2 x")
    h.limbs("G2_Y", gy[0] + (gy[1] << WORD), 2, "w^3 y")


def write(path, text):
    assert all(len(line) <= 100 for line in text.split("\n")), path
    with open(path, "w", encoding="ascii", newline="\n") as out:
        out.write(text)


def main(root):
    for curve in (bn254(), bls12_381()):
        h = emit_curve(curve, f"PM_FF_PARAMS_{curve.name.upper()}_H")
        path = os.path.join(root, "src", "ff", f"ff_params_{curve.name}.h")
        write(path, h.text(about(curve.title)))
    curve = tiny()
    h = emit_curve(curve, "PM_FF_PARAMS_TINY_H")
    emit_tiny_points(h, curve)
    write(os.path.join(root, "test", "tiny", "ff_params_tiny.h"), h.text(about(curve.title)))
    curve = qap(curve.p)
    h = emit_curve(curve, "PM_FF_PARAMS_QAP_H")
    write(os.path.join(root, "test", "tiny", "ff_params_qap.h"), h.text(about(curve.title)))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
