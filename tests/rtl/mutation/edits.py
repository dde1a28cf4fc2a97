# SPDX-License-Identifier: Apache-2.0
"""usage: edits.py SOURCE BUILD UNIT [--jobs N] [--only PATTERN]

Mutation test of modules in all the forms and shapes of the array that they are for: bugs are edits of their source, all
in one copy of it, of which a file picks one. The unit's rigs, engines for the most part, are built from that, and their
fast tests (rtl.RIG) run on each mutant until one fails; of large units on one mutant in so many, drawn by a hash of its
source line and edit. Edits: an expression that is zero, or has its lowest bit inverted; an operator that is another one,
or left out; a condition negated, or always or never true; a constant that differs by one. Not edited are parameters,
conditions of generate blocks, operators in indices, clocks, assertions and the ports of resets. What no test finds is
`slower` if the rigs' `utilization` or `throughput` prints other numbers of cycles, else a survivor; explained.txt knows
some, with the reason. Fails if of the others less than WANTED_PERCENT are killed, if explained.txt excuses what is
killed, or if it has a reason that fits none. BUILD is the folder of the models."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys

import core
import run

WANTED_PERCENT = 95
ALIVE = ("survives", "slower")
LIMIT = (4, 3)  # times the CPU time of a test without a mutation, and seconds more
# What is edited, the rigs whose tests have to find it, and of how many mutants one is drawn.
UNITS = {
    "words": (["array/ufp4_array_words.sv", "array/ufp4_pe_words.sv", "num/ufp4_words_pkg.sv"],
              ["gemm_simulator", "gemm_fours", "gemm_pairs", "gemm_broad"], 1),
    "pe": (["array/ufp4_pe.sv", "array/ufp4_sum_banks.sv", "num/ufp4_dot_part.sv", "num/ufp4_delay.sv"],
           ["gemm_fpga", "gemm_quarters", "gemm_lean", "gemm_small", "gemm_compact", "gemm_compact-lean",
            "gemm_halves", "gemm_simulator-fp32", "sum_banks"], 1),
    "pe_fp32": (["array/ufp4_pe_fp32.sv", "array/ufp4_pe_dot.sv", "num/ufp4_dot_planes.sv"],
                ["gemm_small-fp32", "gemm_fpga-fp32", "gemm_simulator-fp32", "gemm_halves", "gemm_fpga-halves"], 1),
    "pe_nv": (["array/ufp4_pe_nv.sv", "array/ufp4_pe_dot.sv"],
              ["gemm_small-nv", "gemm_fpga-nv", "gemm_simulator-nv"], 1),
    "systolic": (["array/ufp4_systolic.sv", "array/ufp4_lane.sv"],
                 ["gemm_small", "gemm_small-nv", "gemm_fpga", "gemm_cells", "gemm_wide", "gemm_lean", "gemm_odd",
                  "gemm_halves", "gemm_simulator-nv"], 1),
    "widths": (["mem/ufp4_width_read.sv", "mem/ufp4_width_write.sv"],
               ["gemm_flat", "gemm_row", "gemm_deep", "gemm_broad", "gemm_tall"], 1),
    "load": (["array/ufp4_load_request.sv", "array/ufp4_load_write.sv", "array/ufp4_tile_walk.sv"],
             ["gemm_odd", "gemm_deep", "gemm_broad", "gemm_halves", "gemm_small-nv"], 1),
    "engine_clock": (["host/ufp4_engine_clock.sv"], ["engine_clock"], 1),
    "sequencer": (["array/ufp4_sequencer.sv"],
                  ["gemm_small-nv", "gemm_halves", "gemm_fours", "gemm_fpga-tall", "gemm_wide", "gemm_cells",
                   "gemm_deep", "gemm_broad", "gemm_odd"], 3),
    "results": (["array/ufp4_drain.sv", "array/ufp4_addend.sv", "array/ufp4_epilogue.sv"],
                ["gemm_small", "gemm_small-nv", "gemm_halves", "gemm_flat", "gemm_deep", "gemm_broad", "gemm_odd"], 6),
    "quantizer": (["quant/ufp4_quant.sv", "quant/ufp4_quant_load.sv", "quant/ufp4_quant_strip.sv",
                   "quant/ufp4_quant_write.sv"], ["quant_bus8", "quant_bus64", "quant_bus128"], 8),
    "collected": (["quant/ufp4_quant_units.sv"], ["quant_bus8", "quant_bus64", "quant_bus128"], 1),
}
PICK = """#include <cstdio>
#include <cstdlib>
// The mutant that the file mutant.hex in the working folder names.
extern "C" int ufp4_picked(void) {
  unsigned number = 0;
  std::FILE *file = std::fopen("mutant.hex", "r");
  if (file == nullptr || std::fscanf(file, "%x", &number) != 1) std::abort();
  std::fclose(file);
  return static_cast<int>(number);
}
"""
IMPORT = 'import "DPI-C" function int ufp4_picked();\nint ufp4_mutant = ufp4_picked();\n'
ENUMS = "// verilator lint_off ENUMVALUE\n"  # a state may be any number
OPERATORS = {"+": "-", "-": "+", "*": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|", "==": "!=", "!=": "==",
             "<": "<=", ">": ">=", "<=": "<", ">=": ">", "&&": "||", "||": "&&"}
TOKEN = re.compile(r"'[01]\b|\d+'s?[bdh]\w+|\d+|\$?[A-Za-z_][\w$]*|<<<?|>>>?|[=!<>]=|&&|\|\||\+:|\S")
NAME = r"[\w.]+(?:\[[^;=]*?\])*"
PLACE = rf"(?:{NAME}|\{{[^;=]*?\}})"
# What an expression follows, up to its end: a semicolon, or the bracket that closes.
ASSIGNMENT = re.compile(r"(?:\bassign\s+|(?:^|;|\)|\bbegin|\belse|\w:(?!:))\s*(?:automatic logic (?:\[[^\]]*\] )?)?)"
                        rf"({PLACE})\s*<?=(?!=)\s*", re.M)
RETURN = re.compile(r"\breturn\s+")
CONDITION = re.compile(r"\bif\s*\(")
PORT = re.compile(r"\.(\w+_i)\s*\(")
WIRE = re.compile(r"(?<=[\s(])\.(\w+_i)(?=\s*[,)]|$)", re.M)
ASSERTIONS = re.compile(r"`ifndef SYNTHESIS.*?`endif", re.S)
ONE_BIT = re.compile(r"1'[bd][01]")
INVERTED = re.compile(r"![\w.\[\]]+|[^&|?{}+-]*[!=]=[^&|?{}+-]*")  # by an edit of its operator
ZERO = re.compile(r"(\d*')?[bd]?0+|\d*'s[bd]0+")


def without_comments(text):
    """The same places, with blanks for comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def blank(found):
    return re.sub(r"[^\n]", " ", found[0])


