// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What no well-behaved client sends: half-closed, malformed, slow, compressed, mislabelled calls,
// made frame by frame with Node's own HTTP/2, and connections that speak something else (F11, B16).
// After each of them the daemon serves everybody else as before, and holds no more than before.
//
//   node raw_client.mjs BUILD_DIR

import fs from "node:fs";
import http2 from "node:http2";
import net from "node:net";
import zlib from "node:zlib";
import { byBytes, check, dataCircuit, Daemon, definitions, equal, finish, grpc, N_GRPC_THREADS,
    refused, registration, section, seededRandom, serviceOf, sleep, streamParts, until,
    validResult } from "./daemon_world.mjs";

const MIB = 2 ** 20;
const { OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED } = grpc.status;
const random = seededRandom();
const mult3 = dataCircuit("mult3");
const prover = serviceOf(definitions.prover);
const submitBytes = prover.Submit.requestSerialize({ key: "mult3", inputs: [byBytes(mult3)] });

const UPLOAD_BYTES = 64 * MIB;
const daemon = await new Daemon({ rpc: { max_connections: 64, max_message: 16 * MIB,
    max_upload: UPLOAD_BYTES } }).start();
const client = daemon.client();
await client.RegisterKey(registration(mult3));
await validResult(mult3, await client.Prove({ key: "mult3", inputs: [byBytes(mult3)] }), "first");
const idle = daemon.holdings();

function frame(bytes, { compressed = 0, length = bytes.length } = {}) {
    const head = Buffer.alloc(5);
    head.writeUInt8(compressed, 0);
    head.writeUInt32BE(length, 1);
    return Buffer.concat([head, bytes]);
}

function session() {
    const made = http2.connect("http://localhost",
        { createConnection: () => net.connect(daemon.socket) });
    made.on("error", () => {});
    return made;
}

// One call. write(stream) sends its body. The answer's HTTP status and gRPC status; "none" when the
// stream ended without one, "silence" after ms.
function call(connection, path, write, headers = {}, ms = 60000) {
    return new Promise((resolve) => {
        const stream = connection.request({
            ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers",
            ...headers,
        });
        const answer = { http: 0, status: "none", message: "", nBytes: 0 };
        const take = (fields) => {
            answer.http = fields[":status"] ?? answer.http;
            if (fields["grpc-status"] === undefined) return;
            answer.status = Number(fields["grpc-status"]);
            answer.message = decodeURIComponent(fields["grpc-message"] ?? "");
        };
        const timer = setTimeout(() => {
            answer.status = "silence";
            stream.close(http2.constants.NGHTTP2_CANCEL);
        }, ms);
        stream.on("response", take);
        stream.on("trailers", take);
        stream.on("data", (data) => { answer.nBytes += data.length; });
        stream.on("error", () => {});
        stream.on("close", () => {
            clearTimeout(timer);
            resolve(answer);
        });
        write(stream);
    });
}

const sending = (...bodies) => (stream) => {
    for (const body of bodies) stream.write(body);
    stream.end();
};

function answered(answer, wanted, what) {
    check([wanted].flat().includes(answer.status), `${what}: ${JSON.stringify(answer)}`);
    if (answer.status !== OK) {
        check(answer.message.length < 1000, `${what}: ${answer.message.length} characters`);
    }
}

function notWell(answer, what) {
    const said = JSON.stringify(answer);
    check(answer.status !== OK && answer.status !== "silence", `${what}: ${said}`);
}

// Everybody else is served, and nothing has been left behind.
async function stillWell(what) {
    if (!check(daemon.isAlive, `${what}: the daemon has ended:\n${daemon.log()}`)) finish();
    await validResult(mult3, await client.Prove({ key: "mult3", inputs: [byBytes(mult3)] }), what);
    await until(async () => (await client.GetStatus()).stored_bytes === "0",
        `${what}: nothing is stored any more`);
}

