#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""prove --mem, --memory, --trace, --form, --residency, --b2 and --r1cs as their users meet them.

    test_memory_cli.py FOLDER PROOFMILL
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from memory_runs import ROOT, Checks, Run, circuits, prove

FOLDER, PROOFMILL = sys.argv[1], os.path.abspath(sys.argv[2])
DATA = os.path.join(ROOT, "test", "data")
OK, USAGE, BAD_INPUT, IO, MEMORY = 0, 2, 3, 4, 5
checks = Checks()


def data(name, extension):
    return os.path.join(DATA, name, f"{name}.{extension}")


def run(code, *arguments, quiet=False):
    """A run with files of circuit mult3 that must end with this code."""
    files = [data("mult3", "zkey"), data("mult3", "wtns"), "proof.json", "public.json"]
    result = Run(PROOFMILL, ["prove"] + files + list(arguments))
    case = " ".join(arguments)
    checks.expect(result.code == code, f"{case}: exit code {result.code}, not {code}: {result.err}")
    checks.expect(result.has_outputs() == [code == 0] * 2,
                  f"{case}: outputs {result.has_outputs()}")
    if code == 0 and quiet:
        checks.expect(result.err == "" and result.out == "", f"{case}: not silent: {result.err}")
    return result


def sizes_are_read():
    for good in ("2GiB", "512m", "1.5G", "1 GiB", "1000000000", "2gb", "64Mi", "0.5T", "100MB",
                 "67108864B"):
        run(OK, "--mem", good, quiet=True).clean()
    for bad in ("", "0", "-1", "1.5", "1X", "1GiBB", ".5G", "1.G", "1,5G", "0x10M", "99999999T",
                "18446744073709551616", "0.0000001K", " 1G", "1e9"):
        with run(USAGE, "--mem", bad) as result:
            checks.expect("--mem takes a size" in result.err, f"--mem {bad!r}: {result.err}")


def too_little_is_refused():
    with run(MEMORY, "--mem", "1M") as result:
        checks.expect("needs at least" in result.err
                      and "--mem allows 1.00 MiB (1048576 bytes)" in result.err,
                      f"no two numbers: {result.err}")
        checks.expect(result.err.count("\n") == 1, f"not one line: {result.err}")
    with run(MEMORY, "--mem", "1M", "--json") as result:
        error = result.json()["error"]
        checks.expect(error["have"] == 1 << 20 and error["need"] > 1 << 20,
                      f"need and have: {error}")
        checks.expect(result.json()["status"] == "OVER_BUDGET", result.out)
    with tempfile.TemporaryDirectory() as root:
        run(OK, "--system-root", root, quiet=True).clean()  # nothing is known, nothing bounds
        os.makedirs(root + "/proc")
        with open(root + "/proc/meminfo", "w", encoding="ascii") as file:
            file.write("MemTotal: 4096 kB\nMemAvailable: 1024 kB\n")
        with run(MEMORY, "--system-root", root) as result:
            checks.expect("MemAvailable leaves 973 KiB" in result.err,
                          f"what bounds is not named: {result.err}")
        run(OK, "--system-root", root, "--mem", "1G", quiet=True).clean()  # --mem overrides


def a_leaner_plan_is_told_of():
    circuit = next(c for c in circuits(FOLDER, "least") if not c.params)
    size = os.path.getsize(circuit.key)
    with prove(PROOFMILL, circuit, "--json", "--mem", str(size)) as result:
        checks.expect(result.code == OK, f"leaner: exit code {result.code}: {result.err}")
        told = "--mem allows" in result.err and "leaner" in result.err and "streamed" in result.err
        checks.expect(told, f"leaner: not told: {result.err}")
        checks.expect("streamed" in result.json().get("leaner_plan", ""),
                      "leaner: not in the JSON result")
    with prove(PROOFMILL, circuit, "--quiet", "--mem", str(size)) as result:
        checks.expect(result.code == OK and result.err == "", f"leaner, quiet: {result.err}")
    with prove(PROOFMILL, circuit, "--json", "--mem", "8G") as result:
        checks.expect("leaner" not in result.err and "leaner_plan" not in result.json(),
                      "needlessly leaner")


