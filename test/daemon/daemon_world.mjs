// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the tests that speak to a daemon share: a proofmilld of their own in a folder of its own,
// clients made of @grpc/grpc-js, circuits, snarkjs as the judge of proofs, and a count of checks.
//
// The packages come from `npm ci` in test/interop, or from the node_modules named in
// PM_NODE_MODULES. Whoever imports this ends with 77 (skipped) when one is missing.

import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleepFor } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));
export const source = path.resolve(here, "../..");
const build = path.resolve(process.argv[2] ?? path.join(source, "build/release"));
export const isSlow = process.argv[3] === "slow";
export const sleep = (ms) => sleepFor(ms);

export const programs = {
    proofmill: path.join(build, "src/proofmill"),
    proofmilld: path.join(build, "src/proofmilld"),
    demoR1cs: path.join(build, "demo/pm_demo_r1cs"),
    demoWitness: path.join(build, "demo/pm_demo_witness"),
    protoset: path.join(build, "src/daemon/proofmill.protoset"),
};

function skip(reason) {
    console.log(`SKIP: ${reason}`);
    process.exit(77);
}

const require = createRequire(import.meta.url);
function locate(module) {
    const folders = [path.join(source, "test/interop"), path.join(source, "build/interop")];
    if (process.env.PM_NODE_MODULES) folders.unshift(path.dirname(process.env.PM_NODE_MODULES));
    try {
        return require.resolve(module, { paths: folders });
    } catch {
        return skip(`${module} is not installed: run tools/setup_interop.sh`);
    }
}

export const grpc = require(locate("@grpc/grpc-js"));
export const protoLoader = require(locate("@grpc/proto-loader"));
const snarkjs = require(locate("snarkjs"));
if (!fs.existsSync(programs.proofmilld)) skip(`no program at ${programs.proofmilld}`);

// ---------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------

let nChecks = 0;
let nFailed = 0;
let nLeftOut = 0;
const living = new Set();

export function check(condition, what) {
    nChecks++;
    if (!condition) {
        nFailed++;
        console.log(`FAIL: ${what}`);
    }
    return Boolean(condition);
}

export function leaveOut(what) {
    nLeftOut++;
    console.log(`SKIP: ${what}`);
}

export function equal(is, wanted, what) {
    const [a, b] = [JSON.stringify(is), JSON.stringify(wanted)];
    return check(a === b, `${what}: ${a} instead of ${b}`);
}

// One section of a test. An exception fails it, and the next one is tried all the same.
export async function section(name, body) {
    const started = Date.now();
    const before = nFailed;
    try {
        await body();
    } catch (error) {
        check(false, `${name}: ${error.stack ?? error}`);
    }
    const verdict = nFailed === before ? "ok" : "FAILED";
    console.log(`${verdict.padEnd(6)} ${String(Date.now() - started).padStart(6)} ms  ${name}`);
}

// The last line of a test. snarkjs keeps threads alive: leaves without waiting for them.
export function finish() {
    for (const daemon of living) daemon.kill();
    console.log(`\n${nChecks - nFailed} passed, ${nFailed} failed, ${nLeftOut} skipped`);
    process.exit(nFailed === 0 ? 0 : 1);
}

// xorshift64*, so that a run can be repeated: PM_TEST_SEED.
export function seededRandom() {
    let state = BigInt(process.env.PM_TEST_SEED ?? BigInt(Date.now()) * 2654435761n) | 1n;
    console.log(`PM_TEST_SEED=${state}`);
    const mask = (1n << 64n) - 1n;
    return (below) => {
        state ^= state >> 12n;
        state ^= (state << 25n) & mask;
        state ^= state >> 27n;
        return Number(((state * 0x2545f4914f6cdd1dn) & mask) >> 33n) % below;
    };
}

// gRPC makes threads when those it has are busy, a few for each core, and keeps some of them.
export const N_GRPC_THREADS = 16;

// Until the condition holds; fails after patienceMs.
export async function until(condition, what, patienceMs = 60000) {
    for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(3)) {
        if (await condition()) return true;
    }
    return check(false, `in vain waited until ${what}`);
}

export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "proofmill-daemon-"));
process.on("exit", () => {
    for (const daemon of living) daemon.kill();
    fs.rmSync(scratch, { recursive: true, force: true });
});
export const inScratch = (...names) => path.join(scratch, ...names);

// ---------------------------------------------------------------------------------------------
// Services
// ---------------------------------------------------------------------------------------------

