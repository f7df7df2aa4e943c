// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The Solidity contract that proofmill writes, compiled with solc and run in an EVM.
//
//   node solidity.mjs PROOFMILL [SOURCE_DIR BUILD_DIR]
//
// With the two folders the demo's key is tried too. solc and the EVM come from `npm ci` in this
// folder, or from the node_modules named in PM_NODE_MODULES. Ends with 77 (skipped) when they are
// missing.

import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const proofmill = path.resolve(process.argv[2] ?? process.env.PM_PROOFMILL ?? "proofmill");
const [sourceDir, buildDir] = process.argv.slice(3);
const fixtures = path.resolve(
    process.env.PM_FIXTURES ?? path.join(here, "../../../shared/fixtures"));
const require = createRequire(import.meta.url);

function skip(reason) {
    console.log(`SKIP: ${reason}`);
    process.exit(77);
}

function load(module) {
    const folders = [here];
    if (process.env.PM_NODE_MODULES) folders.push(path.dirname(process.env.PM_NODE_MODULES));
    try {
        return require(require.resolve(module, { paths: folders }));
    } catch {
        return skip(`${module} is not installed: run \`npm ci\` in test/interop`);
    }
}

if (!fs.existsSync(proofmill)) skip(`no program at ${proofmill}`);
const solc = load("solc");
const { createEVM } = load("@ethereumjs/evm");

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "proofmill-solidity-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
const inScratch = (name) => path.join(scratch, name);

let nChecks = 0;
let nFailed = 0;
let nSkipped = 0;

function check(condition, what) {
    nChecks++;
    if (!condition) {
        nFailed++;
        console.log(`FAIL: ${what}`);
    }
}

const Q = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const R = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;

// ---------------------------------------------------------------------------------------------
// Compiler and machine
// ---------------------------------------------------------------------------------------------

const SETTINGS = {
    plain: { optimizer: { enabled: false } },
    optimized: { optimizer: { enabled: true, runs: 200 } },
    "via IR": { optimizer: { enabled: true, runs: 200 }, viaIR: true },
};
const CONTRACT_BYTES_MAX = 24576; // EIP-170
const GAS_LIMIT = 30_000_000n;

// The contract in `source`, or null; whatever the compiler has to say counts as a failure.
function compile(name, source, settings) {
    const output = JSON.parse(solc.compile(JSON.stringify({
        language: "Solidity",
        sources: { "verifier.sol": { content: source } },
        settings: { ...settings, evmVersion: "paris",
            outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.deployedBytecode.object",
                "evm.methodIdentifiers"] } } },
    })));
    const remarks = (output.errors ?? []).map((error) => error.formattedMessage);
    check(remarks.length === 0, `${name}: solc: ${remarks.join("\n")}`);
    const contract = output.contracts?.["verifier.sol"]?.Groth16Verifier;
    if (!contract) return null;
    const [[signature, selector]] = Object.entries(contract.evm.methodIdentifiers);
    return { signature, selector, code: contract.evm.bytecode.object,
        nBytes: contract.evm.deployedBytecode.object.length / 2 };
}

async function deploy(name, contract) {
    const evm = await createEVM();
    const result = await evm.runCall({ data: Buffer.from(contract.code, "hex"),
        gasLimit: GAS_LIMIT });
    check(!result.execResult.exceptionError && result.createdAddress !== undefined,
        `${name}: deployed: ${result.execResult.exceptionError?.error}`);
    return { evm, address: result.createdAddress, selector: contract.selector };
}

const word = (value) => value.toString(16).padStart(64, "0");

// verifyProof(words): { verdict: true, false or null when the call failed, gas }.
async function call(deployed, words) {
    const data = Buffer.from(deployed.selector + words.map(word).join(""), "hex");
    const { execResult } = await deployed.evm.runCall({ to: deployed.address, data,
        gasLimit: GAS_LIMIT });
    const answer = Buffer.from(execResult.returnValue).toString("hex");
    const failed = execResult.exceptionError || answer.length !== 64;
    return { verdict: failed ? null : BigInt(`0x${answer}`) === 1n,
        gas: execResult.executionGasUsed };
}

