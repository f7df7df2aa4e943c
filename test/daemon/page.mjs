// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The live page in a browser, over a real daemon that is idle, busy, and started anew.
//
//   node page.mjs BUILD
//
// The browser is Chromium, from PM_CHROMIUM or the PATH, driven by playwright-core, which comes as
// the other packages do (daemon_world.mjs). Ends with 77 (skipped) when one is missing. With
// PM_SCREENSHOTS it leaves pictures in that folder, for people to look at.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import {
    chainCircuit, check, Daemon, dataCircuit, equal, finish, inScratch, isOver, registration,
    request, section, sleep, source, until,
} from "./daemon_world.mjs";

function skip(reason) {
    console.log(`SKIP: ${reason}`);
    process.exit(77);
}

function findPlaywright() {
    const folders = [path.join(source, "test/interop"), path.join(source, "build/interop")];
    if (process.env.PM_NODE_MODULES) folders.unshift(path.dirname(process.env.PM_NODE_MODULES));
    const require = createRequire(import.meta.url);
    try {
        return require(require.resolve("playwright-core", { paths: folders }));
    } catch {
        return skip("playwright-core is not installed: run tools/setup_interop.sh");
    }
}

function findChromium() {
    const names = ["chromium", "chromium-browser", "google-chrome"];
    const found = (process.env.PATH ?? "").split(":")
        .flatMap((folder) => names.map((name) => path.join(folder, name)));
    return [process.env.PM_CHROMIUM, ...found].find((file) => file && fs.existsSync(file)) ??
        skip("there is no chromium: install it, or set PM_CHROMIUM");
}

const executablePath = findChromium();
const browser = await findPlaywright().chromium.launch({
    executablePath,
    headless: true,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

const WIDTHS = [1280, 400];
const SCHEMES = ["light", "dark"];

const daemon = new Daemon();
await daemon.start();
const origin = `http://127.0.0.1:${daemon.statusPort}`;

// A page that remembers what it asked for, what it was told, and what went wrong.
async function openPage(options = {}) {
    const viewport = { width: 1280, height: 900 };
    const context = await browser.newContext({ viewport, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    const seen = { problems: [], foreign: [], statuses: new Map() };
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) seen.problems.push(message.text());
    });
    page.on("pageerror", (error) => seen.problems.push(error.message));
    page.on("request", (asked) => {
        const url = asked.url();
        if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) seen.foreign.push(url);
    });
    page.on("response", async (response) => {
        if (!response.url().endsWith("/status") || !response.ok()) return;
        const status = await response.json().catch(() => null);
        if (status) seen.statuses.set(String(status.now_us), status);
    });
    await page.goto(`${origin}/`);
    return { page, seen, close: () => context.close() };
}

// What stands in the page at one moment, and which status it was made from.
const readPage = (page) => page.evaluate(() => {
    const text = (id) => document.getElementById(id)?.textContent;
    const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)]
        .map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
    const tiles = Object.fromEntries([...document.querySelectorAll("#tiles > div")]
        .map((box) => [box.children[0].textContent, box.children[1].textContent]));
    return {
        nowUs: document.body.dataset.nowUs, tiles, health: text("health"),
        version: text("version"), bars: Number(document.getElementById("timeline").dataset.bars),
        queue: rows("queue"), ended: rows("ended"), keys: rows("keys"), devices: rows("devices"),
        overflow: document.documentElement.scrollWidth - innerWidth,
    };
});

const shown = (page) => page.waitForFunction(() => document.body.dataset.nowUs !== undefined);

// Waits for a rendering whose status was seen on the wire.
async function readWithStatus({ page, seen }) {
    for (let turn = 0; turn < 50; turn++) {
        const read = await readPage(page);
        const status = seen.statuses.get(read.nowUs);
        if (status) return { read, status };
        await sleep(100);
    }
    throw new Error("no rendering whose status is known");
}

const number = (text) => Number(text.replaceAll(",", ""));
const firstLine = (text) => text.split("\n")[0];

function compare({ read, status }, what) {
    const { totals, queued } = status;
    const nQueued = queued.low + queued.normal + queued.high + queued.critical;
    equal(number(read.tiles.running), status.running, `${what}: running`);
    equal(number(read.tiles.queued), nQueued, `${what}: queued`);
    equal(number(read.tiles.done), totals.done, `${what}: done`);
    equal(number(read.tiles.failed), totals.failed, `${what}: failed`);
    equal(number(read.tiles.proofs), totals.proofs, `${what}: proofs`);
    equal(number(read.tiles.retries), totals.retries, `${what}: retries`);
    equal(number(read.tiles.withheld), totals.wrong_proofs, `${what}: withheld`);
    equal(read.version, status.version, `${what}: version`);
    equal(read.keys.map((row) => firstLine(row[0])), status.keys.map((key) => key.name),
        `${what}: keys`);
    equal(read.keys.map((row) => firstLine(row[1])), status.keys.map((key) => key.tier),
        `${what}: tiers`);
    equal(read.keys.map((row) => number(row[5])), status.keys.map((key) => key.users),
        `${what}: users of keys`);
    equal(read.devices.map((row) => firstLine(row[0])), status.devices.map((one) => one.name),
        `${what}: devices`);
    equal(read.devices.map((row) => number(row[5])), status.devices.map((one) => one.proofs),
        `${what}: proofs of devices`);
    const open = status.jobs.filter((job) => job.ended_ms === null);
    equal(read.queue.map((row) => firstLine(row[0])).sort(),
        open.slice(0, 100).map((job) => String(job.job)).sort(), `${what}: jobs`);
    for (const row of read.queue) {
        const job = open.find((one) => String(one.job) === firstLine(row[0]));
        equal(row[1], job?.key, `${what}: key of job ${job?.job}`);
        equal(row[3], job?.state, `${what}: state of job ${job?.job}`);
        if (job?.state === "queued") equal(row[5], job.waits_for, `${what}: why ${job.job} waits`);
    }
}

