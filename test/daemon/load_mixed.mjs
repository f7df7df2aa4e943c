// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Many mixed proofs through a daemon whose budget is 1.2 times its largest job: five circuits on
// two curves, four priorities, inputs by path, inline and streamed, clients that cancel, repeat
// themselves or vanish. Reports A6, C2, C3, C6, D10, F2, F12, RC5.
//
//   node load_mixed.mjs BUILD_DIR [slow]       40 jobs a round, slow: 500
//
// Memory is within budget at every sample, and between them by the kernel's own high-water mark:
//     RSS  <=  base + total_budget + outcomes that are kept + SLACK_BYTES
// where base is what the daemon had resident after each circuit had been proved once and every key
// been evicted: its code, its stacks, gRPC. total_budget counts uploads as well as proofs and keys.
// SLACK_BYTES is for connections' buffers and what the allocator keeps.

import { execFile } from "node:child_process";
import fs from "node:fs";
import { Worker } from "node:worker_threads";
import { byBytes, byPath, chainCircuit, check, Client, dataCircuit, Daemon, equal, finish,
    inScratch, isOver, isSlow, N_GRPC_THREADS, priorities, programs, registration, request, section,
    seededRandom, sleep, streamParts, Tearable, until, validResult } from "./daemon_world.mjs";

const MIB = 2 ** 20;
const SLACK_BYTES = 4 * MIB;
const UPLOAD_BYTES = 8 * MIB;
const N_JOBS = isSlow ? 500 : 40;
const N_CLIENTS = 8;
const N_ROUNDS = 3;
const N_SMALL = isSlow ? 3000 : 400;
const N_HIGH = isSlow ? 30 : 6;
const HIGH_MS = 2000; // or three LOW proofs, on a machine that is slow or busy with other things
const mib = (bytes) => `${(bytes / MIB).toFixed(1)} MiB`;

const random = seededRandom();
const rounds = isSlow ? 20000 : 5400;
const circuits = [chainCircuit("large", "bn254", rounds),
    chainCircuit("large_bls", "bls12_381", rounds >> 2), dataCircuit("own_mimc"),
    dataCircuit("mult3_bls"), dataCircuit("nopriv")];
const [large, , mimc] = circuits;

async function registered(daemon) {
    const client = daemon.client();
    for (const circuit of circuits) await client.RegisterKey(registration(circuit));
    return client;
}

// What the largest job takes, its key included, as the daemon itself plans it.
async function largestJob() {
    const daemon = await new Daemon().start();
    const { keys } = await (await registered(daemon)).ListKeys();
    await daemon.stop();
    return Math.max(...keys.map((key) => Number(key.bytes) + Number(key.proof_bytes)));
}

// ---------------------------------------------------------------------------------------------
// Clients
// ---------------------------------------------------------------------------------------------

function submit(client, circuit, more) {
    switch (random(3)) {
    case 0:
        return client.Submit({ key: circuit.name, inputs: [byBytes(circuit)], ...more });
    case 1:
        return streamParts(client, { key: circuit.name, ...more }, [circuit.witness], 65536).answer;
    default:
        return client.Submit(request(circuit, more));
    }
}

// A way of its own to the daemon, which is cut while the call is under way.
async function vanish(daemon, circuit, more, counts) {
    const way = new Tearable(daemon.socket);
    const client = new Client(await way.open());
    const body = random(2) ? { inputs: [byBytes(circuit)] } : { inputs: [byPath(circuit)] };
    client.Prove({ key: circuit.name, ...body, ...more }).catch(() => {});
    await sleep(random(60));
    way.tear();
    client.close();
    counts.vanished++;
}

// Uploads together are bounded: who is told so comes again.
async function patiently(ask, counts) {
    for (;;) {
        try {
            return await ask();
        } catch (error) {
            if (!/upload|try again|later/.test(error.details ?? "")) throw error;
            counts.sentAway++;
            await sleep(20);
        }
    }
}

