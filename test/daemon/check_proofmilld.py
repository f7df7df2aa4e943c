#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""proofmilld as a service manager and an operator meet it: options, files, folders, signals, drain,
what systemd is told, a second daemon, a restart with open jobs.

    check_proofmilld.py PROOFMILLD PROOFMILL DEMO_FOLDER DATA_FOLDER FAKE_GPU_LIBRARY
"""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

DAEMON, COMMAND, DEMO, DATA, FAKE_GPU = (os.path.abspath(path) for path in sys.argv[1:6])
CONSTRAINTS, JOBS, PARTS = 6000, 2, 30
# Sanitizers leave faults to the kernel, as a daemon without them does.
WITHOUT_HANDLERS = {name: os.environ.get(name, "") + ":handle_segv=0:handle_abort=0:detect_leaks=0"
                    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}
checks = failures = 0


def check(good, what):
    global checks, failures
    checks += 1
    if not good:
        failures += 1
        print(f"FAIL: {what}", flush=True)


def has(text, part, what):
    check(part in text, f"{what}: no {part!r} in {text!r}")


class Place:
    """A folder, and an environment that knows nothing but it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="proofmilld-")
        # Short: the path of a socket has 107 bytes.
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.path("home"),
                            "XDG_RUNTIME_DIR": self.path("run"),
                            "XDG_STATE_HOME": self.path("state")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        if os.geteuid() != 0:  # nobody but root looks into the daemon, the leak checker neither
            options = self.environment.get("ASAN_OPTIONS", "")
            self.environment["ASAN_OPTIONS"] = (options + ":detect_leaks=0").lstrip(":")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def run(self, *words, program=DAEMON, **environment):
        done = subprocess.run([program, *words], env={**self.environment, **environment},
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=120, check=False, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def close(self):
        shutil.rmtree(self.folder)


class Manager:
    """What listens where NOTIFY_SOCKET says, at any time: the kernel holds ten messages."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.messages, self.n_seen, self.news = [], 0, threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                message = self.socket.recv(4096).decode()
                with self.news:
                    self.messages.append(message)
                    self.news.notify()
        except OSError:
            return

    def wait(self, wanted, seconds=60):
        """The first message with this line from now on; None when it does not come."""
        until = time.monotonic() + seconds
        with self.news:
            while True:
                while self.n_seen < len(self.messages):
                    message = self.messages[self.n_seen]
                    self.n_seen += 1
                    if wanted in message.split("\n"):
                        return message
                if not self.news.wait(max(until - time.monotonic(), 0)):
                    return None


class Daemon:
    """One that runs, with a manager, a socket and a state of its own."""

    def __init__(self, place, name, *words, abstract=False, serves=True, **environment):
        self.place = place
        self.log_path = place.path(name + ".log")
        self.socket_path = place.path(name, "proofmill.sock")
        self.address = "unix://" + self.socket_path
        notify = f"@{place.folder}-{name}" if abstract else place.path(name + ".notify")
        self.manager = Manager(notify)
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [DAEMON, "serve", "--listen", self.address, "--status-listen", "", "--state-dir",
                 place.path(name + ".state"), "--devices", "cpu", "--budget", "2GiB", *words],
                env={**place.environment, "NOTIFY_SOCKET": notify, **environment}, stderr=log,
                stdin=subprocess.DEVNULL, cwd=place.folder)
        wanted = "READY=1" if serves else "STATUS=opens the journal and its keys"
        check(self.manager.wait(wanted) is not None, f"{name}: no {wanted}: {self.log()}")
        check(self.manager.messages[0].startswith("STATUS=opens"), f"{name}: said first: "
              f"{self.manager.messages[0]}")

    def log(self):
        with open(self.log_path, encoding="utf-8") as stream:
            return stream.read()

    def wait_log(self, text, seconds=30):
        until = time.monotonic() + seconds
        while text not in self.log() and time.monotonic() < until:
            time.sleep(0.02)
        has(self.log(), text, "log")

    def client(self, *words):
        return self.place.run(*words, program=COMMAND, PROOFMILL_ADDRESS=self.address)

    def serving(self):
        """The process that serves: the child of the one that was started, if there is one now."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as stream:
            return [int(child) for child in stream.read().split()]

    def wait_serving(self, but=None):
        until = time.monotonic() + 30
        while self.serving() in ([], [but]) and time.monotonic() < until:
            time.sleep(0.01)
        return self.serving()[0]

    def send(self, number):
        self.process.send_signal(number)

    def end(self, code, number=signal.SIGTERM):
        if number is not None:
            self.send(number)
        try:
            ended = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            ended = "nothing, and was killed"
        check(ended == code, f"ended with {ended}, not {code}: {self.log()}")


def check_options(place):
    code, out, _ = place.run("--version")
    check(code == 0 and re.fullmatch(r"proofmilld \d+\.\d+\.\d+\n", out), f"--version: {out}")
    code, out, _ = place.run("serve", "--help")
    check(code == 0 and "--state-dir FOLDER" in out and "SIGHUP" in out, f"--help: {out}")
    check(place.run("help")[1] == out, "help is not --help")
    for words, expected, sentence in (
            (["--lissen", "a"], 2, "there is no option --lissen"),
            (["serve", "now"], 2, "has no use for now"),
            (["sing"], 2, "there is no verb sing"),
            (["--listen"], 2, "--listen needs a value: ADDRESS"),
            (["--version=1"], 2, "--version takes no value"),
            (["--config", "a", "--config", "b"], 2, "--config is given twice"),
            (["--config", "/nowhere/a.toml"], 4, "/nowhere/a.toml: "),
            (["--listen", "localhost:1"], 2, '"localhost:1" is no address'),
            (["--listen", "0.0.0.0:9820"], 2, "insecure_listen"),
            (["--budget", "lots"], 2, "--budget takes bytes"),
            (["--key", "a"], 2, "--key takes NAME=PATH"),
            (["--key", "a b=c"], 2, "letters, digits"),
            (["--devices", "cpu,gpu"], 2, '"gpu" is no device'),
            (["--log-level", "loud"], 2, "--log-level takes")):
        code, out, err = place.run(*words)
        check(code == expected and out == "", f"{words}: code {code}, not {expected}")
        check(err.startswith("proofmilld: ") and err.count("\n") == 1, f"{words}: {err}")
        has(err, sentence, str(words))


def check_configuration(place):
    words = ("--listen", "unix:///a/b", "--listen=127.0.0.1:1", "--key", "k=/a=b", "--budget",
             "3GiB", "--devices", "cpu,cuda:3", "--insecure-listen", "--log-level", "warning")
    code, first, _ = place.run(*words, "--print-config")
    path = place.write("printed.toml", first)
    again = place.run("--config", path, "--print-config")
    check(code == 0 and again[:2] == (0, first), "what is printed does not read back as the same")
    for part in ('listen = ["unix:///a/b", "127.0.0.1:1"]', 'total_budget = "3GiB"',
                 'devices = ["cpu", "cuda:3"]', 'path = "/a=b"', "insecure_listen = true"):
        has(first, part, "--print-config")
    code, out, err = place.run("--config", path, "--check-config")
    check((code, out) == (4, ""), f"--check-config: {code} {out}")
    has(err, "key k: /a=b cannot be opened", "a key's file is missing")
    check(re.search(re.escape(path) + r":\d+: key k", err), f"no file and line: {err}")
    path = place.write("printed.toml", first.replace("/a=b", os.path.join(DATA, "one/one.zkey")))
    code, out, err = place.run("--config", path, "--check-config")
    check((code, out, err) == (0, f"{path}: fine\n", ""), f"--check-config: {out} {err}")
    code, out, err = place.run("--config", path, "--budget", "900TiB", "--check-config")
    check(code == 0 and "warning: memory.total_budget is 900 TiB" in err, f"too much: {err}")
    for text, expected, sentence in (
            ("\n[tls]\ncertificate = '/nowhere'\nkey = '/nowhere'\n", 4,
             ":3: tls.certificate: /nowhere cannot be opened"),
            ("[gpus]\ndevices = 'gpu'\n", 3, ":2: gpus.devices: "),
            ("daemon.listen = 'a'\n", 3, ":1: daemon.listen: ")):
        bad = place.write("bad.toml", text)
        for last in ("--check-config", "--status-listen="):  # and as it starts
            code, _, err = place.run("--config", bad, "--state-dir", place.path("s"), last)
            check(code == expected, f"{text}: code {code}, not {expected}")
            has(err, bad + sentence, text)
    code, out, _ = place.run("--state-dir", "here", "--print-config")
    has(out, f'state_dir = "{os.path.realpath(place.folder)}/here"', "a relative folder")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([DAEMON, "--print-config"], env=place.environment, stdout=full,
                              stderr=subprocess.DEVNULL, check=False)
    check(done.returncode == 4, "a full disk is not noticed")
    bad = place.write("bad.toml", "[rpc]\n\nthreads = 0\n")
    code, _, err = place.run("--config", bad)
    check(code == 3, f"a bad value ends with {code}")
    has(err, f"{bad}:3: rpc.threads takes a whole number from 1 to 256, not 0", "a bad value")


def check_places(place):
    def listen(*words, **environment):
        return re.search(r"^(listen = .*)$", place.run(*words, "--print-config", **environment)[1],
                         re.M).group(1)

    home = place.write("home/.config/proofmill/proofmill.toml", "daemon.listen = 'unix:///home'\n")
    has(listen(), "unix:///home", "below HOME")
    place.write("config/proofmill/proofmill.toml", "daemon.listen = 'unix:///config'\n")
    has(listen(XDG_CONFIG_HOME=place.path("config")), "unix:///config", "XDG_CONFIG_HOME")
    has(listen("--listen", "unix:///option", XDG_CONFIG_HOME=place.path("config")),
        '["unix:///option"]', "options go before")
    os.unlink(home)
    where = "/run" if os.geteuid() == 0 else place.path("run")
    has(listen(), f"unix://{where}/proofmill/proofmill.sock", "the default")
    _, out, _ = place.run("--print-config", RUNTIME_DIRECTORY="/r/a:/r/b",
                          STATE_DIRECTORY="/s/a:/s/b")
    has(out, '["unix:///r/a/proofmill.sock"]', "RUNTIME_DIRECTORY")
    has(out, 'state_dir = "/s/a"', "STATE_DIRECTORY")
    os.makedirs(place.path("open"), mode=0o777)
    os.chmod(place.path("open"), 0o777)
    code, _, err = place.run("--state-dir", place.path("open"), "--listen",
                             "unix://" + place.path("x.sock"))
    check(code == 4, f"a folder for everybody ends with {code}")
    has(err, "other users may write to", "a folder for everybody")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def key_names(daemon):
    code, out, err = daemon.client("key", "list", "--json")
    check(code == 0, f"key list: {err}")
    return set(re.findall(r'"name": ?"([a-z0-9]+)"', out))


def check_one_life(place):
    config = place.write("one.toml", f"""
[logging]
level = "info"
[[key]]
name = "mult3"
path = "{DATA}/mult3/mult3.zkey"
preload = true
[[key]]
name = "missing"
path = "{place.path('missing.zkey')}"
""")
    daemon = Daemon(place, "one", "--config", config, abstract=True, WATCHDOG_USEC="400000")
    log = daemon.log()
    has(log, f"serves on {daemon.address}", "the line at the start")
    has(log, "budget 2 GiB, of which 256 MiB for uploads", "the line at the start")
    daemon.wait_log("key mult3 is in memory")
    daemon.wait_log("warning: key missing: ")
    check(mode(daemon.socket_path) == 0o600, "the socket's mode")
    check(mode(os.path.dirname(daemon.socket_path)) == 0o700, "the socket's folder's mode")
    check(mode(place.path("one.state")) == 0o700, "the state's mode")
    with open(f"/proc/{daemon.serving()[0]}/limits", encoding="utf-8") as stream:
        check(re.search(r"Max core file size +0 +0 ", stream.read()), "cores are not off")
    check(daemon.manager.wait("WATCHDOG=1", 10) is not None, "no WATCHDOG=1")
    code, out, err = daemon.client("submit", "mult3", f"{DATA}/mult3/mult3.wtns", "--wait",
                                   "--proof", "proof.json", "--public", "public.json")
    check(code == 0, f"submit: {out} {err}")
    code, out, _ = place.run("verify", f"{DATA}/mult3/vkey.json", "public.json", "proof.json",
                             program=COMMAND)
    check(code == 0, f"verify: {out}")
    # A second one has neither the state nor the socket.
    code, _, err = place.run("--state-dir", place.path("one.state"), "--listen",
                             "unix://" + place.path("two.sock"), "--status-listen", "")
    check(code == 4, f"the second daemon ends with {code}")
    has(err, f"another proofmilld keeps its state in {place.path('one.state')}", "the second")
    code, _, err = place.run("--state-dir", place.path("two.state"), "--listen", daemon.address,
                             "--status-listen", "")
    check(code == 4, f"the second daemon on one socket ends with {code}: {err}")
    check(os.path.exists(daemon.socket_path), "the second daemon took the socket away")
    check_reload(place, daemon, config)
    daemon.end(0)
    check(daemon.manager.wait("STOPPING=1", 5) is not None, "no STOPPING=1")
    check(not os.path.exists(daemon.socket_path), "the socket is left behind")


def check_reload(place, daemon, config):
    def reload(text):
        place.write("one.toml", text)
        daemon.send(signal.SIGHUP)
        begun = daemon.manager.wait("RELOADING=1")
        check(begun is not None and re.search(r"^MONOTONIC_USEC=\d+$", begun, re.M),
              f"RELOADING=1: {begun}")
        check(daemon.manager.wait("READY=1") is not None, "no READY=1 after a reload")

    check(key_names(daemon) == {"mult3", "missing"}, "the keys at the start")
    out = daemon.client("key", "list")[1]
    has(out, f"{place.path('missing.zkey')}: the key cannot be opened: No such file", "key list")
    check(re.search(r"^missing +cold +- +- ", out, re.M), f"curve and domain of no file: {out}")
    reload(f"""
rpc.threads = 3
[logging]
level = "debug"
[[key]]
name = "one"
path = "{DATA}/one/one.zkey"
""")
    daemon.wait_log("these take effect at the next start: rpc.threads")
    daemon.wait_log("key one is registered: ")
    daemon.wait_log("key mult3 is no longer configured")
    check(key_names(daemon) == {"one"}, "the keys after a reload")
    reload("[rpc]\nthreads = 'many'\n")
    daemon.wait_log(f"everything stays as it is: {config}:2: rpc.threads takes")
    check(key_names(daemon) == {"one"}, "the keys after a bad reload")


def check_keys(place):
    """What the configuration says of a name counts at each start and reload; callers' keys stay."""
    def configure(**paths):
        return place.write("keys.toml", "".join(
            f'[[key]]\nname = "{name}"\npath = "{path}"\n' for name, path in paths.items()))

    def start():
        return Daemon(place, "keys", "--config", config, "--budget", "2MiB")

    def end(daemon):
        daemon.end(0)
        daemon.manager.socket.close()
        os.unlink(place.path("keys.notify"))

    def zkey(name):
        return f"{DATA}/{name}/{name}.zkey"

    config = configure(a=zkey("mult3"), b=zkey("mult3"))
    daemon = start()
    has(daemon.log(), "budget 2 MiB, of which 256 KiB for uploads", "a small budget")
    daemon.wait_log("key b is registered")
    code, out, err = daemon.client("key", "add", "c", zkey("one"))
    check(code == 0 and "replaced" not in out, f"key add: {out} {err}")
    code, out, err = daemon.client("key", "add", "c", zkey("mult3"))
    check(code == 0, f"key add: {err}")
    has(out, f"it replaced {zkey('one')}, which had the name", "key add")
    code, _, err = daemon.client("key", "add", "large", zkey("own_mimc"))
    check(code == 5 and re.search(r"needs \d+ bytes of host memory, \d+ are allowed", err),
          f"a key that never fits: {code} {err}")
    check(key_names(daemon) == {"a", "b", "c"}, "a key that never fits is there")
    end(daemon)
    config = configure(a="/nowhere/a.zkey")
    daemon = start()
    daemon.wait_log("key b is no longer configured, and forgotten")
    daemon.wait_log("warning: key a: /nowhere/a.zkey: ")
    check(key_names(daemon) == {"a", "c"}, "the keys after a start")
    code, _, err = daemon.client("submit", "a", f"{DATA}/mult3/mult3.wtns")
    check(code != 0, "a job has the key of before")
    has(err, 'the key "a" of the configuration cannot be used: /nowhere/a.zkey', "submit")
    configure(a=place.path("a.zkey"))
    shutil.copy(zkey("one"), place.path("a.zkey"))
    daemon.send(signal.SIGHUP)
    daemon.wait_log(f"key a is registered: {place.path('a.zkey')}")
    shutil.copy(zkey("mult3"), place.path("other.zkey"))
    os.replace(place.path("other.zkey"), place.path("a.zkey"))
    daemon.send(signal.SIGHUP)
    daemon.wait_log("key a is registered again, as its file is another one")
    code, out, err = daemon.client("submit", "a", f"{DATA}/mult3/mult3.wtns", "--wait", "--proof",
                                   "p.json", "--public", "q.json")
    check(code == 0, f"submit: {out} {err}")
    configure(a=zkey("own_mimc"))
    daemon.send(signal.SIGHUP)
    daemon.wait_log("allowed; the earlier one stays in use")
    code, out, err = daemon.client("submit", "a", f"{DATA}/mult3/mult3.wtns", "--wait")
    check(code == 0, f"submit to a key that stays: {out} {err}")
    end(daemon)


def check_early_stop(place):
    """A signal while a key of the journal is read, which takes minutes: it ends at once, well."""
    key = place.path("key.zkey")
    shutil.copy(f"{DATA}/mult3/mult3.zkey", key)
    n_bytes = os.stat(key).st_size

    def start(**how):
        return Daemon(place, "early", **how)

    def end(daemon, number=signal.SIGTERM):
        began = time.monotonic()
        daemon.end(0, number)
        check(time.monotonic() - began < 20, "an early daemon does not end at once")
        check(daemon.manager.wait("STOPPING=1", 20) is not None, f"no STOPPING=1: {daemon.log()}")
        daemon.manager.socket.close()
        os.unlink(place.path("early.notify"))

    daemon = start()
    code, _, err = daemon.client("key", "add", "key", key)
    check(code == 0, f"key add: {err}")
    end(daemon)
    os.truncate(key, 1 << 38)
    for number in (signal.SIGTERM, signal.SIGINT):
        daemon = start(serves=False)
        time.sleep(0.2)
        end(daemon, number)
    check(daemon.log().count("ended before it served") == 2 and
          daemon.log().count("serves on") == 1, f"log: {daemon.log()}")
    os.truncate(key, n_bytes)
    daemon = start()
    check(key_names(daemon) == {"key"}, "the key is lost by an early end")
    end(daemon)


def make_circuit(place):
    subprocess.run([os.path.join(DEMO, "pm_demo_r1cs"), "bn254", str(CONSTRAINTS),
                    place.path("c.r1cs")], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(DEMO, "pm_demo_witness"), "bn254", str(CONSTRAINTS), "5",
                    place.path("c.wtns")], check=True, stdout=subprocess.DEVNULL)
    code, _, err = place.run("setup", "-q", "--insecure-known-tau", "c.r1cs", "c.zkey",
                             program=COMMAND)
    check(code == 0, f"setup: {err}")