const SUBMIT = prover.Submit.path;
const STATUS = prover.GetStatus.path;

await section("calls as they should be", async () => {
    const s = session();
    answered(await call(s, SUBMIT, sending(frame(submitBytes))), OK, "Submit");
    answered(await call(s, STATUS, sending(frame(Buffer.alloc(0)))), OK, "GetStatus");
    const whole = frame(submitBytes);
    const dribble = async (stream) => {
        for (let at = 0; at < whole.length; at += 64) {
            stream.write(whole.subarray(at, at + 64));
            await sleep(20);
        }
        stream.end();
    };
    const slow = call(s, SUBMIT, dribble);
    await stillWell("while another is slow");
    answered(await slow, OK, "a slow Submit");
    s.close();
});

await section("half-closed, cut off and too long", async () => {
    const s = session();
    const whole = frame(submitBytes);
    notWell(await call(s, SUBMIT, sending()), "no message");
    for (const length of [1, 4, 5, 6, whole.length - 1]) {
        notWell(await call(s, SUBMIT, sending(whole.subarray(0, length))), `${length} bytes`);
    }
    for (const length of [300 * MIB, 0xffffffff]) {
        notWell(await call(s, SUBMIT, sending(frame(Buffer.alloc(10), { length }))),
            `ten bytes that are to be ${length}`);
    }
    answered(await call(s, SUBMIT, sending(frame(Buffer.alloc(17 * MIB)))), RESOURCE_EXHAUSTED,
        "17 MiB");
    for (const more of [Buffer.alloc(3), whole]) {
        const { status } = await call(s, SUBMIT, sending(whole, more));
        check(status !== "silence", `${more.length} bytes too many`);
    }
    const open = await call(s, SUBMIT, (stream) => stream.write(whole.subarray(0, 9)), {}, 300);
    equal(open.status, "silence", "who never ends is waited for");
    s.close();
    await stillWell("afterwards");
});

await section("bodies that are no messages", async () => {
    const s = session();
    const bodies = [Buffer.from([0xff]), Buffer.from([0x0a, 0x7f]), Buffer.from([0x08]),
        Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff]), Buffer.from([0x0b]),
        Buffer.from([0x0a, 0x02, 0xc0, 0x80]), Buffer.from([0x0a, 0x01, 0x00]),
        Buffer.from([0x12, 0x02, 0x12, 0x05])];
    for (const body of bodies) {
        answered(await call(s, SUBMIT, sending(frame(body))), INVALID_ARGUMENT,
            body.toString("hex"));
    }
    // All but the one that would forget the key, whose name stands where Submit has it.
    const methods = Object.values(prover).filter(({ path }) => !path.endsWith("/ForgetKey"));
    for (let i = 0; i < 300; ++i) {
        const body = Buffer.from(submitBytes);
        for (let n = 1 + random(4); n > 0; --n) body[random(40)] ^= 1 << random(8);
        const method = methods[random(methods.length)];
        const answer = await call(s, method.path, sending(frame(body.subarray(0, random(400)))));
        check(typeof answer.status === "number", `${method.path}: ${JSON.stringify(answer)}`);
    }
    s.close();
    await stillWell("afterwards");
});