async function picture(name, { width, scheme }) {
    const folder = process.env.PM_SCREENSHOTS;
    const opened = await openPage({ viewport: { width, height: 900 }, colorScheme: scheme });
    await shown(opened.page);
    await sleep(2500);
    const read = await readPage(opened.page);
    check(read.overflow <= 0, `${name} is ${read.overflow} pixels wider than ${width}`);
    equal(opened.seen.problems, [], `${name}, ${width}, ${scheme}: problems`);
    if (folder) {
        fs.mkdirSync(folder, { recursive: true });
        await opened.page.screenshot({ path: path.join(folder, `${name}_${width}_${scheme}.png`),
            fullPage: true });
    }
    await opened.close();
}

async function pictures(name) {
    for (const width of WIDTHS) {
        for (const scheme of SCHEMES) await picture(name, { width, scheme });
    }
}

// ---- The tests -------------------------------------------------------------------------------

const small = dataCircuit("mult3");
const large = chainCircuit("chain", "bn254", 12000);
let client = daemon.client();

// A file that is no witness, with a name that would be markup if anybody took it for that.
const hostile = inScratch("<img src=x onerror=alert(1)>.wtns");
fs.writeFileSync(hostile, "this is no witness");

const main = await openPage();
await shown(main.page);

await section("an idle daemon", async () => {
    await client.RegisterKey(registration(small));
    await until(async () => (await readPage(main.page)).keys.length === 1, "the key is shown");
    const both = await readWithStatus(main);
    compare(both, "idle");
    equal(both.read.health, "healthy", "health");
    equal(both.read.queue, [], "queue");
    equal(both.read.bars, 0, "bars of the timeline");
    check(await main.page.isVisible("#queue-empty"), "it says that no job waits");
    await pictures("idle");
});

// Less contrast than 4.5 to what is behind it cannot be read by everybody.
const faint = (page) => page.evaluate(() => {
    const parts = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
    const behind = (element) => {
        if (!element) return [255, 255, 255];
        const colour = parts(getComputedStyle(element).backgroundColor);
        if ((colour[3] ?? 1) === 1) return colour;
        return over(colour, behind(element.parentElement));
    };
    return [...document.querySelectorAll("body *")].filter((element) =>
        element.checkVisibility() && [...element.childNodes]
            .some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()))
        .filter((element) => {
            const [a, b] = [parts(getComputedStyle(element).color), behind(element)].map(light);
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
        }).map((element) => `${element.tagName} "${element.textContent.trim().slice(0, 30)}"`);
});

// How many pixels of a canvas are not empty.
const inked = (page, selector) => page.evaluate((which) => {
    const canvas = document.querySelector(which);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let i = 3; i < data.length; i += 4) n += data[i] !== 0;
    return n;
}, selector);

// Jobs of one and of four parts, of three priorities, so many open at a time until told to end.
async function feed(nOpen, prefix, load) {
    const open = new Set();
    for (let i = 0; !load.isOver; i++) {
        const priority = ["PRIORITY_LOW", "PRIORITY_NORMAL", "PRIORITY_HIGH"][i % 3];
        const inputs = Array(i % 4 === 0 ? 4 : 1).fill({ path: large.witness });
        const { job } = await client.Submit(
            request(large, { priority, inputs, request_id: `${prefix}-${i}` }));
        load.jobs.push(job);
        const ended = client.Await({ job, without_proofs: true }).then((answer) => {
            check(isOver(answer.job.state), `job ${job} is ${answer.job.state}`);
            open.delete(ended);
        });
        open.add(ended);
        if (open.size >= nOpen) await Promise.race(open);
    }
    await Promise.all(open);
}

const load = { isOver: false, jobs: [] };
let feeding;

