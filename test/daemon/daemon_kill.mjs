// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A daemon that is killed at random times under load and started again on the same state: whatever
// it has acknowledged ends, once; what was told of a job is told again, to the byte, which is to
// say that no proof is made twice (each has fresh randomness); files and sockets of the dead are no
// obstacle. SIGTERM, which lets jobs end. A full disk, on which nothing is acknowledged.
//
//   node daemon_kill.mjs BUILD_DIR [slow]        30 kills, slow: 200

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { byBytes, byPath, chainCircuit, check, dataCircuit, Daemon, equal, finish, grpc, isOver,
    isSlow, leaveOut, priorities, registration, request, section, seededRandom, sleep,
    streamParts, until, validResult } from "./daemon_world.mjs";

const { CANCELLED, DEADLINE_EXCEEDED, FAILED_PRECONDITION, INTERNAL, RESOURCE_EXHAUSTED,
    UNAVAILABLE, UNKNOWN } = grpc.status;
const N_KILLS = isSlow ? 200 : 30;
const random = seededRandom();
const circuits = [dataCircuit("mult3"), dataCircuit("one_bls"), dataCircuit("own_mimc"),
    chainCircuit("chain", "bn254", 1300)];
const [mult3, , mimc, chain] = circuits;

// ---------------------------------------------------------------------------------------------
// What is known of each request
// ---------------------------------------------------------------------------------------------

// By request id: { circuit, how, job, mayBeCancelled, told }. job: acknowledged; told: outcome.
// isAsked: by one worker, and others let it be: what was cancelled meanwhile would be a new job.
const requests = new Map();

const suspected = new Set();

function outcomeOf({ job, proofs }) {
    const proof = proofs.map(({ proof_json: a, public_json: b }) => a + b).join();
    return { state: job.state, error: job.error, proof };
}

function note(id, result) {
    const known = requests.get(id);
    const outcome = outcomeOf(result);
    equal(result.job.request_id, id, "whose result");
    if (known.job) equal(result.job.job, known.job, `${id}: its number`);
    check(isOver(outcome.state), `${id}: it has ended as ${outcome.state}`);
    if (outcome.state === "JOB_STATE_CANCELLED") check(known.mayBeCancelled, `${id}: cancelled`);
    if (outcome.state === "JOB_STATE_DONE") check(!known.isBad, `${id}: proved what is not true`);
    if (outcome.state === "JOB_STATE_FAILED") {
        // What has been under way in eight lives that ended is suspected to end them.
        const isSuspected = /^the process ended several times/.test(outcome.error);
        check(known.isBad || isSuspected, `${id}: failed: ${outcome.error}`);
        if (!known.isBad) suspected.add(id);
    }
    if (known.told) equal(outcome, known.told, `${id}: an outcome, told before`);
    known.told = outcome;
    known.result = result;
}

// Of a daemon that is there, or has just been killed.
function mayFail(error, life) {
    const isOfKill = life.isOver && [UNAVAILABLE, CANCELLED, INTERNAL, UNKNOWN]
        .includes(error.code);
    if (!isOfKill) check(false, `a call failed: ${grpc.status[error.code]}: ${error.details}`);
}

// ---------------------------------------------------------------------------------------------
// A life
// ---------------------------------------------------------------------------------------------

function ask(client, id) {
    const { circuit, how, more } = requests.get(id);
    if (how === "stream") {
        return streamParts(client, { key: circuit.name, request_id: id, ...more },
            [circuit.witness, circuit.witness], 4096).answer;
    }
    const inputs = how === "bad" ? [{ data: badWitness }]
        : [how === "bytes" ? byBytes(circuit) : byPath(circuit)];
    return client.Submit({ key: circuit.name, request_id: id, inputs, ...more });
}

// Its last value is another one, so that nothing is satisfied.
const badWitness = fs.readFileSync(mimc.witness);
badWitness[badWitness.length - 32] ^= 1;

let nRequests = 0;

async function submitOne(client, life) {
    const old = [...requests].filter(([, { job, isAsked }]) => !job && !isAsked)
        .map(([id]) => id);
    const id = old.length && random(2) ? old[random(old.length)] : `request-${nRequests++}`;
    if (!requests.has(id)) {
        const how = ["path", "bytes", "stream", "path", "bytes", "path", "path", "bad"][random(8)];
        const circuit = how === "bad" ? mimc : circuits[random(circuits.length)];
        requests.set(id, { circuit, how, isBad: how === "bad", job: null, told: null,
            mayBeCancelled: false, more: { priority: priorities[random(4)] } });
    }
    const known = requests.get(id);
    known.isAsked = true;
    const answer = await ask(client, id).finally(() => { known.isAsked = false; });
    known.job = answer.job;
    life.acknowledged++;
    if (random(12) === 0) {
        known.mayBeCancelled = true;
        await client.Cancel({ request_id: id });
    } else if (random(3)) {
        note(id, await client.Await({ job: answer.job }));
    }
}