def end_of(text, start, wanted):
    """Where the first of the characters wanted is, outside of brackets."""
    depth = 0
    for place in range(start, len(text)):
        if depth == 0 and text[place] in wanted:
            return place
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[place], 0)
    raise ValueError(f"no end of an expression: {text[start:start + 60]}")


def expressions(text):
    """(start, end, whether it is a condition) of each expression that is computed at run time."""
    plain = ASSERTIONS.sub(blank, without_comments(text))
    body = re.search(r"^\);$|^package ", plain, re.M).end()
    found = []
    for match in ASSIGNMENT.finditer(plain, body):
        before = plain[plain.rfind("\n", 0, match.start(1)) + 1:match.start(1)]
        in_head = before.count("(") > before.count(")")  # of a loop
        if not match[1].startswith("unused_") and not in_head:
            found.append((match.end(), end_of(plain, match.end(), ";"), False))
    for match in RETURN.finditer(plain, body):
        found.append((match.end(), end_of(plain, match.end(), ";"), False))
    for match in PORT.finditer(plain, body):
        if match[1] not in ("clk_i", "rst_ni"):
            found.append((match.end(), end_of(plain, match.end(), ")"), False))
    for match in CONDITION.finditer(plain, body):
        end = end_of(plain, match.end(), ")")
        if not re.match(r"\)\s*begin\s*:", plain[end:]):  # of a generate block
            found.append((match.end(), end, True))
    return sorted(found)