// Numbers of 64 bits as decimal strings, enums by name.
const LOADING = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };

export const definitions = {
    prover: protoLoader.loadSync(path.join(source, "proto/proofmill/v1/proofmill.proto"), LOADING),
    cuzk: protoLoader.loadSync(path.join(source, "proto/cuzk/v1/cuzk.proto"), LOADING),
    cuzkByTable: protoLoader.loadSync(path.join(here, "golden/cuzk_by_table.proto"), LOADING),
};
export const serviceOf = (definition) =>
    definition["proofmill.v1.Prover"] ?? definition["cuzk.v1.ProvingEngine"];

// Both ends of Curio's client.
export const MESSAGE_BYTES = 256 * 2 ** 20;
const CHANNEL = {
    "grpc.max_receive_message_length": MESSAGE_BYTES,
    "grpc.max_send_message_length": -1,
    "grpc.enable_retries": 0,
    // Each client a connection of its own.
    "grpc.use_local_subchannel_pool": 1,
};

// Methods return promises: of the answer for unary calls. A failed call is a rejected promise,
// whose error has code and details. `begin` gives the call itself, for those who cancel or stream.
export class Client {
    constructor(target, definition = definitions.prover, credentials, options = {}) {
        this.service = serviceOf(definition);
        this.stub = new grpc.Client(target, credentials ?? grpc.credentials.createInsecure(),
            { ...CHANNEL, ...options });
        for (const [name, method] of Object.entries(this.service)) {
            if (method.requestStream || method.responseStream) continue;
            this[name] = (request = {}, options) => this.begin(name, request, options).answer;
        }
    }

    begin(name, request = {}, options = {}) {
        const method = this.service[name];
        const ask = (done) => this.stub.makeUnaryRequest(method.path, method.requestSerialize,
            method.responseDeserialize, request, options, done);
        return withAnswer(ask);
    }

    // Bytes out and bytes in, whatever they mean.
    raw(methodPath, bytes, options = {}) {
        const same = (value) => value;
        return withAnswer((done) => this.stub.makeUnaryRequest(methodPath, same, same, bytes,
            options, done)).answer;
    }

    stream(options = {}) {
        const method = this.service.SubmitStream;
        return withAnswer((done) => this.stub.makeClientStreamRequest(method.path,
            method.requestSerialize, method.responseDeserialize, options, done));
    }

    watch(request, options = {}) {
        const method = this.service.Watch;
        return this.stub.makeServerStreamRequest(method.path, method.requestSerialize,
            method.responseDeserialize, request, options);
    }

    close() {
        this.stub.close();
    }
}

function withAnswer(ask) {
    let call;
    const answer = new Promise((resolve, reject) => {
        call = ask((error, value) => (error ? reject(error) : resolve(value)));
    });
    answer.catch(() => {});
    call.answer = answer;
    return call;
}

// A call that must fail: with which code, and a sentence that matches.
export async function refused(answer, code, pattern, what) {
    const wanted = [code].flat();
    try {
        const value = await answer;
        check(false, `${what}: answered ${JSON.stringify(value).slice(0, 200)}`);
    } catch (error) {
        const name = grpc.status[error.code] ?? error;
        check(wanted.includes(error.code),
            `${what}: ${name} instead of ${wanted.map((c) => grpc.status[c])}: ${error.details}`);
        check(pattern.test(error.details ?? ""), `${what}: it says "${error.details}"`);
        return error;
    }
    return null;
}

// Streams files as parts of a request, in chunks of chunkBytes; stopAfter chunks it ends unasked.
export function streamParts(client, request, files, chunkBytes, stopAfter = Infinity) {
    const call = client.stream();
    let nWritten = 0;
    call.write({ request });
    for (const file of files) {
        const bytes = Buffer.isBuffer(file) ? file : fs.readFileSync(file);
        for (let at = 0; at === 0 || at < bytes.length; at += chunkBytes) {
            if (nWritten++ === stopAfter) return call;
            call.write({ data: bytes.subarray(at, at + chunkBytes), begins_part: at === 0 });
        }
    }
    if (stopAfter === Infinity) call.end();
    return call;
}

// ---------------------------------------------------------------------------------------------
// A daemon
// ---------------------------------------------------------------------------------------------

const toml = (value) => JSON.stringify(value);

function tomlText(config) {
    const lines = [];
    for (const [table, keys] of Object.entries(config)) {
        lines.push(`[${table}]`);
        for (const [key, value] of Object.entries(keys)) lines.push(`${key} = ${toml(value)}`);
    }
    return lines.join("\n") + "\n";
}

