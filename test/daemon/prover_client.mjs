// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// proofmill.v1 from the outside, through @grpc/grpc-js: keys, jobs, uploads, many clients at a
// time, clients that vanish, and whatever a caller may get wrong. Every proof is judged by snarkjs.
// Reports A6, B2, B3, B16, F11, F12, RC3, RC5.
//
//   node prover_client.mjs BUILD_DIR [slow]

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { byBytes, byPath, chainCircuit, check, Client, dataCircuit, Daemon, definitions, equal,
    finish, grpc, inScratch, isOver, isSlow, leaveOut, N_GRPC_THREADS, priorities, refused,
    registration, request, section, sleep, streamParts, Tearable, until, validResult } from
    "./daemon_world.mjs";

const { CANCELLED, DEADLINE_EXCEEDED, FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND,
    OUT_OF_RANGE, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNAVAILABLE } = grpc.status;
const CHUNK_BYTES = isSlow ? 2 ** 20 : 2 ** 16;
const LONG_ROUNDS = isSlow ? 40000 : 5400;

const names = ["one", "one_bls", "mult3", "mult3_bls", "nopriv", "nopriv_bls", "own_mimc"];
const circuits = names.map(dataCircuit);
const [one, , mult3, mult3Bls, , , mimc] = circuits;

const daemon = await new Daemon().start();
const client = daemon.client();
const idle = daemon.holdings();

// ---------------------------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------------------------

await section("keys are registered, listed, preloaded, evicted and forgotten", async () => {
    for (const circuit of circuits) {
        const key = await client.RegisterKey(registration(circuit));
        equal([key.name, key.tier, key.n_public, key.digest.length, key.error],
            [circuit.name, "TIER_COLD", circuit.vkey.nPublic, 64, ""], "a registered key");
        const curve = circuit.vkey.curve === "bn128" ? "CURVE_BN254" : "CURVE_BLS12_381";
        equal(key.curve, curve, `${circuit.name}: curve`);
        equal((await client.RegisterKey({ ...registration(circuit), digest: key.digest })).name,
            circuit.name, "the same once more, with its digest");
    }
    equal((await client.ListKeys()).keys.map(({ name }) => name).sort(), [...names].sort(), "list");
    equal((await client.PreloadKey({ name: "one" })).already_loaded, false, "preload");
    equal((await client.PreloadKey({ name: "one" })).already_loaded, true, "preload again");
    const warm = (await client.ListKeys()).keys.find(({ name }) => name === "one");
    equal([warm.tier, warm.n_users, warm.n_loads], ["TIER_WARM", 0, "1"], "a warm key");
    const evicted = await client.EvictKey({ name: "one" });
    equal([evicted.was_loaded, evicted.freed_bytes === warm.bytes], [true, true], "evict");
    equal((await client.EvictKey({ name: "one" })).was_loaded, false, "evict again");
    await client.RegisterKey({ name: "passing", path: one.key });
    await client.ForgetKey({ name: "passing" });
    await refused(client.PreloadKey({ name: "passing" }), NOT_FOUND, /passing/, "forgotten");
});

await section("keys that are refused", async () => {
    const register = (more) => client.RegisterKey({ name: "bad", path: one.key, ...more });
    await refused(register({ digest: Buffer.alloc(63) }), INVALID_ARGUMENT, /64/, "63 bytes");
    await refused(register({ path: "test/data/one/one.zkey" }), INVALID_ARGUMENT, /absolute/,
        "a relative path");
    await refused(register({ path: "" }), INVALID_ARGUMENT, /./, "no path");
    await refused(register({ path: "/nowhere/one.zkey" }),
        [NOT_FOUND, FAILED_PRECONDITION, INVALID_ARGUMENT], /nowhere/, "no file");
    for (const path of [one.witness, one.vkeyFile, "/proc/self", "/dev/zero", inScratch()]) {
        await refused(register({ path }), [FAILED_PRECONDITION, INVALID_ARGUMENT], /./, path);
    }
    for (const name of ["", "a b", "../x", "x".repeat(128), "\u00fc"]) {
        await refused(register({ name }), INVALID_ARGUMENT, /name/, `the name "${name}"`);
    }
    await refused(register({ check: 9 }), INVALID_ARGUMENT, /check/i, "an unknown check");
    for (const method of ["PreloadKey", "EvictKey", "ForgetKey"]) {
        await refused(client[method]({ name: "nobody" }), NOT_FOUND, /nobody/, method);
    }
    await refused(client.GetPlan({ key: "nobody" }), NOT_FOUND, /nobody/, "plan");
    check(!(await client.ListKeys()).keys.some(({ name }) => name === "bad"), "none is listed");
});

