// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// proofmill against snarkjs, each judging what the other made.
//
//   node interop.mjs PROOFMILL [FIXTURES]
//
// snarkjs and the Semaphore keys come from `npm ci` in this folder, or from the node_modules named
// in PM_NODE_MODULES. Ends with 77 (skipped) when snarkjs is missing.

import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const proofmill = path.resolve(process.argv[2] ?? process.env.PM_PROOFMILL ?? "proofmill");
const fixtures = path.resolve(
    process.argv[3] ?? process.env.PM_FIXTURES ?? path.join(here, "../../../shared/fixtures"));
const require = createRequire(import.meta.url);

function skip(reason) {
    console.log(`SKIP: ${reason}`);
    process.exit(77);
}

function locate(module) {
    const folders = [here];
    if (process.env.PM_NODE_MODULES) folders.push(path.dirname(process.env.PM_NODE_MODULES));
    try {
        return require.resolve(module, { paths: folders });
    } catch {
        return null;
    }
}

const snarkjsMain = locate("snarkjs");
const semaphoreVkey = locate("@zk-kit/semaphore-artifacts/semaphore-1.json");
if (!fs.existsSync(proofmill)) skip(`no program at ${proofmill}`);
if (!snarkjsMain) skip("snarkjs is not installed: run `npm ci` in test/interop");

const snarkjs = require(snarkjsMain);
const snarkjsCli = path.join(path.dirname(snarkjsMain), "cli.cjs");
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "proofmill-interop-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));

let nChecks = 0;
let nFailed = 0;
let nSkipped = 0;

function leaveOut(what) {
    nSkipped++;
    console.log(`SKIP: ${what}`);
}

function check(condition, what) {
    nChecks++;
    if (!condition) {
        nFailed++;
        console.log(`FAIL: ${what}`);
    }
}

const readJson = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
const inScratch = (name) => path.join(scratch, name);

// ---------------------------------------------------------------------------------------------
// The two programs
// ---------------------------------------------------------------------------------------------

const EXIT_VALID = 0;
const EXIT_INVALID = 1;
const EXIT_MALFORMED = 3;

function ourVerdict(vkeyFile, publicSignals, proof) {
    const publicFile = inScratch("verdict.public.json");
    const proofFile = inScratch("verdict.proof.json");
    fs.writeFileSync(publicFile, JSON.stringify(publicSignals));
    fs.writeFileSync(proofFile, JSON.stringify(proof));
    return spawnSync(proofmill, ["verify", vkeyFile, publicFile, proofFile]).status;
}

// A point off the curve makes some of snarkjs's curves throw: refused all the same.
async function theirVerdict(vkey, publicSignals, proof) {
    try {
        return await snarkjs.groth16.verify(vkey, publicSignals, proof);
    } catch {
        return false;
    }
}

// Wall time and peak resident memory of a program, through time(1) where there is one.
const timeProgram = ["/usr/bin/time", "/bin/time"].find((file) => fs.existsSync(file));

function measured(program, args) {
    const report = inScratch("time");
    const started = process.hrtime.bigint();
    const run = timeProgram
        ? spawnSync(timeProgram, ["-f", "%M", "-o", report, program, ...args])
        : spawnSync(program, args);
    const ms = Number(process.hrtime.bigint() - started) / 1e6;
    const kib = timeProgram
        ? Number(fs.readFileSync(report, "utf8").trim().split("\n").pop())
        : NaN;
    return { ok: run.status === 0, ms, mib: kib / 1024, stderr: String(run.stderr) };
}

// ---------------------------------------------------------------------------------------------
// One circuit
// ---------------------------------------------------------------------------------------------

const flipped = (decimal) => (BigInt(decimal) ^ 1n).toString();

// Every coordinate of the proof, and the first and last public signal, with a bit flipped.
function* damaged(proof, publicSignals) {
    const places = [["pi_a", 0], ["pi_a", 1], ["pi_b", 0, 0], ["pi_b", 0, 1], ["pi_b", 1, 0],
        ["pi_b", 1, 1], ["pi_c", 0], ["pi_c", 1]];
    for (const place of places) {
        const copy = structuredClone(proof);
        const inner = place.slice(0, -1).reduce((value, key) => value[key], copy);
        inner[place.at(-1)] = flipped(inner[place.at(-1)]);
        yield { what: place.join(","), proof: copy, publicSignals };
    }
    for (const i of new Set([0, publicSignals.length - 1])) {
        const copy = [...publicSignals];
        copy[i] = flipped(copy[i]);
        yield { what: `public ${i}`, proof, publicSignals: copy };
    }
}

const table = [];

