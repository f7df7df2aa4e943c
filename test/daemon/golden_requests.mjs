// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The bytes that @grpc/grpc-js sends for requests of every kind, kept in golden/ as
// SERVICE.MESSAGE.CASE.bin: those of cuzk as Curio's client fills them in.
//
//   node golden_requests.mjs BUILD_DIR           makes them again and compares; then the daemon
//                                                shows by its answers that it reads them
//   node golden_requests.mjs BUILD_DIR --write   writes them
//
// test_daemon_golden.c reads the files with the daemon's own decoders.

import fs from "node:fs";
import path from "node:path";
import { Client, check, Daemon, definitions, equal, finish, grpc, here, refused, section,
    serviceOf } from "./daemon_world.mjs";

const bytes = (length, first) => Buffer.from(Array.from({ length }, (_, i) => (first + i) & 255));
const U64_MAX = "18446744073709551615";

const PHASE1 = Buffer.from(JSON.stringify({ SectorNum: 7, Phase1Out: "e30=", SectorSize: 2048 }));
const POREP = {
    request_id: "porep-1000-7",
    proof_kind: "POREP_SEAL_COMMIT",
    sector_size: 34359738368,
    registered_proof: 8,
    priority: "NORMAL",
    vanilla_proof: PHASE1,
    sector_number: 7,
    miner_id: 1000,
};
const submits = {
    porep: POREP,
    snap: {
        request_id: "snap-1000-8",
        proof_kind: "SNAP_DEALS_UPDATE",
        sector_size: 34359738368,
        registered_proof: 3,
        priority: "NORMAL",
        vanilla_proofs: Array.from({ length: 16 }, (_, i) => bytes(24, i)),
        sector_number: 8,
        miner_id: 1000,
        comm_r_old: bytes(32, 1),
        comm_r_new: bytes(32, 2),
        comm_d_new: bytes(32, 3),
    },
    wdpost: {
        request_id: "wdpost-1000-2-[1 2 3 4 5 6 7 8]",
        proof_kind: "WINDOW_POST_PARTITION",
        registered_proof: 13,
        priority: "HIGH",
        vanilla_proofs: [bytes(40, 0), bytes(40, 40), bytes(40, 80)],
        miner_id: 1000,
        randomness: bytes(32, 100),
        partition_index: 2,
    },
    winpost: {
        request_id: "winpost-1000-0102030405060708",
        proof_kind: "WINNING_POST",
        registered_proof: 3,
        priority: "CRITICAL",
        vanilla_proofs: [bytes(66, 200)],
        miner_id: 1000,
        randomness: bytes(32, 150),
    },
    // Every field, at the end of its range.
    extremes: {
        request_id: "\u00fcber-\u{1f600}",
        proof_kind: "WINNING_POST",
        sector_size: U64_MAX,
        registered_proof: U64_MAX,
        priority: "CRITICAL",
        vanilla_proof: Buffer.alloc(300, 255),
        vanilla_proofs: [Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(0)],
        sector_number: U64_MAX,
        miner_id: U64_MAX,
        randomness: Buffer.alloc(1),
        partition_index: 4294967295,
        comm_r_old: bytes(3, 0),
        comm_r_new: bytes(200, 0),
        comm_d_new: bytes(1, 7),
    },
    empty: {},
};

// [service, method, case, request]
const cases = [
    ...Object.entries(submits).map(([name, value]) => ["cuzk", "SubmitProof", name, value]),
    ["cuzk", "Prove", "porep", { submit: POREP }],
    ["cuzk", "Prove", "nothing", {}],
    ["cuzk", "AwaitProof", "timeout", { job_id: "porep-1000-7", timeout_ms: 1800000 }],
    ["cuzk", "CancelProof", "id", { job_id: "porep-1000-7" }],
    ["cuzk", "PreloadSRS", "porep", { circuit_id: "porep-32g" }],
    ["cuzk", "EvictSRS", "porep", { circuit_id: "porep-32g" }],
    ["prover", "Submit", "paths", {
        key: "no-such-key", inputs: [{ path: "/nowhere/a.wtns" }, { path: "/nowhere/b.wtns" }],
        priority: "PRIORITY_CRITICAL", request_id: "one", timeout_ms: 86400000,
    }],
    ["prover", "Submit", "data", { key: "no-such-key", inputs: [{ data: bytes(200, 3) }] }],
    ["prover", "Submit", "emptydata", { key: "no-such-key", inputs: [{ data: bytes(0, 0) }] }],
    ["prover", "SubmitStream", "first", { request: { key: "no-such-key" } }],
    ["prover", "SubmitStream", "chunk", {
        data: bytes(64, 9), begins_part: true, part_bytes: 64,
    }],
    ["prover", "Await", "job", { job: U64_MAX, timeout_ms: 50, without_proofs: true }],
    ["prover", "Await", "request", { request_id: "no-such-request" }],
    ["prover", "Cancel", "job", { job: "123456789012345" }],
    ["prover", "Watch", "request", { request_id: "no-such-request" }],
    ["prover", "ListJobs", "all", { after: 5, n_max: 1000, only_open: true }],
    ["prover", "RegisterKey", "all", {
        name: "key", path: "/nowhere/key.params", r1cs_path: "/nowhere/key.r1cs",
        check: "CHECK_FULL", digest: bytes(64, 0),
    }],
    ["prover", "PreloadKey", "timeout", { name: "no-such-key", timeout_ms: 1 }],
    ["prover", "GetPlan", "device", { key: "no-such-key", device: "cpu" }],
    ["prover", "RestoreDevice", "card", { name: "cuda:15" }],
];

