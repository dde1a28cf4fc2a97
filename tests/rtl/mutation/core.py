# SPDX-License-Identifier: Apache-2.0
"""usage: core.py YOSYS SOURCE BUILD [--blocks NAMES] [--count N] [--seed S] [--jobs N] [--first N] [--again]

Mutation test of the engines, the host side and the memory side, in the working core: yosys flattens configuration
`small`, injects N bugs into each block of it, all into one netlist, and builds the tests on that in the folder BUILD; a
file picks the mutant. They are drawn by a hash of their source line and signal, from different lines as far as there
are any, so that a change of the RTL leaves most of those of other lines as they were. TESTS are run on each, up to the
first mismatch; one that takes LIMIT times its time fails. For what none of them finds a SAT solver tries to show,
registers cut open and the block alone, that outputs and next state are the same for all inputs and states. The rest
either take other numbers of cycles in BENCHES (`slower`: no test of bits sees those) or are survivors, of which
explained.txt knows some, with the reason. Of those neither equivalent nor slower nor explained WANTED_PERCENT have to
be killed, and of a block's, which are few, BLOCK_PERCENT. It is an error if explained.txt excuses what a test kills, or
has a reason that fits no survivor of SAMPLE, or if the solver finds one of a block's first two killed mutants
equivalent. BUILD/fates remembers what becomes of a mutant; --again: the mutants of BUILD, and what is known of them."""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import run

WANTED_PERCENT, BLOCK_PERCENT = 95, 85
EXPLAINED = pathlib.Path(__file__).resolve().with_name("explained.txt")
LIMIT = (4, 10)  # times the CPU time of a test without a mutation, and seconds more
WIDTH = 12  # bits of the number that picks a mutant
ALL = 10**9  # more mutants than a block has
SAMPLE = (40, 1, 30)  # --count, --seed, --first: the mutants that explained.txt is of
# The files of a block, and those that match but are of another.
BLOCKS = {
    "quant_block": (["quant/ufp4_quant_block.sv"], []),
    "quant": (["quant/*.sv"], ["quant/ufp4_quant_block.sv"]),
    "gemm": (["array/ufp4_sequencer.sv", "array/ufp4_load_*.sv", "array/ufp4_tile_walk.sv", "array/ufp4_gemm.sv"], []),
    "drain": (["array/ufp4_drain.sv", "array/ufp4_addend.sv", "array/ufp4_epilogue.sv"], []),
    "array": (["array/ufp4_systolic.sv", "array/ufp4_lane.sv", "array/ufp4_pe.sv", "array/ufp4_sum_*.sv"], []),
    "mem": (["mem/*.sv"], []),
    "host": (["host/*.sv", "ufp4_top.sv"], []),
    # What is in those too, but not in their samples.
    "others": (["host/ufp4_axil.sv", "host/ufp4_check.sv", "host/ufp4_counters.sv", "host/ufp4_slots.sv",
                "mem/ufp4_arbiter.sv", "array/ufp4_sum_resolve.sv", "quant/ufp4_quant_amax.sv"], []),
}
# Most of the fast tests of the whole core that need `small` alone, the cheap ones first.
TESTS = [("jobs", ["few_on_small"]),
         ("registers", ["identity", "keeps_what_is_written", "writes_bytes_of_the_doorbell", "rejects_writes_elsewhere",
                        "counters_count_idle_cycles"]),
         ("rings", ["interrupts", "of_each_size", "rejects_a_tail_too_far_by_each_bit", "at_every_address"]),
         ("command", ["slots_are_kept", "rejects_bad_headers", "rejects_bad_amax", "rejects_bad_quant",
                      "rejects_bad_e8m0_quant", "rejects_bad_gemm", "rejects_bad_addends", "rejects_no_copy",
                      "accepts_sizes_at_the_limit", "ignores_the_copy_that_is_not_wanted",
                      "rejects_with_the_lowest_status", "rejects_rows_longer_than_their_stride"]),
         ("corners", ["one_number", "both_operands_from_the_job_before", "as_many_jobs_as_the_core_holds",
                      "dependences_on_what_has_ended", "dependences_of_each_distance", "engines_end_in_any_order",
                      "soft_reset_between_beats", "ring_overflow_between_beats", "cycles_of_slow_jobs",
                      "misaligned_by_each_bit"]),
         ("jobs", ["long_k_on_small", "long_sides_on_small", "long_quants_on_small", "more_on_small"]),
         ("faults", ["few_on_small"]), ("errors", ["few_on_small"]),
         ("faults", ["soft_reset_without_watchdog", "watchdog_spares_the_living"])]