def submit_many(daemon):
    jobs = []
    for i in range(JOBS):
        code, out, err = daemon.client("submit", "c", *["c.wtns"] * PARTS, "--request-id", f"r{i}",
                                       "--json")
        check(code == 0, f"submit {i}: {err}")
        jobs.append(json.loads(out)["job"] if code == 0 else None)
    return jobs


def check_drain(place):
    """SIGTERM twice, with jobs that are open: they go on at the next start, and end there."""
    make_circuit(place)
    words = ("--key", "c=c.zkey")
    daemon = Daemon(place, "drain", *words)
    daemon.wait_log("key c is registered: c.zkey")
    daemon.wait_log("warning: key c: this is a development key")
    has(daemon.client("key", "list")[1], "c.zkey: this is a development key", "key list")
    jobs = submit_many(daemon)
    daemon.send(signal.SIGTERM)
    check(daemon.manager.wait("STOPPING=1") is not None, "no STOPPING=1")
    code, _, err = daemon.client("submit", "c", "c.wtns", "--request-id", "late")
    check(code != 0, "a job is taken while the daemon drains")
    daemon.end(128 + signal.SIGINT, signal.SIGINT)
    daemon.manager.socket.close()
    os.unlink(place.path("drain.notify"))
    daemon = Daemon(place, "drain", *words)
    for i, job in enumerate(jobs):
        code, out, err = daemon.client("await", str(job), "--timeout", "100", "--json")
        check(code == 0, f"job {job} after a restart: {out} {err}")
        code, out, _ = daemon.client("submit", "c", *["c.wtns"] * PARTS, "--request-id", f"r{i}",
                                     "--json")
        check(code == 0 and json.loads(out)["job"] == job, f"job {job} is made twice: {out}")
    # With nothing open it ends at once, and well.
    began = time.monotonic()
    daemon.end(0, signal.SIGINT)
    check(time.monotonic() - began < 20, "an idle daemon does not end at once")