def choices_are_carried_out():
    for form, present in (("three", True), ("two", False)):
        with run(OK, "--json", "--memory", "--form", form) as result:
            buffers = [b["buffer"] for b in result.json()["memory"]["buffers"]]
            checks.expect(("c" in buffers) == present, f"--form {form}: {buffers}")
    for b2, step in (("start", None), ("later", None), ("copy", "keep b")):
        with run(OK, "--json", "--memory", "--b2", b2) as result:
            steps = [s["name"] for s in result.json()["memory"]["steps"]]
            checks.expect((step or "msm b2") in steps, f"--b2 {b2}: {steps}")
    for residency in ("keep", "stream", "any"):
        run(OK, "--residency", residency, quiet=True).clean()
    for option in ("--form", "--b2", "--residency"):
        run(USAGE, option, "seven").clean()


def the_table_has_every_line():
    with run(OK, "--json", "--memory") as result:
        memory = result.json()["memory"]
    with run(OK, "--memory") as result:
        table = result.err.splitlines()
    checks.expect(memory["divergences"] == 0, f"divergences: {memory['divergences']}")
    checks.expect(len(memory["buffers"]) > 5, f"buffers: {memory['buffers']}")
    for buffer in memory["buffers"]:
        name = buffer["buffer"]
        planned, measured = buffer["planned_bytes"], buffer.get("measured_bytes")
        checks.expect(planned == measured,
                      f"--memory: {name}: planned {planned}, measured {measured}")
        lines = [line for line in table if line.startswith(name + "  ")]
        checks.expect(len(lines) == 1 and lines[0].split().count(str(planned)) == 2,
                      f"--memory: no line of {name} in the table: {lines}")
        if "source" in buffer:
            checks.expect(buffer["measured_first_step"] == buffer["first_step"] and
                          buffer["measured_last_step"] == buffer["last_step"],
                          f"--memory: steps of {buffer}")
            path, line = buffer["source"].split(":")
            checks.expect(os.path.exists(os.path.join(ROOT, path)) and int(line) > 0,
                          f"--memory: source {buffer['source']}")
    for line in memory["unplanned"]:
        checks.expect(any(text.startswith(line["buffer"]) for text in table), f"--memory: {line}")
    checks.expect(any(line["buffer"] == "JSON of the outputs" for line in memory["unplanned"]),
                  "--memory: JSON")
    for step in memory["steps"]:
        checks.expect(step["planned_bytes"] == step["measured_bytes"], f"--memory: {step}")
    for pool in memory["pools"]:
        checks.expect(pool["planned_peak_bytes"] == pool["measured_peak_bytes"],
                      f"--memory: {pool}")