async function oneJob(daemon, client, name, counts) {
    const circuit = circuits[random(circuits.length)];
    const more = { priority: priorities[random(4)], request_id: random(5) ? name : "" };
    const fate = random(8);
    if (fate === 0) return vanish(daemon, circuit, more, counts);
    const { job } = await patiently(() => submit(client, circuit, more), counts);
    if (fate === 1) {
        await sleep(random(30));
        await client.Cancel({ job });
        counts.cancelled++;
    } else if (fate === 2 && more.request_id !== "") {
        const again = await patiently(() => submit(client, circuit, more), counts);
        equal([again.known, again.job], [true, job], "a repeat is the same job");
        counts.repeated++;
    } else if (fate <= 4) {
        await client.Await({ job, timeout_ms: 1 + random(20) }).catch(() => {});
    } else {
        const { job: info } = await client.Await({ job, without_proofs: true });
        check(isOver(info.state), `an Await of job ${job} ended early`);
    }
    return counts;
}

async function oneRound(daemon, round, counts) {
    await Promise.all(Array.from({ length: N_CLIENTS }, async (_, number) => {
        const client = new Client(daemon.target);
        for (let i = number; i < N_JOBS; i += N_CLIENTS) {
            await oneJob(daemon, client, `r${round}-${i}`, counts);
        }
        client.close();
    }));
}

// ---------------------------------------------------------------------------------------------
// Afterwards
// ---------------------------------------------------------------------------------------------

async function allJobs(client) {
    const jobs = [];
    for (let after = "0"; ;) {
        const page = await client.ListJobs({ after, n_max: 1000 });
        jobs.push(...page.jobs);
        after = page.next_after;
        if (after === "0") return jobs;
    }
}

function verifiedByCommand(circuit, { proof_json: proof, public_json: publics }, name) {
    const [proofFile, publicFile] = [inScratch(`${name}.proof`), inScratch(`${name}.public`)];
    fs.writeFileSync(proofFile, proof);
    fs.writeFileSync(publicFile, publics);
    return new Promise((resolve) => {
        execFile(programs.proofmill, ["verify", "-q", circuit.vkeyFile, publicFile, proofFile],
            (error) => resolve(error === null));
    });
}

// Every proof; each tenth by snarkjs, the others by the command.
async function checkProofs(client, jobs) {
    const counts = {};
    const proofs = new Set();
    for (const [i, { job, key, state, error }] of jobs.entries()) {
        counts[state] = (counts[state] ?? 0) + 1;
        if (state !== "JOB_STATE_DONE") {
            equal(state, "JOB_STATE_CANCELLED", `job ${job} (${error})`);
            continue;
        }
        const result = await client.Await({ job });
        const circuit = circuits.find(({ name }) => name === key);
        proofs.add(result.proofs[0].proof_json);
        if (i % 10 === 0) {
            await validResult(circuit, result, `job ${job}`);
        } else {
            check(await verifiedByCommand(circuit, result.proofs[0], "load"), `job ${job}: proof`);
        }
    }
    equal(proofs.size, counts.JOB_STATE_DONE, "different proofs");
    return counts;
}

function printWaits(jobs) {
    for (const priority of priorities) {
        const waits = jobs.filter((job) => job.priority === priority &&
            job.state === "JOB_STATE_DONE").map(({ times }) => Number(times.queue_ms));
        waits.sort((a, b) => a - b);
        const sum = waits.reduce((a, b) => a + b, 0);
        const mean = (sum / (waits.length || 1)).toFixed(0);
        console.log(`       ${priority.slice(9).padEnd(8)} ${String(waits.length).padStart(4)} ` +
            `jobs waited ${mean} ms, at most ${waits.at(-1) ?? 0} ms`);
    }
}

