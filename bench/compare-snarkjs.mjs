// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// proofmill beside snarkjs: the same files, one after another, whole processes, best of a few runs.
// Beneath each proof its phases: measured, the floor that the multiplier sets, and their ratio, as
// proofmill-bench counts them for these very files (doc/performance.md).
//
//   node compare-snarkjs.mjs BUILD [FIXTURES [CIRCUIT...]]
//
// BUILD is a build folder with proofmill, proofmill-bench and make_known_ptau (powers of tau that
// anyone can forge with, which is enough for a measurement); FIXTURES has large/CIRCUIT.r1cs.xz and
// .wtns.xz.
// snarkjs comes from `npm ci` in test/interop, or from the node_modules named in PM_NODE_MODULES.
// Ends with 77 (skipped) when something is missing.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const build = path.resolve(process.argv[2] ?? path.join(here, "../build/release"));
const fixtures = path.resolve(
    process.argv[3] ?? process.env.PM_FIXTURES ?? path.join(here, "../../shared/fixtures"));
const circuits = process.argv.length > 4 ? process.argv.slice(4) : ["sha256_512", "merkle_17"];
const runs = 3;

function skip(reason) {
    console.log(`SKIP: ${reason}`);
    process.exit(77);
}

function locateSnarkjs() {
    const folders = [path.join(here, "../test/interop"), path.join(here, "../build/interop")];
    if (process.env.PM_NODE_MODULES) folders.push(path.dirname(process.env.PM_NODE_MODULES));
    try {
        return createRequire(import.meta.url).resolve("snarkjs", { paths: folders });
    } catch {
        return null;
    }
}

const snarkjsMain = locateSnarkjs();
const proofmill = path.join(build, "src/proofmill");
const proofmillBench = path.join(build, "bench/proofmill-bench");
const makeKnownPtau = path.join(build, "test/make_known_ptau");
if (!snarkjsMain) skip("snarkjs is not installed: run `npm ci` in test/interop");
for (const program of [proofmill, proofmillBench, makeKnownPtau]) {
    if (!fs.existsSync(program)) skip(`no program at ${program}`);
}
const snarkjsCli = path.join(path.dirname(snarkjsMain), "cli.cjs");
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "proofmill-compare-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
const inScratch = (name) => path.join(scratch, name);

function run(program, args) {
    const done = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 26 });
    if (done.status !== 0) {
        console.error(`${program} ${args.join(" ")}: ${done.stderr || done.stdout}`);
        process.exit(1);
    }
    return done.stdout;
}

function bestMs(nRuns, program, args) {
    let best = Infinity;
    for (let i = 0; i < nRuns; i++) {
        const started = process.hrtime.bigint();
        run(program, args);
        best = Math.min(best, Number(process.hrtime.bigint() - started) / 1e6);
    }
    return best;
}

function unpack(name) {
    const packed = path.join(fixtures, "large", `${name}.xz`);
    if (!fs.existsSync(packed)) skip(`no file ${packed}`);
    const out = fs.openSync(inScratch(name), "w");
    const done = spawnSync("xz", ["-dc", packed], { stdio: ["ignore", out, "inherit"] });
    fs.closeSync(out);
    if (done.status !== 0) skip(`xz cannot unpack ${packed}`);
    return inScratch(name);
}

function report(circuit, what, ours, theirs) {
    const columns = [circuit.padEnd(14), what.padEnd(8), ours.toFixed(0).padStart(12),
        theirs.toFixed(0).padStart(12), (theirs / ours).toFixed(1).padStart(8)];
    console.log(columns.join(" "));
}

// The same proof once more inside proofmill-bench, phase by phase.
function reportPhases(circuit, curve, zkey, wtns) {
    const rows = inScratch("rows.json");
    run(proofmillBench, ["--only", "circuit", "--curve", curve, "--key", zkey, "--witness", wtns,
        "--json", rows]);
    const { mulx_ns: mulx, madd52_ns: madd52, rows: all } = JSON.parse(fs.readFileSync(rows));
    const probe = all[0].body === "ifma"
        ? `52-bit multiply-add of eight lanes ${madd52.toFixed(3)} ns`
        : `64-bit multiplication ${mulx.toFixed(3)} ns`;
    console.log(`    ${circuit}, ${all[0].body}, ${all[0].threads} threads: ${probe}`);
    console.log(`    ${"phase".padEnd(20)} ${"wall ms".padStart(10)} ${"CPU ms".padStart(10)} ` +
        `${"floor ms".padStart(10)} ${"floor/wall".padStart(10)}`);
    const ms = (ns) => (ns === undefined ? "" : (ns / 1e6).toFixed(2)).padStart(10);
    for (const row of all.filter(({ part }) => part === "prove")) {
        const ratio = row.floor_ns === undefined ? "" : (row.floor_ns / row.ns).toFixed(3);
        console.log(`    ${row.what.padEnd(20)} ${ms(row.ns)} ${ms(row.cpu_ns)} ` +
            `${ms(row.floor_ns)} ${ratio.padStart(10)}`);
    }
}

function compare(circuit) {
    const curve = circuit.endsWith("_bls") ? "bls12_381" : "bn254";
    const r1cs = unpack(`${circuit}.r1cs`);
    const wtns = unpack(`${circuit}.wtns`);
    const ptau = inScratch("known.ptau");
    const ours = inScratch("ours.zkey");
    const theirs = inScratch("theirs.zkey");
    run(proofmill, ["setup", "--insecure-known-tau", r1cs, ours]);
    const power = /"log_n": *(\d+)/.exec(run(proofmill, ["info", "--json", ours]))[1];
    run(makeKnownPtau, [curve, power, ptau]);

    const ourSetup = bestMs(runs, proofmill, ["setup", r1cs, ptau, ours]);
    const node = (...args) => [snarkjsCli, ...args];
    const theirSetup = bestMs(1, process.execPath, node("groth16", "setup", r1cs, ptau, theirs));
    if (run("cmp", [ours, theirs]) !== "") process.exit(1);
    report(circuit, "setup", ourSetup, theirSetup);

    const proof = inScratch("proof.json");
    const publics = inScratch("public.json");
    const vkey = inScratch("vkey.json");
    const proving = ["prove", ours, wtns, proof, publics];
    const theirProve = bestMs(runs, process.execPath, node("groth16", ...proving));
    report(circuit, "prove", bestMs(runs, proofmill, proving), theirProve);
    reportPhases(circuit, curve, ours, wtns);

    run(proofmill, ["export", "vkey", ours, vkey]);
    const verifying = ["verify", vkey, publics, proof];
    const theirVerify = bestMs(runs, process.execPath, node("groth16", ...verifying));
    report(circuit, "verify", bestMs(runs, proofmill, verifying), theirVerify);
}

console.log(`${os.cpus().length} processors, load average ${os.loadavg()[0].toFixed(2)}, ` +
    "whole processes, ms; snarkjs's setup runs once");
console.log(`${"circuit".padEnd(14)} ${"what".padEnd(8)} ${"proofmill".padStart(12)} ` +
    `${"snarkjs".padStart(12)} ${"ratio".padStart(8)}`);
circuits.forEach(compare);