// ---------------------------------------------------------------------------------------------
// Jobs
// ---------------------------------------------------------------------------------------------

await section("by path, inline, streamed; awaited by number and by name", async () => {
    for (const circuit of circuits) {
        const { job, known } = await client.Submit(request(circuit));
        check(job !== "0" && !known, `${circuit.name}: job ${job}`);
        await validResult(circuit, await client.Await({ job }), `${circuit.name} by path`);
        const inline = { key: circuit.name, inputs: [byBytes(circuit)] };
        await validResult(circuit, await client.Prove(inline), `${circuit.name} inline`);
        const streamed = await streamParts(client, { key: circuit.name,
            request_id: `s-${circuit.name}` }, [circuit.witness], 100).answer;
        const result = await client.Await({ request_id: `s-${circuit.name}` });
        equal(result.job.job, streamed.job, "the job of the request id");
        await validResult(circuit, result, `${circuit.name} streamed`);
    }
});

let long;
await section(`parts, streamed in chunks of ${CHUNK_BYTES} bytes, watched`, async () => {
    long = chainCircuit("long", "bn254", LONG_ROUNDS);
    await client.RegisterKey(registration(long));
    const { job } = await streamParts(client, { key: "long" }, [long.witness, long.witness],
        CHUNK_BYTES).answer;
    const seen = [];
    for await (const update of client.watch({ job })) seen.push(update);
    equal(seen.at(-1).state, "JOB_STATE_DONE", "the last state that is seen");
    check(seen.slice(0, -1).every(({ state }) => !isOver(state)), "updates after the last one");
    check(seen.length >= 3, `${seen.length} updates`);
    equal([seen.at(-1).n_parts, seen.at(-1).n_parts_done], [2, 2], "parts");
    await validResult(long, await client.Await({ job }), "two parts", 2);
    const states = [];
    const single = await client.Submit(request(long));
    for await (const update of client.watch({ job: single.job })) {
        seen.push(update);
        states.push(update.state);
    }
    check(seen.some(({ phase }) => phase !== ""), "no phase was seen");
    const order = ["QUEUED", "PREPARING", "PROVING", "FINISHING", "DONE"];
    const ranks = states.map((state) => order.indexOf(state.replace("JOB_STATE_", "")));
    check(ranks.every((rank, i) => rank >= (ranks[i - 1] ?? 0)), `states in order: ${states}`);
    const again = [];
    for await (const update of client.watch({ job })) again.push(update.state);
    equal(again, ["JOB_STATE_DONE"], "watching what has ended");
    const bare = await client.Await({ job, without_proofs: true });
    equal([bare.proofs.length, bare.job.state], [0, "JOB_STATE_DONE"], "without proofs");
});

await section("plan and status say what a proof holds", async () => {
    const plan = await client.GetPlan({ key: "long" });
    equal(plan.device, "cpu", "the plan's device");
    const steps = Object.fromEntries(plan.steps.map((s) => [s.name, Number(s.host_bytes)]));
    check(steps.prove > 100000 && steps.prove >= steps.finish, `steps ${JSON.stringify(steps)}`);
    check(Number(plan.key_bytes) >= fs.statSync(long.key).size, `key ${plan.key_bytes}`);
    const status = await client.GetStatus();
    equal(status.devices.map(({ name }) => name), ["cpu"], "devices");
    const host = status.pools.find(({ name }) => name === "host");
    check(Number(host.reserved_bytes) <= Number(host.total_bytes), "reserved");
    check(Number(host.peak_bytes) >= steps.prove, `peak ${host.peak_bytes}`);
    equal([status.n_failed, status.is_draining, status.journal_is_failing], ["0", false, false],
        "status");
    await refused(client.GetPlan({ key: "long", device: "cuda:7" }), [NOT_FOUND, INVALID_ARGUMENT],
        /device/, "the plan of a card that is not there");
    await refused(client.RestoreDevice({ name: "cuda:7" }), [NOT_FOUND, INVALID_ARGUMENT],
        /device/, "restoring a card that is not there");
});