async function evictAll(client) {
    for (const { name } of circuits) {
        await until(() => client.EvictKey({ name }).then(() => true, () => false), "it is unused");
    }
}

function startSampling(daemon, baseBytes, budgetBytes) {
    if (process.getuid() === 0) { // VmHWM begins anew
        fs.writeFileSync(`/proc/${daemon.servingPid}/clear_refs`, "5");
    }
    const worker = new Worker(new URL("load_sampler.mjs", import.meta.url), { workerData: {
        pid: daemon.servingPid, port: daemon.statusPort, baseBytes, budgetBytes } });
    const seen = new Promise((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
    });
    seen.catch(() => {});
    return async () => {
        worker.postMessage("stop");
        return { ...await seen, peak: daemon.holdings().peak };
    };
}

function checkMemory(seen, baseBytes, budgetBytes) {
    console.log(`       ${seen.samples} samples: reserved at most ${mib(seen.reserved)} of ` +
        `${mib(seen.total)}; resident ${mib(seen.peak - baseBytes)} beside ${mib(baseBytes)}, ` +
        `budget ${mib(budgetBytes)}, outcomes ${mib(seen.kept)}; ${seen.queued} queued`);
    equal(seen.overReserved, 0, "samples in which more was reserved than there is");
    check(seen.reserved > 0 && seen.samples > 10, "nothing was sampled");
    check(seen.overBudget <= SLACK_BYTES, `a sample is ${mib(seen.overBudget)} over the budget`);
    const over = seen.peak - baseBytes - budgetBytes - seen.kept;
    check(over <= SLACK_BYTES, `the high-water mark is ${mib(over)} over the budget`);
}

// ---------------------------------------------------------------------------------------------
// The test
// ---------------------------------------------------------------------------------------------

const budgetBytes = Math.floor(await largestJob() * 1.2) + UPLOAD_BYTES;
const daemon = await new Daemon({
    memory: { total_budget: budgetBytes },
    rpc: { max_message: UPLOAD_BYTES, max_upload: UPLOAD_BYTES },
    scheduler: { ageing: "2s" },
}).start();
const client = await registered(daemon);
for (const circuit of circuits) {
    await validResult(circuit, await client.Prove(request(circuit)), `${circuit.name}, at first`);
}
await evictAll(client);
await sleep(200);
const baseBytes = daemon.holdings().rss;
const after = [];

for (let round = 0; round < N_ROUNDS; ++round) {
    await section(`round ${round}: ${N_JOBS} mixed jobs by ${N_CLIENTS} clients`, async () => {
        const counts = { cancelled: 0, repeated: 0, vanished: 0, sentAway: 0 };
        const before = (await allJobs(client)).length;
        const stopSampling = startSampling(daemon, baseBytes, budgetBytes);
        await oneRound(daemon, round, counts);
        await until(async () => (await client.ListJobs({ only_open: true })).jobs.length === 0,
            "all jobs have ended", isSlow ? 600000 : 120000);
        checkMemory(await stopSampling(), baseBytes, budgetBytes);
        const jobs = (await allJobs(client)).slice(before);
        const states = await checkProofs(client, jobs);
        console.log(`       ${JSON.stringify({ ...states, ...counts })}`);
        printWaits(jobs);
        const status = await client.GetStatus();
        equal([status.n_failed, status.stored_bytes], ["0", "0"], "failed jobs, stored bytes");
        await evictAll(client);
        await until(async () => (await client.GetStatus()).pools[0].reserved_bytes === "0",
            "all is given back");
        await sleep(300);
        const { outcomes_kept_bytes: kept } = await daemon.httpJson();
        after.push({ ...daemon.holdings(), kept });
        console.log(`       afterwards ${JSON.stringify(after.at(-1))}`);
    });
}

