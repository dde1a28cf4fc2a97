# SPDX-License-Identifier: Apache-2.0
"""Tests explore: the accesses of a core's memories, and their energy."""

import pathlib

import stand
from stand import check, check_equal, passes, rejects
from explorations import explore, shapes

BITS = ["sum_bits", "operand_bits", "addend_bits", "quant_bits"]
# The bits of a word in each memory of `small`, parity included.
SUM, CODES, SCALES, BEAT, TRANSPOSED = 68, 65, 9, 65, 33
PES, SIDE, TILE, CHUNK, BANKS = 4, 2, 16, 16, 16


def gemm(m, n, k):
    """Returns the bits accessed in accumulators and operands, for m and n of whole macro-tiles."""
    tiles, blocks = (m // TILE) * (n // TILE), k // 16
    chunks, parts = -(-blocks // CHUNK), (TILE // SIDE) ** 2
    sums = parts * PES * (chunks + chunks - 1) + TILE * TILE  # stored, reloaded, drained
    loaded = 2 * TILE * blocks
    fed = parts * blocks * 2 * SIDE
    waiting = loaded // 8 + loaded  # scales in beats of 8 bytes; one read per block
    return tiles * sums * SUM, tiles * ((loaded + fed) * (CODES + SCALES) + waiting * BEAT)


def quant(rows, cols):
    """Returns the bits for both copies: beats of BF16 in and out, rows of 16 banks in and columns out."""
    beats, lines = rows * cols * 2 // 8, rows * cols // 16
    return 2 * beats * BEAT + 2 * lines * BANKS * TRANSPOSED


def of(row):
    return [int(row[name]) for name in BITS]


def test_accesses_are_a_hand_calculation():
    """K exceeds a chunk in FPROP, and fits in one in DGRAD and WGRAD."""
    rows = explore(
        "--config", "small", "--serial", "--tokens", "48", model=shapes("name,cin,cout,count\nfc,544,32,1\n")
    )
    jobs, total = {}, [0, 0, 0, 0]
    for row in rows:
        m, n, k = (int(row[name]) for name in "mnk")
        if row["pass"] in ("fprop", "dgrad", "wgrad"):
            sums, operands = gemm(m, n, k)
            jobs[row["pass"]] = m, n, k
            check_equal(of(row), [sums, operands, 0, 0], f"{row['pass']} of {m}, {n}, {k}")
        elif row["pass"] in ("amax", "quant"):
            check_equal(of(row), [0, 0, 0, quant(m, n)], f"{row['pass']} of {row['tensor']}")
        if row["pass"] != "all":
            total = [a + b for a, b in zip(total, of(row))]
    check_equal(jobs, {"fprop": (48, 32, 544), "dgrad": (48, 544, 32), "wgrad": (32, 544, 48)}, "sizes")
    check_equal(of(rows[-1]), total, "of the step")


def test_cycles_that_are_skipped_have_their_accesses():
    """With banks every cycle is stepped, and the same words are accessed."""
    model = shapes("name,cin,cout,count\nfc,1040,272,1\n")
    for words in (["--serial"], ["--batches", "2"]):
        rows = explore("--tokens", "272", *words, "--dram", "none,hbm3", model=model)
        skipped, stepped = (of(row) for row in rows if row["layer"] == "step")
        check(min(skipped[0], skipped[1], skipped[3]) > 0, f"{skipped}")
        check_equal(skipped, stepped, f"{words}")


def test_chunks_and_sums_have_a_price():
    """A sum leaves its PE after each chunk and returns before the next."""
    names = ",".join(f"rows=4:cols=4:tile=32x32:bus=16:quant=16:chunk={n}" for n in (8, 16))
    model = shapes("name,cin,cout,count\nfc,512,64,1\n")
    rows = explore("--config", names, "--serial", "--tokens", "64", "--ppa", "asap7", model=model)
    for chunk, step in zip((8, 16), (row for row in rows if row["layer"] == "step")):
        chunks = 512 // 16 // chunk  # chunks of FPROP; the other passes have one
        check_equal(int(step["sum_bits"]), SUM * (64 * 64 * 2 * chunks + 2 * 64 * 512 * 2), f"chunks of {chunk}")
        want = 21e-15 * sum(of(step))
        check(abs(float(step["memory_joules"]) - want) < 1e-8 * want, f"{step['memory_joules']}, by hand {want}")
        parts = [float(step[name]) for name in ("mac_joules", "idle_joules", "clock_joules", "memory_joules")]
        check(abs(float(step["joules"]) - sum(parts)) < 1e-8 * sum(parts), "the sum")
    twice = explore("--config", names, "--serial", "--tokens", "64", "--ppa", "asap7", "--bit-fj", "42", model=model)
    ratio = float(twice[-1]["memory_joules"]) / float(rows[-1]["memory_joules"])
    check(abs(ratio - 2) < 1e-8, f"of twice the energy {ratio}")
    out = passes("explore", model, "-o", "out", "--tokens", "64", "--ppa", "asap7", "--bit-fj", "42").out
    check("accesses of memories at 42 fJ a bit" in out, out)
    for words in (["--bit-fj", "5"], ["--bit-fj", "0", "--ppa", "asap7"]):
        rejects(2, "--bit-fj must be above 0", "explore", model, "-o", "no", *words)
    check(not pathlib.Path("no").exists(), "a folder of a refused run")


if __name__ == "__main__":
    stand.main(globals())
