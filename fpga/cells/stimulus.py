# SPDX-License-Identifier: Apache-2.0
"""Inputs of units of the core, one value per port and cycle, from the GEMMs of gemm.json (excerpt.py) or from recorded
runs (runs.py)."""

import dataclasses
import json
import pathlib
import random

MAGNITUDES = {"e2m1": (0, 1, 2, 3, 4, 6, 8, 12), "e1m2": tuple(range(8))}
BLOCK = 16
FIRST = 24  # blocks that are fed before the window
LEAD = 8  # cycles after them until all registers have seen them
IDLE, IDLE_CYCLES = (
    ("read_i", "we_i", "in_valid_i"),
    128,
)  # recorded units without load: ports that are 0 in the cycles after the run, and these cycles


def excerpt(data, elem):
    """Returns (a, b): rows of blocks, a block being (16 codes, scale byte). data: fprop, wgrad, random, or zero (the
    codes of fprop set to zero)."""
    if data == "random":
        draw = random.Random(1)
        return [
            [
                [([draw.randrange(16) for _ in range(BLOCK)], draw.randrange(0x7F)) for _ in range(BLOCK)]
                for _ in range(rows)
            ]
            for rows in (8, 4)
        ]
    gemm = json.loads((pathlib.Path(__file__).parent / "gemm.json").read_text())[elem][
        "fprop" if data == "zero" else data
    ]
    return [
        [
            [
                ([int(c, 16) * (data != "zero") for c in row["codes"][BLOCK * k : BLOCK * (k + 1)]], scale)
                for k, scale in enumerate(bytes.fromhex(row["scales"]))
            ]
            for row in rows
        ]
        for rows in gemm
    ]


def magnitude(code, scale, elem):
    """Returns a code's magnitude in quanta. Bit 7 of the block's scale selects the grid of elements mixed."""
    grid = ("e1m2" if scale >> 7 else "e2m1") if elem == "mixed" else elem
    return MAGNITUDES[grid][code & 7]


def decode_scale(byte):
    """Returns (sig, exp) of E4M3, like ufp4_scale_decode."""
    normal = byte & 0x7F >= 8
    return (byte & 7) | (8 if normal else 0), (byte >> 3 & 15) - 1 if normal else 0


def decode(block, elem):
    """Returns (planes of the magnitude, {sign, sig, exp}), the format in which a lane feeds PEs."""
    codes, scale = block
    planes = rest = 0
    for lane, code in enumerate(codes):
        quanta = magnitude(code, scale, elem)
        for bit in range(4):
            planes |= (quanta >> bit & 1) << (BLOCK * bit + lane)
        rest |= (code >> 3) << (8 + lane)
    sig, exp = decode_scale(scale)
    return planes, rest | sig << 4 | exp


def product(a, b, elem):
    """Returns the product of two blocks in units of the accumulator."""
    value = lambda code, scale: (-1) ** (code >> 3) * magnitude(code, scale, elem)
    (a_sig, a_exp), (b_sig, b_exp) = decode_scale(a[1]), decode_scale(b[1])
    return sum(value(x, a[1]) * value(y, b[1]) for x, y in zip(a[0], b[0])) * a_sig * b_sig << (a_exp + b_exp)


def feeds(a, b):
    """Returns the feed order of the sequencer, the blocks of each sub-tile: [(block of a, of b, keep, write, index)]"""
    return [
        (row[k], col[k], k > 0, k == len(row) - 1, 8 * i + j)
        for i, row in enumerate(a)
        for j, col in enumerate(b)
        for k in range(len(row))
    ]


def paced(fed, load):
    """Returns the blocks with None for idle cycles, after FIRST blocks that fill registers. At load `half` the gaps are
    those of a run of the core; at `none` only idle cycles follow."""
    if load == "none":
        return fed[:FIRST] + [None] * 64
    if load == "full":
        return fed[:FIRST] + fed
    out, at = fed[:FIRST], 0
    for count, waits in json.loads((pathlib.Path(__file__).parent / "gemm.json").read_text())["half"]:
        out += fed[at : at + count] + [None] * waits
        at += count
    return out


@dataclasses.dataclass
class Stimulus:
    ports: dict  # {port: value of each cycle}
    window: range  # the cycles that count
    macs: int  # in these cycles; for lanes and QUANT, elements
    sums: dict  # {64 * PE + index: the sum that it has then written}
    contract: str = "exact"  # of the sums
    outputs: dict = dataclasses.field(default_factory=dict)  # {port: value of each cycle of the window}
    # True if flip-flops begin with 0. A unit with a sum that each block restarts needs this, because the gates that
    # restart it do not mask an X that reaches them by two ways, so that the sum would stay X.
    from_zero: bool = False
    # The samples of the window, for standard errors: for each way to split it, the number of each cycle's sample. They
    # exist only if all cycles are fed, because idle cycles are no property of the data.
    samples: list = dataclasses.field(default_factory=list)


