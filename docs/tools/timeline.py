#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a timeline of --timeline as a picture. A pixel shows the track's activity in most of the pixel's cycles.

usage: timeline.py FILE.json FILE.svg [FIRST LAST]     cycles FIRST to LAST - 1 (default: all)
"""

import collections
import html
import json
import pathlib
import sys

LEFT, WIDTH, PITCH, HIGH = 90, 800, 26, 18
COLORS = {
    "busy": "#1a7f37",
    "drain": "#1a7f37",
    "load": "#1a7f37",
    "operands": "#1a7f37",
    "D": "#1a7f37",
    "QUANT": "#0969da",
    "AMAX": "#8250df",
    "start": "#8c959f",
    "last blocks": "#54aeff",
    "fetch": "#8c959f",
    "check": "#8c959f",
    "offer": "#8c959f",
    "complete": "#8c959f",
    "ask": "#8c959f",
    "command": "#8c959f",
    "addend": "#0a7b83",
    "stall: job": "#eac54f",
    "stall: operand": "#d1242f",
    "stall: panel": "#bf3989",
    "stall: drain": "#d4a72c",
    "stall: sums": "#eaeef2",
    "stall: full": "#eaeef2",
    "stall: answer": "#eaeef2",
    "stall: memory": "#ffaba8",
    "stall: source": "#d1242f",
    "stall: data": "#eaeef2",
    "stall: accumulator": "#9a6700",
}
OTHER = "#ff8182"


def read(path):
    """Returns the tracks in their order, and the events of each."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return tracks, [e for e in events if e["ph"] == "X"]


def columns(events, first, last):
    """Returns for each pixel the activity in most of its cycles, or None."""
    share = [collections.Counter() for _ in range(WIDTH)]
    scale = WIDTH / (last - first)
    for event in events:
        begin, end = max(event["ts"], first), min(event["ts"] + event["dur"], last)
        for pixel in range(
            int((begin - first) * scale), min(WIDTH, int((end - first) * scale) + 1) if end > begin else 0
        ):
            inside = min(end, first + (pixel + 1) / scale) - max(begin, first + pixel / scale)
            share[pixel][event["name"]] += max(inside, 0)
    return [c.most_common(1)[0][0] if sum(c.values()) * 2 > 1 / scale else None for c in share]


def bars(names, y):
    at = 0
    while at < WIDTH:
        end = at
        while end < WIDTH and names[end] == names[at]:
            end += 1
        if names[at]:
            yield (
                f'<rect x="{LEFT + at}" y="{y}" width="{end - at}" height="{HIGH}" '
                f'fill="{COLORS.get(names[at], OTHER)}">'
                f"<title>{html.escape(names[at])}</title></rect>"
            )
        at = end


def legend(names, y):
    x = LEFT
    for name in names:
        width = 24 + 8 * len(name)
        if x + width > LEFT + WIDTH:
            x, y = LEFT, y + 18
        yield (
            f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLORS.get(name, OTHER)}"/><text x="{x + 16}" '
            f'y="{y + 10}">{html.escape(name)}</text>'
        )
        x += width


def draw(tracks, events, first, last):
    parts, seen = [], {}
    for row, (tid, track) in enumerate(sorted(tracks.items())):
        names = columns([e for e in events if e["tid"] == tid], first, last)
        seen.update(dict.fromkeys(n for n in names if n))
        parts.append(f'<text x="{LEFT - 6}" y="{PITCH * row + 19}" text-anchor="end">{track}</text>')
        parts.extend(bars(names, PITCH * row + 6))
    bottom = PITCH * len(tracks) + 6
    for i in range(5):
        cycle = first + (last - first) * i // 4
        anchor = ("start", "middle", "middle", "middle", "end")[i]
        parts.append(f'<text x="{LEFT + WIDTH * i // 4}" y="{bottom + 12}" text-anchor="{anchor}">{cycle:,}</text>')
    parts.extend(legend(seen, bottom + 24))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 10} {bottom + 84}" '
        'font-family="sans-serif" font-size="12" fill="#222">' + "".join(parts) + "</svg>\n"
    )


def main():
    if len(sys.argv) not in (3, 5):
        raise SystemExit(__doc__)
    tracks, events = read(sys.argv[1])
    first, last = (
        map(int, sys.argv[3:])
        if len(sys.argv) == 5
        else (min(e["ts"] for e in events), max(e["ts"] + e["dur"] for e in events))
    )
    if not first < last:
        raise SystemExit("timeline.py: LAST must be after FIRST")
    pathlib.Path(sys.argv[2]).write_text(draw(tracks, events, first, last))


if __name__ == "__main__":
    main()
