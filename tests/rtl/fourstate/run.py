# SPDX-License-Identifier: Apache-2.0
"""usage: run.py YOSYS UFP4 [--records N]

The arithmetic units in a four-state simulator: yosys makes plain Verilog of each, without initial values, and Icarus
Verilog runs `ufp4 vectors` on it from registers that are all unknown. The readers compare with !==, so an unknown bit
that reaches a result is a mismatch. At the end a unit that was broken on purpose, a pipeline that starts without its
reset, must be seen. N records of each unit, taken evenly; all where N is 0."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "vectors"))
import stand  # noqa: E402
import readers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
READERS = HERE.parent / "vectors"
RTL = HERE.parents[2] / "rtl"
# The units of `ufp4 vectors`, and the modules that their readers need.
UNITS = {
    "elem_decode": ["ufp4_elem_decode"],
    "scale_decode": ["ufp4_scale_decode"],
    "i64_to_f32": ["ufp4_i64_to_f32"],
    "f32_alu": ["ufp4_f32_alu"],
    "dot": ["dot_forms"],
    "pe": ["pe_forms"],
    "pe_fp32": ["ufp4_elem_decode", "ufp4_dot", "ufp4_scale_number", "ufp4_sum_fp32"],
    "pe_nv": ["ufp4_elem_decode", "ufp4_dot", "ufp4_scale_split", "ufp4_sum_nv"],
    "scale_number": ["ufp4_scale_number"],
    "scale_split": ["ufp4_scale_split"],
    "f32_scale": ["ufp4_f32_scale"],
    "e8m0_scale": ["ufp4_e8m0_scale"],
    "threefry": ["ufp4_threefry", "threefry_shared"],
    "rht": ["ufp4_rht"],
    "e4m3_scale": ["ufp4_e4m3_scale"],
    "divide_round": ["ufp4_divide_round"],
    "quant_block": ["ufp4_quant_block", "quant_block_mixed"],
}
FORMS = ("dot_forms.sv", "pe_forms.sv", "quant_block_mixed.sv", "threefry_shared.sv")
BROKEN = ("quant_block", "quant/ufp4_quant_block.sv", "if (!rst_ni) valid_q <= '0;", "if (1'b0) valid_q <= '0;")


def call(folder, command, what, seconds=3600):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def flatten(folder, yosys, modules):
    script = "".join(
        f"read_slang -j 1 --top {module} -F rtl/rtl.f {' '.join(FORMS)}; proc; flatten; "
        f"bwmuxmap; opt_clean; check -assert; select -assert-none w:* a:init %i; write_verilog -noattr {module}.v; "
        "design -reset; "
        for module in modules
    )
    call(folder, [yosys, "-q", "-p", script], "yosys")


def write_records(folder, ufp4, unit, wanted):
    lines = call(
        folder, [ufp4, "vectors", unit, "--seed", str(stand.stream(3)), "--count", "2000"], "ufp4 vectors"
    ).splitlines()
    head, records = lines[:3], lines[3:]
    step = max(1, len(records) // wanted) if wanted else 1
    (folder / f"{unit}.txt").write_text("\n".join(head + records[::step]) + "\n")
    return len(records[::step])


def simulate(folder, unit):
    """Returns exit status and output."""
    modules = [f"{module}.v" for module in UNITS[unit]]
    call(
        folder,
        ["iverilog", "-g2012", "-I.", "-o", f"{unit}.vvp", *modules, str(READERS / f"read_{unit}.sv")],
        "iverilog",
    )
    done = subprocess.run(
        ["vvp", "-N", f"{unit}.vvp", f"+{unit}={unit}.txt"], cwd=folder, capture_output=True, text=True, timeout=3600
    )
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("yosys", type=pathlib.Path)
    parser.add_argument("ufp4", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=250)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(RTL, folder / "rtl")
        (folder / "readers.svh").write_text(readers.header(args.ufp4))
        for forms in FORMS:
            shutil.copy(READERS / forms, folder)
        flatten(folder, args.yosys, sorted({module for modules in UNITS.values() for module in modules}))
        for unit in UNITS:
            count = write_records(folder, args.ufp4, unit, args.records)
            status, text = simulate(folder, unit)
            if status or f"{unit}: {count} records, 0 mismatches" not in text:
                sys.exit(f"{unit}, {count} records:\n{text[-3000:]}")
            print(f"{unit}: {count} records, nothing unknown, 0 mismatches")
        unit, file, right, wrong = BROKEN
        source = folder / "rtl" / file
        if source.read_text().count(right) != 1:
            sys.exit(f"{file}: '{right}' does not stand there once")
        source.write_text(source.read_text().replace(right, wrong))
        flatten(folder, args.yosys, UNITS[unit])
        if simulate(folder, unit)[0] == 0:
            sys.exit(f"{file} with '{wrong}' passes")
        print(f"{unit} without its reset is seen")


if __name__ == "__main__":
    main()