await section("other labels than a gRPC call has", async () => {
    const s = session();
    const body = sending(frame(submitBytes));
    for (const headers of [{ "content-type": "application/json" }, { "content-type": "text/plain" },
        { ":method": "GET" }, { ":method": "PUT" }, { "grpc-encoding": "br" },
        { "grpc-timeout": "soon" }, { "grpc-timeout": "99999999999999S" }, { te: undefined }]) {
        const answer = await call(s, SUBMIT, body, headers);
        check(answer.status !== "silence", `${JSON.stringify(headers)}: ${JSON.stringify(answer)}`);
    }
    for (const path of ["/", "", "/proofmill.v1.Prover/submit", "/proofmill.v1.Prover/Submit/",
        `/${"x".repeat(4000)}`]) {
        const answer = await call(s, path || "*", body);
        check(answer.status !== OK && answer.status !== "silence", `the path "${path}"`);
    }
    const fields = Array.from({ length: 50 }, (_, i) => [`x-${i}`, "y".repeat(90)]);
    const many = Object.fromEntries(fields);
    check((await call(s, STATUS, sending(frame(Buffer.alloc(0))), many)).status !== "silence",
        "many headers");
    const huge = await call(session(), STATUS, sending(frame(Buffer.alloc(0))),
        { "x-huge": "y".repeat(60000) });
    check(huge.status !== "silence", `a huge header: ${JSON.stringify(huge)}`);
    answered(await call(s, STATUS, sending(frame(Buffer.alloc(0))), { "grpc-timeout": "10S" }), OK,
        "the same connection as it should be");
    s.close();
    await stillWell("afterwards");
});

await section("compressed messages, and what is small only while it is compressed", async () => {
    const s = session();
    const gzip = { "grpc-encoding": "gzip" };
    const small = await call(s, SUBMIT, sending(frame(zlib.gzipSync(submitBytes),
        { compressed: 1 })), gzip);
    answered(small, [OK, UNIMPLEMENTED], "gzip");
    if (small.status === OK) {
        const mine = daemon.client(definitions.prover, { "grpc.default_compression_algorithm": 2 });
        await validResult(mult3, await mine.Prove({ key: "mult3", inputs: [byBytes(mult3)] }),
            "grpc-js with gzip");
    }
    notWell(await call(s, SUBMIT, sending(frame(submitBytes, { compressed: 1 })), gzip), "no gzip");
    const unsaid = await call(s, SUBMIT, sending(frame(submitBytes, { compressed: 1 })));
    check(unsaid.status !== "silence", "the flag without an encoding");
    notWell(await call(s, SUBMIT, sending(frame(submitBytes, { compressed: 77 }))), "flag 77");
    const before = daemon.holdings().peak;
    const bomb = zlib.gzipSync(Buffer.alloc(1024 * MIB), { level: 1 });
    const answer = await call(s, SUBMIT, sending(frame(bomb, { compressed: 1 })), gzip);
    notWell(answer, "1 GiB out of a few MiB");
    const grown = (daemon.holdings().peak - before) / MIB;
    console.log(`       ${(bomb.length / MIB).toFixed(1)} MiB that are 1 GiB: the peak of RSS ` +
        `grew by ${grown.toFixed(1)} MiB; it says "${answer.message}"`);
    check(grown < 80, `RSS grew by ${grown} MiB`);
    s.close();
    await stillWell("afterwards");
});

// A message that never ends is kept until it is whole: all of them together may hold max_upload.
await section("messages that are announced as 4 GiB, and keep coming", async () => {
    const before = daemon.holdings().rss;
    for (const n of [1, 8]) {
        const s = session();
        const calls = Array.from({ length: n }, () => call(s, SUBMIT, async (stream) => {
            stream.write(frame(Buffer.alloc(0), { length: 0xffffffff }));
            for (let i = 0; i < 150 && !stream.destroyed; ++i) {
                await new Promise((resolve) => stream.write(Buffer.alloc(MIB, 1), resolve));
            }
        }, {}, 2000));
        for (const { status } of await Promise.all(calls)) check(status !== OK, "it is accepted");
        const grown = (daemon.holdings().peak - before) / MIB;
        console.log(`       ${n} at once: RSS grew by ${grown.toFixed(1)} MiB at most`);
        check(grown < UPLOAD_BYTES / MIB + 24, `RSS grew by ${grown} MiB`);
        s.destroy();
        await stillWell("afterwards");
    }
});

