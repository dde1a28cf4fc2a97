# SPDX-License-Identifier: Apache-2.0
"""usage: run.py YOSYS VERILATOR UFP4 UNIT [--count N] [--seed S] [--keep DIR]

Mutation test of one unit, with the modules inside it: yosys builds a sample of N mutants, the same for the same seed,
into one netlist, a number picks one, and the test rtl.vectors.UNIT runs on each. Prints which are killed and which
survive. No test can see some of those, so survivors are no failure. Fails if a mutant cannot be built, if the
netlist without a mutation fails the test, or if no mutant does."""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors"
sys.path.insert(0, str(VECTORS))
import readers  # noqa: E402

RTL = HERE.parents[2] / "rtl"
CPU_SECONDS = 40  # for one test
WIDTH = 12  # bits of the number that picks a mutant
# Units whose reader has another name. The other modules of a reader are found by name.
READER = {
    "dot_relative": "pe",
    "sum_exact": "pe",
    "sum_chains": "pe",
    "sum_fp32": "pe_fp32",
    "sum_nv": "pe_nv",
    "max16": "quant_block",
}
# A unit with several widths is mutated within the unit that instantiates it.
INSIDE = {"max16": "quant_block"}
PICK = """#include <cstdlib>
extern "C" int ufp4_mutant(void) {
  const char *number = std::getenv("UFP4_MUTANT");
  return number ? std::atoi(number) : 0;
}
"""


def call(folder, command, seconds, what):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def name_of(command):
    """Returns MODE PORT[BIT] by [BIT] FILE:LINE, and the signal if the mutated bit has a name."""
    option = dict(re.findall(r"-(mode|port|portbit|ctrlbit) (\S+)", command))
    by = f" by [{option['ctrlbit']}]" if "ctrlbit" in option else ""
    sources = ",".join(source.removeprefix("rtl/") for source in re.findall(r"-src (\S+)", command))
    signal = re.search(r"-wire (\S+) -wirebit (\d+)", command)
    return f"{option['mode']} {option['port']}[{option['portbit']}]{by} {sources}" + (
        f" {signal[1]}[{signal[2]}]" if signal else ""
    )


def make_netlist(args, folder):
    """Writes mutants.sv and pick.cpp; gives yosys's commands back, the first for mutant 1."""
    top = f"ufp4_{INSIDE.get(args.unit, args.unit)}"
    shutil.copytree(RTL, folder / "rtl")
    select = f"select a:src=*/ufp4_{args.unit}.sv*; " if args.unit in INSIDE else ""
    script = (
        f"read_slang -j 1 --top {top} -F rtl/rtl.f; proc; setundef -zero; opt; wreduce; opt_clean -purge; "
        f"write_rtlil unit.il; {select}mutate -list {args.count} -seed {args.seed} -o list.ys"
    )
    call(folder, [args.yosys, "-q", "-p", script], 900, "yosys")
    # A gate in a clock line would make a second clock, and a race with the first.
    commands = [line for line in (folder / "list.ys").read_text().splitlines() if " -port CLK " not in line]
    script = "".join(
        f"mutate -ctrl mutant {WIDTH} {number} {command.removeprefix('mutate ')}\n"
        for number, command in enumerate(commands, 1)
    )
    (folder / "mutants.ys").write_text(f"read_rtlil unit.il\n{script}write_verilog -noattr mutants.v\n")
    call(folder, [args.yosys, "-q", "-s", "mutants.ys"], 900, "yosys")
    text = (folder / "mutants.v").read_text()
    # A reader may set parameters; the mutants have one set of them.
    text = text.replace(f"module {top}(", f"module {top} #(parameter Formats = 0, Extra = 0)(", 1)
    text, ports = re.subn(r"\bmutant, |, mutant\b", "", text, count=1)
    text, inputs = re.subn(
        rf"  input \[{WIDTH - 1}:0\] mutant;\n  wire \[{WIDTH - 1}:0\] mutant;\n",
        f'  import "DPI-C" function int ufp4_mutant();\n  reg [{WIDTH - 1}:0] mutant;\n'
        f"  initial mutant = {WIDTH}'(ufp4_mutant());\n",
        text,
    )
    if (ports, inputs) != (1, 1):
        sys.exit("mutants.v: the port that picks a mutant is not where it was expected")
    (folder / "mutants.sv").write_text(text)
    (folder / "pick.cpp").write_text(PICK)
    return commands


def make_simulator(args, folder):
    """rtl.vectors.UNIT as a command."""
    reader = READER.get(args.unit, args.unit)
    (folder / "readers.svh").write_text(readers.header(args.ufp4))
    # -fno-const-bit-op-tree: for netlists, as in sim/CMakeLists.txt.
    call(
        folder,
        [
            args.verilator,
            "--cc",
            "--exe",
            "--main",
            "--timing",
            "--timescale",
            "1ns/1ns",
            "-fno-dfg",
            "-fno-const-bit-op-tree",
            "-Wno-fatal",
            "-Wno-lint",
            "--top-module",
            f"read_{reader}",
            "--Mdir",
            "model",
            "-o",
            "test",
            "-y",
            "rtl/num",
            "-y",
            "rtl/array",
            "-y",
            str(VECTORS),
            "+libext+.sv",
            "+incdir+.",
            "rtl/gen/ufp4_spec_pkg.sv",
            "rtl/array/ufp4_pe_pkg.sv",
            "rtl/num/ufp4_words_pkg.sv",
            "mutants.sv",
            str(VECTORS / f"read_{reader}.sv"),
            "../pick.cpp",
        ],
        900,
        "verilator",
    )
    call(
        folder,
        ["make", "--silent", "-C", "model", "-f", f"Vread_{reader}.mk", "OPT_FAST=-O1", "OPT_SLOW=-O0", "test"],
        1800,
        "the compiler",
    )
    text = call(folder, [args.ufp4, "vectors", reader, "--seed", "1", "--count", "2000"], 100, "ufp4 vectors")
    (folder / "vectors.txt").write_text(text)
    return [folder / "model" / "test", f"+{reader}=vectors.txt"]


def killed(folder, command, number):
    """Whether the test fails. One that hangs does; its time is the processor's, which other work does not stretch."""
    limit = (CPU_SECONDS, CPU_SECONDS)
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        env={**os.environ, "UFP4_MUTANT": str(number)},
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit),
    )
    return done.returncode != 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("yosys", "verilator", "ufp4"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("unit")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.keep or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        mutants = make_netlist(args, folder)
        command = make_simulator(args, folder)
        if killed(folder, command, 0):
            sys.exit(f"{args.unit}: the netlist without a mutation fails the test")
        fates = [killed(folder, command, number) for number in range(1, len(mutants) + 1)]
    for mutant, dead in zip(mutants, fates):
        print(f"{'killed  ' if dead else 'survived'} {name_of(mutant)}")
    print(f"{args.unit}: {len(mutants)} mutants, {sum(fates)} killed, {len(mutants) - sum(fates)} survived")
    if not any(fates):
        sys.exit(f"{args.unit}: the test finds none of them")


if __name__ == "__main__":
    main()
