// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A thread of load_mixed.mjs, which is busy itself: every 20 ms what the kernel says that the
// daemon has resident, and what /status says that it has reserved. Told "stop", it hands over its
// maxima.

import fs from "node:fs";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const { pid, port, baseBytes, budgetBytes } = workerData;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const seen = { samples: 0, overReserved: 0, resident: 0, overBudget: 0, reserved: 0, total: 0,
    kept: 0, queued: 0 };
let isOver = false;
parentPort.on("message", () => { isOver = true; });

function status() {
    return new Promise((resolve, reject) => {
        const request = http.get({ port, host: "127.0.0.1", path: "/status", agent }, (answer) => {
            let text = "";
            answer.on("data", (data) => { text += data; });
            answer.on("end", () => resolve(JSON.parse(text)));
        });
        request.on("error", reject);
    });
}

while (!isOver) {
    const next = Date.now() + 20;
    const { memory, outcomes_kept_bytes: kept, counters } = await status();
    const resident = Number(fs.readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;
    seen.samples++;
    seen.overReserved += memory.used_bytes > memory.total_bytes;
    seen.total = memory.total_bytes;
    seen.reserved = Math.max(seen.reserved, memory.used_bytes);
    seen.resident = Math.max(seen.resident, resident);
    seen.kept = Math.max(seen.kept, kept);
    seen.queued = Math.max(seen.queued, counters.queue_depth);
    seen.overBudget = Math.max(seen.overBudget, resident - baseBytes - budgetBytes - kept);
    await sleep(Math.max(1, next - Date.now()));
}
agent.destroy();
parentPort.postMessage(seen);