await section("jobs are listed page by page, and cancelled", async () => {
    const jobs = [];
    for (let after = "0"; ;) {
        const page = await client.ListJobs({ after, n_max: 5 });
        jobs.push(...page.jobs);
        check(page.jobs.length <= 5, "a page is larger than asked for");
        after = page.next_after;
        if (after === "0") break;
    }
    const numbers = jobs.map(({ job }) => Number(job));
    check(numbers.every((n, i) => n > (numbers[i - 1] ?? 0)), `numbers in order: ${numbers}`);
    equal(jobs.length, 3 * circuits.length + 2, "jobs until now");
    const open = [];
    for (let i = 0; i < 6; ++i) open.push((await client.Submit(request(long))).job);
    const listed = (await client.ListJobs({ only_open: true })).jobs.map(({ job }) => job);
    check(listed.includes(open.at(-1)) && !listed.includes(String(numbers[0])), "open ones alone");
    const last = (await client.Await({ job: open.at(-1), timeout_ms: 1 }).catch((e) => e));
    equal(last.code, DEADLINE_EXCEEDED, "Await with timeout_ms");
    const cancelled = await client.Cancel({ job: open.at(-1) });
    equal(cancelled, { was_running: false, state: "JOB_STATE_CANCELLED" }, "cancelled in time");
    equal((await client.Await({ job: open.at(-1) })).job.state, "JOB_STATE_CANCELLED", "its state");
    await until(async () => {
        const { state } = (await client.Await({ job: open[0], without_proofs: true,
            timeout_ms: 1 }).catch(() => ({ job: { state: "open" } }))).job;
        const { jobs: now } = await client.ListJobs({ only_open: true });
        return isOver(state) || now.some(({ state: s }) => s === "JOB_STATE_PROVING");
    }, "a job is being proved");
    for (const job of open.slice(0, -1)) {
        const begun = Date.now();
        await client.Cancel({ job });
        const { job: info } = await client.Await({ job });
        check(isOver(info.state) && Date.now() - begun < 30000, "cancelled within seconds");
    }
    equal((await client.Cancel({ job: String(numbers[0]) })).state, "JOB_STATE_DONE", "too late");
});

// ---------------------------------------------------------------------------------------------
// Many at a time
// ---------------------------------------------------------------------------------------------

await section("F12: 100 submits at once, on 20 connections", async () => {
    const clients = Array.from({ length: 20 }, () => daemon.client());
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => clients[i % 20].Submit(
        request(circuits[i % circuits.length], { priority: priorities[i % 4] }))));
    equal(new Set(answers.map(({ job }) => job)).size, 100, "as many jobs");
    check(answers.every(({ n_ahead: n }) => n < 100), "places in the queue");
    check(answers.some(({ n_ahead: n }) => n > 0), "nobody had to queue");
    const results = await Promise.all(answers.map(({ job }, i) => clients[i % 20].Await({ job })));
    for (const [i, result] of results.entries()) {
        const circuit = circuits[i % circuits.length];
        equal([result.job.key, result.job.job], [circuit.name, answers[i].job], "whose result");
        await validResult(circuit, result, `${circuit.name}, one of 100`);
    }
    equal(new Set(results.map(({ proofs }) => proofs[0].proof_json)).size, 100, "proofs differ");
});

await section("one request id 50 times at once is one computation", async () => {
    const clients = Array.from({ length: 10 }, () => daemon.client());
    const before = Number((await client.GetStatus()).n_proofs);
    const same = request(mimc, { request_id: "fifty" });
    const proofs = await Promise.all(Array.from({ length: 50 }, async (_, i) => {
        const mine = clients[i % 10];
        if (i % 2) return (await mine.Prove(same)).proofs[0].proof;
        const { job } = await mine.Submit(same);
        return (await mine.Await({ job })).proofs[0].proof;
    }));
    equal(new Set(proofs.map((proof) => proof.toString("hex"))).size, 1, "different proofs");
    equal(Number((await client.GetStatus()).n_proofs) - before, 1, "proofs computed");
    equal((await client.Submit(same)).known, true, "known afterwards");
    await refused(client.Submit(request(one, { request_id: "fifty" })), INVALID_ARGUMENT,
        /request id/, "the same id for another key");
    await refused(client.Submit({ ...same, inputs: [byPath(mimc), byPath(mimc)] }),
        INVALID_ARGUMENT, /request id/, "the same id with other inputs");
    const inline = await client.Submit({ ...same, inputs: [byBytes(mimc)] });
    equal(inline.known, true, "the same content, inline");
});

// ---------------------------------------------------------------------------------------------
// Clients that vanish
// ---------------------------------------------------------------------------------------------