await section("a busy daemon", async () => {
    await client.RegisterKey(registration(large));
    feeding = feed(12, "busy", load);
    await client.Submit(request(small));
    await until(() => load.jobs.length >= 12, "twelve jobs are open");
    await client.Cancel({ job: load.jobs[11] });
    const nBefore = (await readPage(main.page)).bars;
    await until(async () => (await readPage(main.page)).bars >= nBefore + 3, "the timeline grows");
    for (let turn = 0; turn < 4; turn++) {
        compare(await readWithStatus(main), `busy ${turn}`);
        await sleep(900);
    }
    const { read } = await readWithStatus(main);
    check(read.queue.length > 0, "jobs are in the queue");
    check(await inked(main.page, ".pool canvas") > 1000, "memory is drawn");
    check(await inked(main.page, "#timeline") > 1000, "the timeline is drawn");
    await pictures("busy");
});

await section("the timeline answers to the pointer and to keys", async () => {
    const box = await main.page.locator("#timeline").boundingBox();
    let tip = "";
    for (let x = box.width - 8; x > 70 && !tip; x -= 3) {
        for (const y of [26, 46, 66]) {
            await main.page.mouse.move(box.x + x, box.y + y);
            if (await main.page.isVisible("#tip")) tip = await main.page.innerText("#tip");
        }
    }
    const pattern = /^job \d+, part \d+\nchain\n(prepare|prove|finish|verify): /;
    check(pattern.test(tip), `a tip: "${tip}"`);
    await main.page.mouse.move(0, 0);
    const oneMinute = (await readPage(main.page)).bars;
    await main.page.focus("#span input:checked");
    await main.page.keyboard.press("ArrowLeft");
    equal(await main.page.inputValue("#span input:checked"), "10", "seconds after a key");
    await sleep(100);
    check((await readPage(main.page)).bars <= oneMinute, "ten seconds have no more bars");
    await main.page.keyboard.press("ArrowRight");
});

await section("whatever a file is called is text", async () => {
    const { job } = await client.Submit(request(small, { inputs: [{ path: hostile }] }))
        .catch((error) => ({ job: null, error }));
    if (job) await client.Await({ job });
    await sleep(1500);
    equal(await main.page.locator("img").count(), 0, "images");
    const folder = inScratch("<b>bold");
    fs.mkdirSync(folder);
    fs.copyFileSync(small.key, path.join(folder, "key.zkey"));
    await client.RegisterKey({ name: "bold", path: path.join(folder, "key.zkey") });
    await until(async () => (await main.page.innerText("#keys")).includes("<b>bold"),
        "the path is shown as it is");
    equal(await main.page.locator("#keys b").count(), 0, "bold words");
    const { path: shownPath } = (await daemon.httpJson()).keys.find((key) => key.name === "bold");
    equal(shownPath, path.join(folder, "key.zkey"), "the path in /status");
});

await section("everybody can read it", async () => {
    for (const colorScheme of SCHEMES) {
        const opened = await openPage({ colorScheme });
        await shown(opened.page);
        equal(await faint(opened.page), [], `${colorScheme}: text that is too faint`);
        const bare = await opened.page.evaluate(() => [
            ...[...document.querySelectorAll("table")].filter((table) => !table.caption),
            ...document.querySelectorAll("th:not([scope])"),
            ...document.querySelectorAll("canvas:not([aria-label])"),
        ].map((element) => element.outerHTML.slice(0, 80)));
        equal(bare, [], `${colorScheme}: tables and pictures without a name`);
        await opened.close();
    }
});

await section("jobs that ended", async () => {
    load.isOver = true;
    await feeding;
    await until(async () => (await readPage(main.page)).queue.length === 0, "the queue is empty");
    const both = await readWithStatus(main);
    compare(both, "ended");
    const last = both.status.jobs.toSorted((a, b) => b.ended_ms - a.ended_ms || b.job - a.job);
    equal(both.read.ended.map((row) => firstLine(row[0])),
        last.slice(0, 15).map((job) => String(job.job)), "the jobs that ended last");
    equal(both.status.totals.done, Number(both.read.tiles.done.replaceAll(",", "")), "done");
    check(both.status.totals.proofs > load.jobs.length, `${both.read.tiles.proofs} proofs`);
    await pictures("ended");
});

await section("a daemon that goes and comes back", async () => {
    equal(main.seen.problems, [], "problems so far");
    const before = await readPage(main.page);
    await daemon.stop();
    await until(async () => /^no answer since/.test((await readPage(main.page)).health),
        "it says that nobody answers");
    equal((await readPage(main.page)).tiles, before.tiles, "what was known last");
    await daemon.start();
    client = daemon.client();
    await until(async () => (await readPage(main.page)).health === "healthy", "it is back");
    const back = await readWithStatus(main);
    compare(back, "back");
    equal(back.read.tiles.proofs, "0", "proofs since the start");
    equal(back.read.bars, 0, "bars of another daemon");
    const again = { isOver: false, jobs: [] };
    const ended = feed(3, "again", again);
    await until(async () => (await readPage(main.page)).bars >= 4, "the timeline grows again");
    again.isOver = true;
    await ended;
    compare(await readWithStatus(main), "again");
    const others = main.seen.problems.filter((text) => !/ERR_CONNECTION|ERR_EMPTY/.test(text));
    equal(others, [], "problems but for the daemon's absence");
    equal(main.seen.foreign, [], "requests to others");
});

await browser.close();
await daemon.stop();
finish();