def check_drain_ends_jobs(place):
    """One SIGTERM, and time: what is open ends, and then the daemon."""
    daemon = Daemon(place, "ends", "--key", "c=c.zkey")
    daemon.wait_log("key c is registered: c.zkey")
    code, out, err = daemon.client("submit", "c", "c.wtns", "--json")
    check(code == 0, f"submit: {err}")
    job = json.loads(out)["job"]
    daemon.end(0)
    daemon.manager.socket.close()
    os.unlink(place.path("ends.notify"))
    daemon = Daemon(place, "ends")
    code, out, _ = daemon.client("status", "--json")
    check(code == 0 and "recovered" not in daemon.log(), "the job was left open")
    code, out, err = daemon.client("await", str(job), "--json", "--timeout", "60")
    check(code == 0, f"the outcome is gone: {out} {err}")
    daemon.end(0)
    daemon.manager.socket.close()
    os.unlink(place.path("ends.notify"))
    check_salvage(place, job)


def check_salvage(place, job):
    """The journal's first page is gone: refused, salvaged, and the outcome is there again."""
    words = ("serve", "--state-dir", place.path("ends.state"), "--devices", "cpu")
    code, out, _ = place.run(*words, "--salvage")
    check(code == 0 and "is fine" in out, f"a good journal is salvaged: {code} {out}")
    with open(place.path("ends.state", "journal", "journal.db"), "r+b") as journal:
        journal.write(bytes(100))
    code, _, err = place.run(*words, "--status-listen", "")
    check(code == 3 and "proofmill serve --salvage" in err, f"a damaged journal: {code} {err}")
    code, out, err = place.run(*words, "--salvage")
    check(code == 0, f"salvage: {code} {err}")
    has(out, "1 jobs", "salvage")
    has(out, "journal.db.damaged", "salvage")
    daemon = Daemon(place, "ends")
    code, out, err = daemon.client("await", str(job), "--json", "--timeout", "60")
    check(code == 0, f"the outcome is gone after salvage: {out} {err}")
    daemon.end(0)