async function torn(body) {
    const way = new Tearable(daemon.socket);
    const mine = new Client(await way.open());
    await body(mine, way);
    way.tear();
    mine.close();
}

const newestJob = async () => Number((await client.ListJobs({ n_max: 1000 })).jobs.at(-1).job);

await section("a client that vanishes in the middle of an upload leaves nothing", async () => {
    const before = await newestJob();
    await torn(async (mine, way) => {
        streamParts(mine, { key: "long", request_id: "torn" }, [long.witness], 4096, 40)
            .answer.catch(() => {});
        await until(() => way.nBytes > 40 * 4096, "40 chunks are on their way");
    });
    await torn(async (mine, way) => {
        mine.Submit({ key: "long", request_id: "torn", inputs: [{ data: Buffer.alloc(2 ** 26) }] })
            .catch(() => {});
        await until(() => way.nBytes > 2 ** 18, "a quarter of a MiB is on its way");
    });
    await until(async () => (await client.GetStatus()).stored_bytes === "0", "nothing is stored");
    equal(await newestJob(), before, "the newest job");
    await refused(client.Await({ request_id: "torn" }), NOT_FOUND, /torn/, "the upload's name");
});

// Of a Prove whose caller goes once the job is there: how the job ends.
async function jobOfOneWhoGoes(begin) {
    const before = await newestJob();
    await begin(() => until(async () => (await newestJob()) > before, "the job is there"));
    return (await client.Await({ job: String(before + 1) })).job.state;
}

// A job may be done before its caller has gone: then it is tried again.
async function endsCancelled(begin, what) {
    let state = "";
    for (let i = 0; i < 10 && state !== "JOB_STATE_CANCELLED"; ++i) {
        state = await jobOfOneWhoGoes(begin);
        check(["JOB_STATE_CANCELLED", "JOB_STATE_DONE"].includes(state), `${what}: ${state}`);
    }
    equal(state, "JOB_STATE_CANCELLED", what);
}

await section("Prove without an id ends with its caller, with an id it goes on", async () => {
    const vanish = (id) => (untilThere) => torn(async (mine) => {
        mine.Prove(request(long, { request_id: id })).catch(() => {});
        await untilThere();
    });
    await endsCancelled(vanish(""), "after its caller vanished");
    equal(await jobOfOneWhoGoes(vanish("stays")), "JOB_STATE_DONE", "with an id");
    await endsCancelled(async (untilThere) => {
        const call = client.begin("Prove", request(long));
        await untilThere();
        call.cancel();
        const answer = await call.answer.catch((error) => error);
        check(answer.code === CANCELLED || answer.job, `a cancelled Prove: ${answer}`);
    }, "after its caller cancelled the call");
});

await section("Prove ends with its caller's deadline", async () => {
    const blockers = [];
    for (let i = 0; i < 40; ++i) blockers.push((await client.Submit(request(long))).job);
    const before = await newestJob();
    // A call that is over before it has come to the daemon is none there.
    for (let ms = 200; ms < 20000 && (await newestJob()) === before; ms *= 2) {
        await refused(client.Prove(request(long), { deadline: Date.now() + ms }),
            DEADLINE_EXCEEDED, /./, "a Prove whose deadline passes");
    }
    const { job } = await client.Await({ job: String(before + 1) });
    equal(job.state, "JOB_STATE_CANCELLED", "after its caller's deadline");
    for (const blocker of blockers) await client.Cancel({ job: blocker });
});

await section("who waits or watches may leave", async () => {
    const { job } = await client.Submit(request(long));
    await torn(async (mine) => {
        mine.Await({ job }).catch(() => {});
        const watch = mine.watch({ job });
        watch.on("error", () => {});
        await new Promise((resolve) => watch.once("data", resolve));
    });
    const watch = client.watch({ job });
    watch.on("error", () => {});
    await new Promise((resolve) => watch.once("data", resolve));
    watch.cancel();
    await validResult(long, await client.Await({ job }), "afterwards");
});

// ---------------------------------------------------------------------------------------------
// What a caller may get wrong
// ---------------------------------------------------------------------------------------------

