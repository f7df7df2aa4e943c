#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Derives the constants of the groups and writes src/curve/curve_params_*.h, the one of the tiny
curve, and the cofactors for test/curve.

All curves are y^2 = x^3 + b. G1 is the group of order r in E(F_p), G2 the one in E'(F_p^2), where
E' is the sextic twist whose order r divides:

  BN254       b = 3,  E': b' = b / xi   (D-type)    Barreto, Naehrig, SAC 2005, section 2
  BLS12-381   b = 4,  E': b' = b xi     (M-type)    Bowe, "BLS12-381: New zk-SNARK Elliptic Curve
                                                    Construction", 2017

The generators are conventions, not results; here they are checked to be on their curve and of order
r. Everything else (endomorphisms, cofactors) is computed and checked on them.
"""
import math
import os
import random
import sys

import params

U64 = 64


# ---------------------------------------------------------------- F_p and F_p^2, one interface

class Fp:
    def __init__(self, p):
        self.p, self.zero, self.one = p, 0, 1

    def make(self, n):
        return n % self.p

    def add(self, a, b):
        return (a + b) % self.p

    def sub(self, a, b):
        return (a - b) % self.p

    def mul(self, a, b):
        return a * b % self.p

    def inv(self, a):
        return pow(a, -1, self.p)

    def pow(self, a, e):
        return pow(a, e, self.p)


class Fp2:
    """F_p[u] / (u^2 + 1)."""

    def __init__(self, p):
        self.p, self.zero, self.one = p, (0, 0), (1, 0)

    def make(self, n):
        return (n % self.p, 0)

    def add(self, a, b):
        return ((a[0] + b[0]) % self.p, (a[1] + b[1]) % self.p)

    def sub(self, a, b):
        return ((a[0] - b[0]) % self.p, (a[1] - b[1]) % self.p)

    def mul(self, a, b):
        return params.fp2_mul(a, b, self.p)

    def conj(self, a):
        return (a[0], -a[1] % self.p)

    def inv(self, a):
        n = pow(a[0] * a[0] + a[1] * a[1], -1, self.p)
        return (a[0] * n % self.p, -a[1] * n % self.p)

    def pow(self, a, e):
        return params.fp2_pow(a, e, self.p) if e else self.one


# ---------------------------------------------------------------- affine points, None is infinity

class Group:
    def __init__(self, field, b, generator):
        self.field, self.b, self.generator = field, b, generator

    def on_curve(self, P):
        f = self.field
        return f.mul(P[1], P[1]) == f.add(f.mul(f.mul(P[0], P[0]), P[0]), self.b)

    def neg(self, P):
        return P and (P[0], self.field.sub(self.field.zero, P[1]))

    def add(self, P, Q):
        f = self.field
        if P is None or Q is None:
            return P or Q
        if P[0] == Q[0]:
            if f.add(P[1], Q[1]) == f.zero:
                return None
            slope = f.mul(f.mul(f.make(3), f.mul(P[0], P[0])), f.inv(f.add(P[1], P[1])))
        else:
            slope = f.mul(f.sub(Q[1], P[1]), f.inv(f.sub(Q[0], P[0])))
        x = f.sub(f.sub(f.mul(slope, slope), P[0]), Q[0])
        return (x, f.sub(f.mul(slope, f.sub(P[0], x)), P[1]))

    def mul(self, k, P):
        if k < 0:
            return self.mul(-k, self.neg(P))
        total = None
        for bit in bin(k)[2:]:
            total = self.add(total, total)
            if bit == "1":
                total = self.add(total, P)
        return total


class Pair:
    """A curve of params.py with its two groups, its seed x and the type of its twist."""

    def __init__(self, curve, x, twist, b, g1, g2):
        self.curve, self.x, self.twist = curve, x, twist
        self.p, self.r = curve.p, curve.r
        self.xi = (curve.xi0, 1)
        f2 = Fp2(self.p)
        scale = f2.inv(self.xi) if twist == "D" else self.xi
        self.f2, self.fp = f2, Fp(self.p)
        self.g1 = Group(self.fp, b, g1)
        self.g2 = Group(f2, f2.mul(f2.make(b), scale), g2)
        for g in (self.g1, self.g2):
            assert g.on_curve(g.generator) and g.mul(self.r, g.generator) is None
        self.make_psi()

    def make_psi(self):
        """psi = (twist)(Frobenius)(untwist). With w^6 = xi the untwist of a D-type is
        (x w^2, y w^3), that of an M-type (x / w^2, y / w^3); w^(p-1) = xi^((p-1)/6)."""
        sign = 1 if self.twist == "D" else -1
        order = self.p**2 - 1
        self.psi_x = self.f2.pow(self.xi, sign * (self.p - 1) // 3 % order)
        self.psi_y = self.f2.pow(self.xi, sign * (self.p - 1) // 2 % order)
        P = self.g2.generator
        assert self.psi(P) == self.g2.mul(self.p % self.r, P), "psi acts on G2 as p"

    def psi(self, P):
        f = self.f2
        return (f.mul(f.conj(P[0]), self.psi_x), f.mul(f.conj(P[1]), self.psi_y))


def bn254():
    curve = params.bn254()
    g2 = ((0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed,
           0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2),
          (0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa,
           0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b))
    return Pair(curve, 4965661367192848881, "D", 3, (1, 2), g2)


def bls12_381():
    curve = params.bls12_381()
    g1 = (int("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58"
              "6c55e83ff97a1aeffb3af00adb22c6bb", 16),
          int("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed"
              "d03cc744a2888ae40caa232946c5e7e1", 16))
    g2 = ((int("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177"
               "0bac0326a805bbefd48056c8c121bdb8", 16),
           int("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049"
               "334cf11213945d57e5ac7d055d042b7e", 16)),
          (int("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c"
               "923ac9cc3baca289e193548608b82801", 16),
           int("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab"
               "3f370d275cec1da1aaa9075ff05f79be", 16)))
    return Pair(curve, -0xd201000000010000, "M", 4, g1, g2)


# ---------------------------------------------------------------- orders and subgroup tests

def orders(pair):
    """The orders of E(F_p) and E'(F_p^2), confirmed on random points.

    p + 1 - t, and over F_p^2 the twist that r divides:
      BN254      r (2p - r)
      BLS12-381  r (x^8 - 4 x^7 + 5 x^6 - 4 x^4 + 6 x^3 - 4 x^2 - 4 x + 13) / 9"""
    x, p, r = pair.x, pair.p, pair.r
    if pair.twist == "D":
        n1, n2 = r, r * (2 * p - r)
    else:
        n1 = r * (x - 1)**2 // 3
        n2 = r * (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9
    rng = random.Random(1)
    for g, n in ((pair.g1, n1), (pair.g2, n2)):
        assert n % r == 0 and n // r % r != 0, "one subgroup of order r"
        for _ in range(3):
            assert g.mul(n, random_point(g, rng)) is None
    return n1, n2


def random_point(g, rng):
    """A point of the whole curve: a random x for which x^3 + b has a root (p = 3 mod 4)."""
    f = g.field
    while True:
        if isinstance(f, Fp):
            x = rng.randrange(f.p)
            y = pow(x**3 + g.b, (f.p + 1) // 4, f.p)
        else:
            x = (rng.randrange(f.p), rng.randrange(f.p))
            y = fp2_root(f, f.add(f.mul(f.mul(x, x), x), g.b))
        if y is not None and g.on_curve((x, y)):
            return (x, y)


def fp2_root(f, a):
    """The complex method, as in ff_fp2.inc; None or a candidate."""
    p = f.p
    n = pow(a[0]**2 + a[1]**2, (p + 1) // 4, p)
    for norm in (n, -n):
        half = (a[0] + norm) * pow(2, -1, p) % p
        x = pow(half, (p + 1) // 4, p)
        if x and x * x % p == half:
            return (x, a[1] * pow(2 * x, -1, p) % p)
    return None


def norm_mod_quadratic(poly, t, n):
    """The norm of poly(e), e^2 = t e - n: the resultant of poly and the quadratic."""
    b0, b1 = 0, 0
    for c in reversed(poly):                            # Horner: (b0 + b1 e) e + c
        b0, b1 = -n * b1 + c, b0 + t * b1
    return b0 * b0 + b0 * b1 * t + b1 * b1 * n


def check_subgroup_tests(pair):
    """The proof that the tests of curve_subgroup.inc pass for no point outside: see there."""
    n1, n2 = orders(pair)
    x, p, r = pair.x, pair.p, pair.r
    t = p + 1 - n1
    if pair.twist == "D":
        assert n1 == r
        test = [x + 1, x, x, -2 * x]                    # (x+1) + x psi + x psi^2 - 2x psi^3
    else:
        assert norm_mod_quadratic([x * x, 1], -1, 1) == r       # sigma + x^2
        test = [-x, 1]                                  # psi - x
    norm = norm_mod_quadratic(test, t, p)
    assert norm % r == 0 and math.gcd(norm, n2) == r
    assert sum(c * pow(p, i, r) for i, c in enumerate(test)) % r == 0, "it holds on G2: psi = p"


# ---------------------------------------------------------------- text

class Header(params.Header):
    def element(self, name, value, n, R, formula):
        """An initialiser of an fp or an fp2, in Montgomery form."""
        p = self.modulus

        def fp(v, indent):
            words = [f"UINT64_C(0x{w:016x})" for w in params.limbs(v * R % p, n)]
            rows = [", ".join(words[i:i + 2]) for i in range(0, n, 2)]
            return "{ { " + f", \\\n{' ' * (indent + 4)}".join(rows) + " } }"

        self.lines.append(f"/* {formula} */")
        self.lines.append(f"#define {self.prefix}_{name} \\")
        if isinstance(value, tuple):
            self.lines.append(f"    {{ {fp(value[0], 6)}, \\\n      {fp(value[1], 6)} }}")
        else:
            self.lines.append(f"    {fp(value, 4)}")

    def finish(self, script, about):
        return self.text(about).replace("gen/params.py", script)


def header(curve, guard):
    h = Header(curve.name.upper(), guard)
    h.modulus = curve.p
    return h, (curve.p.bit_length() + U64 - 1) // U64


def about(lines):
    lines = lines + ["Initialisers of fp, { { limbs } }, and of fp2, { c0, c1 };",
                     "Montgomery form, little-endian limbs."]
    return "/* " + "\n * ".join(lines) + " */"


def emit_groups(h, n, R, g1, g2, formulas):
    h.section("G1")
    h.element("G1_COEFF_B", g1.b, n, R, formulas[0])
    h.element("G1_GENERATOR_X", g1.generator[0], n, R, "x of the generator")
    h.element("G1_GENERATOR_Y", g1.generator[1], n, R, "y of the generator")
    h.section("G2")
    h.element("G2_COEFF_B", g2.b, n, R, formulas[1])
    h.element("G2_GENERATOR_X", g2.generator[0], n, R, "x of the generator")
    h.element("G2_GENERATOR_Y", g2.generator[1], n, R, "y of the generator")


def sigma_beta(pair):
    """The cube root of unity for which (beta x, y) = -[x^2](x, y) on G1: -x^2 is a cube root of
    unity mod r, since r = x^4 - x^2 + 1."""
    p, P = pair.p, pair.g1.generator
    want = pair.g1.mul(-pair.x**2 % pair.r, P)
    c = 2
    while pow(c, (p - 1) // 3, p) == 1:
        c += 1
    for e in (1, 2):
        beta = pow(c, e * (p - 1) // 3, p)
        if (beta * P[0] % p, P[1]) == want:
            return beta, f"{c}^({e}(p - 1) / 3)" if e > 1 else f"{c}^((p - 1) / 3)"
    raise AssertionError("no beta")


def emit_pair(pair):
    curve = pair.curve
    h, n = header(curve, f"PM_CURVE_PARAMS_{curve.name.upper()}_H")
    R = 2**(U64 * n)
    sign = "" if pair.twist == "D" else "-"
    emit_groups(h, n, R, pair.g1, pair.g2,
                (f"b = {pair.g1.b}", "b / xi" if pair.twist == "D" else "b xi"))
    h.section("endomorphisms")
    h.word("SEED_ABS", abs(pair.x), "|x|")
    h.number("SEED_IS_NEGATIVE", int(pair.x < 0), "whether x < 0")
    h.number("TWIST_IS_M", int(pair.twist == "M"), "0: D-type, b' = b / xi; 1: M-type, b' = b xi")
    h.element("PSI_X", pair.psi_x, n, R, f"xi^({sign}(p - 1) / 3): (PSI_X conj(x), "
                                         "PSI_Y conj(y)) is psi, [p] on G2")
    h.element("PSI_Y", pair.psi_y, n, R, f"xi^({sign}(p - 1) / 2)")
    if pair.twist == "M":
        beta, formula = sigma_beta(pair)
        h.element("SIGMA_BETA", beta, n, R, f"{formula}: sigma(x, y) = (beta x, y) is [-x^2] on G1")
    return h.finish("gen/curve_params.py", about(curve.title))


def emit_tiny():
    """The groups of params.emit_tiny_points: E over F_p and its image under (w^2 x, w^3 y)."""
    curve = params.tiny()
    p, b = curve.p, curve.b
    h, n = header(curve, "PM_CURVE_PARAMS_TINY_H")
    x, y = next((x, y) for x in range(p) for y in range(p) if (y * y - x**3 - b) % p == 0)
    g1 = Group(Fp(p), b, (x, y))
    f2, w = Fp2(p), (2, 1)
    g2 = Group(f2, f2.mul(f2.pow(w, 6), f2.make(b)),
               (f2.mul(f2.pow(w, 2), f2.make(x)), f2.mul(f2.pow(w, 3), f2.make(y))))
    assert g1.mul(curve.r, g1.generator) is None and g2.mul(curve.r, g2.generator) is None
    emit_groups(h, n, 2**(U64 * n), g1, g2, (f"b = {b}", "w^6 b, w = 2 + u"))
    return h.finish("gen/curve_params.py", about(curve.title))


# Prime factors below 2^64 of the cofactors; what remains is checked to have no part in them.
SMALL_FACTORS = {
    ("bn254", "g1"): [],
    ("bn254", "g2"): [10069, 5864401, 1875725156269],
    ("bls12_381", "g1"): [3, 11, 10177, 859267, 52437899],
    ("bls12_381", "g2"): [13, 23, 2713, 11953, 262069],
}


def emit_cofactors(pairs):
    """For each group the numbers that take a random point of the curve into a small subgroup."""
    lines = []
    for pair in pairs:
        for name, order in zip(("g1", "g2"), orders(pair)):
            factors = SMALL_FACTORS[(pair.curve.name, name)]
            rows = [(pair.r, "the cofactor: into the subgroup of order r", order // pair.r)]
            for q in factors:
                assert params.is_prime(q) and order % q == 0 and order // pair.r % q == 0
                rest = order
                while rest % q == 0:
                    rest //= q
                rows.append((q, f"into the {q}-part", rest))
            lines += ["", f"static const struct cofactor {pair.curve.name}_{name}_cofactors[] = {{"]
            for _, comment, value in rows:
                words = [f"UINT64_C(0x{w:016x})" for w in params.limbs(value, 13)]
                lines.append(f"    /* {comment} */")
                lines.append("    {{" + ",\n      ".join(", ".join(words[i:i + 2])
                                                       for i in range(0, 13, 2)) + "}},")
            lines.append("};")
    return COFACTORS_HEAD + "\n".join(lines) + "\n\n#endif\n"


COFACTORS_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated by gen/curve_params.py: do not edit, run gen/regen.py. */
/* clang-format off */
#ifndef PM_TEST_CURVE_COFACTORS_H
#define PM_TEST_CURVE_COFACTORS_H

/* Multipliers for points of the whole curve, little-endian limbs. The first of each table leads
 * into the subgroup of order r; the others, n / q^v where n = q^v m is the order of the curve, lead
 * out of it, into the part that belongs to a small prime q. */

#include <stdint.h>

#define COFACTOR_LIMBS 13

struct cofactor {
    uint64_t limb[COFACTOR_LIMBS];
};
"""


def main(root):
    for pair in (bn254(), bls12_381()):
        check_subgroup_tests(pair)
        params.write(os.path.join(root, "src", "curve", f"curve_params_{pair.curve.name}.h"),
                     emit_pair(pair))
    params.write(os.path.join(root, "test", "tiny", "curve_params_tiny.h"), emit_tiny())
    params.write(os.path.join(root, "test", "curve", "curve_cofactors.h"),
                 emit_cofactors((bn254(), bls12_381())))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