def check_hang(place):
    """F9: a card hangs. The process ends with 75, and the one after it makes the proof: it is
    started by the guardian, or without one by whoever started the daemon."""
    hanging = place.write("hanging", "")
    config = place.write("hang.toml", f"""
daemon.restart_on_hang = true
gpus.stall_timeout = "1s"
gpus.library = "{FAKE_GPU}"
[[key]]
name = "mult3"
path = "{DATA}/mult3/mult3.zkey"
""")

    def submit(daemon, name, *words):
        code, out, err = daemon.client("submit", "mult3", f"{DATA}/mult3/mult3.wtns",
                                       "--request-id", name, "--json", *words)
        check(code == 0, f"submit {name}: {out} {err}")

    def start(name, *words):
        daemon = Daemon(place, name, "--config", config, "--devices", "cuda:0", *words,
                        FAKE_GPU_HANG=hanging)
        daemon.wait_log("key mult3 is registered")
        return daemon

    daemon = start("hang", "--no-guardian")
    check(daemon.serving() == [], "--no-guardian makes a process")
    submit(daemon, "a")
    daemon.end(75, None)
    has(daemon.log(), "cuda:0 hangs, and nothing but a restart frees it", "log")
    check(daemon.manager.wait("STOPPING=1", 5) is not None, "no STOPPING=1")
    daemon.manager.socket.close()
    os.unlink(place.path("hang.notify"))
    daemon = start("hang")
    daemon.wait_log("cuda:0 hangs, and nothing but a restart frees it")
    os.unlink(hanging)
    daemon.wait_log("the serving process ended with code 75; restart 1 in 0.2 s")
    check(daemon.manager.wait("READY=1") is not None, "no READY=1 after a hang")
    check(not any("STOPPING=1" in said for said in daemon.manager.messages),
          "the manager is told of an end that is none")
    submit(daemon, "a", "--wait")
    submit(daemon, "b", "--wait")
    daemon.end(0)