// Below those that the kernel gives to whoever connects somewhere meanwhile.
export async function freePort() {
    for (;;) {
        const port = randomInt(10240, 32000);
        const server = net.createServer();
        const isFree = await new Promise((resolve) => {
            server.on("error", () => resolve(false));
            server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
        });
        if (isFree) return port;
    }
}

let nDaemons = 0;

export class Daemon {
    // config: tables of keys, on top of a socket, a status address and a state folder in the
    // daemon's own folder. environment: beside ours.
    constructor(config = {}, environment = {}) {
        this.folder = inScratch(`daemon-${nDaemons++}`);
        fs.mkdirSync(this.folder, { mode: 0o700 });
        this.socket = path.join(this.folder, "socket");
        this.config = config;
        this.environment = environment;
        this.stateFolder = path.join(this.folder, "state");
        this.prefix = []; // a command that executes what stands behind it
        this.logFile = path.join(this.folder, "log");
        this.clients = [];
    }

    get target() {
        return `unix:${this.socket}`;
    }

    async start() {
        this.tcpPort ??= await freePort();
        this.statusPort ??= await freePort();
        const { daemon, ...others } = this.config;
        const text = tomlText({
            daemon: {
                listen: [`unix://${this.socket}`, `127.0.0.1:${this.tcpPort}`],
                status_listen: `127.0.0.1:${this.statusPort}`,
                state_dir: this.stateFolder,
                ...daemon,
            },
            gpus: { devices: ["cpu"] },
            ...others,
        });
        const configFile = path.join(this.folder, "proofmill.toml");
        fs.writeFileSync(configFile, text);
        const log = fs.openSync(this.logFile, "a");
        const [program, ...args] = [...this.prefix, programs.proofmilld, "--config", configFile];
        this.process = spawn(program, args,
            { stdio: ["ignore", log, log], env: { ...process.env, ...this.environment } });
        fs.closeSync(log);
        this.ended = new Promise((resolve) => {
            this.process.on("exit", (code, signal) => resolve({ code, signal }));
        });
        this.ended.then((how) => {
            this.how = how;
            living.delete(this);
        });
        this.how = null;
        living.add(this);
        await this.untilListening();
        return this;
    }

    async untilListening() {
        for (const deadline = Date.now() + 60000; Date.now() < deadline;) {
            if (this.how) break;
            if (await canConnect(this.socket) && await canConnect(this.tcpPort)) return;
            await sleep(5);
        }
        throw new Error(`the daemon does not listen:\n${this.log()}`);
    }

    log() {
        return fs.readFileSync(this.logFile, "utf8").split("\n").slice(-30).join("\n");
    }

    client(definition, options) {
        const client = new Client(this.target, definition, null, options);
        this.clients.push(client);
        return client;
    }

    tcpClient(definition) {
        const client = new Client(`127.0.0.1:${this.tcpPort}`, definition);
        this.clients.push(client);
        return client;
    }

    get isAlive() {
        return this.process.exitCode === null && this.process.signalCode === null;
    }

    // The process that serves: a child of the one that was started, which guards it. Where that one
    // is a command of `prefix` which executes the daemon, it is its child all the same.
    get servingPid() {
        const { pid } = this.process;
        const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
        return Number(children.split(" ")[0]) || pid;
    }

    // SIGKILL ends all of it: the serving process dies with its guardian, a moment later.
    async kill(signal = "SIGKILL") {
        const serving = this.isAlive ? this.servingPid : 0;
        this.process.kill(signal);
        const how = await this.ended;
        while (serving && isRunning(serving)) await sleep(1);
        return how;
    }

    // Ends it as the system's manager does, and says whether it ended well.
    async stop() {
        for (const client of this.clients) client.close();
        this.clients = [];
        const how = await this.kill("SIGTERM");
        equal(how, { code: 0, signal: null }, `the daemon's end; it said:\n${this.log()}\n`);
    }

    async http(what) {
        return fetch(`http://127.0.0.1:${this.statusPort}${what}`);
    }

    async httpJson(what = "/status") {
        return (await this.http(what)).json();
    }