# What prints cycles.
BENCHES = [["bench_step", "--config", "small", "--size", "128", "--layers", "1", "--batches", "1"],
           ["bench_shapes", "--config", "small", "--every", "397"]]
ALIVE = ("equivalent", "slower", "survivor")


def yosys(args, script, name):
    (args.build / name).write_text(script)
    run.call(args.build, ["timeout", "1800", args.yosys, "-q", "-s", name], 2000, "yosys")


def select(block):
    wanted, others = BLOCKS[block]
    lines = ["select -none"] + [f"select -add ufp4_top/a:src=*rtl/{file}*" for file in wanted]
    lines += [f"select -del ufp4_top/a:src=*rtl/{file}*" for file in others]
    # What a read port takes and gives is some other cell's.
    return "\n".join(lines + ["select -del t:$memrd_v2"]) + "\n"


def parameters(source):
    text = (source / "rtl" / "gen" / "configurations.cmake").read_text()
    return " ".join(re.search(rf"set\(UFP4_{kind}_small (.*)\)", text)[1] for kind in ("CONFIGURATION", "SIMULATED"))


def sample(args, block):
    """The commands of the mutants of a block that are injected."""
    texts = {path.relative_to(args.build).as_posix(): path.read_text().splitlines()
             for path in (args.build / "rtl").rglob("*.sv")}

    def line_of(place):
        file, line = re.fullmatch(r"(.*):(\d+)\..*", place).groups()
        return f"{file}: {texts[file][int(line) - 1].strip()}"

    places, alike = collections.defaultdict(list), collections.Counter()
    for command in (args.build / f"{block}.all").read_text().splitlines():
        # A gate in a clock line would make a second clock, which races with the first.
        if " -port CLK " in command:
            continue
        place = " ".join(line_of(source) for source in re.findall(r"-src (\S+)", command))
        what = re.sub(r" -(cell|src|ctrlbit) \S+", "", command)  # the numbers of cells change, control bits are random
        alike[place, what] += 1
        places[place].append((digest(args.seed, place, what, alike[place, what]), command))
    order = [(rank, digest(args.seed, place), command) for place, commands in places.items()
             for rank, (_, command) in enumerate(sorted(commands))]
    return [command for _, _, command in sorted(order)[:args.count]]


def digest(*what):
    return hashlib.sha256(repr(what).encode()).hexdigest()