async function askAgain(client) {
    const told = [...requests].filter(([, { told: outcome }]) => outcome);
    if (told.length === 0) return;
    const [id, known] = told[random(told.length)];
    note(id, await client.Await({ request_id: id }));
    if (known.told.state === "JOB_STATE_DONE") {
        const { known: isKnown, job } = await ask(client, id);
        equal([isKnown, job], [true, known.job], `${id}: submitted again`);
    }
}

async function worker(daemon, life) {
    const client = daemon.client();
    while (!life.isOver) {
        try {
            await (random(4) ? submitOne(client, life) : askAgain(client));
        } catch (error) {
            if (error.code === undefined) throw error;
            mayFail(error, life);
        }
    }
}

// end: what ends it.
async function oneLife(daemon, isFirst, end) {
    const life = { isOver: false, acknowledged: 0 };
    if (isFirst) {
        for (const circuit of circuits) await daemon.client().RegisterKey(registration(circuit));
    }
    const workers = Array.from({ length: 4 }, () => worker(daemon, life));
    // Most are killed when they have begun to answer, however slow the machine is; some before.
    if (random(4)) await until(() => life.acknowledged > 1, "jobs are accepted");
    await sleep(random(isFirst ? 400 : 250));
    life.isOver = true;
    await end();
    await Promise.all(workers);
    for (const client of daemon.clients) client.close();
    daemon.clients = [];
    return life.acknowledged;
}

// ---------------------------------------------------------------------------------------------
// Kills
// ---------------------------------------------------------------------------------------------

const daemon = new Daemon();

await section(`${N_KILLS} kills under load`, async () => {
    let nAcknowledged = 0;
    for (let i = 0; i < N_KILLS; ++i) {
        await daemon.start();
        nAcknowledged += await oneLife(daemon, i === 0, () => daemon.kill());
    }
    console.log(`       ${nAcknowledged} submits were acknowledged`);
    check(nAcknowledged > N_KILLS, "hardly anything was acknowledged");
});

await section("the serving process alone is killed, and its guardian starts it again", async () => {
    await daemon.start();
    for (let n = 1; n <= 4; ++n) {
        const killed = daemon.servingPid;
        await oneLife(daemon, false, () => process.kill(killed, "SIGKILL"));
        await until(() => ![killed, daemon.process.pid].includes(daemon.servingPid), "it is there");
        await daemon.untilListening();
        equal((await daemon.httpJson()).restarts, n, "restarts");
    }
    await daemon.kill();
});

await section("everything that was acknowledged has ended, once", async () => {
    await daemon.start();
    const client = daemon.client();
    const counts = {};
    for (const [id, known] of requests) {
        if (!known.job) continue;
        note(id, await client.Await({ request_id: id }));
        note(id, await client.Await({ job: known.job }));
        counts[known.told.state] = (counts[known.told.state] ?? 0) + 1;
        if (known.told.state === "JOB_STATE_DONE") {
            await validResult(known.circuit, known.result, id, known.how === "stream" ? 2 : 1);
        }
    }
    console.log(`       ${JSON.stringify({ ...counts, suspected: suspected.size })}`);
    check(counts.JOB_STATE_DONE > N_KILLS, "hardly anything was proved");
    check(counts.JOB_STATE_FAILED > 0, "no job failed as it should");
    const jobs = [];
    for (let after = "0"; ;) {
        const page = await client.ListJobs({ after, n_max: 100 });
        jobs.push(...page.jobs);
        after = page.next_after;
        if (after === "0") break;
    }
    equal(new Set(jobs.map(({ job }) => job)).size, jobs.length, "a number stands twice");
    const living = jobs.filter(({ state }) => state === "JOB_STATE_DONE");
    equal(new Set(living.map(({ request_id: id }) => id)).size, living.length,
        "a request was computed twice");
    await until(async () => (await client.ListJobs({ only_open: true })).jobs.length === 0,
        "those that nobody knows of have ended");
    equal((await client.GetStatus()).stored_bytes, "0", "stored bytes");
    const blobs = fs.readdirSync(daemon.stateFolder, { recursive: true })
        .filter((name) => !/journal(\.db.*)?$|lock$|configured_keys$/.test(name));
    equal(blobs, [], "files that are left in the state's folder");
    await daemon.stop();
    check(!fs.existsSync(daemon.socket), "the socket is still there");
});

// ---------------------------------------------------------------------------------------------
// SIGTERM
// ---------------------------------------------------------------------------------------------