// A .wtns with this many values, as its header says; more, or fewer, than the circuit's.
function withValues(circuit, change) {
    const old = fs.readFileSync(circuit.witness);
    const n8 = old.readUInt32LE(24);
    const headerEnd = 28 + n8 + 4;
    const values = [];
    for (let at = headerEnd + 12; at < old.length; at += n8) values.push(old.subarray(at, at + n8));
    const changed = change(values, old.subarray(28, 28 + n8));
    const header = Buffer.from(old.subarray(0, headerEnd + 12));
    header.writeUInt32LE(changed.length, 28 + n8);
    header.writeBigUInt64LE(BigInt(changed.length * n8), headerEnd + 4);
    return Buffer.concat([header, ...changed]);
}

function plus(value, modulus) {
    const number = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
    const sum = number(value) + number(modulus);
    return Buffer.from(sum.toString(16).padStart(64, "0"), "hex").reverse();
}

// Refused at once, or a job that fails for good with a sentence.
async function badInput(circuit, data, pattern, what) {
    const result = await client.Prove({ key: circuit.name, inputs: [{ data }] }).catch((e) => e);
    if (result.job) {
        equal([result.job.state, result.job.error_is_permanent, result.proofs.length],
            ["JOB_STATE_FAILED", true, 0], what);
    } else {
        check([INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE].includes(result.code),
            `${what}: ${result}`);
    }
    const sentence = result.job ? result.job.error : result.details;
    check(pattern.test(sentence ?? ""), `${what}: it says "${sentence}"`);
}

await section("B3, B2: witnesses with too few values, too many, too large; of another circuit",
    async () => {
        for (const circuit of [one, mult3, mult3Bls, mimc]) {
            const wrong = (change, what) => badInput(circuit, withValues(circuit, change),
                /\w+ \w+/, `${circuit.name}: ${what}`);
            await wrong((values) => values.slice(0, -1), "one value less");
            await wrong((values) => [...values, values[0]], "one value more");
            await wrong((values) => [...values, ...values], "twice the values");
            await wrong(() => [], "no values");
            await wrong((values, r) => [...values.slice(0, 1), plus(values[1], r),
                ...values.slice(2)], "a value plus r");
            await wrong((values) => [...values.slice(0, -1), plus(values.at(-1), Buffer.from([1]))],
                "a last value that satisfies nothing");
        }
        await badInput(mult3, fs.readFileSync(one.witness), /\w+ \w+/, "of another circuit");
        await badInput(mult3, fs.readFileSync(mult3Bls.witness), /\w+ \w+/, "of another curve");
        const whole = fs.readFileSync(mult3.witness);
        for (const length of [0, 1, 4, 11, 40, whole.length - 1]) {
            await badInput(mult3, whole.subarray(0, length), /\w+ \w+/, `${length} bytes of it`);
        }
        await badInput(mult3, Buffer.alloc(1000, 0x41), /\w+ \w+/, "no witness at all");
        await badInput(mult3, Buffer.alloc(2 ** 22), /\w+ \w+/, "far too much");
    });

await section("B3: no inputs, too many, and other requests that are refused", async () => {
    const submit = (more) => client.Submit(request(one, more));
    await refused(submit({ inputs: [] }), INVALID_ARGUMENT, /input/, "no inputs");
    await refused(submit({ inputs: [{}] }), INVALID_ARGUMENT, /input|path/, "an input of nothing");
    await refused(submit({ inputs: Array(4097).fill(byPath(one)) }), INVALID_ARGUMENT, /4096|parts/,
        "4097 inputs");
    await refused(submit({ key: "" }), [INVALID_ARGUMENT, NOT_FOUND], /key/, "no key");
    await refused(submit({ key: "nobody" }), NOT_FOUND, /nobody/, "an unknown key");
    for (const id of ["a b", "x".repeat(128), "\u00fc", "a/b"]) {
        await refused(submit({ request_id: id }), INVALID_ARGUMENT, /request/, `request "${id}"`);
    }
    await refused(submit({ priority: 9 }), INVALID_ARGUMENT, /priority/, "priority 9");
    for (const path of ["one.wtns", "/nowhere/one.wtns", "/proc/self", "/dev/zero", inScratch(),
        "/", ""]) {
        await refused(submit({ inputs: [{ path }] }),
            [INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION], /./, `the path "${path}"`);
    }
    const fifo = inScratch("fifo");
    spawnSync("mkfifo", [fifo]);
    await refused(client.Submit(request(one, { inputs: [{ path: fifo }] }),
        { deadline: Date.now() + 60000 }), [INVALID_ARGUMENT, FAILED_PRECONDITION], /./, "a fifo");
    await refused(client.Await({}), INVALID_ARGUMENT, /./, "await nothing");
    await refused(client.Await({ job: "99999999" }), NOT_FOUND, /99999999/, "await nobody's job");
    await refused(client.Cancel({ job: "99999999" }), NOT_FOUND, /99999999/, "cancel nobody's");
});