def samples(line, cycles, back):
    """Splits the cycles by the row of a, and by the row of b. back: the cycles since a block was fed."""
    fed = [line[t - back] for t in cycles]
    return [[one[4] // 8 for one in fed], [one[4] % 8 for one in fed]] if all(fed) else []


def dot(data, elem, load):
    """Returns the stimulus of ufp4_dot. Without load its inputs are constant, because it has no registers."""
    a, b = excerpt(data, elem)
    line, held, ports = (
        paced(feeds(a, b), load),
        [],
        {name: [] for name in ("a_sign_i", "a_mag_i", "b_sign_i", "b_mag_i")},
    )
    for fed in line:
        held = [(planes, rest >> 8) for planes, rest in (decode(fed[0], elem), decode(fed[1], elem))] if fed else held
        for name, (planes, sign) in zip("ab", held):
            ports[f"{name}_mag_i"].append(planes)
            ports[f"{name}_sign_i"].append(sign)
    window = range(FIRST, len(line))
    macs = BLOCK * sum(fed is not None for fed in line[FIRST:])
    return Stimulus(ports, window, macs, {}, samples=samples(line, window, 0))


SPACE = 64  # sums of a PE


def held_by_lanes(at, total, decoded):
    """Returns the lanes' outputs to PEs after each cycle, held while nothing is fed, and initially zero."""
    held = [tuple(0 for _ in decoded(at(0)))]
    for t in range(total):
        fed = at(t)
        held.append(decoded(fed) if fed else held[-1])
    return held


def controls(at, total, valid):
    """Returns the array's control word after each cycle, which keeps sums while nothing is fed. valid(block): the bits
    above those that all contracts have."""
    out = [0]
    for t in range(total):
        fed = at(t)
        out.append(valid(fed) | fed[2] << 9 | fed[3] << 7 | fed[4] if fed else 1 << 9 | out[-1] & 0xFF)
    return out


def timed(line, decoded, valid, ports, lead=LEAD):
    """Returns the values of ports over the cycles of a line and `lead` more. ports: (operand, word) -> {port: value};
    operand and word are functions of the number of cycles back."""
    total = len(line) + lead
    at = lambda t: line[t] if 0 <= t < len(line) else None
    held, control = held_by_lanes(at, total, decoded), controls(at, total, valid)
    out = {}
    for t in range(total):
        for name, value in ports(
            lambda back: held[max(0, t - back + 1)], lambda back: control[max(0, t - back + 1)]
        ).items():
            out.setdefault(name, []).append(value)
    return out


STAGES = 3  # cycles after which a block counts, in the middle of its way


def window(line, first):
    """Returns (the cycles that count, MACs in them)."""
    cycles = range(first, len(line))
    return cycles, BLOCK * sum(line[t - STAGES] is not None for t in cycles)


def pe(data, elem, load):
    """Returns the stimulus of ufp4_pe in the form for cells."""
    a, b = excerpt(data, elem)
    return pe_of(paced(feeds(a, b), load), elem, FIRST + LEAD)


def sums_of(line, add):
    """Returns the sum written at each index. add: (sum so far or None, block of a, block of b) -> sum"""
    out, total = {}, None
    for a, b, keep, write, index in filter(None, line):
        total = add(total if keep else None, a, b)
        if write:
            out[index] = total
    return out


def exact_ports(word):
    return {
        "rst_ni": 1,
        "step_i": word(2) >> 10,
        "valid_i": word(3) >> 10,
        "control_load_i": word(3),
        "base_i": word(4) >> 8 & 3,
        "control_sum_i": word(5),
    }


def pe_of(line, elem, first):
    """Returns the stimulus of ufp4_pe for a line of blocks and None for idle cycles. first: where the window begins."""
    names = ("a_mag_i", "a_rest_i", "b_mag_i", "b_rest_i")
    ports = timed(
        line,
        lambda fed: (*decode(fed[0], elem), *decode(fed[1], elem)),
        lambda _: 1 << 10,
        lambda operand, word: exact_ports(word) | dict(zip(names, operand(2))),
    )
    sums = sums_of(line, lambda total, a, b: (total or 0) + product(a, b, elem))
    cycles, macs = window(line, first)
    return Stimulus(ports, cycles, macs, sums, samples=samples(line, cycles, STAGES))


def unpacked(text):
    """Returns the values of a port; None, written as -, stands for any value."""
    out = []
    for word in text.split():
        value, _, count = word.partition("*")
        out += [None if value == "-" else int(value, 16)] * int(count or 1)
    return out


QUANT_SAMPLE = 8  # adjacent blocks
SUMS = "quant_serial_block_mixed"  # the unit that adds up the errors of a block's pairs


def recorded_samples(unit, made):
    """Splits a lane's window by the row that it reads, and QUANT's into groups of adjacent blocks, because the pipeline
    works on several at a time."""
    if unit == "lane":
        return [[made.ports["raddr_i"][t] // BLOCK for t in made.window]]
    sample = QUANT_SAMPLE * len(made.window) * BLOCK // made.macs
    return [[k // sample for k in range(len(made.window))]]


def recorded(unit):
    """Returns the inputs in a run of runs.json; without load the unit keeps its last inputs, none of them valid."""

    def made(data, elem, load):
        runs = json.loads((pathlib.Path(__file__).parent / "runs.json").read_text())[unit]
        data = f"{data}/{elem}" if f"{data}/{elem}" in runs else data
        run, first = runs[data]["full" if load == "none" else load], next(iter(runs))
        ports = {name: unpacked(text) for name, text in (runs[first]["full"]["inputs"] | run["inputs"]).items()}
        outputs = {name: unpacked(text) for name, text in run["outputs"].items()}
        start, stop = run["window"]
        if data != first:  # registers that this run does not use have the values of another run
            before = runs[first]["full"]["window"][0]
            ports = {
                name: unpacked(runs[first]["full"]["inputs"][name])[:before] + values for name, values in ports.items()
            }
            start, stop = start + before, stop + before
        cycles = range(start, stop)
        if load != "none":
            made = Stimulus(ports, cycles, run["elements"], {}, outputs=outputs, from_zero=unit == SUMS)
            made.samples = recorded_samples(unit, made) if load == "full" else []
            return made
        for name, values in ports.items():
            values += [0 if name in IDLE else values[-1]] * IDLE_CYCLES
        return Stimulus(ports, range(cycles.stop + IDLE_CYCLES // 2, cycles.stop + IDLE_CYCLES), 0, {})

    return made