// `given` holds public.json and a proof of snarkjs's when the fixture has them.
async function circuit(name, zkeyFile, wtnsFile, vkeyFile, given) {
    const proofFile = inScratch("proof.json");
    const publicFile = inScratch("public.json");
    const ours = measured(proofmill, ["prove", zkeyFile, wtnsFile, proofFile, publicFile]);
    check(ours.ok, `${name}: proofmill prove: ${ours.stderr}`);
    if (!ours.ok) return;
    const vkey = readJson(vkeyFile);
    const proof = readJson(proofFile);
    const publicSignals = readJson(publicFile);

    check(await theirVerdict(vkey, publicSignals, proof), `${name}: our proof, their verdict`);
    check(ourVerdict(vkeyFile, publicSignals, proof) === EXIT_VALID, `${name}: our proof, ours`);

    const theirProofFile = inScratch("their.proof.json");
    const theirPublicFile = inScratch("their.public.json");
    const theirs = measured(process.execPath, [snarkjsCli, "groth16", "prove", zkeyFile, wtnsFile,
        theirProofFile, theirPublicFile]);
    check(theirs.ok, `${name}: snarkjs groth16 prove: ${theirs.stderr}`);
    check(fs.readFileSync(publicFile).equals(fs.readFileSync(theirPublicFile)),
        `${name}: public.json is snarkjs's to the byte`);
    check(ourVerdict(vkeyFile, readJson(theirPublicFile), readJson(theirProofFile)) === EXIT_VALID,
        `${name}: their fresh proof, our verdict`);
    if (given) {
        check(fs.readFileSync(publicFile).equals(fs.readFileSync(given.publicFile)),
            `${name}: public.json is the fixture's to the byte`);
        check(ourVerdict(vkeyFile, readJson(given.publicFile), readJson(given.proofFile)) ===
            EXIT_VALID, `${name}: the fixture's proof, our verdict`);
    }
    for (const bad of damaged(proof, publicSignals)) {
        const code = ourVerdict(vkeyFile, bad.publicSignals, bad.proof);
        const allowed = bad.what.startsWith("public") ? [EXIT_INVALID]
            : [EXIT_INVALID, EXIT_MALFORMED];
        check(allowed.includes(code), `${name}: flipped ${bad.what}: our exit code is ${code}`);
        check(!(await theirVerdict(vkey, bad.publicSignals, bad.proof)),
            `${name}: flipped ${bad.what}: snarkjs takes it`);
    }
    exportedKey(name, zkeyFile, vkey);
    if (given) exportedWholeKey(name, zkeyFile);
    table.push({ name, ours, theirs });
}

function exportedKey(name, zkeyFile, vkey) {
    const file = inScratch("vkey.json");
    execFileSync(proofmill, ["export", "vkey", zkeyFile, file]);
    check(JSON.stringify(readJson(file)) === JSON.stringify(vkey),
        `${name}: the exported key is that of the fixture`);
}

function exportedWholeKey(name, zkeyFile) {
    const ours = inScratch("key.json");
    const theirs = inScratch("their.key.json");
    execFileSync(proofmill, ["export", "json", zkeyFile, ours]);
    execFileSync(process.execPath, [snarkjsCli, "zkey", "export", "json", zkeyFile, theirs]);
    check(fs.readFileSync(ours).equals(fs.readFileSync(theirs)),
        `${name}: the key as JSON is snarkjs's to the byte`);
}

// ---------------------------------------------------------------------------------------------
// The circuits
// ---------------------------------------------------------------------------------------------

async function smallCircuits() {
    let root = path.join(fixtures, "small");
    if (!fs.existsSync(root)) {
        root = path.join(here, "../data");
        leaveOut(`no fixtures at ${fixtures}: only the circuits of test/data are tried`);
    }
    for (const name of fs.readdirSync(root).sort()) {
        if (!fs.statSync(path.join(root, name)).isDirectory()) continue;
        const file = (base) => path.join(root, name, base);
        await circuit(name, file(`${name}.zkey`), file(`${name}.wtns`), file("vkey.json"),
            { publicFile: file("public.json"), proofFile: file("proof.snarkjs.json") });
    }
}

function semaphoreInput(depth) {
    const file = path.join(fixtures, "circuits", `semaphore_${depth}.input.json`);
    if (fs.existsSync(file)) return readJson(file);
    // A shallower tree: the lowest siblings of the tree of depth 20.
    const input = readJson(path.join(fixtures, "circuits", "semaphore_20.input.json"));
    return {
        ...input,
        merkleProofLength: Math.min(input.merkleProofLength, depth),
        merkleProofIndex: Number(BigInt(input.merkleProofIndex) & ((1n << BigInt(depth)) - 1n)),
        merkleProofSiblings: input.merkleProofSiblings.slice(0, depth),
    };
}

// Production keys of Semaphore v4; the witness is made with the wasm that belongs to the key.
async function semaphoreCircuits() {
    if (!semaphoreVkey) {
        leaveOut("@zk-kit/semaphore-artifacts is not installed: its keys are not tried");
        return;
    }
    if (!fs.existsSync(path.join(fixtures, "circuits", "semaphore_20.input.json"))) {
        leaveOut(`no inputs for Semaphore at ${fixtures}: its keys are not tried`);
        return;
    }
    const folder = path.dirname(semaphoreVkey);
    for (const depth of [1, 20, 32]) {
        const file = (kind) => path.join(folder, `semaphore-${depth}.${kind}`);
        const wtns = inScratch("semaphore.wtns");
        await snarkjs.wtns.calculate(semaphoreInput(depth), file("wasm"), wtns);
        await circuit(`semaphore-${depth}`, file("zkey"), wtns, file("json"), null);
    }
}

function printTable() {
    const ms = (value) => value.toFixed(0).padStart(8);
    const mib = (value) => (Number.isNaN(value) ? "?" : value.toFixed(1)).padStart(8);
    console.log("\nprove, whole program         proofmill            snarkjs        time");
    console.log("                             ms      MiB        ms      MiB");
    for (const { name, ours, theirs } of table) {
        console.log(`${name.padEnd(22)} ${ms(ours.ms)} ${mib(ours.mib)}  ${ms(theirs.ms)} ` +
            `${mib(theirs.mib)}  ${(theirs.ms / ours.ms).toFixed(1).padStart(6)} x`);
    }
}

await smallCircuits();
await semaphoreCircuits();
printTable();
console.log(`\n${nChecks - nFailed} passed, ${nFailed} failed, ${nSkipped} skipped`);
// snarkjs keeps worker threads alive: leave without waiting for them.
process.exit(nFailed === 0 ? 0 : 1);
