// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// cuzk.v1 as Curio's client meets it: @grpc/grpc-js, once with proto/cuzk/v1/cuzk.proto and once
// with golden/cuzk_by_table.proto, which was written from the table of field numbers alone. All
// eight calls, over a unix socket and over TCP, with messages of 256 MiB at most (F11).
//
//   node cuzk_client.mjs BUILD_DIR [slow]

import fs from "node:fs";
import { byPath, chainCircuit, check, Client, dataCircuit, Daemon, definitions, equal, finish,
    grpc, isSlow, MESSAGE_BYTES, programs, protoLoader, refused, registration, section, serviceOf,
    sleep, until } from "./daemon_world.mjs";

const { CANCELLED, DEADLINE_EXCEEDED, INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED,
    UNIMPLEMENTED } = grpc.status;
const MIB = 2 ** 20;

// ---------------------------------------------------------------------------------------------
// The descriptors
// ---------------------------------------------------------------------------------------------

// Every message and enum of a package, nested ones too, as lines that can be compared.
function linesOf(definition, packageName) {
    const lines = [];
    const addEnum = (name, { value }) => {
        for (const { name: label, number } of value) lines.push(`${name} ${label} = ${number}`);
    };
    const addMessage = (name, { field, nestedType, enumType }) => {
        lines.push(`message ${name}`);
        for (const { name: fieldName, number, type, label, typeName } of field) {
            // A type is named from the root or from where it is used, as the loader likes.
            const ofType = typeName ? typeName.split(".").pop() : "";
            lines.push(`${name}.${fieldName} = ${number} ${label} ${type} ${ofType}`);
        }
        for (const inner of nestedType) addMessage(`${name}.${inner.name}`, inner);
        for (const inner of enumType) addEnum(`${name}.${inner.name}`, inner);
    };
    for (const [name, entry] of Object.entries(definition)) {
        if (!name.startsWith(packageName)) continue;
        if (entry.format?.includes("DescriptorProto")) {
            (entry.type.value ? addEnum : addMessage)(name, entry.type);
        } else {
            for (const [method, m] of Object.entries(entry)) {
                lines.push(`rpc ${m.path} ${method} ${m.requestType.type.name} ` +
                    `${m.responseType.type.name} ${m.requestStream} ${m.responseStream}`);
            }
        }
    }
    return [...new Set(lines)].sort();
}

await section("our proto is the table's, name by name, number by number, type by type", () => {
    const ours = linesOf(definitions.cuzk, "cuzk.v1");
    const byTable = linesOf(definitions.cuzkByTable, "cuzk.v1");
    check(ours.length > 90, `only ${ours.length} lines were compared`);
    const without = (some, others) => some.filter((line) => !others.includes(line));
    equal(without(ours, byTable), [], "ours alone");
    equal(without(byTable, ours), [], "the table's alone");
});

await section("the published descriptor is that of both protos", () => {
    const published = protoLoader.loadFileDescriptorSetFromBuffer(
        fs.readFileSync(programs.protoset), { keepCase: true });
    for (const [name, definition] of [["cuzk.v1", definitions.cuzk],
        ["proofmill.v1", definitions.prover]]) {
        const lines = linesOf(published, name);
        check(lines.length > 90, `${name}: only ${lines.length} lines were compared`);
        equal(lines, linesOf(definition, name), `${name} in the descriptor`);
    }
});

// ---------------------------------------------------------------------------------------------
// The calls
// ---------------------------------------------------------------------------------------------

const KINDS = ["POREP_SEAL_COMMIT", "SNAP_DEALS_UPDATE", "WINDOW_POST_PARTITION", "WINNING_POST"];
const METRICS = ["cuzk_proofs_completed_total", "cuzk_proofs_failed_total", "cuzk_uptime_seconds",
    "cuzk_queue_depth", "cuzk_running_jobs", "cuzk_gpu_workers"];
// A key by the name that Curio asks for.
const porep = { ...dataCircuit("mult3_bls"), name: "porep-32g" };

const daemon = await new Daemon().start();
const prover = daemon.client();

async function submitsAndProves(client, what) {
    for (const kind of KINDS) {
        const submit = { request_id: kind, proof_kind: kind, vanilla_proof: Buffer.alloc(9) };
        await refused(client.SubmitProof(submit), UNIMPLEMENTED, /\w+ \w+/, `${what} ${kind}`);
        await refused(client.Prove({ submit }), UNIMPLEMENTED, /\w+ \w+/, `${what} Prove ${kind}`);
    }
    for (const kind of [0, 5, 77]) {
        const submit = { request_id: "x", proof_kind: kind };
        await refused(client.SubmitProof(submit), INVALID_ARGUMENT, /kind/, `${what} kind ${kind}`);
        await refused(client.Prove({ submit }), INVALID_ARGUMENT, /kind/, `${what} Prove ${kind}`);
    }
    await refused(client.Prove({}), INVALID_ARGUMENT, /./, `${what} Prove without a request`);
}