// ---------------------------------------------------------------------------------------------
// Proofs, good and bad
// ---------------------------------------------------------------------------------------------

// a, b (each coordinate imaginary part first), c, then the public signals, as words.
function calldataWords(proofFile, publicFile) {
    const text = execFileSync(proofmill, ["export", "calldata", proofFile, publicFile]);
    return JSON.parse(`[${text}]`).flat(Infinity).map(BigInt);
}

const A_Y = 1;
const C_Y = 7;
const N_COORDINATES = 8;

function* damaged(words) {
    const changed = (what, change) => {
        const copy = [...words];
        change(copy);
        return { what, words: copy };
    };
    for (let i = 0; i < words.length; i++) {
        const isCoordinate = i < N_COORDINATES;
        const what = isCoordinate ? `coordinate ${i}` : `signal ${i - N_COORDINATES}`;
        const modulus = isCoordinate ? Q : R;
        yield changed(`${what} with a bit flipped`, (copy) => { copy[i] ^= 1n; });
        yield changed(`${what} plus the modulus`, (copy) => { copy[i] += modulus; });
        yield changed(`${what} of all ones`, (copy) => { copy[i] = (1n << 256n) - 1n; });
        if (words[i] !== 0n) yield changed(`${what} zero`, (copy) => { copy[i] = 0n; });
    }
    yield changed("a and c swapped", (copy) => {
        [copy[0], copy[1], copy[6], copy[7]] = [copy[6], copy[7], copy[0], copy[1]];
    });
    yield changed("b with real parts first", (copy) => {
        [copy[2], copy[3], copy[4], copy[5]] = [copy[3], copy[2], copy[5], copy[4]];
    });
    yield changed("a negated", (copy) => { copy[A_Y] = Q - copy[A_Y]; });
    yield changed("c negated", (copy) => { copy[C_Y] = Q - copy[C_Y]; });
    yield changed("a at infinity", (copy) => { copy.fill(0n, 0, 2); });
    yield changed("b at infinity", (copy) => { copy.fill(0n, 2, 6); });
    yield changed("c at infinity", (copy) => { copy.fill(0n, 6, 8); });
    yield changed("every point at infinity", (copy) => { copy.fill(0n, 0, 8); });
    const first = words[N_COORDINATES], last = words.at(-1);
    if (first !== last && words.length > N_COORDINATES + 1) {
        yield changed("first and last signal swapped", (copy) => {
            [copy[N_COORDINATES], copy[copy.length - 1]] = [last, first];
        });
    }
}

// More signals than the first: only the first few are damaged. More than the second, of which each
// costs the machine a multiplication: the last one alone.
const N_DAMAGED_SIGNALS_MAX = 8;
const N_SIGNALS_LONG = 100;

// ---------------------------------------------------------------------------------------------
// One circuit
// ---------------------------------------------------------------------------------------------

const table = [];

// To the contract circuits differ in their constants and in their number of signals: what does not
// depend on constants is tried once for each number.
const triedNumbers = new Set();

function exportContract(keyFile) {
    const file = inScratch("verifier.sol");
    fs.rmSync(file, { force: true });
    const run = spawnSync(proofmill, ["export", "solidity", keyFile, file]);
    return { source: run.status === 0 ? fs.readFileSync(file, "utf8") : null,
        status: run.status, stderr: String(run.stderr) };
}

async function judgeGood(name, deployed, words) {
    const good = await call(deployed, words);
    check(good.verdict === true, `${name}: the proof is ${good.verdict}`);
    return good.gas;
}

async function judgeBad(name, deployed, words) {
    if (words.length > N_COORDINATES + N_SIGNALS_LONG) {
        const { verdict } = await call(deployed, [...words.slice(0, -1), words.at(-1) ^ 1n]);
        check(verdict === false, `${name}: last signal with a bit flipped: ${verdict}`);
        return;
    }
    const tried = words.slice(0, N_COORDINATES + N_DAMAGED_SIGNALS_MAX);
    for (const bad of damaged(tried)) {
        const { verdict } = await call(deployed, [...bad.words, ...words.slice(tried.length)]);
        check(verdict === false, `${name}: ${bad.what}: the verdict is ${verdict}`);
    }
    check((await call(deployed, words.slice(0, -1))).verdict === null,
        `${name}: a word less is taken`);
}