def make_mutants(args):
    """Writes core.il, BLOCK.il and small.v; gives {block: mutants}, numbered from 1 on over all blocks."""
    shutil.copytree(args.source / "rtl", args.build / "rtl", dirs_exist_ok=True)
    if not args.again:
        lists = "".join(f"{select(block)}mutate -list {ALL} -o {block}.all\n" for block in args.blocks)
        # A block alone: what memories give is free, as are all other inputs; what they take is looked at.
        free = ("rename -enumerate -pattern wire_% ufp4_top/w:*\n"  # only wires with names of their own are exposed
                "select -set taken ufp4_top/t:$mem* %ci1 ufp4_top/w:* %i\nexpose @taken\ndelete ufp4_top/m:*\n")
        alone = "".join(f"read_rtlil core.il\n{free}{select(block)}submod -name alone\n"
                        # Deleted with a memory is what reads it: what it gave is an input, not unknown.
                        f"setundef -undriven -expose alone\nselect alone\n"
                        f"write_rtlil -selected {block}.il\ndesign -reset\n" for block in args.blocks)
        yosys(args, f"read_slang -j 1 --top ufp4_top {parameters(args.source)} -F rtl/rtl.f\nhierarchy -check\nproc\n"
              f"bwmuxmap\nsetundef -zero\nopt\nwreduce\nopt_clean -purge\nwrite_rtlil core.il\n{lists}design -reset\n"
              f"{alone}", "make.ys")
    mutants, number = {}, 0
    for block in args.blocks:
        commands = sample(args, block)
        mutants[block] = [run.Mutant(number + i, command) for i, command in enumerate(commands, 1)]
        number += len(commands)
    if not args.again:
        script = "".join(f"mutate -ctrl mutant {WIDTH} {m.number} {m.command.removeprefix('mutate ')}\n"
                         for block in args.blocks for m in mutants[block])
        yosys(args, f"read_rtlil core.il\n{script}write_verilog -noattr mutants.v\n", "mutants.ys")
        write_netlist(args)
    return mutants


def write_netlist(args):
    """small.v: mutants.v, the port that picks the mutant replaced by a file that is read."""
    text = (args.build / "mutants.v").read_text()
    text, ports = re.subn(r"\bmutant, |, mutant\b", "", text, count=1)
    text, inputs = re.subn(rf"  input \[{WIDTH - 1}:0\] mutant;\n  wire \[{WIDTH - 1}:0\] mutant;\n",
                           f'  reg [{WIDTH - 1}:0] pick [0:0];\n  initial $readmemh("mutant.hex", pick);\n'
                           f"  wire [{WIDTH - 1}:0] mutant = pick[0];\n", text, count=1)
    if (ports, inputs) != (1, 1):
        sys.exit("mutants.v: the port that picks a mutant is not where it was expected")
    # Of registers that start at random, two selects may be high: the first counts, which is no error.
    text = text.replace("// synopsys parallel_case", "")
    (args.build / "small.v").write_text("/* verilator tracing_off */\n" + text)


def build(args, options, targets):
    """Configures the tree SOURCE as BUILD/tests, with further options of CMake, and builds targets of it."""
    configure = ["cmake", "-G", "Ninja", "-S", args.source, "-B", args.build / "tests", "-DCMAKE_BUILD_TYPE=Release",
                 "-DUFP4_CUDA=OFF", *options]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    run.call(args.build, configure, 600, "cmake")
    run.call(args.build, ["ninja", "-C", args.build / "tests", *targets], 7200, "ninja")


def build_tests(args):
    targets = sorted({f"test_rtl_{program}" for program, _ in TESTS} | {bench[0] for bench in BENCHES})
    build(args, [f"-DUFP4_RTL_NETLIST={args.build / 'small.v'}"], targets)


def programs(args):
    return args.build / "tests" / "tests" / "rtl" / "core"


def test_command(args, test):
    program, name = test.split(".")
    return [programs(args) / f"test_rtl_{program}", name]


def run_test(command, number, limit):
    """Runs a test on a mutant, up to its first mismatch. @return (whether it passes, CPU seconds)"""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "mutant.hex").write_text(f"{number:x}\n")
        process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   errors="replace",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
        differs = any(line.startswith("  index ") for line in process.stderr)
        if differs:
            os.kill(process.pid, signal.SIGKILL)
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return not differs and status == 0, usage.ru_utime + usage.ru_stime


def benches(args):
    return [[programs(args) / program, *options] for program, *options in BENCHES]


def cycles(commands, number):
    """What commands that print cycles print of a mutant, and CPU seconds."""
    printed, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "mutant.hex").write_text(f"{number:x}\n")
        for command in commands:
            process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            printed.append(process.stdout.read())
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds += usage.ru_utime + usage.ru_stime
    return printed, seconds