await section("streams of more than max_upload, alone and together (F11)", async () => {
    const upload = (mib) => streamParts(client, { key: "mult3" }, [Buffer.alloc(mib * MIB)],
        4 * MIB).answer;
    const limit = new RegExp(`${UPLOAD_BYTES}|64 ?MiB`);
    await refused(upload(80), RESOURCE_EXHAUSTED, limit, "80 MiB");
    const [one, other] = await Promise.all([upload(50), upload(50)]
        .map((answer) => answer.catch((error) => error)));
    // Those that find room are too large for any witness of this key.
    const codes = [RESOURCE_EXHAUSTED, INVALID_ARGUMENT];
    for (const { code, details } of [one, other]) {
        check(codes.includes(code), `50 MiB beside 50: ${code} ${details}`);
    }
    check([one, other].some(({ code }) => code === RESOURCE_EXHAUSTED), "both found room");
    await refused(upload(20), INVALID_ARGUMENT, /./, "20 MiB afterwards");
    await stillWell("afterwards");
});

await section("connections that speak something else, or nothing", async () => {
    const noise = Buffer.from(Array.from({ length: 5000 }, () => random(256)));
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const settings = Buffer.from("000000040000000000", "hex");
    const lines = [Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, preface,
        Buffer.from("160301020001000001fc0303", "hex"), Buffer.concat([preface, noise]),
        Buffer.concat([preface, settings, Buffer.from("ffffff000100000001", "hex")]),
        Buffer.concat([preface, settings, Buffer.from("00000801050000000182848586", "hex")])];
    for (const line of lines) {
        const connection = net.connect(daemon.socket);
        connection.on("error", () => {});
        connection.write(line);
        await sleep(30);
        connection.destroy();
    }
    await stillWell("after other languages");
    const silent = Array.from({ length: 40 }, () => net.connect(daemon.socket));
    for (const connection of silent) connection.on("error", () => {});
    await sleep(100);
    await stillWell("beside 40 silent connections");
    for (const connection of silent) connection.destroy();
});

await section("more connections than are allowed", async () => {
    const crowd = Array.from({ length: 200 }, () => net.connect(daemon.socket));
    for (const connection of crowd) connection.on("error", () => {});
    await sleep(300);
    check(daemon.isAlive, "200 connections end it");
    check(daemon.holdings().fds < 200 + idle.fds, `${daemon.holdings().fds} descriptors are open`);
    await stillWell("for who was there before");
    for (const connection of crowd) connection.destroy();
    await until(() => daemon.holdings().fds <= idle.fds + 5, "the descriptors are given back");
    const fresh = daemon.client();
    check((await fresh.GetStatus()).version !== "", "a new client after the crowd has gone");
});

await section("streams that are opened by the hundred and reset", async () => {
    for (let round = 0; round < 20; ++round) {
        const s = session();
        const calls = Array.from({ length: 50 }, () => call(s, SUBMIT, (stream) => {
            stream.write(frame(submitBytes).subarray(0, random(300)));
            setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), random(8));
        }));
        await Promise.all(calls);
        s.destroy();
    }
    await stillWell("afterwards");
});

await section("nothing is left", async () => {
    await until(() => daemon.holdings().fds <= idle.fds + 8 &&
        daemon.holdings().threads <= idle.threads + N_GRPC_THREADS, "connections are closed");
    const now = daemon.holdings();
    console.log(`       idle ${JSON.stringify(idle)}\n       now  ${JSON.stringify(now)}`);
    check(now.fds <= idle.fds + 8, `${now.fds} descriptors, ${idle.fds} when idle`);
    check(now.threads <= idle.threads + N_GRPC_THREADS,
        `${now.threads} threads, ${idle.threads} when idle`);
    const more = (now.anon - idle.anon) / MIB;
    check(more < 200, `${more.toFixed(1)} MiB more`);
    equal(fs.existsSync(daemon.socket), true, "the socket");
    await daemon.stop();
    equal(fs.existsSync(daemon.socket), false, "the socket after its end");
});
finish();