await section("streams in another order than they should be", async () => {
    const send = async (messages) => {
        const call = client.stream();
        for (const message of messages) call.write(message);
        call.end();
        return call.answer;
    };
    const data = fs.readFileSync(one.witness);
    const first = { request: { key: "one" } };
    await refused(send([]), INVALID_ARGUMENT, /./, "nothing at all");
    await refused(send([first]), INVALID_ARGUMENT, /input/, "no chunk");
    await refused(send([{ data, begins_part: true }]), INVALID_ARGUMENT, /request/, "no request");
    await refused(send([first, { data }]), INVALID_ARGUMENT, /begin/, "no beginning");
    await refused(send([first, { data, begins_part: true }, first]), INVALID_ARGUMENT, /request/,
        "a second request");
    await refused(send([{ request: { key: "nobody" } }, { data, begins_part: true }]), NOT_FOUND,
        /nobody/, "an unknown key");
    await refused(send([first, ...Array(4097).fill({ begins_part: true })]),
        INVALID_ARGUMENT, /4096/, "4097 parts");
    await refused(send([{ request: { key: "one", inputs: [byPath(one)] } },
        { data, begins_part: true }]), INVALID_ARGUMENT, /input/, "inputs of both kinds");
    for (const promised of [1, data.length - 1, data.length + 1, "18446744073709551615"]) {
        await refused(send([first, { data, begins_part: true, part_bytes: promised }]),
            [INVALID_ARGUMENT, RESOURCE_EXHAUSTED], /bytes/, `${promised} bytes were promised`);
    }
    const whole = await send([first, { data, begins_part: true, part_bytes: data.length }]);
    await validResult(one, await client.Await({ job: whole.job }), "as long as promised");
    const bytewise = streamParts(client, { key: "one" }, [one.witness], 1);
    const { job } = await bytewise.answer;
    await validResult(one, await client.Await({ job }), "a byte at a time");
});

await section("a deadline of its own fails a job, and who asks is told why", async () => {
    const blockers = [];
    for (let i = 0; i < 5; ++i) blockers.push((await client.Submit(request(long))).job);
    const { job } = await client.Submit(request(long, { timeout_ms: 20,
        priority: "PRIORITY_LOW" }));
    const { job: info } = await client.Await({ job });
    equal([info.state, info.error_status], ["JOB_STATE_FAILED", "DEADLINE"], "its end");
    check(/\w+ \w+/.test(info.error), `it says "${info.error}"`);
    for (const blocker of blockers) await client.Cancel({ job: blocker });
});

// ---------------------------------------------------------------------------------------------
// Keys that come, go and change
// ---------------------------------------------------------------------------------------------

await section("B16: submits before a key is loaded, while it is, while it leaves", async () => {
    for (const round of [0, 1, 2]) {
        await until(async () => client.EvictKey({ name: "long" }).then(() => true, () => false),
            "nobody uses the key");
        const calls = [client.Prove(request(long)), client.PreloadKey({ name: "long" }),
            client.Prove(request(long)), client.EvictKey({ name: "long" }).catch((e) => e)];
        if (round > 0) await sleep(10 * round);
        calls.push(client.EvictKey({ name: "long" }).catch((e) => e), client.Prove(request(mimc)));
        const [early, , during, evicted, again, other] = await Promise.all(calls);
        await validResult(long, early, "submitted before its key was loaded");
        await validResult(long, during, "submitted while it was loaded");
        await validResult(mimc, other, "with another key meanwhile");
        for (const answer of [evicted, again]) {
            check(answer.code === undefined || answer.code === FAILED_PRECONDITION,
                `evicting meanwhile: ${answer}`);
        }
    }
});