def remembered(args, name, work):
    """What work() gave, now or in an earlier run."""
    file = args.build / "fates" / f"{name}.json"
    if not file.exists():
        file.write_text(json.dumps(work()))
    return json.loads(file.read_text())


def without_mutation(args):
    """CPU seconds of each of TESTS, all of which must pass, and what BENCHES print."""
    seconds = {}
    for test in [f"{program}.{name}" for program, names in TESTS for name in names]:
        passes, seconds[test] = run_test(test_command(args, test), 0, 600)
        if not passes:
            sys.exit(f"rtl.{test} fails on the netlist without a mutation")
    return {"seconds": seconds, "cycles": cycles(benches(args), 0)[0]}


def prove(args, block, mutant):
    # Write ports of memories are not in the block alone.
    cell = re.search(r"-cell (\S+)", mutant.command)[1]
    return (re.search(rf" {re.escape(cell)}$", (args.build / f"{block}.il").read_text(), re.M) is not None
            and run.prove(args.yosys, args.build, f"{block}.il", "alone", mutant))


def proved(args, block, mutant):
    return remembered(args, f"proof{mutant.number}", lambda: prove(args, block, mutant))


def find_fate(args, block, mutant):
    """The test that finds the mutant, or one of ALIVE, and the CPU seconds of tests and benches."""
    total = 0.0
    for test, base in args.base["seconds"].items():
        passes, seconds = run_test(test_command(args, test), mutant.number, int(LIMIT[0] * base + LIMIT[1]))
        total += seconds
        if not passes:
            return {"fate": test, "seconds": total}
    if proved(args, block, mutant):
        return {"fate": "equivalent", "seconds": total}
    now, seconds = cycles(benches(args), mutant.number)
    return {"fate": "survivor" if now == args.base["cycles"] else "slower", "seconds": total + seconds}


def fate(args, block, mutant):
    name = str(mutant.number)
    new = not (args.build / "fates" / f"{name}.json").exists()
    found = remembered(args, name, lambda: find_fate(args, block, mutant))
    if new:
        print(f"{block} {mutant.number}: {found['fate']}, {found['seconds']:.0f} s", flush=True)
    return found


def ports(args, mutant):
    """The named signals at the mutated cell."""
    cell = re.escape(re.search(r"-cell (\S+)", mutant.command)[1])
    text = re.search(rf"^  cell \S+ {cell}$(.*?)^  end$", (args.build / "core.il").read_text(), re.M | re.S)[1]
    return " ".join(re.findall(r"\\([a-z]\S*(?: \[[\d:]+\])?)", text))


def reasons(blocks):
    """The lines of explained.txt for any of these blocks."""
    lines = [line for line in EXPLAINED.read_text().splitlines() if not line.startswith("#")]
    return [line for line in lines if any(re.fullmatch(line.split(" ")[0], block) for block in blocks)]


def reason(args, block, mutant):
    """The line of explained.txt that says why no test sees the mutant, or None."""
    name = mutant.name.rsplit(" ", 1)[0]
    file, _, place = (mutant.sources[0] if mutant.sources else "?:0").partition(":")
    number = int(place.split(".")[0])
    source = (args.build / "rtl" / file).read_text().splitlines()[number - 1].strip() if number else ""
    text = f"{name} {file}: {source} {mutant.where()}"
    for line in reasons([block]):
        pattern = re.fullmatch(r"\S+ (.*?) -- .*", line)[1]
        if re.search(pattern, text + f" ports {ports(args, mutant)}" if " ports " in pattern else text):
            return line
    return None


def percent(part, whole):
    return 100 * part / max(1, whole)


