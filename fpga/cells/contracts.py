# SPDX-License-Identifier: Apache-2.0
"""Stimuli (stimulus.py) for PEs of the contracts fp32 and nv and for groups of PEs that share operand registers, with
the sums that the PEs must write."""

import fractions
import math
import struct

import stimulus as stimuli
from stimulus import FIRST, LEAD, Stimulus

NAMES = ("a_mag_i", "a_rest_i", "b_mag_i", "b_rest_i")
FRAC = {"e2m1": 1, "e1m2": 2}  # fraction bits of an element, whose unit is 2^-FRAC
SHARE, TILES = 4, 10  # of a group: PEs in a row and in a column, and sub-tiles that each PE gets


def number(word):
    return fractions.Fraction(struct.unpack("<f", struct.pack("<I", word))[0])


def nearest(value):
    """Returns the FP32 pattern of a sum of two numbers of at most 24 bits, for which rounding twice equals rounding
    once."""
    return struct.unpack("<I", struct.pack("<f", float(value)))[0]


def toward_zero(value):
    word = nearest(abs(value))
    word -= number(word) > abs(value)
    return word | (value < 0) << 31 if word else 0


def scaled(a, b, elem):
    """Returns the exact product of two blocks."""
    return fractions.Fraction(stimuli.product(a, b, elem)) / 2 ** (18 + 2 * FRAC[elem])


def add_fp32(total, a, b, elem):
    word = nearest(number(total or 0) + scaled(a, b, elem))
    return word if word & 0x7FFFFFFF else 0


def exponent_nv(scale):
    """Mirrors ufp4_scale_split."""
    sig, exp = stimuli.decode_scale(scale)
    return exp + 121 if sig else 1


def add_nv(total, group, elem):
    """group: [(block of a, block of b)], at most four."""
    base = number(total or 0)
    exponents = [max(((total or 0) >> 23 & 255) - 127, -126)] + [
        exponent_nv(a[1]) + exponent_nv(b[1]) - 254 for a, b in group
    ]
    unit = fractions.Fraction(2) ** (max(exponents) - 35)
    return toward_zero(
        unit * sum(math.trunc(value / unit) for value in [base, *(scaled(a, b, elem) for a, b in group)])
    )


TURN = 4  # contract fp32: sub-tiles that a PE computes in turns, and cycles of a turn
TURN_NV, GROUP, LEAD_NV = 2, 4, 12  # contract nv: sub-tiles, blocks of a group, cycles until the last sum is written


def turns(fed, turn=TURN, group=1):
    """Orders blocks by turns; a turn has a block of each of four outputs (fp32), or a group of each of two (nv)."""
    outputs = []
    for block in fed:
        outputs += [] if block[2] else [[]]
        outputs[-1].append(block)
    parted = [[blocks[k : k + group] for k in range(0, len(blocks), group)] for blocks in outputs]
    return [
        block
        for at in range(0, len(parted), turn)
        for together in zip(*parted[at : at + turn])
        for blocks in together
        for block in blocks
    ]