await section("nothing is left from round to round (C6)", () => {
    const [, second, third] = after;
    check(third.threads <= second.threads + N_GRPC_THREADS,
        `threads: ${second.threads}, ${third.threads}`);
    check(Math.abs(third.fds - second.fds) <= 2, `descriptors: ${second.fds}, ${third.fds}`);
    const [was, is] = [second, third].map(({ rss, kept }) => rss - kept);
    check(is <= was * 1.02 + MIB, `RSS but for outcomes: ${mib(was)}, then ${mib(is)}`);
});

// Outcomes are kept, and take memory: here few are, so that nothing may grow.
await section(`${N_SMALL} proofs, and RSS is flat to 1 % (C6)`, async () => {
    const small = await new Daemon({ journal: { max_results: 50 } }).start();
    const mine = small.client();
    await mine.RegisterKey(registration(circuits[3]));
    const bothWays = [request(circuits[3]),
        { key: circuits[3].name, inputs: [byBytes(circuits[3])] }];
    const some = async (n) => {
        for (let i = 0; i < n; i += 10) {
            await Promise.all(Array.from({ length: 10 }, (_, k) => mine.Prove(bothWays[k % 2])));
        }
        return small.holdings();
    };
    const warm = await some(N_SMALL / 2);
    const now = await some(N_SMALL / 2);
    console.log(`       RSS ${mib(warm.rss)}, then ${mib(now.rss)}`);
    check(now.rss <= warm.rss * 1.01 + MIB / 4, `RSS: ${mib(warm.rss)}, then ${mib(now.rss)}`);
    check(now.threads <= warm.threads + N_GRPC_THREADS,
        `threads: ${warm.threads}, ${now.threads}`);
    equal(now.fds, warm.fds, "descriptors");
    await small.stop();
});

await section("HIGH does not wait for LOW, which fills it all (D10)", async () => {
    const low = [];
    for (let i = 0; i < 40; ++i) {
        low.push((await client.Submit(request(large, { priority: "PRIORITY_LOW" }))).job);
    }
    const waits = [];
    for (let i = 0; i < N_HIGH; ++i) {
        await sleep(random(150));
        const { job } = await client.Prove(request(mimc, { priority: "PRIORITY_HIGH" }));
        waits.push(Number(job.times.queue_ms));
    }
    const { jobs } = await client.ListJobs({ only_open: true });
    check(jobs.some(({ priority }) => priority === "PRIORITY_LOW"), "LOW ran out");
    for (const job of low) await client.Cancel({ job });
    const proved = (await allJobs(client)).filter(({ job, state }) => low.includes(job) &&
        state === "JOB_STATE_DONE").map(({ times }) => Number(times.total_ms - times.queue_ms));
    // One is at work, one that has aged may have its turn, and a busy machine is not fair to all.
    const allowed = Math.max(HIGH_MS, 3 * Math.max(...proved));
    console.log(`       waited ${waits.join(", ")} ms of ${allowed} ms`);
    check(Math.max(...waits) <= allowed, `a HIGH job waited ${Math.max(...waits)} ms`);
});

await section("LOW gets its turn in a stream of HIGH (F2)", async () => {
    let isDone = false;
    let nHigh = 0;
    const stream = Array.from({ length: 12 }, async () => {
        const mine = new Client(daemon.target);
        for (; !isDone && nHigh < 5000; ++nHigh) {
            await mine.Prove(request(mimc, { priority: "PRIORITY_HIGH" }));
        }
        mine.close();
    });
    await until(() => nHigh > 12, "the stream flows");
    const result = await client.Prove(request(mimc, { priority: "PRIORITY_LOW" }));
    const nMeanwhile = nHigh;
    isDone = true;
    await Promise.all(stream);
    console.log(`       LOW waited ${result.job.times.queue_ms} ms; ${nMeanwhile} HIGH meanwhile`);
    await validResult(mimc, result, "the LOW job");
    check(Number(result.job.times.queue_ms) < 15000, `it waited ${result.job.times.queue_ms} ms`);
});

await daemon.stop();
finish();