def judge(args, block, mutants):
    """Prints every mutant that is not killed, and the sums. @return how many are killed, how many a test could kill,
    and the reasons why it could not kill others."""
    fates = {mutant: fate(args, block, mutant) for mutant in mutants}
    killed = [mutant for mutant in mutants if fates[mutant]["fate"] not in ALIVE]
    if any(proved(args, block, mutant) for mutant in killed[:2]):
        sys.exit("a mutant that a test kills was proved equivalent: the proof is wrong")
    for mutant in killed:
        if why := reason(args, block, mutant):
            sys.exit(f"a test kills {block} {mutant.number}, {mutant.name} {mutant.where()}, "
                     f"which is excused: {why}")
    used = []
    for mutant in mutants:
        if mutant in killed:
            continue
        why = reason(args, block, mutant) if fates[mutant]["fate"] == "survivor" else None
        used += [why] if why else []
        print(f"{block} {mutant.number}: {mutant.name} {mutant.where()}: {fates[mutant]['fate']}"
              + (f": {why.partition(' -- ')[2]}" if why else ""))
    explained = len(used)
    count = collections.Counter(found["fate"] for found in fates.values())
    could = len(killed) + count["survivor"] - explained
    by = ", ".join(f"{test} {number}" for test, number in count.most_common() if test not in ALIVE)
    print(f"{block}: {len(mutants)} mutants, {len(killed)} killed ({by}), {count['equivalent']} equivalent, "
          f"{count['slower']} slower, {count['survivor']} survivors, {explained} explained; "
          f"of the others killed {percent(len(killed), could):.1f} %; "
          f"{sum(found['seconds'] for found in fates.values()) / 60:.0f} CPU minutes", flush=True)
    return len(killed), could, used


def print_modules(args, mutants):
    """How many mutants each file met, and which files none."""
    counts = collections.defaultdict(collections.Counter)
    for block, some in mutants.items():
        for mutant in some:
            found = fate(args, block, mutant)["fate"]
            counts[mutant.file()][found if found in ALIVE else "killed"] += 1
    for file, count in sorted(counts.items()):
        print(f"{file}: {count.total()} mutants, {count['killed']} killed")
    patterns = [pattern for block in mutants for pattern in BLOCKS[block][0]]
    files = {str(path.relative_to(args.source / "rtl")) for pattern in patterns for path in (args.source / "rtl").glob(pattern)}
    print("none in: " + " ".join(sorted(files - set(counts))))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    for name in ("yosys", "source", "build"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--blocks", type=lambda names: names.split(","), default=list(BLOCKS))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--first", type=int, help="only so many of each block")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    args.build.mkdir(parents=True, exist_ok=True)
    mutants = make_mutants(args)
    build_tests(args)
    if not args.again:
        shutil.rmtree(args.build / "fates", ignore_errors=True)
    (args.build / "fates").mkdir(exist_ok=True)
    args.base = remembered(args, "base", lambda: without_mutation(args))
    mutants = {block: mutants[block][:args.first] for block in args.blocks}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        turns = itertools.zip_longest(*([(block, mutant) for mutant in mutants[block]] for block in args.blocks))
        list(pool.map(lambda pair: fate(args, *pair), filter(None, itertools.chain(*turns))))
    counts = [judge(args, block, mutants[block]) for block in args.blocks]
    print_modules(args, mutants)
    killed, could = (sum(count[i] for count in counts) for i in range(2))
    print(f"all: killed {killed} of {could}, {percent(killed, could):.1f} %")
    if percent(killed, could) < WANTED_PERCENT or min(percent(*count[:2]) for count in counts) < BLOCK_PERCENT:
        sys.exit(f"less than {WANTED_PERCENT} % killed, or of a block {BLOCK_PERCENT} %")
    used = {why for count in counts for why in count[2]}
    unused = [line for line in reasons(args.blocks) if line not in used]
    if unused and (args.count, args.seed, args.first) == SAMPLE:
        sys.exit("no survivor has this reason any more:\n" + "\n".join(unused))


if __name__ == "__main__":
    main()
