# SPDX-License-Identifier: Apache-2.0
"""usage: run.py YOSYS VERILATOR UFP4 UNIT [--count N] [--seed S] [--jobs N] [--keep DIR]

Mutation test of one unit, with the modules inside it: yosys builds N mutants into one netlist, a number picks one, and
the test rtl.vectors.UNIT runs on each. A mutant that passes is a survivor. For each survivor a SAT solver tries to show
that outputs and next state are the unit's own for all inputs and states: no test can see those. Fails if of the others
less than 95 % are killed."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
RTL = HERE.parents[2] / "rtl"
WANTED_PERCENT = 95
CPU_SECONDS = 40  # for one test
WIDTH = 12  # bits of the number that picks a mutant
# Units whose reader has another name. What a reader needs beside the unit is found by module name.
READER = {"elem_decode": "dot", "dot_relative": "pe", "sum_exact": "pe", "sum_chains": "pe",
          "sum_fp32": "pe_fp32", "sum_nv": "pe_nv", "max16": "quant_block"}
# Units with a parameter: the unit, the parameter, and the elements of the records that are for it, None for all.
VARIANTS = {"dot_e2m1": ("dot", "Formats=1", {0}), "dot_uniform": ("dot", "Formats=2", {1, 2}),
            "sum_exact_uniform": ("sum_exact", "Formats=2", {1, 2}), "sum_exact_compact": ("sum_exact", "Compact=1", None)}
READER.update({name: READER.get(unit, unit) for name, (unit, _, _) in VARIANTS.items()})
# A unit that has other widths in each place is mutated in the unit that has it inside.
INSIDE = {"max16": "quant_block"}
PICK = """#include <cstdlib>
extern "C" int ufp4_mutant(void) {
  const char *number = std::getenv("UFP4_MUTANT");
  return number ? std::atoi(number) : 0;
}
"""


class Mutant:
    def __init__(self, number, command):
        self.number, self.command = number, command
        option = dict(re.findall(r"-(mode|port|portbit|ctrlbit) (\S+)", command))
        self.sources = [source.removeprefix("rtl/") for source in re.findall(r"-src (\S+)", command)]
        self.name = (f"{option['mode']} {option['port']}[{option['portbit']}]"
                     + (f" by [{option['ctrlbit']}]" if "ctrlbit" in option else "") + " " + ",".join(self.sources))

    def where(self):
        """The signal, where the mutated bit has a name."""
        named = re.search(r"-wire (\S+) -wirebit (\d+)", self.command)
        return f"{named[1]}[{named[2]}]" if named else ""

    def file(self):
        return self.sources[0].split(":")[0] if self.sources else "?"


def call(folder, command, seconds, what):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def make_netlist(args, folder):
    """Writes unit.il, mutants.ys, mutants.v and pick.cpp; gives the mutants back."""
    shutil.copytree(RTL, folder / "rtl")
    select = f"select a:src=*/ufp4_{args.unit}.sv*; " if args.unit in INSIDE else ""
    parameter = f" -G{VARIANTS[args.unit][1]}" if args.unit in VARIANTS else ""
    script = (f"read_slang -j 1 --top {args.top}{parameter} -F rtl/rtl.f; proc; setundef -zero; opt; wreduce; "
              f"opt_clean -purge; write_rtlil unit.il; {select}mutate -list {args.count} -seed {args.seed} -o list.ys")
    call(folder, [args.yosys, "-q", "-p", script], 900, "yosys")
    # A gate in a clock line would make a second clock, which races with the first.
    commands = [line for line in (folder / "list.ys").read_text().splitlines() if " -port CLK " not in line]
    mutants = [Mutant(i + 1, command) for i, command in enumerate(commands)]
    script = "".join(f"mutate -ctrl mutant {WIDTH} {m.number} {m.command.removeprefix('mutate ')}\n" for m in mutants)
    (folder / "mutants.ys").write_text(f"read_rtlil unit.il\n{script}write_verilog -noattr mutants.v\n")
    call(folder, [args.yosys, "-q", "-s", "mutants.ys"], 900, "yosys")
    text = (folder / "mutants.v").read_text()
    # A reader may name parameters; the mutants are of one set of them.
    text = text.replace(f"module {args.top}(", f"module {args.top} #(parameter Formats = 0, parameter Compact = 0)(", 1)
    text, ports = re.subn(r"\bmutant, |, mutant\b", "", text, count=1)
    text, inputs = re.subn(rf"  input \[{WIDTH - 1}:0\] mutant;\n  wire \[{WIDTH - 1}:0\] mutant;\n",
                           f'  import "DPI-C" function int ufp4_mutant();\n  reg [{WIDTH - 1}:0] mutant;\n'
                           f"  initial mutant = {WIDTH}'(ufp4_mutant());\n", text)
    if (ports, inputs) != (1, 1):
        sys.exit("mutants.v: the port that picks a mutant is not where it was expected")
    (folder / "mutants.sv").write_text(text)
    (folder / "pick.cpp").write_text(PICK)
    return mutants


def make_simulator(args, folder):
    """rtl.vectors.UNIT as a command."""
    reader = READER.get(args.unit, args.unit)
    call(folder, [args.verilator, "--cc", "--exe", "--main", "--timing", "--timescale", "1ns/1ns", "-fno-dfg",
                  "-Wno-fatal", "-Wno-lint", "--top-module", f"read_{reader}", "--Mdir", "model", "-o", "test",
                  "-y", "rtl/num", "-y", "rtl/array", "-y", str(TESTS / "vectors"), "+libext+.sv",
                  "rtl/gen/ufp4_spec_pkg.sv", "rtl/array/ufp4_pe_pkg.sv", "rtl/num/ufp4_words_pkg.sv", "mutants.sv",
                  str(TESTS / "vectors" / f"read_{reader}.sv"), "../pick.cpp"],
         900, "verilator")
    call(folder, ["make", "--silent", "-C", "model", "-f", f"Vread_{reader}.mk", "OPT_FAST=-O1", "OPT_SLOW=-O0",
                  "test"], 1800, "the compiler")
    elements = VARIANTS[args.unit][2] if args.unit in VARIANTS else None
    count = "20000" if elements else "2000"
    text = call(folder, [args.ufp4, "vectors", reader, "--seed", "1", "--count", count], 100, "ufp4 vectors")
    if elements:
        lines = text.splitlines(keepends=True)
        mine = [line for line in lines[3:] if {int(word, 16) for word in line.split()[:2]} <= elements]
        text = "".join(lines[:3] + mine)
    (folder / "vectors.txt").write_text(text)
    return [folder / "model" / "test", f"+{reader}=vectors.txt"]


def fails(folder, command, environment=None):
    """Whether a test fails. One that hangs does; its time is the processor's, which other work does not stretch."""
    limit = (CPU_SECONDS, CPU_SECONDS)
    return subprocess.run(command, cwd=folder, capture_output=True, env=environment, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit)).returncode != 0


