# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs of 32-bit operations with a carry, which gen/gpu_mont.py and gen/gpu_msm_mont.py write
out as PTX and as C, and the carry chains of which both make their products.

The multiplier of these cards takes 32 x 32 bits and adds a 64-bit number (IMAD.WIDE); a pair
mad.lo.cc, madc.hi.cc on neighbouring words becomes one of them. An accumulator in which products
stand at even word positions, and a second one for odd positions, make every product such a pair:
Emmart, Luitjens, Weems, Woolley, "Optimizing Modular Multiplication for NVIDIA's Maxwell GPUs"
(ARITH 2016), section IV. The two are added once, at the end.
"""
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

    def wide(self, to, at, x, y, carry_in, carry_out, present):
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

    def each(self, kind, terms):
        """One addition or subtraction ("add", "sub") over several words: terms are (to, x, y), from
        the lowest word up, and the carry out of the last one is dropped or cannot occur."""
        for k, (to, x, y) in enumerate(terms):
            self.op((kind + "c" if k else kind) + (".cc" if k < len(terms) - 1 else ""), to, x, y)

    def results(self, name):
        """The outputs r are the words of this name."""
        for j, to in enumerate(self.outputs):
            self.op("mov", to, f"{name}{j}")

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


def chain(p, present, to, words, y, limit, pending=False):
    """to += y * sum of words[j] 2^(32 j); words: {position: name}, neighbours two apart and the
    last one at the top. A carry past the top goes into `limit`, or cannot occur (None). With
    `pending` the carry of the operation before, which has the same place, is added too."""
    places = sorted(words)
    for k, j in enumerate(places):
        last = k == len(places) - 1
        p.wide(to, j // 2 * 2, words[j], y, pending or k > 0, not last or limit,
               present)
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
    """T += q m, which clears the lowest word."""
    p.op("mul.lo", "q", f"{even}0", "inv")
    chain(p, present, odd, {j: f"m{j}" for j in range(1, n, 2)}, "q", None)
    chain(p, present, even, {j: f"m{j}" for j in range(0, n, 2)}, "q", f"{odd}{n - 1}")


def first_row(p, n, even, odd, words, y):
    """T = y times words, all of them."""
    for to, start in ((odd, 1), (even, 0)):
        for j in range(start, n, 2):
            p.op("mul.lo", f"{to}{j // 2 * 2}", words[j], y)
            p.op("mul.hi", f"{to}{j // 2 * 2 + 1}", words[j], y)


def parity(words, odd):
    return {j: w for j, w in words.items() if j % 2 == (1 if odd else 0)}


def finish(p, n, even, odd, upper=None):
    """r = T / 2^32: the odd words, and the even ones one place down; and plus words `upper`."""
    p.each("add", [(f"{odd}{j}", f"{odd}{j}", f"{even}{j + 1}" if j < n - 1 else "0")
                   for j in range(n)])
    if upper:
        p.each("add", [(f"{odd}{j}", f"{odd}{j}", upper[j]) for j in range(n)])
    p.results(odd)


def add(n):
    p = Program(f"pm_gpu_add_{n}", "r = a + b mod R.", array("a", n) + array("b", n),
                array("r", n))
    p.wrapping = {f"t{n - 1}"}
    p.each("add", [(f"t{j}", f"a{j}", f"b{j}") for j in range(n)])
    p.results("t")
    return p


def sub(n):
    p = Program(f"pm_gpu_sub_{n}",
                "r = a - b mod R, and above it a word: all ones if a < b, else 0.", array("a", n) +
                array("b", n), array("r", n + 1))
    p.wrapping = {f"t{n}"}
    p.each("sub", [(f"t{j}", f"a{j}", f"b{j}") for j in range(n)] + [(f"t{n}", "0", "0")])
    p.results("t")
    return p


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


def wrap(lines):
    """No line over 100 columns: breaks at the last comma that fits."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while len(line) > 100:
            cut = line.rfind(", ", 0, 100) + 1
            yield line[:cut]
            line = indent + line[cut:].lstrip()
        yield line


def write(path, head, programs, guard):
    lines = head.split("\n")
    for program in programs:
        lines += program.text()
    lines.append(f"#endif /* {guard} */")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(wrap(lines)) + "\n")
