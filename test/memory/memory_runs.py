# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of memory share: circuits with their keys, and runs of the command under watch.

Circuits come from $PM_FIXTURES (else ../shared/fixtures beside the repository) and from
pm_synthetic, which needs no fixtures; keys are development keys. All of it is kept in a folder of
the build tree.
"""
import json
import lzma
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIXTURES = os.environ.get("PM_FIXTURES") or os.path.join(ROOT, "..", "shared", "fixtures")
SKIPPED = 77
MIB = 1 << 20
# Of files in memory when the key is streamed, whatever its size: a window of 16 MiB, the program's
# own file and libraries, what the kernel maps around a page that is read.
STREAM_BYTES = 28 * MIB


class Circuit:
    """A key and a witness. params: bellman's parameter file, proved with its constraint system."""

    def __init__(self, folder, name, source, params=False):
        self.name = name + ("_params" if params else "")
        self.source = source
        self.params = params
        base = os.path.join(folder, name)
        self.r1cs, self.wtns = base + ".r1cs", base + ".wtns"
        self.key = base + (".params" if params else ".zkey")

    def arguments(self):
        return [self.key, self.wtns] + (["--r1cs", self.r1cs] if self.params else [])

    def is_there(self):
        return all(os.path.exists(path) for path in (self.r1cs, self.wtns, self.key))


def wanted(arguments):
    """"least", "fast" or "slow": how many circuits a command line asks for."""
    return "slow" if "--slow" in arguments else "least" if "--least" in arguments else "fast"


def circuits(folder, how_many):
    """Those that there can be here: all of them are above 2^14."""
    rows = [
        ("synthetic_15", ["bn254", "15"], False),
        ("synthetic_15_bls", ["bls12_381", "15"], True),
    ]
    if how_many != "least":
        rows += [
            ("sha256_512", None, False),
            ("sha256_512_bls", None, True),
            ("merkle_17", None, False),
        ]
    if how_many == "slow":
        rows += [
            ("merkle_17_bls", None, True),
            ("sha256_960_bls", None, False),
            ("sha256_2k", None, False),
            ("rollup_20", ["--preset", "rollup", "bn254", "20"], False),
        ]
    found = []
    for name, synthetic, params in rows:
        fixture = os.path.join(FIXTURES, "large", name + ".r1cs.xz")
        if synthetic is not None or os.path.exists(fixture):
            found.append(Circuit(folder, name, synthetic, params))
        else:
            print(f"SKIP: {name}: no such fixture: set PM_FIXTURES")
    return found


def unpack(name, path):
    with lzma.open(os.path.join(FIXTURES, "large", name + ".xz")) as packed:
        with open(path + ".part", "wb") as plain:
            shutil.copyfileobj(packed, plain)
    os.rename(path + ".part", path)


def calculate_witness(name, path):
    """With snarkjs, where it is installed; False otherwise."""
    snarkjs = os.path.join(os.environ.get("PM_NODE_MODULES", "node_modules"), ".bin", "snarkjs")
    packed = os.path.join(FIXTURES, "large", name + ".wasm.xz")
    if not os.access(snarkjs, os.X_OK) or not os.path.exists(packed):
        return False
    with tempfile.TemporaryDirectory() as scratch:
        wasm = os.path.join(scratch, name + ".wasm")
        with lzma.open(packed) as source, open(wasm, "wb") as target:
            shutil.copyfileobj(source, target)
        values = os.path.join(FIXTURES, "circuits", name + ".input.json")
        subprocess.run([snarkjs, "wtns", "calculate", wasm, values, path], check=True,
                       stdout=subprocess.DEVNULL)
    return True


def prepare(folder, proofmill, synthetic, how_many):
    """Makes what is not there yet."""
    os.makedirs(folder, exist_ok=True)
    for circuit in circuits(folder, how_many):
        name = os.path.basename(circuit.r1cs)[: -len(".r1cs")]
        if circuit.is_there():
            continue
        from_fixture = os.path.exists(os.path.join(FIXTURES, "large", name + ".r1cs.xz"))
        if from_fixture:
            unpack(name + ".r1cs", circuit.r1cs)
            if os.path.exists(os.path.join(FIXTURES, "large", name + ".wtns.xz")):
                unpack(name + ".wtns", circuit.wtns)
            else:
                from_fixture = calculate_witness(name, circuit.wtns)
        if not from_fixture:
            subprocess.run([synthetic] + circuit.source + [circuit.r1cs, circuit.wtns], check=True,
                           stdout=subprocess.DEVNULL)
        form = "params" if circuit.params else "zkey"
        subprocess.run([proofmill, "setup", "-q", "--insecure-known-tau", "--format", form,
                        circuit.r1cs, circuit.key], check=True)


def resident_bytes(pid):
    """Of a process, now: anonymous memory and pages of files; 0 when it is gone."""
    found = {b"RssAnon:": 0, b"RssFile:": 0}
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line[:8] in found:
                    found[line[:8]] = int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return found[b"RssAnon:"], found[b"RssFile:"]


class Run:
    """One run of the command in a folder of its own, watched every millisecond."""

    def __init__(self, proofmill, arguments, environment=None):
        self.folder = tempfile.mkdtemp(prefix="proofmill-memory-")
        self.peak_anonymous_bytes = self.peak_file_bytes = 0
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([proofmill] + arguments, cwd=self.folder, stdout=out,
                                       stderr=err,
                                       stdin=subprocess.DEVNULL, env=environment)
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid != 0:
                    break
                anonymous, file = resident_bytes(process.pid)
                self.peak_anonymous_bytes = max(self.peak_anonymous_bytes, anonymous)
                self.peak_file_bytes = max(self.peak_file_bytes, file)
                time.sleep(0.001)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.code = process.returncode
            self.cpu_s = usage.ru_utime + usage.ru_stime
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read().decode(), err.read().decode()

    def json(self):
        return json.loads(self.out)

    def has_outputs(self):
        return [os.path.exists(os.path.join(self.folder, name))
                for name in ("proof.json", "public.json")]

    def path(self, name):
        return os.path.join(self.folder, name)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clean()


def prove(proofmill, circuit, *options, environment=None):
    arguments = ["prove"] + circuit.arguments()[:2] + ["proof.json", "public.json"]
    return Run(proofmill, arguments + circuit.arguments()[2:] + list(options), environment)


def predicted_bytes(memory):
    """Anonymous memory that the plan foresees: the proof's peak, the key's part, the witness."""
    peak = sum(p["planned_peak_bytes"] for p in memory["pools"] if p["pool"] == "host")
    resident = sum(b["planned_bytes"] for b in memory["buffers"]
                   if b["pool"] == "host" and b["lifetime"] == "resident")
    lent = sum(b["planned_bytes"] for b in memory["buffers"] if b["pool"] == "caller")
    return peak + resident + lent


class Checks:
    """Counts what was checked and what failed."""

    def __init__(self):
        self.n_checks = self.n_failed = 0

    def expect(self, condition, sentence):
        self.n_checks += 1
        if not condition:
            self.n_failed += 1
            print(f"FAIL: {sentence}")
        return condition

    def finish(self):
        print(f"{self.n_checks} checks, {self.n_failed} failed")
        sys.exit(1 if self.n_failed or not self.n_checks else 0)


def no_core_dumps():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