def killed(folder, command, number):
    """Whether the test finds the mutant."""
    return fails(folder, command, {**os.environ, "UFP4_MUTANT": str(number)})


def prove(yosys, folder, netlist, top, mutant):
    """Registers are cut open, bit by bit: with the same state and inputs, are outputs and next state the same?"""
    cut = (f"hierarchy -top {top}\nasync2sync\ndffunmap\nsimplemap t:$dff\nsplitnets -ports\nopt_clean\n"
           f"select -set state {top}/t:$_DFF* %co1:+[Q]\nexpose -evert-dff @state\nopt_clean\n")
    command = re.sub(r"-module \S+", f"-module {top}", mutant.command)
    script = (f"read_rtlil {netlist}\n{cut}rename {top} gold\ndesign -stash gold\n"
              f"read_rtlil {netlist}\nhierarchy -top {top}\n{command}\n{cut}rename {top} gate\ndesign -stash gate\n"
              "design -copy-from gold gold\ndesign -copy-from gate gate\n"
              "miter -equiv -flatten gold gate both\nhierarchy -top both\nopt\n"
              "sat -verify -timeout 60 -prove trigger 0 both\n")
    name = f"proof{mutant.number}.ys"
    (folder / name).write_text(script)
    try:
        done = subprocess.run([yosys, "-q", "-s", name], cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return False
    # A register of which nothing is left after the mutation has no counterpart: that is no proof.
    if done.returncode and not re.search("proof did fail|timeout|no matching port", done.stdout + done.stderr, re.I):
        sys.exit(f"{name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.returncode == 0


def proved_equivalent(args, folder, mutant):
    return prove(args.yosys, folder, "unit.il", args.top, mutant)


def report(args, mutants, fate):
    files = collections.defaultdict(collections.Counter)
    for mutant in mutants:
        files[mutant.file()][fate[mutant.number]] += 1
    print(f"{'file':32s} {'mutants':>8s} {'killed':>8s} {'equivalent':>11s} {'survivors':>10s}")
    for file, count in sorted(files.items()):
        print(f"{file:32s} {count.total():8d} {count['killed']:8d} {count['equivalent']:11d} {count['survivor']:10d}")
    total = collections.Counter(fate.values())
    percent = 100 * total["killed"] / max(1, total["killed"] + total["survivor"])
    print(f"{args.unit}: {len(mutants)} mutants, {total['killed']} killed, {total['equivalent']} equivalent, "
          f"{total['survivor']} survivors; of the others killed {percent:.1f} %")
    return percent


def judge(args, folder, mutants, command):
    """number -> killed, equivalent or survivor; prints every mutant that is not killed."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = dict(zip([m.number for m in mutants], pool.map(lambda m: killed(folder, command, m.number), mutants)))
        alive = [m for m in mutants if not found[m.number]]
        proved = dict(zip([m.number for m in alive], pool.map(lambda m: proved_equivalent(args, folder, m), alive)))
    if any(proved_equivalent(args, folder, m) for m in [m for m in mutants if found[m.number]][:3]):
        sys.exit("a mutant that a test kills was proved equivalent: the proof is wrong")
    fate = {m.number: "killed" for m in mutants}
    for m in alive:
        fate[m.number] = "equivalent" if proved[m.number] else "survivor"
        print(f"{m.name} {m.where()}: {fate[m.number]}")
    return fate


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    for name in ("yosys", "verilator", "ufp4"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("unit")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    args.top = f"ufp4_{VARIANTS[args.unit][0] if args.unit in VARIANTS else INSIDE.get(args.unit, args.unit)}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.keep or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        mutants = make_netlist(args, folder)
        command = make_simulator(args, folder)
        if killed(folder, command, 0):
            sys.exit(f"{args.unit}: the netlist without a mutation fails the test")
        percent = report(args, mutants, judge(args, folder, mutants, command))
    if percent < WANTED_PERCENT:
        sys.exit(f"{args.unit}: less than {WANTED_PERCENT} % killed")


if __name__ == "__main__":
    main()
