#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command in a hostile world.

    test_fault_cli.py PROOFMILL INTERPOSER [--slow]

Every verb is run with the n-th call of each function of fault_interposer.h failing, for every n up
to the last (without --slow every 13th n of the allocators, whose calls are many). Each time: a
documented exit code that fits the fault, one line on stderr, outputs whole or untouched, nothing
left beside them, and no value of the witness in a message. Then: killed at every call and at random
moments, odd inputs and outputs, keys that change while they are used, small stacks.
"""

import glob
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROOFMILL = os.path.abspath(sys.argv[1])
INTERPOSER = os.path.abspath(sys.argv[2])
SLOW = "--slow" in sys.argv
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
SEED = int(os.environ.get("PM_TEST_SEED", time.time()))
RANDOM = random.Random(SEED)

OK, INVALID, USAGE, BAD_INPUT, IO, MEMORY, UNSATISFIED, TIMEOUT = 0, 1, 2, 3, 4, 5, 7, 9
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 129, 130, 143}
OLD = b"the old contents\n"

failures = []
counts = {"runs": 0, "faults": 0, "refusals": 0, "messages": 0}
secrets = set()


def fail(case, what, run=None):
    failures.append(case)
    print(f"FAIL: {case}: {what}")
    if run is not None:
        print(f"    exit {run.code}\n    out: {run.out[:300]!r}\n    err: {run.err[:300]!r}")


class Run:
    """One run of the command; calls and faults are None unless a fault was asked for."""

    def __init__(self, arguments, fault=None, stdin=None, **more):
        environment = {"PATH": os.environ["PATH"]}
        self.calls = self.faults = None
        if fault is not None:
            report = os.path.abspath("../report")
            if os.path.exists(report):
                os.unlink(report)
            function, at, reason, persists = fault
            environment.update(LD_PRELOAD=INTERPOSER, PM_FAULT_FUNCTION=function,
                               PM_FAULT_AT=str(at), PM_FAULT_REASON=reason,
                               PM_FAULT_PERSISTS=str(int(persists)), PM_FAULT_REPORT=report)
        done = subprocess.run([PROOFMILL, *arguments], input=stdin, capture_output=True,
                              env=environment, timeout=120, check=False,
                              **({} if stdin is not None else {"stdin": subprocess.DEVNULL}),
                              **more)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        if fault is not None and os.path.exists(report):
            with open(report, encoding="ascii") as file:
                self.calls, self.faults = map(int, file.read().split())
        counts["runs"] += 1


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def witness_values(path):
    contents = read(path)
    return [contents[i:i + 32] for i in range(76, len(contents), 32)]


def remember_secrets(name, n_public):
    """All ways in which a private value might be printed; small ones occur by chance."""
    for value in witness_values(f"{DATA}/{name}/{name}.wtns")[1 + n_public:]:
        number = int.from_bytes(value, "little")
        if number >> 64:
            secrets.update(s.encode() for s in (str(number), f"{number:x}", value.hex()))


def expect_no_secret(case, run):
    text = (run.out + run.err).lower()
    counts["messages"] += 1
    for secret in secrets:
        if secret in text:
            fail(case, "a message holds a value of the witness", run)


def expect_one_line(case, run):
    lines = run.err.decode(errors="replace").splitlines()
    # What stops a proof for good can stop its trace too; that it is not there is said first.
    if (case.startswith("prove, traced") and len(lines) == 2 and
            lines[0].startswith("proofmill: warning: no trace: ")):
        del lines[0]
    if len(lines) != 1 or not lines[0].startswith("proofmill: ") or len(lines[0]) < 15:
        fail(case, "stderr is not one line", run)
    if run.code not in DOCUMENTED:
        fail(case, "the exit code is not documented", run)
    expect_no_secret(case, run)


# ---- Every fault of every call -----------------------------------------------------------------

ALLOCATORS = {"malloc", "calloc", "realloc", "posix_memalign"}
FAULTS = [(f, ("ENOMEM",), {MEMORY}) for f in sorted(ALLOCATORS)] + [
    ("mmap", ("ENOMEM",), {IO, MEMORY}),
    ("open", ("EIO", "ENOMEM", "EINTR"), {IO}),
    ("fstat", ("EIO",), {IO}),
    ("stat", ("EIO",), {IO}),
    ("fchmod", ("EIO",), {IO}),
    ("read", ("EIO", "EAGAIN", "EINTR", "SHORT"), {IO}),
    ("pread", ("EIO", "EINTR", "SHORT"), {IO}),
    ("write", ("EIO", "ENOSPC", "EAGAIN", "EINTR", "SHORT"), {IO}),
    ("rename", ("EIO", "ENOSPC"), {IO}),
    ("linkat", ("EIO", "ENOSPC"), {IO}),
    ("fsync", ("EIO", "ENOSPC", "EINTR"), {IO}),
    ("fdatasync", ("EIO",), {IO}),
    ("ftruncate", ("EIO",), {IO}),
    ("pthread_create", ("EAGAIN",), {MEMORY}),
    ("getrandom", ("EIO", "EINTR"), {IO}),
]


class Case:
    """A command line in a folder of its own, and what it writes when all is well."""

    def __init__(self, name, circuit, arguments, outputs=(), old=(), stdin=None, of_failure=()):
        self.name, self.circuit, self.arguments = name, circuit, arguments
        self.outputs, self.old, self.stdin = outputs, old, stdin
        self.of_failure = of_failure  # JSON that a failure may leave, too
        folder = f"{DATA}/{circuit}"
        self.inputs = {"k.zkey": read(f"{folder}/{circuit}.zkey"),
                       "w.wtns": read(f"{folder}/{circuit}.wtns"),
                       "c.r1cs": read(f"{folder}/{circuit}.r1cs"),
                       "vk.json": read(f"{folder}/vkey.json"),
                       "public.json": read(f"{folder}/public.json"),
                       "proof.json": read(f"{folder}/proof.snarkjs.json")}
        self.stdin = self.inputs[stdin] if stdin else None
        self.good = b""

    def start(self):
        """A fresh folder: the inputs, and the outputs that are to be replaced."""
        shutil.rmtree("case", ignore_errors=True)
        os.mkdir("case")
        os.chdir("case")
        for name, contents in self.inputs.items():
            write(name, contents)
        good = Run(self.arguments, stdin=self.stdin)
        self.good = good.out
        if good.code != OK or good.err:
            fail(self.name, "does not work without faults", good)
        self.restore()
        os.chdir("..")

    def restore(self):
        for name in self.outputs:
            if os.path.exists(name):
                os.unlink(name)
        for name in self.old:
            write(name, OLD)

    def expect_untouched(self, case, run):
        wanted = set(self.inputs) | set(self.old)
        if set(os.listdir(".")) - set(self.of_failure) != wanted:
            fail(case, f"the folder holds {sorted(os.listdir('.'))}", run)
        for name in self.of_failure:
            if os.path.exists(name):
                json.loads(read(name))  # whole
        for name in self.old:
            if read(name) != OLD:
                fail(case, f"{name} has changed", run)
        # `info` describes one file after the other.
        if run.out and "--json" not in self.arguments and self.arguments[0] != "info":
            fail(case, "a failure printed something", run)

    def expect_right(self, case, run):
        wanted = set(self.inputs) | set(self.outputs) | set(self.old)
        if set(os.listdir(".")) != wanted:
            fail(case, f"the folder holds {sorted(os.listdir('.'))}", run)
        if "--json" in self.arguments:
            result, good = json.loads(run.out), json.loads(self.good)
            if result != good:
                fail(case, f"the result lacks something: {good}", run)
        elif run.out != self.good:
            fail(case, f"printed something else than {self.good[:100]!r}", run)
        if run.err:
            fail(case, "stderr is not empty", run)
        if "pub.json" in self.outputs:
            if read("pub.json") != self.inputs["public.json"]:
                fail(case, "the public signals are wrong", run)
            if Run(["verify", "vk.json", "pub.json", "p.json"]).code != OK:
                fail(case, "the proof is not valid", run)
        if "v.json" in self.outputs and read("v.json") != self.inputs["vk.json"]:
            fail(case, "the verifying key is wrong", run)

    def attempt(self, fault, codes):
        """Whether the fault was met."""
        function, at, reason, persists = fault
        case = f"{self.name}: {function} {at} {reason}{' and on' if persists else ''}"
        self.restore()
        run = Run(self.arguments, fault=fault, stdin=self.stdin)
        if run.faults is None:
            fail(case, "ended before it could report", run)
            return False
        counts["faults"] += run.faults
        must_succeed = run.faults == 0 or reason in ("EINTR", "SHORT")
        if run.code == OK:
            self.expect_right(case, run)
        elif must_succeed or run.code not in codes:
            fail(case, f"wanted {'0' if must_succeed else codes}", run)
        else:
            counts["refusals"] += 1
            expect_one_line(case, run)
            # Of two renames the first may be done, and files are not taken back when only the line
            # about them cannot be printed.
            if function != "rename" and b"no memory for the result" not in run.err:
                self.expect_untouched(case, run)
        expect_no_secret(case, run)
        return run.faults > 0

    def try_every_fault(self):
        os.chdir("case")
        before = dict(counts)
        for function, reasons, codes in FAULTS:
            for reason in reasons:
                step = 13 if function in ALLOCATORS and not SLOW else 1
                at = 1 + RANDOM.randrange(step)
                while self.attempt((function, at, reason, False), codes):
                    if SLOW or function in ("open", "read", "write"):
                        self.attempt((function, at, reason, True), codes)
                    at += step
        os.chdir("..")
        print(f"{self.name}: {counts['runs'] - before['runs']} runs, "
              f"{counts['faults'] - before['faults']} faults, "
              f"{counts['refusals'] - before['refusals']} refusals")


def every_fault():
    prove = ["prove", "-t", "2", "k.zkey", "w.wtns", "p.json", "pub.json"]
    both = ("p.json", "pub.json")
    cases = [
        Case("prove", "mult3", prove, both),
        Case("prove, traced", "mult3", prove + ["--trace", "t.json"], (*both, "t.json"),
             of_failure=("t.json",)),
        Case("prove over old files", "mult3", prove, both, old=both),
        Case("prove --json, key read", "mult3_bls", prove + ["--json", "--load", "read"], both),
        Case("prove, witness from stdin", "mult3",
             ["prove", "-t", "1", "k.zkey", "-", "p.json", "pub.json"], both, stdin="w.wtns"),
        Case("verify", "mult3", ["verify", "-t", "2", "vk.json", "public.json", "proof.json"]),
        Case("verify --json", "mult3_bls",
             ["verify", "--json", "vk.json", "public.json", "proof.json"]),
        Case("info", "mult3", ["info", "--digest", "k.zkey", "w.wtns", "c.r1cs"]),
        Case("info --json", "mult3", ["info", "--json", "k.zkey"]),
        Case("check a key", "mult3", ["check", "-t", "2", "k.zkey"]),
        Case("check a witness", "mult3", ["check", "c.r1cs", "w.wtns"]),
        Case("export vkey", "mult3", ["export", "vkey", "k.zkey", "v.json"], ("v.json",)),
        Case("export calldata", "mult3", ["export", "calldata", "proof.json", "public.json"]),
    ]
    only_slow = {"prove, witness from stdin", "verify --json", "info --json"}
    for case in cases:
        if SLOW or case.name not in only_slow:
            case.start()
            case.try_every_fault()


# ---- Killed ------------------------------------------------------------------------------------

def judge_remains(case, old):
    """After kill -9: each output as before or whole. Returns how many are new, and what else is
    there."""
    n_new = 0
    for name, whole in (("p.json", None), ("pub.json", case.inputs["public.json"])):
        contents = read(name) if os.path.exists(name) else None
        if contents == (OLD if old else None):
            continue
        n_new += 1
        if whole is not None and contents != whole:
            fail(case.name, f"{name} is neither old nor whole: {contents[:80]!r}")
        if whole is None and json.loads(contents)["protocol"] != "groth16":
            fail(case.name, f"{name} is neither old nor whole")
    strangers = sorted(set(os.listdir(".")) - set(case.inputs) - {"p.json", "pub.json"})
    for name in strangers:
        if not name.startswith(".proofmill."):
            fail(case.name, f"{name} was left")
        os.unlink(name)
    return n_new, len(strangers)


def killed_at_every_call():
    for old in (False, True):
        outputs = ("p.json", "pub.json")
        case = Case("killed at a call", "mult3", ["prove", "k.zkey", "w.wtns", *outputs], outputs,
                    old=outputs if old else ())
        case.start()
        os.chdir("case")
        seen = {}
        for function in ("open", "write", "fsync", "linkat", "rename"):
            for at in range(1, 100):
                case.restore()
                run = Run(case.arguments, fault=(function, at, "KILL", False))
                if run.code == OK:
                    break
                if run.code != -signal.SIGKILL:
                    fail(case.name, f"{function} {at}", run)
                n_new, n_strangers = judge_remains(case, old)
                if n_strangers and function not in ("linkat", "rename"):
                    fail(case.name, f"{function} {at}: a temporary file is visible")
                key = (n_new, n_strangers)
                seen.setdefault(key, []).append(f"{function} {at}")
        os.chdir("..")
        for (n_new, n_strangers), where in sorted(seen.items()):
            print(f"killed before {', '.join(where)}: {n_new} of 2 outputs new, "
                  f"{n_strangers} temporary names visible")


def killed_at_random():
    case = Case("killed at random", "mult3", ["prove", "k.zkey", "w.wtns", "p.json", "pub.json"],
                ("p.json", "pub.json"))
    case.start()
    os.chdir("case")
    begin = time.monotonic()
    for _ in range(5):
        Run(case.arguments)
    run_s = (time.monotonic() - begin) / 5
    seen = {}
    for _ in range(400 if SLOW else 50):
        case.restore()
        with subprocess.Popen([PROOFMILL, *case.arguments], stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(RANDOM.random() * run_s * 1.2)
            process.kill()
        key = judge_remains(case, False)
        seen[key] = seen.get(key, 0) + 1
    os.chdir("..")
    for (n_new, n_strangers), n in sorted(seen.items()):
        print(f"killed at random: {n} times {n_new} of 2 outputs, {n_strangers} temporary names")


# ---- Odd inputs and outputs --------------------------------------------------------------------

def expect(name, codes, arguments, **more):
    run = Run(arguments, **more)
    if run.code not in codes:
        fail(name, f"wanted {codes}", run)
    if run.code != OK:
        expect_one_line(name, run)
    if os.path.exists("p.json") != (run.code == OK) and "p.json" in arguments:
        fail(name, "p.json is there on failure, or is not on success", run)
    for path in ("p.json", "pub.json"):
        if os.path.exists(path):
            os.unlink(path)
    return run


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def feed(path, contents):
    """Writes to a FIFO from another thread, which waits for a reader, and closes it."""
    def body():
        try:
            write(path, contents)
        except BrokenPipeError:
            pass
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


def drain(path, thread):
    """Ends a feeder whose FIFO the command has not opened."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    thread.join(5)
    os.close(fd)


