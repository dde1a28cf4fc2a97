# SPDX-License-Identifier: Apache-2.0
"""Tests the pages that the program writes in headless Chromium: every chart must be there, in its colours."""

import collections
import itertools
import os
import pathlib
import shutil
import subprocess
import zlib

import stand
from stand import check, passes

WIDTH, HEIGHT, WHITE = 1000, 1800, (255, 255, 255)


def unfilter(kind, line, above, size):
    """Decodes a line of a PNG, in which each byte is predicted from the one to the left, above, or both."""
    if kind == 1:
        for channel in range(size):
            line[channel::size] = bytes(itertools.accumulate(line[channel::size], lambda a, b: a + b & 255))
    elif kind == 2:
        line = bytearray(a + b & 255 for a, b in zip(line, above))
    elif kind > 2:
        for i in range(len(line)):
            left, up, corner = line[i - size] if i >= size else 0, above[i], above[i - size] if i >= size else 0
            near = min((left, up, corner), key=lambda x: abs(left + up - corner - x))
            line[i] = line[i] + (near if kind == 4 else (left + up) // 2) & 255
    return line


def pixels(path):
    """Counts the pixels of each colour."""
    data, at, packed, counts = pathlib.Path(path).read_bytes(), 8, b"", collections.Counter()
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        part = data[at + 8 : at + 8 + length]
        at += length + 12
        if kind == b"IHDR":
            width, height, size = (
                int.from_bytes(part[:4], "big"),
                int.from_bytes(part[4:8], "big"),
                {2: 3, 6: 4}[part[9]],
            )
        packed += part if kind == b"IDAT" else b""
    raw, line = zlib.decompress(packed), bytearray(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        line = unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + width * size]), line, size)
        counts.update(zip(line[::size], line[1::size], line[2::size]))
    return counts


def draw(page):
    if not shutil.which("chromium"):
        raise stand.Skipped("chromium is missing")
    done = subprocess.run(
        [
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--no-first-run",
            f"--user-data-dir={os.getcwd()}/profile",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={os.getcwd()}/page.png",
            f"file://{os.getcwd()}/{page}",
        ],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    check(done.returncode == 0 and os.path.exists("page.png"), f"chromium: {done.returncode} {done.stderr[-500:]}")
    return pixels("page.png")


def has_colors(found, colors, least):
    for name, color in colors.items():
        count = found[tuple(bytes.fromhex(color))]
        check(count >= least, f"{name}: {count} pixels of #{color}")


def test_explore_page():
    stand.demand_drawing()
    pathlib.Path("s.csv").write_text("name,cin,cout,count\nfc1,64,96,2\nproj,48,64,1\n")
    passes(
        "explore", "s.csv", "-o", "out", "--config", "small", "--mem-bandwidth", "2,4,8", "--tokens", "256", "--serial"
    )
    found = draw("out/report.html")
    has_colors(found, {"array busy": "1a7f37", "waits for operands": "d1242f", "AMAX and QUANT": "0969da"}, 500)
    has_colors(found, {"curve": "444444"}, 50)
    check(sum(found.values()) - found[WHITE] > 30000, "a page that is almost empty")


def test_train_page():
    stand.demand_drawing()
    pathlib.Path("text.txt").write_text("".join(f"line {i * i % 997} of a text\n" for i in range(4000)))
    passes(
        "train",
        "text.txt",
        "-o",
        "out",
        "--steps",
        "4",
        "--seeds",
        "2",
        "--recipe",
        "bf16,ufp4",
        "--whole",
        "--d-model",
        "32",
        "--heads",
        "2",
        "--layers",
        "1",
        "--ff",
        "64",
        "--context",
        "32",
        "--batch",
        "2",
        "--eval",
        "512",
    )
    found = draw("out/report.html")
    has_colors(found, {"bf16": "444444", "ufp4": "0969da"}, 50)
    check(found[WHITE] > WIDTH * HEIGHT // 2, "a page that is not white")


if __name__ == "__main__":
    stand.main(globals())