async function unknownIds(client, what) {
    for (const name of ["AwaitProof", "CancelProof"]) {
        const id = "wdpost-1000-2-[1 2 3 4 5 6 7 8]"; // as Curio names it
        await refused(client[name]({ job_id: id }), NOT_FOUND, /job/, `${what} ${name} "${id}"`);
        for (const id of ["porep-1000-7", "", "no such \u00fc", "x".repeat(5000)]) {
            const error = await refused(client[name]({ job_id: id }),
                [NOT_FOUND, INVALID_ARGUMENT], /./, `${what} ${name} "${id.slice(0, 20)}"`);
            check((error?.details ?? "").length < 1000, `${what} ${name}: a sentence, not a page`);
        }
    }
    for (const name of ["PreloadSRS", "EvictSRS"]) {
        await refused(client[name]({ circuit_id: "wpost-32g" }), NOT_FOUND, /wpost-32g/,
            `${what} ${name} of an unknown circuit`);
    }
}

async function residency(client, what) {
    equal((await client.PreloadSRS({ circuit_id: porep.name })).already_loaded, false,
        `${what} PreloadSRS`);
    equal((await client.PreloadSRS({ circuit_id: porep.name })).already_loaded, true,
        `${what} PreloadSRS again`);
    const status = await client.GetStatus();
    const srs = status.loaded_srs.find(({ circuit_id: id }) => id === porep.name);
    equal([srs?.tier, srs?.ref_count], ["WARM", 0], `${what} GetStatus: the loaded key`);
    check(Number(srs?.size_bytes) > 0, `${what} GetStatus: its size is ${srs?.size_bytes}`);
    const evicted = await client.EvictSRS({ circuit_id: porep.name });
    equal(evicted.was_loaded, true, `${what} EvictSRS`);
    check(Number(evicted.freed_bytes) > 0, `${what} EvictSRS: ${evicted.freed_bytes} bytes`);
    equal((await client.EvictSRS({ circuit_id: porep.name })).was_loaded, false,
        `${what} EvictSRS again`);
}

async function statusAndMetrics(client, what) {
    const status = await client.GetStatus();
    equal(status.gpus, [], `${what} GetStatus: cards of a daemon that has none`);
    check(Number(status.uptime_seconds) < 1000, `${what} uptime ${status.uptime_seconds}`);
    const { prometheus_text: text } = await client.GetMetrics();
    for (const name of METRICS) {
        check(new RegExp(`^${name}(\\{[^}]*\\})? [0-9.e+]+$`, "m").test(text),
            `${what} GetMetrics lacks ${name}`);
    }
    check(text === "" || text.endsWith("\n"), `${what} GetMetrics: the last line is not ended`);
}

await prover.RegisterKey(registration(porep));
const ways = { unix: (d) => daemon.client(d), TCP: (d) => daemon.tcpClient(d) };
for (const [way, make] of Object.entries(ways)) {
    for (const [proto, definition] of [["ours", definitions.cuzk],
        ["table", definitions.cuzkByTable]]) {
        const what = `${way}, ${proto}:`;
        await section(`${what} eight calls`, async () => {
            const client = make(definition);
            await submitsAndProves(client, what);
            await unknownIds(client, what);
            await residency(client, what);
            await statusAndMetrics(client, what);
        });
    }
}

// ---------------------------------------------------------------------------------------------
// Jobs of the other service, by their request ids
// ---------------------------------------------------------------------------------------------

const cuzk = daemon.client(definitions.cuzkByTable);

await section("AwaitProof gives the proof of a known request, part after part", async () => {
    await prover.Submit({ key: porep.name, request_id: "three",
        inputs: [byPath(porep), byPath(porep), byPath(porep)] });
    const first = await cuzk.AwaitProof({ job_id: "three" });
    equal([first.status, first.job_id], ["COMPLETED", "three"], "AwaitProof");
    const { proofs } = await prover.Await({ request_id: "three" });
    check(first.proof.equals(Buffer.concat(proofs.map(({ proof }) => proof))),
        "the proofs are those of proofmill.v1, one after another");
    equal(first.proof.length, 3 * 192, "bytes of the proof");
    check(first.proof.equals((await cuzk.AwaitProof({ job_id: "three" })).proof), "once more");
    const { job } = await prover.Await({ request_id: "three" });
    const byNumber = await cuzk.AwaitProof({ job_id: job.job });
    equal([byNumber.job_id, byNumber.proof.equals(first.proof)], [job.job, true], "by its number");
    equal((await cuzk.CancelProof({ job_id: "three" })).was_running, false, "cancelled too late");
    equal((await cuzk.AwaitProof({ job_id: "three" })).status, "COMPLETED", "it changes nothing");
});