def edits(expression, condition):
    """(what it is, the expression instead) of each mutant of an expression."""
    changed = []
    if condition:
        changed += [("true", "1'b1"), ("false", "1'b0")]
    elif not ONE_BIT.fullmatch(expression) and not ZERO.fullmatch(expression):
        changed += [("zero", f"(({expression}) & ~({expression}))")]
    if not ONE_BIT.fullmatch(expression) and not INVERTED.fullmatch(expression):
        changed += [("not", f"!({expression})") if condition else ("lowest bit", f"(({expression}) ^ 2'sb01)")]
    depth, before = 0, ""  # in the brackets of an index, which may be one that has to be there
    widths = [(start_of(expression, cast.start()), cast.start()) for cast in re.finditer(r"\)'\(", expression)]
    tokens = list(TOKEN.finditer(expression))
    for i, token in enumerate(tokens):
        text, after = token[0], tokens[i + 1][0] if i + 1 < len(tokens) else ""
        depth += {"[": 1, "]": -1}.get(text, 0)
        if any(start <= token.start() < end for start, end in widths):
            continue
        unary = before == "" or before in "([{?:,=" or before in OPERATORS or before in ("~", "!")
        new = None
        if text in OPERATORS and not unary and depth == 0:
            new = OPERATORS[text]
        elif text in ("~", "!"):
            new = " "
        elif text == "?":
            start = start_of(expression, token.start(), "?:,")
            changed.append((f"other of {expression[start:token.end()]}",
                            f"{expression[:start]}!({expression[start:token.start()]}){expression[token.start():]}"))
        elif re.fullmatch(r"\d+'s?[bdh]\w+", text):
            new = text[:-1] + ("1" if text[-1] == "0" else f"{int(text[-1], 16) - 1:x}")
        elif text.isdigit() and after not in ("'", "{") and depth == 0:
            new = str(int(text) + 1)
        if new is not None:
            changed.append((f"{text} -> {new.strip() or 'nothing'} in "
                            f"{expression[max(0, token.start() - 12):token.end() + 12].strip()}",
                            expression[:token.start()] + new + expression[token.end():]))
        before = text
    return changed


def start_of(text, end, after=""):
    """Where the part begins that ends at end: behind the bracket it is in, or one of the characters after."""
    depth, place = 0, end - 1
    while place >= 0:
        depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(text[place], 0)
        if depth < 0 or (depth == 0 and text[place] in after and "::" not in text[place - 1:place + 2]):
            return place + 1
        place -= 1
    return 0


class Mutant:
    def __init__(self, number, file, line, what):
        self.number, self.name = number, f"{file}: {line}: {what}"


def edited(file, text, first):
    """The text with all mutants, which are numbered from first on, and the mutants."""
    text = WIRE.sub(lambda wire: wire[0] if wire[1] == "clk_i" else f".{wire[1]}({wire[1]})", text)
    mutants, pieces, at = [], [], 0
    for start, end, condition in expressions(text):
        expression = without_comments(text[start:end]).strip()
        lines = [line.strip() for line in text[text.rfind("\n", 0, start) + 1:].split("\n", 2)[:2]]
        line = " ".join(lines) if lines[0].endswith("begin") else lines[0]
        choice = ""
        for what, instead in edits(expression, condition):
            mutants.append(Mutant(first + len(mutants), file, line, re.sub(r"\s+", " ", what)))
            choice += f"ufp4_mutant == {mutants[-1].number} ? ({instead}) : "
        pieces += [text[at:start], f"({choice}({expression}))"]
        at = end
    return ENUMS + "".join(pieces) + text[at:], mutants


def make_rtl(args):
    """A copy of the RTL that has all mutants of the unit. @return the mutants"""
    mutants, texts = [], {path: path.read_text() for path in (args.source / "rtl").rglob("*") if path.is_file()}
    for file in args.files:
        path = args.source / "rtl" / file
        texts[path], more = edited(file, texts[path], len(mutants) + 1)
        mutants += more
    first = args.source / "rtl" / "gen" / "ufp4_spec_pkg.sv"  # of rtl.f
    texts[first] = IMPORT + texts[first]
    for path, text in texts.items():
        write(args.build / path.relative_to(args.source), text)
    write(args.build / "pick.cpp", PICK)
    return mutants


