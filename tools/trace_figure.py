#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A figure of a trace that card_engine wrote (OUT=FOLDER card_engine LIBRARY LOG_N COUNT SEED).

    tools/trace_figure.py TRACE.json SPAN_MS [SKIP] >FIGURE.svg

Shows SPAN_MS milliseconds from when the proof after SKIP others (8) got the card to itself: a row
for each worker (prepare, prove), one for what follows on the CPU (finish, verify), and one for
the card's lock.
"""
import json
import sys

LEFT, WIDTH, ROW, TOP = 70, 850, 28, 30
COLOURS = {"prepare": "#9ecae1", "prove": "#c7e9c0", "finish": "#fdae6b", "verify": "#bcbddc",
           "lock": "#636363"}


def rows_of(events):
    """[(label, [(step, job, begin_ms, end_ms)])], workers told apart by who is free."""
    steps, lock = {}, []
    for event in events:
        if event["ph"] != "X":
            continue
        begin = event["ts"] / 1e3
        end = begin + event["dur"] / 1e3
        if event["pid"] == 1:
            lock.append(("lock", int(event["name"].split()[1]), begin, end))
        else:
            span = (event["name"], event["tid"], begin, end)
            steps.setdefault(event["tid"], {})[event["name"]] = span
    workers, cpu = [], []
    for job in sorted(steps.values(), key=lambda job: job["prepare"][2]):
        free = [w for w in workers if w[-1][3] <= job["prepare"][2]]
        if not free:
            workers.append([])
            free = workers[-1:]
        free[0] += [job["prepare"], job["prove"]]
        cpu += [job["finish"], job["verify"]]
    rows = [(f"worker {i + 1}", spans) for i, spans in enumerate(workers)]
    return rows + [("CPU", cpu), ("card's lock", lock)]


def draw(rows, begin, span):
    scale = WIDTH / span
    height = TOP + ROW * len(rows) + 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}" '
           f'height="{height}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="#fff"/>']
    for i, (step, colour) in enumerate(COLOURS.items()):
        x = LEFT + 80 * i
        out.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/>'
                   f'<text x="{x + 16}" y="18">{step}</text>')
    for i, (label, spans) in enumerate(rows):
        y = TOP + ROW * i
        out.append(f'<text x="4" y="{y + 17}">{label}</text>')
        for step, job, first, last in spans:
            first, last = max(first, begin), min(last, begin + span)
            if first >= last:
                continue
            x, width = LEFT + (first - begin) * scale, (last - first) * scale
            out.append(f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}" '
                       f'fill="{COLOURS[step]}"/>')
            if width > 24:
                ink = "#fff" if step == "lock" else "#000"
                out.append(f'<text x="{x + 4:.1f}" y="{y + 18}" fill="{ink}">{job}</text>')
    bottom = TOP + ROW * len(rows)
    out.append(f'<path d="M{LEFT} {bottom}h{WIDTH}" stroke="#000"/>')
    for ms in range(0, int(span) + 1, 100):
        x = LEFT + ms * scale
        out.append(f'<path d="M{x:.1f} {bottom}v4" stroke="#000"/>'
                   f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{ms}</text>')
    out.append(f'<text x="4" y="{bottom + 16}">ms</text>')
    return "\n".join(out + ["</svg>"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = rows_of(json.load(file)["traceEvents"])
    skip = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    begin = sorted(span[2] for span in rows[-1][1])[skip]
    print(draw(rows, begin, float(sys.argv[2])))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
