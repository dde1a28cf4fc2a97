# SPDX-License-Identifier: Apache-2.0
"""What units see of elements mixed, and of other elements in the pipelines of QUANT. test_ppa_mixed.py ROOT [TEST]"""

import pathlib
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "fpga/cells"), str(ROOT / "tests/e2e"), str(ROOT / "tests/synth")]
import energy  # noqa: E402
import flow  # noqa: E402
import netlist  # noqa: E402
import stimulus  # noqa: E402
import toolbox  # noqa: E402
from library import DEBIAN, Library  # noqa: E402
from rows import BY_NAME  # noqa: E402
from stand import full  # noqa: E402

WIDE, SERIAL = ("quant_block", "quant_block_mixed"), ("quant_serial_block", "quant_serial_block_mixed")
UNIFORM, PAIRS = 0x80, 8
PIPELINE = tomllib.loads((ROOT / "cmodel/spec/ufp4.toml").read_text())["pipeline"]


def left(unit, elem):
    """{place in the tensor: (codes, scale)} of the blocks that leave a pipeline in its window."""
    made = stimulus.recorded(unit)("dy", elem, "full")
    ports, outputs = made.ports, made.outputs
    reset = len(ports["rst_ni"]) - ports["rst_ni"][::-1].index(0)
    first = ports["in_valid_i"].index(1, reset)
    ending = "stages_mixed" if unit.endswith("_mixed") else "stages"
    # The narrow pipeline reads a block when all of its pairs are written, and needs as long for that.
    pace, late = (1, f"quant_block_{ending}") if unit in WIDE else (PAIRS, f"quant_serial_{ending}")
    late = PIPELINE[late]["value"] + (2 * PAIRS - 1 if unit in SERIAL else 0)
    found = {}
    for t, valid, *block in zip(made.window, *(outputs[f"out_{name}_o"] for name in ("valid", "codes", "scale"))):
        if valid:
            assert (t - first - late) % pace == 0, (unit, t)
            found[(t - first - late) // pace] = tuple(block)
    return found


def test_the_scales_bit_chooses_the_grid(_):
    """Code 7 is 12 quanta of E2M1 and 7 of the uniform grid; other elements do not look at the bit."""
    block = lambda scale: ([7, 15] + [5] * 14, scale)
    for scale in (0x38, 0x38 | UNIFORM):
        grid = "e1m2" if scale & UNIFORM else "e2m1"
        assert stimulus.decode(block(scale), "mixed") == stimulus.decode(block(scale), grid)
        assert stimulus.decode(block(scale), grid) == stimulus.decode(block(scale ^ UNIFORM), grid)
    values = {0x38: (6, 12), 0x38 | UNIFORM: (5, 7)}  # of the codes 5 and 7, in quanta
    for a in values:
        for b in values:
            quanta = [x * y for x, y in zip(values[a], values[b])]
            assert stimulus.product(block(a), block(b), "mixed") == (14 * quanta[0] + 2 * quanta[1]) * 64 << 12, (a, b)


def test_excerpts_of_mixed_have_both_grids(_):
    for data in ("fprop", "wgrad"):
        for side in stimulus.excerpt(data, "mixed"):
            bits = [scale >> 7 for row in side for _, scale in row]
            assert 0.3 < sum(bits) / len(bits) < 0.8, (data, bits)


def test_a_recorded_lane_decodes_each_element(_):
    """The codes of the address that it read two cycles before, on the grid of their element or of their scale's bit."""
    for elem in ("e1m2", "e2m1", "mixed"):
        made = stimulus.recorded("lane")("fprop", elem, "full")
        written, read, seen = {}, [None] * 2, set()
        for t in range(made.window.stop):
            at = {name: values[t] for name, values in made.ports.items()}
            if t in made.window:
                got = [made.outputs[name][t - made.window.start] for name in ("mag_o", "rest_o")]
                assert got == list(stimulus.decode(read[0], elem)), (elem, t)
                seen.add(read[0][1] >> 7)
            read = [read[1], written.get(at["raddr_i"]) if at["read_i"] else read[1]]
            if at["we_i"]:
                planes = [at["wcode_i"] >> 16 * bit for bit in range(4)]
                codes = [sum((plane >> i & 1) << bit for bit, plane in enumerate(planes)) for i in range(16)]
                written[at["waddr_i"]] = codes, at["wscale_i"]
        assert seen == ({0, 1} if elem == "mixed" else {0}), (elem, seen)


def test_pipelines_of_quant_see_the_same_blocks(_):
    """A pair a cycle, or a whole block; and what they make of them in E2M1 and E1M2 is the same."""
    for elem in ("e1m2", "e2m1"):
        wide = left("quant_block", elem)
        for unit in (*WIDE, *SERIAL):
            made, other = stimulus.recorded(unit)("dy", elem, "full"), left(unit, elem)
            both = set(wide) & set(other)
            assert len(other) == 32 and len(both) >= 16, (unit, sorted(other))
            assert all(wide[n] == other[n] for n in both), (unit, elem)
            assert made.macs / len(made.window) == (16 if unit in WIDE else 2), unit
            assert [made.samples[0].count(n) for n in range(4)] == [len(made.window) // 4] * 4, unit


def test_a_block_of_mixed_is_one_of_its_two_grids(_):
    """The excerpt has blocks of both. E2M1's tensor exponent is one larger, and so are the exponents of its scales."""
    for unit in (WIDE[1], SERIAL[1]):
        mixed, e2m1, e1m2 = (left(unit, elem) for elem in ("mixed", "e2m1", "e1m2"))
        grids = []
        for n, (codes, scale) in mixed.items():
            grids.append(scale >> 7)
            first, second = (e2m1[n][0], e2m1[n][1] - 8), (e1m2[n][0], e1m2[n][1] | UNIFORM)
            assert (codes, scale) == (second if scale >> 7 else first), (unit, n)
        assert len(grids) == 32 and 8 <= sum(grids) <= 24, grids


def test_outputs_without_a_value_are_not_compared(_):
    about = stimulus.Stimulus({}, range(1, 3), 0, {}, outputs={"a": stimulus.unpacked("1 -")})
    energy.check(about, [" 0", " 1", " x"])
    try:
        energy.check(about, [" 0", " x", " x"])
    except toolbox.Failed as error:
        assert "the netlist's a is x in cycle 1" in str(error)
    else:
        raise AssertionError("an output of X is none of 1")


@full
def test_narrow_pipelines_give_what_the_model_says(folder):
    """In Debian's library, cycle by cycle; and not where one bit of a word is another."""
    try:
        ready = toolbox.Tools()
    except toolbox.Failed as error:
        if "is missing" not in str(error):
            raise
        print(f"skipped: {error}")
        raise SystemExit(0) from error
    cache, library, unit = flow.Cache(folder), Library([DEBIAN], folder), SERIAL[1]
    place = flow.synthesize(BY_NAME[unit], library, flow.Flow(), ready, cache, 3600)[0]
    (folder / "netlist.v").write_text((place / "netlist.v").read_text())
    (folder / "cells.v").write_text(energy.started((energy.models(library, ready, cache) / "cells.v").read_text()))
    made = stimulus.recorded(unit)("dy", "mixed", "full")
    found = netlist.read((folder / "netlist.v").read_text())
    run = lambda: netlist.simulate(found, folder, made, ready, 3600, list(made.outputs))
    energy.check(made, run())
    made.ports["in_words_i"][made.window.start] ^= 1 << 22
    try:
        energy.check(made, run())
    except toolbox.Failed as error:
        assert "the netlist's out_" in str(error), error
    else:
        raise AssertionError("another word, and the same codes")


if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("test_")]:
        with tempfile.TemporaryDirectory() as place:
            globals()[name](pathlib.Path(place).resolve())
