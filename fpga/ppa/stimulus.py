# SPDX-License-Identifier: Apache-2.0
"""What units of the core see while it works on the GEMMs of gemm.json (excerpt.py), a value of each port a cycle."""
import dataclasses
import json
import pathlib
import random

MAGNITUDES = {"e2m1": (0, 1, 2, 3, 4, 6, 8, 12), "e1m2": tuple(range(8))}
BLOCK = 16
FIRST = 24  # blocks that are fed before what counts
LEAD = 8  # cycles after them until all registers have seen them


def excerpt(data, elem):
    """(a, b): rows of blocks, a block (16 codes, scale byte). data: fprop, wgrad, random, or zero (codes of fprop, all zero)."""
    if data == "random":
        draw = random.Random(1)
        return [[[([draw.randrange(16) for _ in range(BLOCK)], draw.randrange(0x7F)) for _ in range(BLOCK)] for _ in range(rows)] for rows in (8, 4)]
    gemm = json.loads((pathlib.Path(__file__).parent / "gemm.json").read_text())[elem]["fprop" if data == "zero" else data]
    return [[[([int(c, 16) * (data != "zero") for c in row["codes"][BLOCK * k:BLOCK * (k + 1)]], scale)
              for k, scale in enumerate(bytes.fromhex(row["scales"]))] for row in rows] for rows in gemm]


def decode_scale(byte):
    """(sig, exp) of E4M3, as ufp4_scale_decode."""
    normal = byte & 0x7F >= 8
    return (byte & 7) | (8 if normal else 0), (byte >> 3 & 15) - 1 if normal else 0


def decode(block, elem):
    """(planes of the magnitude, {sign, sig, exp}), as a lane gives them to PEs."""
    codes, scale = block
    planes = rest = 0
    for lane, code in enumerate(codes):
        magnitude = MAGNITUDES[elem][code & 7]
        for bit in range(4):
            planes |= (magnitude >> bit & 1) << (BLOCK * bit + lane)
        rest |= (code >> 3) << (8 + lane)
    sig, exp = decode_scale(scale)
    return planes, rest | sig << 4 | exp


def product(a, b, elem):
    """Of two blocks, in units of the accumulator."""
    value = lambda code: (-1) ** (code >> 3) * MAGNITUDES[elem][code & 7]
    (a_sig, a_exp), (b_sig, b_exp) = decode_scale(a[1]), decode_scale(b[1])
    return sum(value(x) * value(y) for x, y in zip(a[0], b[0])) * a_sig * b_sig << (a_exp + b_exp)


def feeds(a, b):
    """What the sequencer feeds: of each sub-tile its blocks. [(block of a, of b, keep, write, index)]"""
    return [(row[k], col[k], k > 0, k == len(row) - 1, 8 * i + j) for i, row in enumerate(a) for j, col in enumerate(b) for k in range(len(row))]


def paced(fed, load):
    """The same with None where nothing is fed, after FIRST blocks that fill registers. At load `half` they are spaced as in the core's
    own run, at `none` nothing follows."""
    if load == "none":
        return fed[:FIRST] + [None] * 64
    if load == "full":
        return fed[:FIRST] + fed
    out, at = fed[:FIRST], 0
    for count, waits in json.loads((pathlib.Path(__file__).parent / "gemm.json").read_text())["half"]:
        out += fed[at:at + count] + [None] * waits
        at += count
    return out


@dataclasses.dataclass
class Stimulus:
    ports: dict  # {port: value of each cycle}
    window: range  # the cycles that count
    macs: int  # in them
    sums: dict  # {index: what a PE has then written}


def dot(data, elem, load):
    """ufp4_dot, which has no registers: without load it sees the same for ever."""
    a, b = excerpt(data, elem)
    line, held, ports = paced(feeds(a, b), load), [], {name: [] for name in ("a_sign_i", "a_mag_i", "b_sign_i", "b_mag_i")}
    for fed in line:
        held = [(planes, rest >> 8) for planes, rest in (decode(fed[0], elem), decode(fed[1], elem))] if fed else held
        for name, (planes, sign) in zip("ab", held):
            ports[f"{name}_mag_i"].append(planes)
            ports[f"{name}_sign_i"].append(sign)
    window = range(FIRST, len(line))
    return Stimulus(ports, window, BLOCK * sum(fed is not None for fed in line[FIRST:]), {})


def pe(data, elem, load):
    """ufp4_pe, in the form for cells."""
    a, b = excerpt(data, elem)
    return pe_of(paced(feeds(a, b), load), elem, FIRST + LEAD)


def pe_of(line, elem, first):
    """The same of a line of blocks, or None where nothing is fed; what counts begins in the cycle `first`."""
    total = len(line) + LEAD
    at = lambda t: line[t] if 0 <= t < len(line) else None
    out = {name: [] for name in ("rst_ni", "step_i", "valid_i", "control_load_i", "base_i", "control_sum_i", "a_mag_i", "a_rest_i", "b_mag_i", "b_rest_i")}
    held = [(0, 0, 0, 0)]  # the next cycle's first
    control = [0]
    for t in range(total):
        fed = at(t)
        if fed:
            held.append((*decode(fed[0], elem), *decode(fed[1], elem)))
            control.append(1 << 10 | fed[2] << 9 | fed[3] << 7 | fed[4])
        else:  # lanes hold, a cycle without a feed keeps sums
            held.append(held[-1])
            control.append(1 << 9 | control[-1] & 0xFF)
    word = lambda t, back: control[max(0, t - back + 1)]
    for t in range(total):
        a_mag, a_rest, b_mag, b_rest = held[max(0, t - 2 + 1)]
        for name, value in (("rst_ni", 1), ("step_i", word(t, 2) >> 10), ("valid_i", word(t, 3) >> 10), ("control_load_i", word(t, 3)), ("base_i", word(t, 4) >> 8 & 3),
                            ("control_sum_i", word(t, 5)), ("a_mag_i", a_mag), ("a_rest_i", a_rest), ("b_mag_i", b_mag), ("b_rest_i", b_rest)):
            out[name].append(value)
    sums = {}
    for x, y, keep, write, index in filter(None, line):
        total_sum = product(x, y, elem) + (total_sum if keep else 0)
        if write:
            sums[index] = total_sum
    window = range(first, len(line))
    # In the middle of its way through the stages.
    return Stimulus(out, window, BLOCK * sum(at(t - 3) is not None for t in window), sums)