def odd_inputs():
    case = Case("odd inputs", "mult3", ["prove", "k.zkey", "w.wtns", "p.json", "pub.json"],
                ("p.json", "pub.json"))
    case.start()
    os.chdir("case")
    os.chmod(".", 0o777)
    write("locked", b"x")
    os.chmod("locked", 0)
    os.mkdir("folder")
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as unix_socket:
        unix_socket.bind("socket")
        for role in (0, 1):
            for path, codes in (("locked", {BAD_INPUT if os.geteuid() == 0 else IO}),
                                ("folder", {IO}), ("socket", {IO}), ("nothing", {IO}),
                                ("/dev/zero", {BAD_INPUT, IO}), ("/dev/null", {BAD_INPUT}),
                                ("/proc/self/mem", {IO, BAD_INPUT}), ("k.zkey/below", {IO})):
                inputs = ["k.zkey", "w.wtns"]
                inputs[role] = path
                expect(f"input {path}", codes, ["prove", *inputs, "p.json", "pub.json"])
            for part, codes in ((0, {BAD_INPUT}), (11, {BAD_INPUT}), (150, {BAD_INPUT}),
                                (None, {OK})):
                inputs = ["k.zkey", "w.wtns"]
                contents = case.inputs[inputs[role]]
                inputs[role] = "fifo"
                thread = feed("fifo", contents if part is None else contents[:part])
                expect(f"FIFO closed after {part}", codes, ["prove", *inputs, "p.json", "pub.json"])
                drain("fifo", thread)
    if os.geteuid() == 0:
        expect("a file nobody may read", {IO}, ["prove", "locked", "w.wtns", "p.json", "pub.json"],
               preexec_fn=as_nobody)
    os.chdir("..")