await section("timeout_ms, CancelProof, deadlines and cancelled calls", async () => {
    const long = chainCircuit("long", "bls12_381", isSlow ? 20000 : 5400);
    await prover.RegisterKey(registration(long));
    const ids = Array.from({ length: 8 }, (_, i) => `long-${i}`);
    for (const id of ids) {
        await prover.Submit({ key: "long", request_id: id, inputs: [byPath(long)],
            priority: "PRIORITY_LOW" });
    }
    const last = { job_id: ids.at(-1) };
    const begun = Date.now();
    const late = await cuzk.AwaitProof({ ...last, timeout_ms: 60 });
    equal(late.status, "TIMEOUT", "AwaitProof with timeout_ms");
    check(Date.now() - begun >= 60, `it waited ${Date.now() - begun} ms of 60`);
    await refused(cuzk.AwaitProof(last, { deadline: Date.now() + 60 }), DEADLINE_EXCEEDED, /./,
        "AwaitProof with a deadline");
    const call = cuzk.begin("AwaitProof", last);
    await sleep(20);
    call.cancel();
    await refused(call.answer, CANCELLED, /./, "a cancelled AwaitProof");
    const waiting = cuzk.AwaitProof(last);
    equal((await cuzk.CancelProof(last)).was_running, false, "CancelProof of what waits");
    equal((await waiting).status, "CANCELLED", "who waits is told");
    const queue = (await cuzk.GetStatus()).queues;
    check(queue.every(({ proof_kind: kind }) => typeof kind === "string"), "queues");
    const first = { job_id: ids[0] };
    await cuzk.CancelProof(first);
    const { status } = await cuzk.AwaitProof(first);
    check(["CANCELLED", "COMPLETED"].includes(status), `cancelled while it ran: ${status}`);
    for (const id of ids.slice(1, -1)) await cuzk.CancelProof({ job_id: id });
});

// ---------------------------------------------------------------------------------------------
// What is too much, or is none of ours
// ---------------------------------------------------------------------------------------------

await section("200 MiB are taken, 300 MiB are refused with the limit (F11)", async () => {
    const submit = (mib) => ({ request_id: `${mib}MiB`, proof_kind: "POREP_SEAL_COMMIT",
        vanilla_proof: Buffer.alloc(mib * MIB, 0x5a) });
    const idle = daemon.holdings().rss;
    for (const mib of [5, 64, 200]) {
        await refused(cuzk.SubmitProof(submit(mib)), UNIMPLEMENTED, /\w+ \w+/, `${mib} MiB`);
    }
    await refused(cuzk.SubmitProof(submit(300)), RESOURCE_EXHAUSTED,
        new RegExp(`${MESSAGE_BYTES}|256 ?MiB`), "300 MiB");
    await refused(cuzk.SubmitProof(submit(1)), UNIMPLEMENTED, /./, "afterwards 1 MiB");
    await until(() => daemon.holdings().rss - idle < 64 * MIB, "it gives large messages back");
    const grown = daemon.holdings().rss - idle;
    const [was, more] = [idle, grown].map((bytes) => (bytes / MIB).toFixed(1));
    console.log(`       RSS ${was} MiB, afterwards ${more} more`);
    check(grown < 64 * MIB, `${(grown / MIB).toFixed(1)} MiB more are kept after large messages`);
});

await section("methods and services that are not there", async () => {
    for (const methodPath of ["/cuzk.v1.ProvingEngine/NoSuchMethod", "/no.such.Service/Prove",
        "/cuzk.v1.ProvingEngine/", "/", "/cuzk.v1.ProvingEngine/SubmitProof/x"]) {
        await refused(cuzk.raw(methodPath, Buffer.alloc(3)), UNIMPLEMENTED, /./, methodPath);
    }
    const { path } = serviceOf(definitions.cuzk).SubmitProof;
    for (const bytes of [Buffer.from([0xff]), Buffer.from([0x0a, 0x05, 0x41]),
        Buffer.alloc(4096, 0xee)]) {
        await refused(cuzk.raw(path, bytes), INVALID_ARGUMENT, /./, "bytes that are no message");
    }
});

await section("it is still there", async () => {
    check(daemon.isAlive, "the daemon has ended");
    const bare = new Client(`dns:///127.0.0.1:${daemon.tcpPort}`, definitions.cuzk);
    check(Number((await bare.GetStatus()).uptime_seconds) >= 0, "GetStatus as Curio dials");
    bare.close();
    await daemon.stop();
});
finish();