await section("B16: a key whose file is damaged, missing, or another one since", async () => {
    const mine = { ...mimc, name: "mine", key: inScratch("mine.zkey") };
    const put = (from, bytes) => {
        fs.writeFileSync(`${mine.key}.new`, bytes ?? fs.readFileSync(from));
        fs.renameSync(`${mine.key}.new`, mine.key);
    };
    const attempt = () => client.Prove(request(mine)).catch((e) => e);
    const fails = async (what) => {
        const result = await attempt();
        const sentence = result.job ? result.job.error : result.details;
        check(result.job ? result.job.state === "JOB_STATE_FAILED"
            : [FAILED_PRECONDITION, NOT_FOUND].includes(result.code), `${what}: ${result}`);
        check(/mine/.test(sentence), `${what}: it says "${sentence}"`);
    };
    const evict = () => until(async () => client.EvictKey({ name: "mine" }).then(() => true,
        () => false), "nobody uses it");
    put(mimc.key);
    await client.RegisterKey(registration(mine));
    await validResult(mine, await attempt(), "as registered");

    put(one.key);
    const open = await attempt();
    if (open.proofs?.length) await validResult(mine, open, "replaced while it is open");
    await evict();
    await fails("another key's file");
    const damaged = fs.readFileSync(mimc.key);
    damaged[damaged.length >> 1] ^= 0x40;
    put(null, damaged);
    await evict();
    await fails("a damaged file");
    put(null, damaged.subarray(0, 5000));
    await evict();
    await fails("half a file");
    fs.unlinkSync(mine.key);
    await evict();
    await fails("no file");
    put(mimc.key);
    await validResult(mine, await attempt(), "the same file again");

    put(one.key);
    await until(async () => client.RegisterKey(registration(mine)).then(() => true, () => false),
        "the name is given to another file");
    await validResult({ ...one, name: "mine" }, await client.Prove({ key: "mine",
        inputs: [byPath(one)] }), "under its new meaning");
});

await section("an input that changes before its turn fails its job", async () => {
    const file = inScratch("changing.wtns");
    const blockers = [];
    fs.copyFileSync(long.witness, file);
    for (let i = 0; i < 5; ++i) blockers.push((await client.Submit(request(long))).job);
    const { job } = await client.Submit({ key: "long", inputs: [{ path: file }],
        priority: "PRIORITY_LOW" });
    const fd = fs.openSync(file, "r+");
    fs.writeSync(fd, Buffer.from([1, 2, 3]), 0, 3, 4000);
    fs.closeSync(fd);
    const { job: info } = await client.Await({ job });
    equal([info.state, info.error_status], ["JOB_STATE_FAILED", "FILE_CHANGED"], "its end");
    for (const blocker of blockers) await client.Await({ job: blocker });
});

// ---------------------------------------------------------------------------------------------
// Over TCP
// ---------------------------------------------------------------------------------------------

await section("a key that jobs use is not forgotten", async () => {
    const { job } = await client.Submit(request(long));
    await refused(client.ForgetKey({ name: "long" }), FAILED_PRECONDITION, /use/, "forget");
    await validResult(long, await client.Await({ job }), "its job");
});

await section("over TCP: inputs as bytes, and no paths", async () => {
    const far = daemon.tcpClient();
    await validResult(mult3, await far.Prove({ key: "mult3", inputs: [byBytes(mult3)] }), "bytes");
    await refused(far.Submit(request(mult3)), PERMISSION_DENIED, /unix|path/, "a path");
    await refused(far.RegisterKey(registration(mult3)), PERMISSION_DENIED, /unix|path/, "a key");
});

// ---------------------------------------------------------------------------------------------
// Secrets
// ---------------------------------------------------------------------------------------------

// Values of a witness that no chance puts anywhere else.
function secretsOf(circuit) {
    const bytes = fs.readFileSync(circuit.witness);
    const secrets = [];
    for (let at = bytes.length - 32; at > bytes.length / 2 && secrets.length < 40; at -= 320) {
        const value = bytes.subarray(at, at + 32);
        if (new Set(value).size > 20) secrets.push(value);
    }
    return secrets;
}

const nIn = (bytes, secrets) => secrets.filter((secret) => bytes.includes(secret)).length;

// In all memory that the daemon can write to. Root alone may look there.
function nInMemory(secrets) {
    const proc = `/proc/${daemon.servingPid}`;
    const fd = fs.openSync(`${proc}/mem`, "r");
    let n = 0;
    for (const line of fs.readFileSync(`${proc}/maps`, "utf8").split("\n")) {
        const [range, rights] = line.split(" ");
        const [from, to] = range.split("-").map((hex) => parseInt(hex, 16));
        if (!rights?.startsWith("rw") || to - from > 2 ** 30) continue;
        const bytes = Buffer.alloc(to - from);
        try {
            fs.readSync(fd, bytes, 0, to - from, from);
        } catch {
            continue; // not the kind of memory that can be read
        }
        n += nIn(bytes, secrets);
    }
    fs.closeSync(fd);
    return n;
}

