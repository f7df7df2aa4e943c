#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The verbs that speak to a daemon, as their users meet them: a real proofmilld in a folder of its
# own, small keys and a long circuit that is made here.
# Usage: check_client.sh PROOFMILL PROOFMILLD
set -u
export LC_ALL=C TZ=UTC

proofmill=$(readlink -f "${1:?usage: check_client.sh PROOFMILL PROOFMILLD}")
proofmilld=$(readlink -f "${2:?usage: check_client.sh PROOFMILL PROOFMILLD}")
here=$(dirname "$(readlink -f "$0")")
data=$(readlink -f "$here/../data")
scratch=$(mktemp -d)
daemon=
end() {
    [ -n "$daemon" ] && kill -9 "$daemon" 2>/dev/null
    rm -rf "$scratch"
}
trap end EXIT
cd "$scratch" || exit 1
# The resolver behind gRPC keeps a few bytes for ever, which sanitizers tell.
echo "leak:libcares" >leaks
export LSAN_OPTIONS=suppressions=$scratch/leaks:print_suppressions=0
unset PROOFMILL_ADDRESS
n_checks=0
n_failed=0

begin() { echo "-- $*"; }
fail() {
    n_failed=$((n_failed + 1))
    echo "FAIL: $*"
    sed 's/^/    out: /' out 2>/dev/null | head -5 | cut -c 1-300
    sed 's/^/    err: /' err 2>/dev/null | head -5 | cut -c 1-300
}
# run EXPECTED_CODE ARGUMENTS...: stdout to `out`, stderr to `err`.
run() {
    local expected=$1 code
    shift
    n_checks=$((n_checks + 1))
    timeout 120 "$proofmilld" "$@" >out 2>err </dev/null
    code=$?
    [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: $*"
}
expect() {
    local what=$1
    shift
    n_checks=$((n_checks + 1))
    "$@" || fail "$what"
}
# says TEXT, tells TEXT: that stand in stderr, in stdout.
says() { expect "stderr does not say: $1" grep -qF -- "$1" err; }
tells() { expect "stdout does not tell: $1" grep -qF -- "$1" out; }
is_silent() {
    n_checks=$((n_checks + 1))
    if [ -s out ] || [ -s err ]; then fail "is not silent"; fi
}
# json_is FILE EXPRESSION: one line of JSON, j, for which the expression holds.
json_is() {
    n_checks=$((n_checks + 1))
    python3 - "$1" "$2" <<'P' || fail "JSON is not so: $2"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
j = json.loads(lines[0])
sys.exit(0 if eval(sys.argv[2]) else 1)
P
}
# verifies FOLDER PROOF PUBLIC
verifies() {
    n_checks=$((n_checks + 1))
    "$proofmill" verify "$data/$1/vkey.json" "$3" "$2" >out 2>err || fail "$2 does not verify"
}

# Below those that the kernel gives to whoever connects somewhere meanwhile.
free_port() {
    python3 - <<'P'
import random, socket
while True:
    port = random.randrange(10240, 32000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
P
}

# start ARGUMENTS...: a daemon that answers at $PROOFMILL_ADDRESS.
start() {
    "$proofmilld" serve --status-listen "" --devices cpu --state-dir "$scratch/state" "$@" \
        >daemon.log 2>&1 </dev/null &
    daemon=$!
    for _ in $(seq 300); do
        "$proofmilld" status >out 2>err </dev/null && return
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.1
    done
    echo "the daemon does not start:"
    cat daemon.log
    exit 1
}
stop() {
    local code
    kill -TERM "$daemon"
    wait "$daemon"
    code=$?
    daemon=
    n_checks=$((n_checks + 1))
    [ "$code" = 0 ] || { fail "the daemon ends with $code"; cat daemon.log; }
}

# ----------------------------------------------------------------------------------------------

begin "a circuit that takes a while"
python3 - <<'P'
# x 1 = y1, y1 1 = y2, ...: 2^15 rows, one public signal, and values as large as they come.
import struct
p = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001
n_rows = (1 << 15) - 4
n_wires = n_rows + 2
field = struct.pack("<I", 32) + p.to_bytes(32, "little")
one = (1).to_bytes(32, "little")
term = lambda wire: struct.pack("<II", 1, wire) + one
header = field + struct.pack("<IIIIQI", n_wires, 0, 1, 0, n_wires, n_rows)
rows = b"".join(term(i + 1) + term(0) + term(i + 2) for i in range(n_rows))
labels = b"".join(struct.pack("<Q", i) for i in range(n_wires))
section = lambda kind, body: struct.pack("<IQ", kind, len(body)) + body
with open("long.r1cs", "wb") as f:
    f.write(b"r1cs" + struct.pack("<II", 1, 3) + section(1, header) + section(2, rows) +
            section(3, labels))
value = (p - 12345).to_bytes(32, "little")
with open("long.wtns", "wb") as f:
    f.write(b"wtns" + struct.pack("<II", 2, 2) + section(1, field + struct.pack("<I", n_wires)) +
            section(2, one + value * (n_wires - 1)))
P
"$proofmill" -q setup --insecure-known-tau long.r1cs long.zkey || exit 1
# A job that is under way for long enough to be looked at.
long_job=$(printf 'long.wtns %.0s' $(seq 100))

begin "without a daemon"
export PROOFMILL_ADDRESS=unix://$scratch/no.sock
run 4 status
says "no daemon answers at unix://$scratch/no.sock: there is no such socket"
says "proofmill serve"
run 4 status --json
json_is out 'j["status"] == "IO" and j["exit_code"] == 4 and "serve" in j["error"]["hint"]'
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("stale.sock")'
run 4 jobs --address "unix://$scratch/stale.sock"
says "Connection refused"
run 4 status --address "127.0.0.1:$(free_port)"
says "proofmill serve"
run 4 top
env -u PROOFMILL_ADDRESS XDG_RUNTIME_DIR="$scratch" "$proofmilld" jobs >out 2>err
expect "the default address" test $? = 4
says "no daemon answers at unix://"

begin "a daemon that is just starting"
# The client has patience for three seconds, and a busy machine may take longer to start a daemon.
for _ in 1 2 3 4 5; do
    : >err
    "$proofmilld" jobs --address "unix://$scratch/late.sock" >out 2>err </dev/null &
    asking=$!
    while ! grep -q "it may be starting" err && kill -0 "$asking" 2>/dev/null; do sleep 0.05; done
    "$proofmilld" serve --status-listen "" --devices cpu --state-dir "$scratch/late" \
        --listen "unix://$scratch/late.sock" --budget 512MiB >daemon.log 2>&1 </dev/null &
    daemon=$!
    wait "$asking"
    code=$?
    [ "$code" = 0 ] && break
    "$proofmilld" status --address "unix://$scratch/late.sock" >/dev/null 2>&1 </dev/null
    stop
done
expect "it is waited for" test "$code" = 0
says "it may be starting"
stop

begin "command lines"
run 2 key
says "proofmill key --help"
run 0 key --help
tells "proofmill key evict NAME"
expect "help of key has no other verbs" test "$(grep -c "submit" out)" = 0
run 2 submit onlykey
run 2 jobs --wait
says "does not belong to"
run 2 status --address nowhere
says "HOST:PORT"
run 2 status --address dns:///x:1
run 2 status --tls-ca ca.pem
says "TLS is for TCP"
run 2 await 1 --timeout x --json
json_is out 'j["status"] == "INVALID_ARGUMENT" and j["exit_code"] == 2'
for verb in submit await watch cancel jobs status top "key list" "key add" "key load" "key evict" \
    "key forget" "key plan" "device restore"; do
    # shellcheck disable=SC2086
    run 0 $verb --help
    tells "Usage: proofmill $verb"
    tells "--address"
done

port=$(free_port)
export PROOFMILL_ADDRESS=unix://$scratch/d.sock
# One thread and one worker: the long job takes long on every machine.
printf '[gpus]\ngpu_threads = 1\ngpu_workers_per_device = 1\n' >one.toml
start --config one.toml --listen "$PROOFMILL_ADDRESS" --listen "127.0.0.1:$port" --budget 2GiB \
    --key mult3="$data/mult3/mult3.zkey"

begin "keys"
cp "$data/own_mimc/own_mimc.zkey" mimc.zkey
run 0 key add mimc mimc.zkey
tells "mimc: bn128, 2^11"
run 0 key add one "$data/one_bls/one_bls.zkey" --check full --json
json_is out 'j["name"] == "one" and j["curve"] == "CURVE_BLS12_381" and len(j["digest"]) == 128'
run 0 key add long long.zkey --digest "$(b2sum long.zkey | cut -c 1-128)"
run 3 key add broken long.wtns
run 0 key list
tells "mult3"
tells "$scratch/mimc.zkey"
run 0 key list --json
json_is out '[k["name"] for k in j["keys"]] == ["mult3", "mimc", "one", "long"]'
json_is out 'j["status"] == "OK" and j["exit_code"] == 0'
run 0 key load mimc
tells "mimc is in memory"
run 0 key load mimc --json
json_is out 'j["already_loaded"] is True'
run 0 key evict mimc
tells "mimc is out of memory"
run 0 key evict mimc --json
json_is out 'j["was_loaded"] is False and j["freed_bytes"] == 0'
run 0 key plan long
tells "STEP"
run 0 key plan long --device cpu --json
json_is out 'j["device"] == "cpu" and all(s["host_bytes"] > 0 for s in j["steps"]) and j["steps"]'
# A key whose file has gone: the same exit code whoever meets it first.
cp "$data/own_mimc/own_mimc.zkey" gone.zkey
run 0 key add gone gone.zkey
rm gone.zkey
run 4 key load gone
run 4 submit gone "$data/own_mimc/own_mimc.wtns" --wait
run 4 key load gone
run 0 key forget gone
run 2 key plan nobody
run 2 key plan long --device cuda:9
for verb in load evict forget; do
    run 2 key $verb nobody
    says "nobody"
done
run 0 key load mimc --quiet
is_silent
run 0 key list --quiet -v
tells "mimc"
run 0 status -v
says "the daemon is asked at unix://$scratch/d.sock"
run 0 key forget one
is_silent
run 2 key load one
run 2 device restore cuda:9
run 0 device restore cpu
tells "cpu had not been given up"

begin "a proof by path, and the same job by bytes"
run 0 submit mimc "$data/own_mimc/own_mimc.wtns" --request-id first --priority high
job=$(cat out)
expect "a number" test "$job" -gt 0
run 0 await "$job" --proof p.json --public u.json
tells "job $job: done"
verifies own_mimc p.json u.json
expect "public signals" cmp u.json "$data/own_mimc/public.json"
run 0 submit mimc "$data/own_mimc/own_mimc.wtns" --request-id first --upload
expect "the same job" test "$(cat out)" = "$job"
says "this request id is known"
run 0 submit mimc "$data/own_mimc/own_mimc.wtns" --request-id first --json
json_is out "j['job'] == $job and j['known'] is True and j['status'] == 'OK'"
run 3 submit mult3 "$data/mult3/mult3.wtns" --request-id first
run 0 await first --json
json_is out "j['job']['job'] == $job and j['job']['state'] == 'JOB_STATE_DONE'"
json_is out "len(j['proofs']) == 1"
python3 -c 'import json
open("p2.json", "w").write(json.load(open("out"))["proofs"][0]["proof_json"])'
expect "the same proof" cmp p.json p2.json
run 0 await "$job" --proof - --quiet
expect "the proof on stdout" cmp out p.json

begin "bytes, over the socket, TCP and standard input"
run 0 submit mimc "$data/own_mimc/own_mimc.wtns" --upload --wait --proof a.json --public b.json
verifies own_mimc a.json b.json
run 0 submit mimc "$data/own_mimc/own_mimc.wtns" --address "127.0.0.1:$port" --wait \
    --proof c.json --public d.json --json
json_is out 'j["job"]["key"] == "mimc" and j["known"] is False'
verifies own_mimc c.json d.json
expect "public signals" cmp d.json "$data/own_mimc/public.json"
n_checks=$((n_checks + 1))
"$proofmilld" submit long - --upload --wait --proof e.json --public f.json <long.wtns >out 2>err ||
    fail "standard input"
"$proofmill" -q export vkey long.zkey long.vkey.json || fail "export vkey"
"$proofmill" verify long.vkey.json f.json e.json >out 2>err || fail "e.json does not verify"
mkfifo pipe
cat long.wtns >pipe &
run 0 submit long pipe --upload --wait --proof e.json --public f.json
"$proofmill" verify long.vkey.json f.json e.json >out 2>err || fail "a FIFO's does not verify"
run 2 submit long -
says "--upload"
run 2 submit long - - --upload
run 2 submit mimc relative.wtns --address "127.0.0.1:$port" --upload --proof x.json
run 2 key add other relative.zkey --address "127.0.0.1:$port"
says "absolute path"
run 2 key add other "$scratch/long.zkey" --address "127.0.0.1:$port"
says "unix socket"

begin "several parts"
w=$data/own_mimc/own_mimc.wtns
run 0 submit mimc "$w" "$w" "$w" --wait --proof part.json --public out.d --timeout 60
for i in 0 1 2; do verifies own_mimc part-$i.json out-$i.d; done
expect "no file without a number" test ! -e part.json
run 2 submit mimc "$w" "$w" --wait --proof -
run 2 await "$job" --proof - --public -
run 2 await "$job" --proof - --json

begin "what goes wrong"
cp "$w" mine.wtns
run 2 submit mimc mine.wtns --wait --proof mine.wtns
says "mine.wtns"
expect "the witness is as it was" cmp mine.wtns "$w"
run 4 submit mimc mine.wtns --wait --proof no/where.json
run 2 submit nobody mine.wtns
run 4 submit mimc missing.wtns
run 4 submit mimc missing.wtns --upload
: >empty.wtns
run 3 submit mimc empty.wtns --upload
run 3 submit mimc mimc.zkey
run 3 submit mimc "$data/one/one.wtns" --wait
says "has failed"
says "the same again would fail again"
run 3 submit mimc "$data/one/one.wtns" --wait --json
json_is out 'j["status"] == "WITNESS_MISMATCH" and j["job"]["error_is_permanent"] is True'
python3 - "$data/own_mimc/own_mimc.wtns" <<'P'
import sys
bytes = bytearray(open(sys.argv[1], "rb").read())
bytes[-32] ^= 1
open("wrong.wtns", "wb").write(bytes)
P
run 7 submit mimc wrong.wtns --wait --proof never.json
expect "no proof" test ! -e never.json
for verb in await watch cancel; do
    run 2 $verb 99999
    run 2 $verb nobody --json
    json_is out 'j["status"] == "NOT_FOUND" and j["exit_code"] == 2'
done

begin "a job that takes a while"
# shellcheck disable=SC2086
run 0 submit long $long_job --request-id slow
slow=$(cat out)
run 0 jobs
tells "slow"
run 0 jobs --json
json_is out "[x['job'] for x in j['jobs']] == [$slow] and j['jobs'][0]['n_parts'] == 100"
run 9 await slow --timeout 0.2
says "the job goes on: \`proofmill await slow\`"
run 9 watch "$slow" --timeout 0.2
# Into a file: each state, and progress each second at most.
run 9 watch "$slow" --timeout 2.5
expect "watch says too much" test "$(wc -l <out)" -le 6
tells "job $slow: "
run 5 key evict long
run 5 key forget long
run 0 status
tells "1 running"
run 0 top
tells "#$slow"
run 0 top --json
json_is out 'j["jobs"][0]["key"] == "long" and j["daemon"]["n_running"] == 1'
run 0 submit mult3 "$data/mult3/mult3.wtns" --wait --priority critical

begin "Ctrl-C ends the wait alone"
cat >interrupt.py <<'P'
"""interrupt.py CODE SIGNAL WORD...: runs it, sends the signal once it waits; expects the code."""
import json, re, signal, subprocess, sys, time
code, name, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
number = getattr(signal, name)
child = subprocess.Popen(words, stdout=open("out", "wb"), stderr=open("err", "wb"),
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def is_caught():
    with open("/proc/%d/status" % child.pid) as status:
        return int(re.search("^SigCgt:\\s+(\\w+)", status.read(), re.M)[1], 16) >> number - 1 & 1


def has_job():
    jobs = subprocess.run([words[0], "jobs", "--json"], stdout=subprocess.PIPE).stdout
    return any(job["request_id"] == words[-1] for job in json.loads(jobs)["jobs"])


end = time.monotonic() + 60
while not (is_caught() and ("--wait" not in words or has_job())) and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.7)
begin = time.monotonic()
child.send_signal(number)
if child.wait(60) != code or time.monotonic() - begin > 30:
    print("ended with", child.returncode, "after", time.monotonic() - begin)
    sys.exit(1)
P
expect "await" python3 interrupt.py 130 SIGINT "$proofmilld" await slow
says "stopped by SIGINT; the job goes on: \`proofmill await slow\`"
expect "await --json" python3 interrupt.py 143 SIGTERM "$proofmilld" await "$slow" --json
json_is out 'j["status"] == "CANCELLED" and j["exit_code"] == 143'
expect "watch" python3 interrupt.py 130 SIGINT "$proofmilld" watch "$slow" --json
expect "lines of JSON" python3 -c 'import json
for line in open("out"): assert json.loads(line)'
expect "submit --wait" python3 interrupt.py 130 SIGINT "$proofmilld" submit long long.wtns --wait \
    --priority low --request-id slow2
says "the job goes on"
mkfifo nobody
expect "submit --upload" python3 interrupt.py 143 SIGTERM "$proofmilld" submit long nobody \
    --upload
says "stopped by SIGTERM"
run 0 cancel slow2 --json
json_is out '"was_running" in j and j["state"].startswith("JOB_STATE_")'
run 10 await slow2
says "was cancelled"
run 0 cancel "$slow"
run 10 await "$slow" --json
json_is out 'j["status"] == "CANCELLED" and j["job"]["state"] == "JOB_STATE_CANCELLED"'
run 10 watch slow
tells "job $slow: cancelled"
run 0 cancel "$slow"
tells "is cancelled"
run 0 cancel first
tells "had ended before: done"
run 0 jobs
is_done() { [ ! -s out ] && grep -q "no job is open" err; }
expect "no job is open" is_done
run 0 jobs --all
tells "cancelled"
run 0 jobs --all --json
json_is out "len(j['jobs']) >= 10 and len(set(x['job'] for x in j['jobs'])) == len(j['jobs'])"
run 0 watch "$job" --json
json_is out 'j["state"] == "JOB_STATE_DONE"'
# shellcheck disable=SC2086
run 9 submit long $long_job --timeout 0.3 --wait
says "has failed"

begin "on a terminal"
cat >on_terminal.py <<'P'
"""on_terminal.py PROOFMILLD: its verbs on a pseudo-terminal, as a shell's jobs."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

program, failures = sys.argv[1], 0
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def expect(what, holds):
    global failures
    if not holds:
        failures += 1
        print("FAIL on the terminal:", what)


class Job:
    """A command in a process group of its own, in the foreground, below a leader of the session:
    otherwise nobody could continue it and Ctrl-Z would not stop it."""

    def __init__(self, *words, size=(30, 120)):
        # The slave stays open here, so that the terminal outlives the command.
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        news, tell = os.pipe()
        self.news = news
        leader = os.fork()
        if leader == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(self.slave, os.getpgrp())
                for fd in (0, 1, 2):
                    os.dup2(self.slave, fd)
                for number in (signal.SIGTTOU, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                os.execv(program, [program, *words])
            os.write(tell, b"%d\n" % child)
            while True:
                _, status = os.waitpid(child, os.WUNTRACED)
                os.write(tell, b"%d\n" % status)
                if not os.WIFSTOPPED(status):
                    os._exit(0)
        os.close(tell)
        self.leader = leader
        self.pid = self.told()

    def told(self):
        """The next number from the leader: the child, then each of its statuses."""
        text, end = b"", time.monotonic() + 120
        while not text.endswith(b"\n"):
            self.read(0.02)
            if select.select([self.news], [], [], 0.02)[0]:
                text += os.read(self.news, 1)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise SystemExit("FAIL on the terminal: it does not end")
        return int(text)

    def read(self, patience):
        while select.select([self.master], [], [], patience)[0]:
            try:
                self.output += os.read(self.master, 65536)
            except OSError:
                return
            patience = 0

    def until(self, what, begin=0):
        """Where the text ends; it is waited for."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.read(0.05)
            at = self.output.find(what, begin)
            if at >= 0:
                return at + len(what)
        expect("%r does not appear in %r" % (what, self.output[begin:][-300:]), False)
        return len(self.output)

    def type(self, keys):
        os.write(self.master, keys)

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def forget(self):
        os.waitpid(self.leader, 0)
        for fd in (self.master, self.slave, self.news):
            os.close(fd)

    def ended(self):
        status = self.told()
        self.read(0.05)
        self.forget()
        return status

    def close(self, what, code):
        """It ends like this, with the terminal as it was."""
        status = self.told()
        self.read(0.05)
        expect(what + ": the terminal is not restored", self.is_restored())
        expect(what + ": no way back from the alternate screen",
               self.output.rfind(LEAVE) > self.output.rfind(ENTER))
        got = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        expect("%s: ended with %d, not %d" % (what, got, code), got == code)
        self.forget()


def frames(output, n_columns):
    """Every line of every frame fits."""
    for frame in re.findall(rb"\x1b\[H(.*?)\x1b\[J", output, re.S):
        for line in frame.replace(b"\x1b[K", b"").replace(b"\r", b"").split(b"\n"):
            if len(line) >= n_columns:
                return False
    return True


def top_ends_by(what, end, code):
    job = Job("top")
    job.until(b"MEMORY")
    expect(what + ": keys are echoed", not job.is_restored())
    end(job)
    job.close(what, code)


top_ends_by("q", lambda job: job.type(b"q"), 0)
top_ends_by("Ctrl-C", lambda job: job.type(b"\x03"), 0)
top_ends_by("SIGTERM", lambda job: os.kill(job.pid, signal.SIGTERM), 143)
top_ends_by("SIGHUP", lambda job: os.kill(job.pid, signal.SIGHUP), 129)
top_ends_by("a fault", lambda job: os.kill(job.pid, signal.SIGABRT), -signal.SIGABRT)

job = Job("top")
job.until(b"MEMORY")
job.type(b"\x1a")
expect("Ctrl-Z does not stop it", os.WIFSTOPPED(job.told()))
job.read(0.1)
expect("stopped: the terminal is not restored", job.is_restored())
expect("stopped: the screen is not restored", job.output.rfind(LEAVE) > job.output.rfind(ENTER))
at = len(job.output)
os.kill(job.pid, signal.SIGCONT)
at = job.until(ENTER, at)
job.until(b"MEMORY", at)
expect("continued: keys are echoed", not job.is_restored())
fcntl.ioctl(job.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 9, 40, 0, 0))
job.read(0)  # frames from before, which were not read yet
at = len(job.output)
at = job.until(b"\x1b[J", job.until(b"\x1b[H", at))
begin = len(job.output)
job.until(b"\x1b[J", job.until(b"\x1b[H", begin))
expect("lines do not fit a smaller terminal", frames(job.output[begin:], 40))
expect("lines do not fit", frames(job.output[:begin], 120))
job.type(b"q")
job.close("Ctrl-Z", 0)

# Daemons come and go.
job = Job("top", "--address", "unix:///nowhere/at.all")
job.close("no daemon", 4)
expect("no daemon: a sentence", b"no daemon answers" in job.output.rsplit(LEAVE, 1)[1])

# A wait is shown, and leaves nothing.
job = Job("submit", "long", *["long.wtns"] * 6, "--wait")
job.until(b"job ")
job.until(b"proving")
status = job.ended()
expect("submit --wait: ended with %d" % status, status == 0)
expect("submit --wait: the line stays", re.search(rb"\r\x1b\[Kjob \d+: done", job.output))
job = Job("submit", "long", *["long.wtns"] * 3, "--upload")
status = job.ended()
expect("submit --upload: ended with %d" % status, status == 0)
expect("submit --upload: no progress", b"sending" in job.output and b"100 %" in job.output)
sys.exit(failures != 0)
P
expect "verbs on a terminal" python3 on_terminal.py "$proofmilld"

begin "a daemon that goes away while somebody waits"
# shellcheck disable=SC2086
run 0 submit long $long_job --request-id later
# Who waits has a connection, a descriptor of the daemon. The kernel shows those to root alone.
# The process that serves is the daemon's child, and dies with it.
serving=$(cut -d ' ' -f 1 "/proc/$daemon/task/$daemon/children")
n_descriptors() { find "/proc/$serving/fd" -mindepth 1 2>/dev/null | wc -l; }
sleep 0.5
before=$(n_descriptors)
"$proofmilld" await later >out 2>err </dev/null &
waiter=$!
for _ in $(seq 100); do
    [ "$before" = 0 ] || [ "$(n_descriptors)" -gt "$before" ] && break
    sleep 0.1
done
sleep 1
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
# A leader that has ended may wait for its parent; its last other thread closes the files.
while grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$serving/status" 2>/dev/null ||
    [ "$(find "/proc/$serving/task" -maxdepth 1 -mindepth 1 2>/dev/null | wc -l)" -gt 1 ]; do
    sleep 0.05
done
wait $waiter
expect "exit code of a wait without a daemon" test $? = 4
says "the daemon at unix://$scratch/d.sock"
says "once there is a daemon again, \`proofmill await later\` waits for the job"
start --config one.toml --listen "$PROOFMILL_ADDRESS" --budget 2GiB
run 0 cancel later
run 10 await later
stop

begin "TLS"
if command -v openssl >/dev/null; then
    make_certificate() { # NAME ISSUER
        openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" &&
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >"$1.ext" &&
            openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 \
                -extfile "$1.ext" -out "$1.pem"
    }
    for ca in ca stranger; do
        openssl req -x509 -newkey rsa:2048 -nodes -keyout $ca.key -out $ca.pem -days 2 \
            -subj "/CN=$ca" 2>/dev/null || fail "openssl"
    done
    make_certificate server ca 2>/dev/null || fail "openssl"
    make_certificate client ca 2>/dev/null || fail "openssl"
    make_certificate other stranger 2>/dev/null || fail "openssl"
    port=$(free_port)
    cat >tls.toml <<T
[daemon]
listen = ["$PROOFMILL_ADDRESS", "127.0.0.1:$port"]
[tls]
certificate = "$scratch/server.pem"
key = "$scratch/server.key"
client_ca = "$scratch/ca.pem"
T
    start --config tls.toml --budget 2GiB
    tls="--address localhost:$port --tls-ca ca.pem"
    # shellcheck disable=SC2086
    {
        run 0 status $tls --tls-certificate client.pem --tls-key client.key
        run 0 submit mimc "$w" $tls --tls-certificate client.pem --tls-key client.key --wait \
            --proof t.json --public v.json
        verifies own_mimc t.json v.json
        run 4 status $tls
        says "--tls-certificate and --tls-key"
        run 4 status $tls --tls-certificate other.pem --tls-key other.key
        run 4 status --address "localhost:$port" --tls-ca stranger.pem \
            --tls-certificate client.pem --tls-key client.key
        run 4 status --address "localhost:$port" --timeout 10
        run 4 status $tls --tls-certificate missing.pem --tls-key client.key
        says "missing.pem"
        run 3 status $tls --tls-certificate long.wtns --tls-key empty.wtns
    }
    stop
else
    echo "   there is no openssl: left out"
fi

echo "$n_checks checks, $n_failed failed"
[ "$n_failed" = 0 ]