const serialized = new Map();
for (const [service, method, name, value] of cases) {
    // What a stranger would send: of cuzk, by the table.
    const definition = definitions[service === "cuzk" ? "cuzkByTable" : service];
    const { requestSerialize, requestType } = serviceOf(definition)[method];
    const file = `${service}.${requestType.type.name}.${name}.bin`;
    serialized.set(file, { service, method, bytes: requestSerialize(value) });
}

const folder = path.join(here, "golden");
if (process.argv.includes("--write")) {
    for (const [file, { bytes: b }] of serialized) fs.writeFileSync(path.join(folder, file), b);
    console.log(`${serialized.size} files written`);
    process.exit(0);
}

await section("the files are what grpc-js sends today", () => {
    const kept = fs.readdirSync(folder).filter((name) => name.endsWith(".bin")).sort();
    equal(kept, [...serialized.keys()].sort(), "the files in golden/");
    for (const [file, { bytes: b }] of serialized) {
        check(fs.readFileSync(path.join(folder, file)).equals(b), `${file} has other bytes`);
    }
});

const daemon = await new Daemon().start();
const client = new Client(daemon.target);
const send = (file, deadline) => {
    const { service, method } = serialized.get(file);
    const definition = definitions[service];
    return client.raw(serviceOf(definition)[method].path,
        fs.readFileSync(path.join(folder, file)), deadline ? { deadline } : {});
};
const { FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED } = grpc.status;

await section("the daemon reads those of cuzk", async () => {
    for (const name of ["porep", "snap", "wdpost", "winpost", "extremes"]) {
        await refused(send(`cuzk.SubmitProofRequest.${name}.bin`), UNIMPLEMENTED, /./, name);
    }
    await refused(send("cuzk.ProveRequest.porep.bin"), UNIMPLEMENTED, /./, "Prove");
    await refused(send("cuzk.SubmitProofRequest.empty.bin"), INVALID_ARGUMENT, /kind/, "no kind");
    await refused(send("cuzk.ProveRequest.nothing.bin"), INVALID_ARGUMENT, /./, "no request");
    for (const file of ["AwaitProofRequest.timeout", "CancelProofRequest.id"]) {
        await refused(send(`cuzk.${file}.bin`), NOT_FOUND, /porep-1000-7/, file);
    }
    for (const file of ["PreloadSrsRequest.porep", "EvictSrsRequest.porep"]) {
        await refused(send(`cuzk.${file}.bin`), NOT_FOUND, /porep-32g/, file);
    }
});

await section("the daemon reads those of proofmill", async () => {
    for (const name of ["paths", "data"]) {
        await refused(send(`prover.SubmitRequest.${name}.bin`), NOT_FOUND, /no-such-key/, name);
    }
    await refused(send("prover.SubmitRequest.emptydata.bin"), [INVALID_ARGUMENT, NOT_FOUND], /./,
        "an empty input");
    await refused(send("prover.AwaitRequest.job.bin"), NOT_FOUND, /18446744073709551615/, "job");
    await refused(send("prover.AwaitRequest.request.bin"), NOT_FOUND, /no-such-request/, "await");
    await refused(send("prover.JobRequest.job.bin"), NOT_FOUND, /123456789012345/, "cancel");
    await refused(send("prover.JobRequest.request.bin"), NOT_FOUND, /no-such-request/, "watch");
    await refused(send("prover.RegisterKeyRequest.all.bin"),
        [INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION], /key\.(params|r1cs)/, "key");
    await refused(send("prover.KeyRequest.timeout.bin"), NOT_FOUND, /no-such-key/, "preload");
    await refused(send("prover.PlanRequest.device.bin"), NOT_FOUND, /no-such-key/, "plan");
    await refused(send("prover.DeviceRequest.card.bin"), [NOT_FOUND, INVALID_ARGUMENT], /device/,
        "restore");
    check((await send("prover.ListJobsRequest.all.bin")).length === 0, "no jobs are listed");
});

client.close();
await daemon.stop();
finish();