await section("nothing of a witness is left in memory, in the journal or in the log", async () => {
    const secrets = secretsOf(mimc);
    check(secrets.length > 20, "hardly a secret is known");
    if (process.getuid() === 0) {
        const call = client.stream();
        call.write({ request: { key: "own_mimc" } });
        call.write({ data: fs.readFileSync(mimc.witness), begins_part: true });
        await until(() => nInMemory(secrets) > 0, "it is found while it is there");
        call.end();
        await client.Await({ job: (await call.answer).job });
        await client.Prove(request(mimc));
        await client.Prove({ key: "own_mimc", inputs: [byBytes(mimc)] });
        await until(() => nInMemory(secrets) === 0, "memory is clean", 20000);
    }
    for (const name of fs.readdirSync(daemon.stateFolder, { recursive: true })) {
        const file = `${daemon.stateFolder}/${name}`;
        if (fs.statSync(file).isFile()) equal(nIn(fs.readFileSync(file), secrets), 0, `in ${name}`);
    }
    equal(nIn(fs.readFileSync(daemon.logFile), secrets), 0, "in the log");
});

// Keys and certificates of a small world: a CA, a server, a client, and a client of nobody's.
function makeCertificates(folder) {
    fs.mkdirSync(folder);
    const openssl = (...args) => spawnSync("openssl", args, { cwd: folder }).status === 0;
    const pair = (name, extra) => openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", `/CN=${name}`,
        "-keyout", `${name}.key`, "-out", `${name}.pem`, ...extra);
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"];
    return pair("ca", []) && pair("stranger", []) && pair("client", signed) &&
        pair("server", [...signed, "-addext", "subjectAltName=IP:127.0.0.1"]);
}

await section("over TLS: both sides show certificates", async () => {
    const folder = inScratch("tls");
    if (!makeCertificates(folder)) {
        leaveOut("openssl does not make certificates here");
        return;
    }
    const file = (name) => `${folder}/${name}`;
    const pem = (name) => fs.readFileSync(file(name));
    const safe = await new Daemon({ tls: { certificate: file("server.pem"),
        key: file("server.key"), client_ca: file("ca.pem") } }).start();
    const dial = (...credentials) => new Client(`127.0.0.1:${safe.tcpPort}`, definitions.prover,
        grpc.credentials.createSsl(...credentials));
    const soon = () => ({ deadline: Date.now() + 2000 });
    const known = dial(pem("ca.pem"), pem("client.key"), pem("client.pem"));
    check((await known.GetStatus()).version !== "", "a known client");
    await safe.client().RegisterKey(registration(mult3));
    await validResult(mult3, await known.Prove({ key: "mult3", inputs: [byBytes(mult3)] }), "TLS");
    await refused(known.Submit(request(mult3)), PERMISSION_DENIED, /unix|path/, "a path over TLS");
    const strangers = { "no certificate": dial(pem("ca.pem")),
        "a stranger's certificate": dial(pem("ca.pem"), pem("stranger.key"), pem("stranger.pem")),
        "another CA": dial(pem("stranger.pem"), pem("client.key"), pem("client.pem")),
        "no TLS": new Client(`127.0.0.1:${safe.tcpPort}`) };
    for (const [what, stranger] of Object.entries(strangers)) {
        await refused(stranger.GetStatus({}, soon()), [UNAVAILABLE, DEADLINE_EXCEEDED], /./, what);
        stranger.close();
    }
    known.close();
    await safe.stop();
});

await section("nothing is left", async () => {
    for (const { name } of (await client.ListKeys()).keys) await client.EvictKey({ name });
    const status = await client.GetStatus();
    equal([status.n_running, status.n_queued, status.stored_bytes], [0, 0, "0"], "jobs");
    await until(async () => (await client.GetStatus()).pools.find(({ name }) => name === "host")
        .reserved_bytes === "0", "nothing is reserved");
    for (const other of daemon.clients) other.close();
    await until(() => daemon.holdings().fds <= idle.fds + 2 &&
        daemon.holdings().threads <= idle.threads + N_GRPC_THREADS, "connections are closed");
    const now = daemon.holdings();
    console.log(`       idle ${JSON.stringify(idle)}\n       now  ${JSON.stringify(now)}`);
    check(now.threads <= idle.threads + N_GRPC_THREADS,
        `${now.threads} threads, ${idle.threads} when idle`);
    await daemon.stop();
});
finish();