def odd_outputs():
    case = Case("odd outputs", "mult3", ["prove", "k.zkey", "w.wtns", "p.json", "pub.json"],
                ("p.json", "pub.json"))
    case.start()
    os.chdir("case")
    os.mkdir("folder")
    os.mkdir("frozen")
    write("frozen/old.json", OLD)
    frozen = subprocess.run(["chattr", "+i", "frozen", "frozen/old.json"], capture_output=True,
                            check=False).returncode == 0
    try:
        outputs = ["/dev/full", "folder", "folder/", "nothing/p2.json", "w.wtns/p2.json",
                   "/proc/p2.json", "/proc/self/p2.json", "/proc/self/maps", "/sys/p2.json",
                   "x" * 300]
        if frozen:
            outputs += ["frozen/new.json", "frozen/old.json"]
        else:
            print("SKIP: chattr +i does nothing here: no read-only folder to try")
        for path in outputs:
            for pair in ((path, "pub.json"), ("p.json", path)):
                expect(f"output {path[:20]}", {IO}, ["prove", "k.zkey", "w.wtns", *pair])
                if os.path.exists("p.json") or os.path.exists("pub.json"):
                    fail(f"output {path[:20]}", "the other output was written")
        if read("frozen/old.json") != OLD or os.listdir("folder"):
            fail("odd outputs", "an output was changed, or something left")
        if os.geteuid() == 0:
            os.chmod(".", 0o555)
            expect("a folder nobody may write to", {IO}, case.arguments, preexec_fn=as_nobody)
            os.chmod(".", 0o755)
    finally:
        if frozen:
            subprocess.run(["chattr", "-i", "frozen", "frozen/old.json"], check=False)
    with open("/dev/full", "wb") as full:
        for arguments in (["verify", "vk.json", "public.json", "proof.json"], ["info", "k.zkey"],
                          ["prove", "k.zkey", "w.wtns", "-", "pub.json"], ["help"],
                          ["verify", "--json", "vk.json", "public.json", "proof.json"]):
            done = subprocess.run([PROOFMILL, *arguments], stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, check=False)
            if done.returncode != IO or len(done.stderr.splitlines()) != 1:
                fail(f"{arguments[0]} to /dev/full", f"{done.returncode} {done.stderr!r}")
    for closed in (0, 1, 2):  # a descriptor we open must not be taken for a standard stream
        done = subprocess.run(["sh", "-c", f'"$@" {closed}>&-', "sh", PROOFMILL, *case.arguments],
                              capture_output=True, check=False)
        if done.returncode != OK or read("pub.json") != case.inputs["public.json"]:
            fail(f"descriptor {closed} closed", f"{done.returncode} {done.stderr!r}")
    os.chdir("..")