def status_of(port):
    """/status, and the restarts that /metrics has."""
    def get(what):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{what}", timeout=60) as answer:
            return answer.read().decode()

    return json.loads(get("/status")), re.search(r"^proofmill_restarts_total (\d+)$",
                                                 get("/metrics"), re.M).group(1)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def is_running(pid):
    """One that has ended may not have been waited for; with a second thread it has its files."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
            is_dead = re.search(r"^State:\s+[ZX]", stream.read(), re.M)
        return not is_dead or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def check_crash(place):
    """F9: faults end the serving process in the middle of a proof, not the daemon; the job is
    done, once. A watchdog's manager hears of the guardian meanwhile."""
    make_circuit(place)
    parts = ["c.wtns"] * (PARTS // 5)  # within the minute after which a pause is the least again
    port = free_port()
    daemon = Daemon(place, "crash", "--key", "c=c.zkey", "--status-listen", f"127.0.0.1:{port}",
                    WATCHDOG_USEC="400000", **WITHOUT_HANDLERS)
    check(daemon.process.pid != daemon.serving()[0], "the guardian serves")
    check(status_of(port)[1] == "0", "restarts at the start")
    pid = daemon.serving()[0]
    for n, number in enumerate((signal.SIGSEGV, signal.SIGKILL), 1):
        daemon.wait_log("key c is registered: c.zkey")
        code, out, err = daemon.client("submit", "c", *parts, "--request-id", f"r{n}",
                                       "--json")
        check(code == 0, f"submit: {err}")
        job = json.loads(out)["job"]
        until = time.monotonic() + 60
        while status_of(port)[0]["running"] == 0 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(pid, number)
        daemon.wait_log(f"the serving process was ended by signal {number:d} ")
        has(daemon.log(), f"restart {n} in 0.{n * 2} s", "log")
        check(daemon.manager.wait("READY=1") is not None, f"no READY=1: {daemon.log()}")
        said = "\n".join(daemon.manager.messages)
        has(said, f"STATUS=the serving process was ended by signal {number:d}", "manager")
        pid = daemon.wait_serving(but=pid)
        outcomes = [daemon.client("await", str(job), "--timeout", "100", "--json") for _ in "ab"]
        check(outcomes[0][0] == 0, f"job {job} after a fault: {outcomes[0]}")
        proofs = [json.loads(out).get("proofs") for _, out, _ in outcomes]
        check(proofs[0] and proofs[0] == proofs[1], f"job {job} has two outcomes: {outcomes}")
        code, out, _ = daemon.client("submit", "c", *parts, "--request-id", f"r{n}",
                                     "--json")
        check(code == 0 and json.loads(out)["job"] == job, f"job {job} is made twice: {out}")
        status, counted = status_of(port)
        check((status["restarts"], counted, status["pid"]) == (n, str(n), pid),
              f"restarts: {status['restarts']} {counted}")
    daemon.send(signal.SIGHUP)
    check(daemon.manager.wait("RELOADING=1") is not None, "SIGHUP does not arrive")
    # What both get, as from a terminal or a control group, counts once: it does not cut jobs off.
    code, out, err = daemon.client("submit", "c", *parts, "--json")
    check(code == 0, f"submit: {err}")
    os.kill(pid, signal.SIGTERM)
    check(daemon.manager.wait("STOPPING=1") is not None, "no STOPPING=1")
    daemon.end(0)
    check("restart 3" not in daemon.log(), "an end is taken for a fault")


def check_guardian_dies(place):
    """F9: nobody is left behind who keeps the socket."""
    daemon = Daemon(place, "orphan")
    pid = daemon.serving()[0]
    daemon.end(-signal.SIGKILL, signal.SIGKILL)
    until = time.monotonic() + (30 if "ASAN_OPTIONS" in os.environ else 2)
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    check(not is_running(pid), "the serving process outlives its guardian")
    daemon.manager.socket.close()
    os.unlink(place.path("orphan.notify"))
    daemon = Daemon(place, "orphan")
    check(daemon.client("status")[0] == 0, "the socket cannot be had again")
    daemon.end(0)


def check_never_ready(place):
    """F9: what ends before it ever was ready is not started for ever; SIGTERM ends a pause."""
    key = place.path("key.zkey")
    shutil.copy(f"{DATA}/mult3/mult3.zkey", key)
    daemon = Daemon(place, "never", **WITHOUT_HANDLERS)
    code, _, err = daemon.client("key", "add", "key", key)
    check(code == 0, f"key add: {err}")
    daemon.end(0)
    os.truncate(key, 1 << 38)  # the start reads it for minutes
    for n_kills in (4, 5):
        daemon.manager.socket.close()
        os.unlink(place.path("never.notify"))
        daemon = Daemon(place, "never", serves=False, WATCHDOG_USEC="400000", **WITHOUT_HANDLERS)
        pid = daemon.wait_serving()
        check(daemon.manager.wait("WATCHDOG=1", 10) is not None, "no WATCHDOG=1 while it starts")
        for n in range(1, n_kills + 1):
            os.kill(pid, signal.SIGABRT)
            if n < n_kills:
                pid = daemon.wait_serving(but=pid)
        if n_kills == 4:
            daemon.wait_log("restart 4 in 1.6 s")
            daemon.end(0)
            has(daemon.log(), "ended while nothing served", "log")
        else:
            daemon.end(128 + signal.SIGABRT, None)
            has(daemon.log(), "given up after 5 starts, none of which was ready", "log")


def main():
    for test in (check_options, check_configuration, check_places, check_one_life, check_keys,
                 check_early_stop, check_hang, check_crash, check_guardian_dies,
                 check_never_ready):
        place = Place()
        test(place)
        place.close()
    place = Place()
    check_drain(place)
    check_drain_ends_jobs(place)
    place.close()
    print(f"{checks} checks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