    // What the kernel says of the process. It lets nobody but root see the descriptors of one that
    // keeps secrets: 0 then.
    holdings() {
        const proc = `/proc/${this.servingPid}`;
        const status = fs.readFileSync(`${proc}/status`, "utf8");
        const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]);
        return {
            rss: kib("VmRSS") * 1024,
            anon: kib("RssAnon") * 1024,
            peak: kib("VmHWM") * 1024,
            threads: kib("Threads"),
            fds: process.getuid() === 0 ? fs.readdirSync(`${proc}/fd`).length : 0,
        };
    }
}

// One that has ended may not have been waited for; while it has a second thread it is still ending,
// and has its files.
function isRunning(pid) {
    try {
        return !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8")) ||
            fs.readdirSync(`/proc/${pid}/task`).length > 1;
    } catch {
        return false;
    }
}

// where: a socket's path, or a port of the loopback.
function canConnect(where) {
    return new Promise((resolve) => {
        const connection = net.connect(where, "127.0.0.1");
        connection.on("connect", () => {
            connection.destroy();
            resolve(true);
        });
        connection.on("error", () => resolve(false));
    });
}

// A way to the daemon that can be torn: what a client sees that is killed, or loses its network.
export class Tearable {
    constructor(socket) {
        this.address = inScratch(`way-${nDaemons++}`);
        this.pairs = new Set();
        this.nBytes = 0;
        this.server = net.createServer((near) => {
            const far = net.connect(socket);
            this.pairs.add(near).add(far);
            near.on("data", (data) => { this.nBytes += data.length; });
            for (const end of [near, far]) end.on("error", () => {});
            near.pipe(far);
            far.pipe(near);
        });
    }

    async open() {
        await new Promise((resolve) => this.server.listen(this.address, resolve));
        return `unix:${this.address}`;
    }

    tear() {
        for (const end of this.pairs) end.destroy();
        this.pairs.clear();
        this.server.close();
    }
}

// ---------------------------------------------------------------------------------------------
// Circuits
// ---------------------------------------------------------------------------------------------

const readJson = (file) => JSON.parse(fs.readFileSync(file, "utf8"));

// One of test/data. witness: its file.
export function dataCircuit(name) {
    const file = (base) => path.join(source, "test/data", name, base);
    return {
        name,
        key: file(`${name}.zkey`),
        witness: file(`${name}.wtns`),
        vkeyFile: file("vkey.json"),
        vkey: readJson(file("vkey.json")),
        publics: readJson(file("public.json")),
    };
}

function run(program, ...args) {
    const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
}

// A chain of rounds, as large as wanted, with a key for development.
export function chainCircuit(name, curve, rounds) {
    const file = (ending) => inScratch(`${name}.${ending}`);
    run(programs.demoR1cs, curve, String(rounds), file("r1cs"));
    run(programs.demoWitness, curve, String(rounds), "7", file("wtns"));
    run(programs.proofmill, "setup", "--insecure-known-tau=11", file("r1cs"), file("zkey"));
    run(programs.proofmill, "export", "vkey", file("zkey"), file("vkey.json"));
    return {
        name,
        key: file("zkey"),
        witness: file("wtns"),
        vkeyFile: file("vkey.json"),
        vkey: readJson(file("vkey.json")),
    };
}

export const priorities = ["PRIORITY_LOW", "PRIORITY_NORMAL", "PRIORITY_HIGH", "PRIORITY_CRITICAL"];
export const registration = (circuit) => ({ name: circuit.name, path: circuit.key });
export const byPath = (circuit) => ({ path: circuit.witness });
export const byBytes = (circuit) => ({ data: fs.readFileSync(circuit.witness) });

export function request(circuit, more = {}) {
    return { key: circuit.name, inputs: [byPath(circuit)], ...more };
}

export const isOver = (state) =>
    ["JOB_STATE_DONE", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED"].includes(state);

// A Result whose job is done, and whose every proof snarkjs takes.
export async function validResult(circuit, result, what, nParts = 1) {
    equal(result.job.state, "JOB_STATE_DONE", `${what}: state (${result.job.error})`);
    equal(result.proofs.length, nParts, `${what}: proofs`);
    for (const { proof_json: proofText, public_json: publicText, proof } of result.proofs) {
        const publics = JSON.parse(publicText);
        const isBn254 = circuit.vkey.curve === "bn128";
        equal(proof.length, isBn254 ? 256 : 192, `${what}: bytes of a proof`);
        if (circuit.publics) equal(publics, circuit.publics, `${what}: public signals`);
        check(await snarkjs.groth16.verify(circuit.vkey, publics, JSON.parse(proofText)),
            `${what}: snarkjs refuses the proof`);
    }
}