// Without the precompiled contracts calls succeed and answer nothing: what lies in memory, here
// a.x = 1, must not be taken for the answer.
async function judgeWithoutPairing(name, source, words) {
    const call8 = "staticcall(gas(), 8,";
    check(source.includes(call8), `${name}: the contract calls the pairing`);
    const contract = compile(name, source.replace(call8, "staticcall(gas(), 0x123456,"),
        SETTINGS.optimized);
    const deployed = await deploy(name, contract);
    const { verdict } = await call(deployed, [1n, 2n, ...words.slice(2)]);
    check(verdict === false, `${name}: without a pairing contract the verdict is ${verdict}`);
}

async function circuit(name, keyFile, wtnsFile, vkeyFile) {
    const proofFile = inScratch("proof.json");
    const publicFile = inScratch("public.json");
    execFileSync(proofmill, ["prove", "-q", keyFile, wtnsFile, proofFile, publicFile]);
    const { source, stderr } = exportContract(keyFile);
    check(source !== null, `${name}: export solidity: ${stderr}`);
    if (source === null) return;
    if (vkeyFile) {
        check(exportContract(vkeyFile).source === source, `${name}: the same from its VKEY`);
    }
    const words = calldataWords(proofFile, publicFile);
    const row = { name, nSignals: words.length - N_COORDINATES };
    const isFirst = !triedNumbers.has(row.nSignals);
    triedNumbers.add(row.nSignals);
    for (const [what, settings] of Object.entries(SETTINGS)) {
        if (!isFirst && what !== "optimized") continue;
        const contract = compile(`${name}, ${what}`, source, settings);
        if (!contract) return;
        check(contract.signature === "verifyProof(uint256[2],uint256[2][2],uint256[2]" +
            (row.nSignals > 0 ? `,uint256[${row.nSignals}])` : ")"),
            `${name}: the signature is ${contract.signature}`);
        const deployed = await deploy(`${name}, ${what}`, contract);
        row[what] = { nBytes: contract.nBytes,
            gas: await judgeGood(`${name}, ${what}`, deployed, words) };
        if (isFirst && what === "optimized") await judgeBad(name, deployed, words);
    }
    if (isFirst) {
        await judgeWithoutPairing(name, source, words);
        table.push(row);
    }
}

// ---------------------------------------------------------------------------------------------
// The circuits
// ---------------------------------------------------------------------------------------------

async function smallCircuits() {
    const own = path.join(here, "../data");
    const more = path.join(fixtures, "small");
    const roots = fs.existsSync(more) ? [own, more] : [own];
    if (roots.length === 1) {
        nSkipped++;
        console.log(`SKIP: no fixtures at ${fixtures}: only the circuits of test/data are tried`);
    }
    const seen = new Set(["eddsa", "eddsa_bls", "poseidon2", "poseidon2_bls"]);
    for (const root of roots) {
        for (const name of fs.readdirSync(root).sort()) {
            const file = (base) => path.join(root, name, base);
            if (seen.has(name) || !fs.existsSync(file(`${name}.zkey`))) continue;
            seen.add(name);
            if (name.endsWith("_bls")) {
                const { status, stderr } = exportContract(file(`${name}.zkey`));
                check(status === 3 && stderr.includes("EIP-197"),
                    `${name}: not refused: ${stderr}`);
            } else {
                await circuit(name, file(`${name}.zkey`), file(`${name}.wtns`), file("vkey.json"));
            }
        }
    }
}