def write(path, text):
    """Leaves a file alone that has this text, so that what is made from it is not made again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build_tests(args):
    """The commands of the fast tests of each rig."""
    core.build(args, [f"-DUFP4_RTL_DIR={args.build / 'rtl'}", f"-DUFP4_RTL_IMPORTS={args.build / 'pick.cpp'}"],
               [f"test_{rig}" for rig in args.rigs])
    listed = json.loads(run.call(args.build / "tests", ["ctest", "--show-only=json-v1", "-L", "^fast$"], 100, "ctest"))
    tests = {}
    for rig in args.rigs:
        of_rig = {test["name"]: test["command"] for test in listed["tests"] if test["name"].startswith(f"rtl.{rig}.")}
        if not of_rig:
            sys.exit(f"no fast tests of {rig}")
        tests |= of_rig
    return tests


def killer(tests, base, kills, mutant):
    """A test that fails on a mutant, or None. Those that killed most in their time so far come first."""
    for name in sorted(tests, key=lambda test: (base[test] + 0.05) / (kills[test] + 1)):
        if not core.run_test(tests[name], mutant.number, int(LIMIT[0] * base[name] + LIMIT[1]))[0]:
            kills[name] += 1
            return name
    return None


def cycles_of(benches, number):
    return re.findall(r"\d+ cycles", " ".join(core.cycles(benches, number)[0]))


def reason(unit, mutant):
    """The line of explained.txt that says why no test sees the mutant, or None."""
    return next((line for line in core.reasons([unit])
                 if re.search(re.fullmatch(r"\S+ (.*?) -- .*", line)[1], mutant.name)), None)


def judge(unit, fates, reasons):
    """Prints the sums."""
    for mutant, why in reasons.items():
        if why and fates[mutant] not in ALIVE:
            sys.exit(f"{fates[mutant]}, but excused: {mutant.name}: {why}")
    count = {what: sum(1 for fate in fates.values() if fate == what) for what in ALIVE}
    killed = len(fates) - sum(count.values())
    explained = sum(1 for why in reasons.values() if why)
    percent = 100 * killed / max(1, len(fates) - explained)
    print(f"{unit}: {len(fates)} mutants, {killed} killed, {count['slower']} slower, {count['survives']} survivors, "
          f"{explained} explained; of the others killed {percent:.1f} %")
    if percent < WANTED_PERCENT:
        sys.exit(f"less than {WANTED_PERCENT} % killed")
    unused = [line for line in core.reasons([unit]) if line not in reasons.values()]
    if unused:
        sys.exit("no survivor has this reason any more:\n" + "\n".join(unused))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    for name in ("source", "build"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("unit", choices=UNITS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", metavar="PATTERN", default="",
                        help="those with it in FILE: SOURCE LINE: EDIT, each with its fate; judges nothing")
    args = parser.parse_args()
    args.files, args.rigs, share = UNITS[args.unit]
    args.build.mkdir(parents=True, exist_ok=True)
    mutants = make_rtl(args)
    if args.only:
        mutants = [mutant for mutant in mutants if re.search(args.only, mutant.name)]
    else:
        mutants = [mutant for mutant in mutants if int(core.digest(mutant.name), 16) % share == 0]
    if not mutants:
        sys.exit(f"no mutant has {args.only} in its name")
    tests = build_tests(args)
    base = {}
    for name, command in tests.items():
        passes, base[name] = core.run_test(command, 0, 600)
        if not passes:
            sys.exit(f"{name} fails without a mutation")
    benches = [command for name, command in tests.items() if name.endswith((".utilization", ".throughput"))]
    cycles = cycles_of(benches, 0)
    kills = dict.fromkeys(tests, 0)

    def fate(mutant):
        found = killer(tests, base, kills, mutant)
        return found or ("survives" if cycles_of(benches, mutant.number) == cycles else "slower")

    fates = {}
    reasons = {mutant: reason(args.unit, mutant) for mutant in mutants}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for mutant, found in zip(mutants, pool.map(fate, mutants)):
            fates[mutant] = found
            if found in ALIVE or args.only:
                note = ": " + reasons[mutant].partition(" -- ")[2] if reasons[mutant] else ""
                print(f"{mutant.number}: {mutant.name}: {found}{note}", flush=True)
    if not args.only:
        judge(args.unit, fates, reasons)


if __name__ == "__main__":
    main()
