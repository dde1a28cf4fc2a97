# SPDX-License-Identifier: Apache-2.0
"""Tests the energies of fpga/cells. test_ppa_energy.py ROOT [TEST]"""

import io
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "fpga/cells"), str(ROOT / "tests/e2e")]
import contracts  # noqa: E402
import energy  # noqa: E402
import flow  # noqa: E402
import gates  # noqa: E402
import liberty  # noqa: E402
import netlist  # noqa: E402
import script  # noqa: E402
import stimulus  # noqa: E402
import toolbox  # noqa: E402
from stand import full, slow  # noqa: E402
from library import DEBIAN, Library  # noqa: E402
from rows import BY_NAME  # noqa: E402

PLAIN = ROOT / "fpga/cells/check.lib"


def tools():
    try:
        return toolbox.Tools()
    except toolbox.Failed as error:
        if "is missing" not in str(error):
            raise
        print(f"skipped: {error}")
        raise SystemExit(0) from error


def raises(words, call, *arguments):
    try:
        call(*arguments)
    except (toolbox.Failed, ValueError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error with '{words}'")


def model(function, groups, pins="AB"):
    """Returns the model of a cell with an output Y that drives 10 fF at 1 V; each group has (related, when, rise,
    fall)."""
    inputs = "".join(f"pin ({pin}) {{ direction : input; capacitance : 1; }}" for pin in pins)
    powers = "".join(
        f"internal_power () {{ {f'related_pin : {related!r};' if related else ''} "
        f"{f'when : {when!r};' if when else ''} rise_power (scalar) "
        f'{{ values ("{rise}"); }} fall_power (scalar) {{ values ("{fall}"); }} }}'
        for related, when, rise, fall in groups
    ).replace("'", '"')
    text = f'{inputs} pin (Y) {{ direction : output; function : "{function}"; {powers} }}'
    return energy.Model(liberty.cell("X", text, {}, 1e-9), {"Y": 10.0}, liberty.Units(1e-15, 1.0), 0.0)


def joules(found, a, b):
    """Returns the energy of a change from (A, B, Y) to (A, B, Y) in fJ."""
    bits = lambda state: sum(bit << i for i, bit in enumerate(state))
    data, clock = found.change(bits(a), bits(b))
    assert clock == 0
    return round(data * 1e15, 6)


def test_a_toggle_counts_once(_):
    """The energy is that of the input that has changed, in the state of the other one, or the mean if several have
    changed."""
    found = model("A ^ B", [("A", "B", 1, 2), ("A", "!B", 3, 4), ("B", "A", 5, 6), ("B", "!A", 7, 8)])
    assert joules(found, (0, 0, 0), (1, 0, 1)) == 3 + 5
    assert joules(found, (1, 1, 0), (0, 1, 1)) == 1 + 5
    assert joules(found, (1, 0, 1), (1, 1, 0)) == 6 + 5
    assert joules(found, (1, 0, 1), (0, 1, 1)) == 0
    either = model("A & B", [("A", "", 1, 2), ("B", "", 3, 4)])
    assert joules(either, (0, 0, 0), (1, 1, 1)) == (1 + 3) / 2 + 5


def test_an_input_alone_costs_its_own(_):
    text = (
        'pin (A) { direction : input; capacitance : 1; internal_power () { when : "!B"; '
        'rise_power (scalar) { values ("7"); } '
        'fall_power (scalar) { values ("9"); } } } pin (B) { direction : input; capacitance : 1; '
        "} pin (Y) { direction : output; }"
    )
    found = energy.Model(liberty.cell("X", text, {}, 1e-9), {"Y": 0.0}, liberty.Units(1e-15, 1.0), 0.0)
    assert [joules(found, (0, b, 0), (1, b, y)) for b, y in ((0, 0), (1, 0), (1, 1))] == [7, 0, 0]
    assert joules(found, (1, 0, 0), (0, 0, 0)) == 9


def test_charge_counts_once(_):
    """A library's energies of the ground pin describe the same charge."""
    text = (
        "pg_pin (VDD) { pg_type : primary_power; } pg_pin (VSS) { pg_type : primary_ground; } pin (A) { direction : "
        "input; capacitance : 1; } "
        "pin (Y) { direction : output; "
        + "".join(
            (
                f'internal_power () {{ related_pin : "A"; related_pg_pin : {pin}; '
                f'power (scalar) {{ values ("{value}"); }} }} '
            )
            for pin, value in (("VDD", 3), ("VSS", 100))
        )
        + "}"
    )
    found = energy.Model(liberty.cell("X", text, {}, 1e-9), {"Y": 0.0}, liberty.Units(1e-15, 1.0), 0.0)
    assert round(found.change(0, 3)[0] * 1e15, 6) == 3


def test_tables_are_read_between_their_points(_):
    table = liberty.Table([(liberty.SLEW, [1, 3]), (liberty.LOAD, [10, 20, 40])], [0, 10, 30, 100, 110, 130])
    got = [table.at(slew, load) for slew, load in ((1, 10), (3, 40), (2, 10), (1, 15), (2, 30), (0, 0), (9, 99))]
    assert got == [0, 130, 50, 5, 70, 0, 130], got
    assert liberty.condition("(!A * B) + (C' !D)")({"A": 1, "B": 1, "C": 0, "D": 0})
    assert not liberty.condition("(!A & B) | (C' !D)")({"A": 1, "B": 1, "C": 1, "D": 0})


NETS = '$var wire 1 ! clk_i $end\n$var wire 2 " \\bus.x [1:0] $end\n$var wire 1 # y $end\n$enddefinitions $end\n'


def test_a_dump_has_bits_of_buses_and_aliases(_):
    dump = netlist.Dump(
        io.StringIO("$var wire 1 # z $end\n" + NETS + '#0\n0!\nb1 "\n0#\n#1\n1!\nb11 "\n$dumpoff\nx!\n')
    )
    assert dump.nets["z"] == dump.nets["y"] and {"bus.x[0]", "bus.x[1]"} < set(dump.nets), dump.nets
    name = {bit: name for name, bit in dump.nets.items()}
    found = [{name[bit]: value for bit, value in moment} for moment in dump.moments()]
    assert found == [{"clk_i": 0, "bus.x[0]": 1, "bus.x[1]": 0, "y": 0}, {"clk_i": 1, "bus.x[0]": 1, "bus.x[1]": 1}], (
        found
    )


def test_rejects_a_net_without_a_value(_):
    for change in ('bx0 "\n', "x#\n", "z!\n"):
        raises(
            "in the simulation",
            lambda text: list(netlist.Dump(io.StringIO(NETS + text)).moments()),
            '#0\n0!\nb00 "\n0#\n#1\n' + change,
        )


def test_rejects_a_dump_without_a_net(folder):
    library = Library([PLAIN], folder)
    found = netlist.read(energy.CHECK)
    names = ["clk_i", "q", "z_o"]
    variables = (
        "".join(f"$var wire 1 {chr(40 + i)} {name} $end\n" for i, name in enumerate(names))
        + "$var wire 2 A a_i [1:0] $end\n$var wire 2 B y_o [1:0] $end\n"
    )
    cells, units = library.cells({"INV", "DFF"})
    energy.Activity(found, cells, units, 0.01, netlist.Dump(io.StringIO(variables + "$enddefinitions $end\n")))
    for lost in (*names[1:], "a_i", "y_o"):
        kept = "".join(line + "\n" for line in variables.splitlines() if f" {lost} " not in line)
        raises(
            "the simulation has no net " + lost,
            energy.Activity,
            found,
            cells,
            units,
            0.01,
            netlist.Dump(io.StringIO(kept + "$enddefinitions $end\n")),
        )


def test_rejects_sums_that_are_not_the_blocks(_):
    about = stimulus.Stimulus({}, range(0), 0, {3: -5, 4: 1 << 20})
    word = lambda value: f"{value & 2**64 - 1:017x}"
    carried = (1 << 64) | (1 << 20) - (1 << 16)
    energy.check_sums(about, [f" 1 03 {word(-5)}", f" 0 04 {word(9)}", f" 1 04 {carried:017x}"])
    raises("sum 4 is", energy.check_sums, about, [f" 1 03 {word(-5)}", f" 1 04 {word(1)}"])
    raises("sum 3 is None", energy.check_sums, about, [f" 1 04 {carried:017x}"])


def test_finds_the_energy_of_a_known_netlist(folder):
    """The expected energies are plain numbers, and a difference is refused."""
    ready = tools()
    energy.check_itself(ready, flow.Cache(folder), 100)
    part, value = "gates", energy.CHECKED["gates"]
    energy.CHECKED[part] = value * 1.01
    raises(f"check of energies: {part}", energy.check_itself, ready, flow.Cache(folder), 100)


def test_samples_have_the_energies_of_their_cycles(folder):
    """The data of the known netlist stand still in the second half of the window."""
    ready = tools()
    kept = [t if t < 39 else 39 for t in range(80)]
    ports = {"a_i": [(t >> 2 & 1) | (t >> 1 & 1) << 1 for t in kept]}
    halves = [[int(t >= 40) for t in range(8, 72)]]
    made = stimulus.Stimulus(ports, range(8, 72), 0, {}, samples=halves)
    (folder / "netlist.v").write_text(energy.CHECK)
    library = Library([PLAIN], folder)
    found = energy.run(folder / "netlist.v", library, made, 2.0, ready, flow.Cache(folder), 100)
    (moving, still), whole = found["samples"][0], sum(found[part] for part in energy.PARTS)
    assert abs((moving + still) / 2 - whole) < 1e-3 * whole, (moving, still, whole)
    known = [sum(energy.CHECKED[part] for part in parts) for parts in (energy.PARTS, energy.PARTS[2:])]
    # A toggle at the seam adds at most 15 fJ in 32 cycles.
    assert all(abs(1e15 * got - want) < 0.6 for got, want in zip((moving, still), known)), (moving, still, known)


def test_standard_errors_are_those_of_means(_):
    """Rows have 1, 2, 3 and 6 fJ and columns 2 and 4: the variances are 14 / 3 of four and 2 of two."""
    ways = [[0, 0, 1, 1, 2, 2, 3, 3], [5, 7] * 4]
    found = energy.means([0, 2, 1, 3, 2, 4, 5, 7], ways)
    assert found == [[1, 2, 3, 6], [2, 4]], found
    assert abs(energy.standard_error(found) - (14 / 3 / 4 + 2 / 2) ** 0.5) < 1e-9 and energy.standard_error([]) is None


def test_samples_are_rows_of_the_tensors(_):
    """8 rows meet 4, each in 12 blocks of FPROP; a lane has 8 rows, QUANT has consecutive blocks. Samples exist only if
    all cycles are fed."""
    for made in (stimulus.pe, stimulus.dot, contracts.fp32, contracts.nv):
        rows, cols = made("fprop", "e1m2", "full").samples
        # PEs leave out the first few blocks.
        counts = [48 - rows.count(i) for i in range(8)] + [96 - cols.count(i) for i in range(4)]
        assert all(0 <= count <= 8 for count in counts) and len(rows) == len(cols) >= 376, counts
        assert not made("fprop", "e1m2", "half").samples and not made("fprop", "e1m2", "none").samples
    for unit, data, count in (("lane", "fprop", 8), ("quant_block", "dy", 4)):
        made = stimulus.recorded(unit)(data, "e1m2", "full")
        (marks,) = made.samples
        assert len(marks) == len(made.window) and len(set(marks)) == count, (unit, marks)
        assert {marks.count(one) for one in set(marks)} == {len(marks) // count}
        assert not stimulus.recorded(unit)(data, "e1m2", "half").samples


def test_half_load_is_half_of_full_load(_):
    full, half, none = (stimulus.pe("fprop", "e1m2", load) for load in ("full", "half", "none"))
    assert (full.macs, none.macs) == (16 * len(full.window), 0) and len(half.sums) == len(full.sums) == 32
    assert abs(half.macs / len(half.window) - 8) < 0.15, half.macs / len(half.window)


def test_a_recorded_lane_gives_what_was_written(_):
    """The lane gives the decoded codes of the address that it read two cycles before."""
    for load, share in (("full", 1), ("half", 4 / 9)):
        made = stimulus.recorded("lane")("fprop", "e1m2", load)
        assert abs(made.macs / 16 / len(made.window) - share) < 1e-9, made.macs
        written, read, compared = {}, [None] * 2, 0
        for t in range(made.window.stop):
            at = {name: values[t] for name, values in made.ports.items()}
            if t in made.window and read[0]:
                codes, sign = read[0][0] & 2**48 - 1, read[0][0] >> 48
                got = [made.outputs[name][t - made.window.start] for name in ("mag_o", "rest_o")]
                sig, exp = stimulus.decode_scale(read[0][1])
                assert got == [codes, sign << 8 | sig << 4 | exp], (t, got)
                compared += 1
            read = [read[1], written.get(at["raddr_i"]) if at["read_i"] else read[1]]
            if at["we_i"]:
                written[at["waddr_i"]] = at["wcode_i"], at["wscale_i"]
        assert compared == len(made.window), compared
    none = stimulus.recorded("lane")("fprop", "e1m2", "none")
    assert none.macs == 0 and all(len({values[t] for t in none.window}) == 1 for values in none.ports.values())


def test_a_recorded_pipeline_of_quant_has_a_block_in_each_or_in_half_of_the_cycles(_):
    """The blocks are the same at both loads; at half load they are consecutive."""
    seen = []
    for load, share in (("full", 1), ("half", 0.5)):
        made = stimulus.recorded("quant_block")("dy", "e1m2", load)
        ports = made.ports
        assert abs(made.macs / 16 / len(made.window) - share) < 1e-9 and set(ports["rst_ni"][:3]) == {0}, made.macs
        seen.append([ports["in_words_i"][t] for t in range(made.window.stop) if ports["in_valid_i"][t]])
        assert sum(made.outputs["out_valid_o"]) == len(made.window) * share
        fed = [ports["in_valid_i"][t] for t in made.window]
        assert sum(a != b for a, b in zip(fed, fed[1:])) == (2 if share < 1 else 0), fed
    assert len(set(seen[0])) == len(seen[0]) > 50 and seen[0][:56] == seen[1][:56], list(map(len, seen))


def test_recorded_pipelines_of_quant_differ_in_what_they_leave_out(_):
    """Without stochastic rounding one bit of the job differs; the search for the largest number has no output. The
    blocks are the same."""
    made = {data: stimulus.recorded("quant_block")(data, "e1m2", "full") for data in ("dy", "dy/sr=none", "dy/amax")}
    last = {
        data: {name: values[one.window.stop - 1] for name, values in one.ports.items()} for data, one in made.items()
    }
    assert (last["dy"]["job_i"] ^ last["dy/sr=none"]["job_i"]).bit_count() == 1 and len(
        {one["in_words_i"] for one in last.values()}
    ) == 1
    outputs = made["dy/amax"].outputs
    assert (
        set(outputs["amax_valid_o"]) == {1}
        and set(outputs["out_valid_o"]) == {0}
        and len(set(outputs["amax_normal_o"])) == made["dy/amax"].macs // 16
    )


def test_rejects_outputs_that_are_not_the_cores(_):
    about = stimulus.Stimulus({}, range(1, 3), 0, {}, outputs={"a": [1, 2], "b": [0, 15]})
    energy.check(about, [" 7 7", " 1 0", " 2 f"])
    raises("the netlist's b is e in cycle 2, the core's is f", energy.check, about, [" 7 7", " 1 0", " 2 e"])
    raises("the netlist's a is x in cycle 1", energy.check, about, [" 7 7", " x 0", " 2 f"])


def test_sums_of_the_contracts_fp32_and_nv_are_rounded_as_they_are(_):
    """Covers near ties and truncation: a sum of 2^24 + 1 halves is rounded to even in one, truncated in the other; the
    unit of E1M2's products is 2^-22."""
    one, pattern = ([7] + [0] * 15, 0x38), lambda value: contracts.nearest(contracts.fractions.Fraction(value))
    assert contracts.scaled(one, one, "e1m2") == contracts.fractions.Fraction(49, 16)
    big = pattern(2**26)
    assert contracts.add_fp32(big, one, one, "e1m2") == big and contracts.add_fp32(
        pattern(2**24), one, one, "e1m2"
    ) == pattern(2**24 + 4)
    assert contracts.add_nv(pattern(2**24), [(one, one)], "e1m2") == pattern(2**24 + 2)
    assert contracts.add_nv(pattern(-(2**24)), [(one, one)] * 4, "e1m2") == pattern(-(2**24) + 13)
    assert (
        contracts.add_fp32(None, ([7] + [8] * 15, 0x38), ([0] * 16, 0x38), "e1m2")
        == contracts.add_nv(None, [(([0] * 16, 0), one)], "e2m1")
        == 0
    )


def test_pes_that_share_registers_have_sums_of_their_own(_):
    made, alone = contracts.shared("fprop", "e1m2", "full"), stimulus.pe("fprop", "e1m2", "full").sums
    assert len(made.sums) == 16 * contracts.TILES and made.macs == 16 * 16 * len(made.window)
    of = lambda pe: [
        made.sums[stimulus.SPACE * pe + index] for index in alone if stimulus.SPACE * pe + index in made.sums
    ]
    assert of(0) == list(alone.values())[: contracts.TILES] and of(0) != of(15) and set(of(15)) < set(alone.values())


GATED = (
    """module u(clk_i, d_i, e_i, q_o);
  input clk_i;
  input [69:0] d_i;
  input e_i;
  output [69:0] q_o;
  wire g;
  ICG g0 (
    .CLK(clk_i),
    .ENA(e_i),
    .GCLK(g),
    .SE(1'h0)
  );
"""
    + "".join(f"  DFF r{i} (\n    .CLK(g),\n    .D(d_i[{i}]),\n    .Q(q_o[{i}])\n  );\n" for i in range(70))
    + "endmodule\n"
)


def test_a_gate_drives_so_many_and_scan_enable_is_a_port(_):
    text, added = gates.finish(GATED, ["ICG", "ENA", "CLK", "GCLK", "SE"])
    found = netlist.read(text)
    clocks = {
        pins["GCLK"]: [
            name for name, (cell, other) in found.cells.items() if cell == "DFF" and other["CLK"] == pins["GCLK"]
        ]
        for cell, pins in found.cells.values()
        if cell == "ICG"
    }
    assert added == 2 and sorted(map(len, clocks.values())) == [23, 23, 24], clocks
    assert all(
        (pins["ENA"], pins["CLK"], pins["SE"]) == ("e_i", "clk_i", "scan_enable_i")
        for cell, pins in found.cells.values()
        if cell == "ICG"
    )
    assert found.ports["scan_enable_i"] == ("input", 1) and "(clk_i, scan_enable_i, d_i" in text
    plain = GATED.replace(",\n    .SE(1'h0)", "")
    assert gates.finish(plain, ["ICG", "ENA", "CLK", "GCLK"])[1] == 2
    assert gates.finish(GATED.replace("ICG", "OTHER"), ["ICG", "ENA", "CLK", "GCLK", "SE"]) == (
        GATED.replace("ICG", "OTHER"),
        0,
    )


@slow
def test_a_pe_has_the_sums_of_its_blocks(folder):
    """Covers each format on its data, in Debian's library; the unit of energy in OSU's library is a picojoule."""
    ready, cache = tools(), flow.Cache(folder)
    library = Library([DEBIAN], folder)
    for unit, elem in (("pe_e1m2", "e1m2"), ("pe_e2m1", "e2m1")):
        row = BY_NAME[unit]
        path = flow.synthesize(row, library, flow.Flow(), ready, cache, 3600)[0] / "netlist.v"
        full, none = (
            energy.of_case(path, row, ("fprop", elem, load), library, ready, cache, 3600) for load in ("full", "none")
        )
        assert 3000 < full["energy_fj"] < 20000 and none["gates_fj"] == 0, (full, none)
        assert abs(none["flip_flops_clock_fj"] - full["flip_flops_clock_fj"]) < 0.2 * full["flip_flops_clock_fj"], (
            full,
            none,
        )


def replayed(folder, unit, made):
    """Returns a function that simulates the netlist of a unit in Debian's library on a stimulus and returns its
    output."""
    ready, cache, library = tools(), flow.Cache(folder), Library([DEBIAN], folder)
    place = flow.synthesize(BY_NAME[unit], library, flow.Flow(), ready, cache, 1200)[0]
    for source in (place / "netlist.v", energy.models(library, ready, cache) / "cells.v"):
        (folder / source.name).write_text(source.read_text())
    found = netlist.read((folder / "netlist.v").read_text())
    return lambda: netlist.simulate(found, folder, made, ready, 3600, list(made.outputs) or netlist.writes(found))


@full
def test_pes_of_other_contracts_have_the_sums_of_their_blocks(folder):
    """This also holds if blocks come with gaps; the sums of another rounding are refused."""
    for unit, of, other in (("pe_fp32", contracts.fp32, contracts.nv), ("pe_nv", contracts.nv, contracts.fp32)):
        made = of("random", "e2m1", "half")
        printed = replayed(folder, unit, made)()
        energy.check(made, printed)
        made.sums = other("random", "e2m1", "half").sums
        raises("the netlist's sum", energy.check, made, printed)


@slow
def test_a_lane_gives_what_it_gives_in_the_core(folder):
    made = stimulus.recorded("lane")("fprop", "e1m2", "half")
    run = replayed(folder, "lane", made)
    energy.check(made, run())
    written = next(t for t in range(made.window.start - 100, 0, -1) if made.ports["we_i"][t])
    made.ports["wcode_i"][written] ^= 1 << 40
    raises("the netlist's mag_o", energy.check, made, run())


@full
def test_a_pe_with_enables_has_the_same_sums(folder):
    """This holds if blocks come with gaps, but not if its enable is late."""
    ready, cache = tools(), flow.Cache(folder)
    library, row, plain = Library([DEBIAN], folder), BY_NAME["pe_e1m2"], script.synthesis
    script.synthesis = lambda *words: plain(*words).replace("-DSYNTHESIS", "-DSYNTHESIS -DUFP4_CLOCK_ENABLES")
    made = flow.synthesize(row, library, flow.Flow(), ready, cache, 3600)[0]
    script.synthesis = plain
    found, cells = netlist.read((made / "netlist.v").read_text()), energy.models(library, ready, cache) / "cells.v"
    for source in (made / "netlist.v", cells):
        (folder / source.name).write_text(source.read_text())
    told = stimulus.pe("fprop", "e1m2", "half")
    sums = lambda: energy.check_sums(told, netlist.simulate(found, folder, told, ready, 3600, netlist.writes(found)))
    sums()
    told.ports["step_i"] = [0] + told.ports["step_i"][:-1]
    raises("the netlist's sum", sums)


if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("test_")]:
        with tempfile.TemporaryDirectory() as place:
            globals()[name](pathlib.Path(place).resolve())