def check_trace(path):
    """The shape that Perfetto and chrome://tracing want, and what must be in it."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events, spans, live, counters = trace["traceEvents"], {}, {}, {}
    for event in events:
        checks.expect({"ph", "name", "pid", "tid"} <= set(event), f"--trace: {event}")
        checks.expect(event["ph"] in "MXCbe", f"--trace: phase of {event}")
        if event["ph"] == "M":
            continue
        checks.expect(isinstance(event["ts"], (int, float)) and event["ts"] >= 0,
                      f"--trace: time of {event}")
        if event["ph"] == "X":
            checks.expect(event["dur"] >= 0, f"--trace: {event}")
            spans[event["name"]] = (event["ts"], event["ts"] + event["dur"])
        elif event["ph"] == "C":
            checks.expect(list(event["args"]) == ["bytes"] and event["args"]["bytes"] >= 0,
                          f"--trace: {event}")
            counters.setdefault(event["name"], []).append(event["args"]["bytes"])
        else:
            change = 1 if event["ph"] == "b" else -1
            live[event["cat"], event["id"]] = live.get((event["cat"], event["id"]), 0) + change
            checks.expect(live[event["cat"], event["id"]] in (0, 1), f"--trace: ends of {event}")
    checks.expect(not any(live.values()), f"--trace: buffers that never end: {live}")
    checks.expect(counters["live: host"][-1] == 0 and max(counters["live: host"]) > 0,
                  "--trace: live bytes")
    for name in ("load key", "prove", "matrix products", "quotient", "msm h", "msm b2", "assembly"):
        checks.expect(name in spans, f"--trace: no span {name} in {list(spans)}")
    inside = [spans[n] for n in ("matrix products", "msm b2")]
    checks.expect(all(spans["prove"][0] <= a and b <= spans["prove"][1] for a, b in inside),
                  "--trace: order")


def traces_are_written():
    with run(OK, "--trace", "trace.json") as result:
        check_trace(result.path("trace.json"))
        checks.expect(sorted(os.listdir(result.folder)) == ["proof.json", "public.json",
                                                            "trace.json"],
                      f"--trace: {os.listdir(result.folder)}")
    with run(OK, "--trace", "-") as result:
        path = result.path("out.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(result.out)
        check_trace(path)
    run(USAGE, "--trace", "-", "--json").clean()
    run(USAGE, "--trace", data("mult3", "wtns")).clean()
    run(USAGE, "--trace", "a.json", "--trace", "b.json").clean()
    run(USAGE, "--trace", "").clean()
    run(IO, "--trace", "missing/trace.json").clean()
    with Run(PROOFMILL,
             ["prove", data("mult3", "zkey"), data("mult3", "wtns"), "same.json", "public.json",
                         "--trace", "same.json"]) as result:
        checks.expect(result.code == USAGE, f"two outputs in one: {result.code}")


def statistics_tell_bytes_a_constraint():
    with run(OK, "--json", "--stats") as result:
        stats = result.json()["stats"]
        phases = stats["phases_bytes_a_constraint"]
        checks.expect(set(phases) == set(stats["phases_ms"]) and phases["msm h"] > 0,
                      f"--stats: {phases}")
        checks.expect(stats["prove_peak_bytes"] == stats["prove_planned_peak_bytes"],
                      f"--stats: {stats}")
        checks.expect(stats["n_constraints"] > 0 and stats["divergences"] == 0, f"--stats: {stats}")
    with run(OK, "--stats") as result:
        checks.expect(result.err.count("bytes a constraint") > 5, f"--stats: {result.err}")


def parameter_files_are_proved_with():
    with tempfile.TemporaryDirectory() as folder:
        zkey, params = folder + "/key.zkey", folder + "/key.params"
        r1cs, wtns = data("mult3_bls", "r1cs"), data("mult3_bls", "wtns")
        for path, form in ((zkey, "zkey"), (params, "params")):
            subprocess.run([PROOFMILL, "setup", "-q", "--insecure-known-tau", "--format", form,
                            r1cs, path],
                           check=True)
        with Run(PROOFMILL,
                 ["prove", params, wtns, "--r1cs", r1cs, "--json", "--memory"]) as result:
            checks.expect(result.code == OK, f"params: exit code {result.code}: {result.err}")
            checks.expect(result.json()["curve"] == "bls12381" and result.json()["self_verified"],
                          result.out)
            vkey = result.path("vkey.json")
            subprocess.run([PROOFMILL, "export", "vkey", "-q", params, vkey], check=True)
            verdict = subprocess.run([PROOFMILL, "verify", "-q", vkey, result.path("public.json"),
                                      result.path("proof.json")], check=False)
            checks.expect(verdict.returncode == OK, f"params: its proof: {verdict.returncode}")
        renamed = folder + "/key"  # known by what it holds
        shutil.copy(params, renamed)
        for key, more, code, words in (
                (params, [], USAGE, "--r1cs"),
                (renamed, [], USAGE, "--r1cs"),
                (zkey, ["--r1cs", r1cs], USAGE, "zkey"),
                (params, ["--r1cs", data("one_bls", "r1cs")], BAD_INPUT, ""),
                (params, ["--r1cs", data("mult3", "r1cs")], BAD_INPUT, ""),
                (params, ["--r1cs", wtns], BAD_INPUT, ""),
                (params, ["--r1cs", folder + "/missing"], IO, "missing")):
            with Run(PROOFMILL, ["prove", key, wtns] + more) as result:
                case = f"{os.path.basename(key)} {' '.join(more)}"
                checks.expect(result.code == code,
                              f"{case}: exit code {result.code}, not {code}: {result.err}")
                checks.expect(words in result.err, f"{case}: {result.err}")
                checks.expect(result.has_outputs() == [False, False], f"{case}: outputs")


def options_belong_to_their_verbs():
    for option in (["--mem", "1G"], ["--memory"], ["--trace", "t.json"], ["--form", "two"],
                   ["--r1cs", "x"]):
        with Run(PROOFMILL, ["verify"] + option) as result:
            checks.expect(result.code == USAGE, f"verify {option}: exit code {result.code}")
    with Run(PROOFMILL, ["help", "prove"]) as result:
        for option in ("--mem SIZE", "--memory", "--trace FILE", "--form any|three|two",
                       "--r1cs FILE"):
            checks.expect(option in result.out, f"help: no {option}")
        checks.expect("--system-root" not in result.out, "help: an option for tests")


def main():
    sizes_are_read()
    too_little_is_refused()
    a_leaner_plan_is_told_of()
    choices_are_carried_out()
    the_table_has_every_line()
    traces_are_written()
    statistics_tell_bytes_a_constraint()
    parameter_files_are_proved_with()
    options_belong_to_their_verbs()
    checks.finish()


main()