# ---- Keys that change --------------------------------------------------------------------------

def scrambled(contents):
    """A key of the same size in which every index and coordinate is something else."""
    head = len(contents) // 20
    return contents[:head] + RANDOM.randbytes(len(contents) - head)


def keys_that_change():
    case = Case("keys that change", "own_mimc", ["prove", "k.zkey", "w.wtns", "p.json", "pub.json"],
                ("p.json", "pub.json"))
    case.start()
    os.chdir("case")
    key = case.inputs["k.zkey"]
    begin = time.monotonic()
    Run(case.arguments)
    run_s = time.monotonic() - begin
    ways = {
        "truncated": (lambda: os.truncate("k.zkey", RANDOM.randrange(len(key))),
                      {OK, IO, BAD_INPUT}),
        "emptied": (lambda: os.truncate("k.zkey", 0), {OK, IO, BAD_INPUT}),
        "renamed over": (lambda: os.rename("other", "k.zkey"), {OK}),
        "unlinked": (lambda: os.unlink("k.zkey"), {OK, IO}),
        "overwritten": (lambda: write_in_place("k.zkey", scrambled(key)),
                        {OK, IO, BAD_INPUT, UNSATISFIED}),
    }
    for way, (change, codes) in ways.items():
        seen = {}
        for _ in range(60 if SLOW else 4):
            case.restore()
            write("k.zkey", key)
            write("other", key)
            with subprocess.Popen([PROOFMILL, *case.arguments], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                time.sleep(RANDOM.random() * run_s)
                change()
                _, err = process.communicate(timeout=60)
            code = process.returncode
            seen[code] = seen.get(code, 0) + 1
            if code not in codes or os.path.exists("p.json") != (code == OK):
                fail(f"key {way}", f"exit {code}: {err!r}")
            elif code == OK and Run(["verify", "vk.json", "pub.json", "p.json"]).code != OK:
                fail(f"key {way}", "the proof is not valid")
        print(f"key {way} while it is used: exit codes {dict(sorted(seen.items()))}")
    os.chdir("..")


def write_in_place(path, contents):
    with open(path, "r+b") as file:
        file.write(contents)


# ---- Small stacks ------------------------------------------------------------------------------

def small_stacks():
    """Report B21."""
    def set_stack(kib):
        def body():
            resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10))
        return body
    keys = glob.glob(f"{DATA}/*/*.zkey")
    fixtures = os.environ.get("PM_FIXTURES", os.path.join(HERE, "../../../shared/fixtures"))
    if SLOW:
        keys += glob.glob(f"{fixtures}/small/*/*.zkey")
    for kib in (256, 128):
        for key in keys:
            arguments = ["prove", "-t", "4", key, key[:-4] + "wtns", "p.json", "pub.json"]
            expect(f"a stack of {kib} KiB", {OK}, arguments, preexec_fn=set_stack(kib))
            expect(f"a stack of {kib} KiB", {OK}, ["check", key], preexec_fn=set_stack(kib))
    print(f"{len(keys)} keys proved and checked with stacks of 256 and 128 KiB")


def main():
    print(f"PM_TEST_SEED={SEED}")
    remember_secrets("mult3", 2)
    remember_secrets("mult3_bls", 2)
    if not secrets:
        fail("secrets", "there are none to look for")
    scratch = tempfile.mkdtemp()
    try:
        for part in (every_fault, killed_at_every_call, killed_at_random, odd_inputs, odd_outputs,
                     keys_that_change, small_stacks):
            os.chdir(scratch)
            begin = time.monotonic()
            part()
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
    finally:
        os.chdir("/")
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{counts['runs']} runs, {counts['faults']} faults, {counts['refusals']} refusals, "
          f"{counts['messages']} messages without secrets, {len(failures)} failures")
    return 1 if failures or counts["refusals"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