async function demoCircuit() {
    if (!buildDir || !fs.existsSync(path.join(sourceDir, "demo/run.sh"))) {
        nSkipped++;
        console.log("SKIP: no SOURCE_DIR and BUILD_DIR: the demo's key is not tried");
        return;
    }
    const folder = inScratch("demo");
    execFileSync(path.join(sourceDir, "demo/run.sh"), [buildDir, "2718281828"], { stdio: "ignore",
        env: { ...process.env, DEMO_DIR: folder, DEMO_ROUNDS: "100", DEMO_CURVE: "bn254" } });
    const file = (base) => path.join(folder, base);
    await circuit("demo", file("demo.zkey"), file("first.wtns"), file("vkey.json"));
}

const u32 = (value) => { const out = Buffer.alloc(4); out.writeUInt32LE(value); return out; };
const u64 = (value) => Buffer.concat([u32(value), u32(0)]);
const scalar = (value) => Buffer.from(word(value), "hex").reverse();

function container(magic, version, sections) {
    const parts = [Buffer.from(magic), u32(version), u32(sections.length)];
    for (const [type, data] of sections) parts.push(u32(type), u64(data.length), data);
    return Buffer.concat(parts);
}

// y * y = z with nPublic public signals, of which z is the first (private when there are none).
function squareCircuit(nPublic) {
    const values = nPublic > 0
        ? [1n, 9n, ...Array.from({ length: nPublic - 1 }, (_, i) => BigInt(i)), 3n] : [1n, 9n, 3n];
    const nWires = values.length;
    const term = (wire) => Buffer.concat([u32(1), u32(wire), scalar(1n)]);
    const header = Buffer.concat([u32(32), scalar(R), u32(nWires), u32(0), u32(nPublic),
        u32(nWires - 1 - nPublic), u64(nWires), u32(1)]);
    const labels = Buffer.concat(values.map((_, i) => u64(i)));
    const row = Buffer.concat([term(nWires - 1), term(nWires - 1), term(1)]);
    const base = inScratch(`square${nPublic}`);
    fs.writeFileSync(`${base}.r1cs`, container("r1cs", 1, [[1, header], [2, row], [3, labels]]));
    fs.writeFileSync(`${base}.wtns`, container("wtns", 2, [
        [1, Buffer.concat([u32(32), scalar(R), u32(nWires)])],
        [2, Buffer.concat(values.map(scalar))]]));
    execFileSync(proofmill, ["setup", "-q", "--insecure-known-tau=1", `${base}.r1cs`,
        `${base}.zkey`]);
    return base;
}

const N_SIGNALS_MAX = 280; // above it `export solidity` warns

async function edges() {
    for (const nPublic of [0, 1, N_SIGNALS_MAX]) {
        const base = squareCircuit(nPublic);
        await circuit(`${nPublic} signals`, `${base}.zkey`, `${base}.wtns`, null);
        const { source, stderr } = exportContract(`${base}.zkey`);
        check(!stderr.includes("24,576"), `${nPublic} signals: warned of the size: ${stderr}`);
        check(source.includes("WARNING") && stderr.includes("forge"),
            "a development key's contract carries a warning");
    }
    const { stderr } = exportContract(`${squareCircuit(N_SIGNALS_MAX + 1)}.zkey`);
    check(stderr.includes("24,576"), `${N_SIGNALS_MAX + 1} signals: not warned of the size`);
    for (const row of table) {
        for (const what of Object.keys(SETTINGS)) {
            check(row[what].nBytes <= CONTRACT_BYTES_MAX,
                `${row.name}, ${what}: ${row[what].nBytes} bytes of code`);
        }
    }
}

function printTable() {
    console.log("\nverifyProof              gas (without the transaction's)      bytes of code");
    console.log("              signals     plain  optimized     via IR   " +
        "plain  optimized     via IR");
    for (const row of table) {
        const column = (key) => Object.keys(SETTINGS).map((what) =>
            String(row[what][key]).padStart(10)).join(" ");
        console.log(`${row.name.padEnd(14)} ${String(row.nSignals).padStart(6)} ${column("gas")} ` +
            column("nBytes"));
    }
}

await smallCircuits();
await demoCircuit();
await edges();
printTable();
console.log(`\n${nChecks - nFailed} passed, ${nFailed} failed, ${nSkipped} skipped`);
process.exit(nFailed === 0 ? 0 : 1);