await section("SIGTERM: no new jobs, old ones end, who waits is told", async () => {
    await daemon.start();
    const client = daemon.client();
    const waiting = [];
    const ids = Array.from({ length: 9 }, (_, i) => `t${i}`);
    for (const id of ids) waiting.push(client.Prove(request(chain, { request_id: id })));
    const isThere = (id) => client.Await({ request_id: id, timeout_ms: 1 })
        .then(() => true, ({ code }) => code === DEADLINE_EXCEEDED);
    await until(async () => (await Promise.all(ids.map(isThere))).every(Boolean), "jobs are there");
    const ended = daemon.kill("SIGTERM");
    await until(async () => (await client.GetStatus()).is_draining, "it drains");
    const late = await client.Submit(request(mult3)).catch((error) => error);
    check(late.code === UNAVAILABLE, `a submit while it drains: ${late.code} ${late.details}`);
    for (const result of await Promise.all(waiting)) await validResult(chain, result, "drained");
    equal(await ended, { code: 0, signal: null }, "its end");
    check(!fs.existsSync(daemon.socket), "the socket is still there");
});

await section("SIGTERM with a short drain_timeout: jobs go on in the next life", async () => {
    const hasty = new Daemon({ daemon: { drain_timeout: "100ms" } });
    const long = chainCircuit("long", "bls12_381", isSlow ? 20000 : 2700);
    await hasty.start();
    await hasty.client().RegisterKey(registration(long));
    const ids = ["a", "b", "c", "d", "e"];
    for (const id of ids) await hasty.client().Submit(request(long, { request_id: id }));
    const begun = Date.now();
    await hasty.stop();
    check(Date.now() - begun < 30000, `it took ${Date.now() - begun} ms to end`);
    await hasty.start();
    for (const id of ids) {
        await validResult(long, await hasty.client().Await({ request_id: id }), `job ${id}`);
    }
    await hasty.stop();
});

// ---------------------------------------------------------------------------------------------
// A full disk
// ---------------------------------------------------------------------------------------------

// Fills the disk, and empties it again. Nothing may be acknowledged that is not kept.
async function fullDisk(full, fill, empty) {
    const client = full.client();
    await client.RegisterKey(registration(mult3));
    await client.RegisterKey(registration(mimc));
    const before = await client.Prove(request(mult3, { request_id: "before" }));
    await validResult(mult3, before, "before");
    fill();
    const codes = [UNAVAILABLE, RESOURCE_EXHAUSTED, FAILED_PRECONDITION];
    let nRefused = 0;
    for (let i = 0; i < 40 && nRefused < 5; ++i) {
        const inputs = [i % 2 ? byBytes(mimc) : byPath(mimc)];
        const answer = await client.Submit({ key: mimc.name, inputs, request_id: `full-${i}` },
            { deadline: Date.now() + 60000 }).catch((error) => error);
        if (answer.job) continue;
        nRefused++;
        check(codes.includes(answer.code), `on a full disk: ${answer}`);
        check(/\w+ \w+/.test(answer.details), `it says "${answer.details}"`);
    }
    check(nRefused > 0, "everything was accepted");
    check(full.isAlive, `the daemon has ended:\n${full.log()}`);
    equal((await client.Await({ request_id: "before" })).job.state, "JOB_STATE_DONE", "old ones");
    await until(async () => (await full.http("/healthz")).status !== 200 ||
        (await client.GetStatus()).n_running === 0, "it has come to rest");
    empty();
    await until(async () => client.Submit(request(mult3, { request_id: "after" }))
        .then(() => true, () => false), "it accepts jobs again");
    await validResult(mult3, await client.Await({ request_id: "after" }), "afterwards");
    for (const { job, request_id: id } of (await client.ListJobs({})).jobs) {
        if (id) equal((await client.Await({ job })).job.state, "JOB_STATE_DONE", `the job ${id}`);
    }
    await full.stop();
}

const canMount = spawnSync("unshare", ["-rm", "true"]).status === 0;
if (canMount) {
    await section("a disk without room (ENOSPC)", async () => {
        const full = new Daemon();
        full.prefix = ["unshare", "-rm", "sh", "-c", 'mkdir -p "$0" && mount -t tmpfs -o ' +
            'size=1m,mode=700 none "$0" && exec "$@"', full.stateFolder];
        await full.start();
        // Its own view of its files.
        const filler = path.join(`/proc/${full.servingPid}/root`, full.stateFolder, "filler");
        await fullDisk(full, () => {
            const fd = fs.openSync(filler, "w");
            try {
                for (;;) fs.writeSync(fd, Buffer.alloc(4096));
            } catch {
                fs.closeSync(fd);
            }
        }, () => fs.unlinkSync(filler));
    });
} else {
    leaveOut("no disk of our own: unshare does not work here");
}

const prlimit = (daemonOfLimit, bytes) => spawnSync("prlimit",
    ["--pid", String(daemonOfLimit.servingPid), `--fsize=${bytes}:unlimited`]).status === 0;
await section("files that may not grow (EFBIG)", async () => {
    const full = await new Daemon().start();
    if (!prlimit(full, "unlimited")) {
        leaveOut("no limits of our own: prlimit does not work here");
        await full.stop();
        return;
    }
    await fullDisk(full, () => prlimit(full, 8192), () => prlimit(full, "unlimited"));
});

finish();