def groups(fed):
    """Marks blocks in groups of four: (a, b, keep, write, index, first, turn). keep, write, index and turn are the
    group's; first marks the first block of a group."""
    out = []
    for at in range(0, len(fed), GROUP):
        blocks = fed[at : at + GROUP]
        whole = (blocks[0][2], blocks[-1][3], blocks[0][4])
        out += [(*block[:2], *whole, k == 0, at // GROUP % TURN_NV) for k, block in enumerate(blocks)]
    return out


def in_phase(line):
    """Returns the line with its gaps rounded to whole turns; a gap passes its remainder on to the next ones."""
    out, gap = [], 0
    for block in line:
        gap += block is None
        if block is not None:
            waits = (gap + TURN // 2) // TURN * TURN
            out += [None] * waits + [block]
            gap -= waits
    return out + [None] * gap


def fp32_of(line, elem, first):
    def decode(fed):
        out = []
        for block in fed[:2]:
            planes, rest = stimuli.decode(block, elem)
            sig, exp = stimuli.decode_scale(block[1])
            out += [planes, rest >> 8 << 13 | sig << 9 | exp + 120 - FRAC[elem]]
        return out

    ports = stimuli.timed(
        line,
        decode,
        lambda _: 1 << 12,
        lambda operand, word: (
            {"rst_ni": 1, "valid1_i": word(2) >> 12, "control2_i": word(3), "control3_i": word(4)}
            | {"control4_i": word(5), "control7_i": word(8)}
            | dict(zip(NAMES, operand(2)))
        ),
    )
    sums, totals = {}, {}
    for a, b, keep, write, index in filter(None, line):
        totals[index] = add_fp32(totals[index] if keep else None, a, b, elem)
        if write:
            sums[index] = totals[index]
    return Stimulus(
        ports,
        *stimuli.window(line, first),
        sums,
        "fp32",
        samples=stimuli.samples(line, stimuli.window(line, first)[0], stimuli.STAGES),
    )


def nv_of(line, elem, first):
    def decode(fed):
        out = []
        for block in fed[:2]:
            planes, rest = stimuli.decode(block, elem)
            out += [
                planes,
                rest >> 8 << 13
                | stimuli.decode_scale(block[1])[0] << 9
                | (elem == "e1m2") << 8
                | exponent_nv(block[1]),
            ]
        return out

    ports = stimuli.timed(
        line,
        decode,
        lambda fed: 1 << 12 | fed[5] << 11 | fed[6] << 10,
        lambda operand, word: (
            {
                "rst_ni": 1,
                "valid1_i": word(2) >> 11 & 3,
                "valid2_i": word(3) >> 12,
                "control4_i": word(5),
                "control5_i": word(6),
                "valid6_i": word(7) >> 11 & 3,
                "valid8_i": word(9) >> 11 & 3,
                "valid9_i": word(10) >> 11 & 3,
                "control12_i": word(13),
            }
            | dict(zip(NAMES, operand(2)))
        ),
        lead=LEAD_NV,
    )
    sums, totals, group = {}, {}, []
    for fed in filter(None, line):
        group = [fed[:2]] if fed[5] else [*group, fed[:2]]
        if len(group) == GROUP:
            totals[fed[4]] = add_nv(totals[fed[4]] if fed[2] else None, group, elem)
            if fed[3]:
                sums[fed[4]] = totals[fed[4]]
    cycles, macs = stimuli.window(line, first)
    return Stimulus(ports, cycles, macs, sums, "nv", samples=stimuli.samples(line, cycles, stimuli.STAGES))


def fp32(data, elem, load):
    fed = turns(stimuli.feeds(*stimuli.excerpt(data, elem)))
    return fp32_of(in_phase(stimuli.paced(fed, load)), elem, FIRST + LEAD)


def nv(data, elem, load):
    fed = groups(turns(stimuli.feeds(*stimuli.excerpt(data, elem)), TURN_NV, GROUP))
    return nv_of(stimuli.paced(fed, load), elem, FIRST + LEAD)


def shared(data, elem, load):
    """Returns the stimulus of pe_shared. Row r and column c of the group begin with the excerpt's rows 2r and c."""
    a, b = stimuli.excerpt(data, elem)
    fed = TILES * len(a[0])
    turned = lambda rows, by: rows[by % len(rows) :] + rows[: by % len(rows)]
    lines = [
        [stimuli.paced(stimuli.feeds(turned(a, 2 * r), turned(b, c))[:fed], load) for c in range(SHARE)]
        for r in range(SHARE)
    ]

    def decode(fed):
        """Returns {codes of the rows, of the columns, scales of the rows, of the columns}."""
        codes, scales = [0, 0], [0, 0]
        for side, blocks in enumerate(([line[0][fed][0] for line in lines], [line[fed][1] for line in lines[0]])):
            for i, block in enumerate(blocks):
                planes, rest = stimuli.decode(block, elem)
                codes[side] |= (rest >> 8 << 64 | planes) << 80 * i
                scales[side] |= (rest & 255) << 8 * i
        return *codes, *scales

    line = [fed and (*fed, i) for i, fed in enumerate(lines[0][0])]
    names = ("a_codes_i", "b_codes_i", "a_scales_i", "b_scales_i")
    # Codes arrive a cycle earlier, because they pass registers in front of the group.
    ports = stimuli.timed(
        line,
        lambda fed: decode(fed[5]),
        lambda _: 1 << 10,
        lambda operand, word: (
            stimuli.exact_ports(word)
            | {"codes_step_i": word(1) >> 10}
            | dict(zip(names, (*operand(1)[:2], *operand(2)[2:])))
        ),
    )
    cycles, macs = stimuli.window(line, FIRST + LEAD)
    sums = {
        stimuli.SPACE * (SHARE * r + c) + index: value
        for r in range(SHARE)
        for c in range(SHARE)
        for index, value in stimuli.sums_of(
            lines[r][c], lambda total, x, y: (total or 0) + stimuli.product(x, y, elem)
        ).items()
    }
    return Stimulus(ports, cycles, macs * SHARE**2, sums)
