# SPDX-License-Identifier: Apache-2.0
"""./ufp4 ppa: area, delay and energy of the core's units in a standard-cell library. See --help."""

import argparse
import concurrent.futures
import csv
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import energy
import flow
import library
import memories
import rows
import toolbox

ENERGY = (
    *("unit", "data", "elements", "load", "energy_fj", "error_fj"),
    *(f"{part}_fj" for part in (*energy.PARTS, *energy.OUTSIDE)),
    "samples_fj",
)
COLUMNS = (
    "unit",
    "formats",
    "flow",
    "area_um2",
    "flip_flops_um2",
    "memory_bits",
    "memories_um2",
    "memories",
    "delay_ns",
    "memory_ns",
)
ROOMS = ("unit", "flow", "room", "delay_ns", "from", "to")
ABOUT = (
    "Measures area, delay and energy of the core's units, and area and delay of whole cores, in a library of standard "
    "cells,\n"
    "with yosys and OpenSTA and without wires. Memories are not part of these figures; their bits are counted "
    "separately.\n"
    "Without --unit and --all it measures the dot product of 16 pairs and the processing element (PE), each for all "
    "formats,\n"
    "for E2M1, for E1M2 and INT4, and for E1M2."
)
MORE = f"""units: {" ".join(row.name for row in rows.ROWS)}
docs/howto/cells.md describes the units.

Example: ./ufp4 ppa -o out
Exit status: 0 done, 2 usage or bad input, 3 a tool or the machine is at fault."""


class Once(argparse.Action):
    def __call__(self, parser, namespace, value, option=None):
        given = namespace.__dict__.setdefault("given", set())
        if self.dest in given:
            parser.error(f"{option} is given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, True if self.nargs == 0 else value)


def seconds(text):
    if not text.isdecimal() or not 1 <= int(text) <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to 86400")
    return int(text)


def number(text):
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0, such as 0.25")
    return float(text)


def times(text):
    both = text.split(",")
    if len(both) != 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not two times in ns, such as 0.218,0.05")
    return [number(one) for one in both]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"ufp4 ppa: {message}; see ./ufp4 ppa --help\n")


def read_options(words):
    parser = Parser(
        prog="./ufp4 ppa",
        description=ABOUT,
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    flag = {"action": Once, "nargs": 0, "default": False}
    parser.add_argument("--unit", action=Once, metavar="NAME[,NAME]", help="measure these units")
    parser.add_argument("--all", **flag, help="measure all units but whole cores, each of which takes minutes")
    parser.add_argument(
        "--liberty",
        action=Once,
        nargs="+",
        metavar="FILE",
        default=[library.DEBIAN],
        help="the Liberty files of one library, plain or compressed "
        "as .xz (default OSU 0.18 um of Debian's qflow-tech-osu018)",
    )
    parser.add_argument("--full-adders", **flag, help="use the library's full adder instead of ufp4_full_adder")
    parser.add_argument("--sized", **flag, help="size gates for a delay, and insert buffers")
    parser.add_argument(
        "--gated",
        **flag,
        help="insert clock gates where eight or more flip-flops share an enable, also for the operands of PEs",
    )
    parser.add_argument(
        "--energy",
        **flag,
        help="also measure the energy of a MAC, for lanes and QUANT of an element, on GEMMs of a training, "
        "at full, half and no load",
    )
    parser.add_argument(
        "--memory-ns",
        action=Once,
        type=times,
        metavar="READ,WRITE",
        help="a memory's delay from the clock to read data, and setup time of address and data, for whole cores "
        "(default: those of a memory of the library's process)",
    )
    parser.add_argument(
        "--bit-um2",
        action=Once,
        type=number,
        metavar="UM2",
        help="area of a bit of a memory (default: that of the library's process)",
    )
    parser.add_argument(
        "--seconds",
        action=Once,
        type=seconds,
        default=900,
        metavar="N",
        help="time limit of a tool on a unit (default 900)",
    )
    parser.add_argument("--json", **flag, help="print JSON")
    parser.add_argument("--needs", **flag, help=argparse.SUPPRESS)
    parser.add_argument(
        "-o",
        dest="output",
        action=Once,
        metavar="DIR",
        help="write ppa.json, ppa.csv, rooms.csv, energy.csv and the page report.html to this folder",
    )
    options = parser.parse_args(words)
    if options.unit and options.all:
        parser.error("--unit and --all exclude each other")
    if options.unit is not None:
        unknown = [name for name in options.unit.split(",") if name not in rows.BY_NAME]
        if unknown:
            parser.error(f"no unit '{unknown[0]}'; there are {' '.join(rows.BY_NAME)}")
    return parser, options


def chosen(options):
    if options.all:
        return [row for row in rows.ROWS if not row.core]
    return (
        [rows.BY_NAME[name] for name in dict.fromkeys(options.unit.split(","))]
        if options.unit
        else [row for row in rows.ROWS if row.default]
    )


def read_library(parser, options, cache):
    try:
        found = library.Library(options.liberty, cache)
    except FileNotFoundError as error:
        if error.filename == library.DEBIAN:
            raise toolbox.Failed(
                f"{error.filename} is missing; ./ufp4 ppa installs it (Debian's qflow-tech-osu018)"
            ) from error
        parser.error(f"{error.filename}: {error.strerror}")
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        parser.error(str(error))
    for asked, key, words in (
        (options.full_adders, "full_adder", "--full-adders"),
        (options.sized, "driver", "--sized"),
        (options.gated, "gate", "--gated"),
        (options.energy, "megahertz", "--energy"),
        (options.energy, "transition", "--energy"),
    ):
        if asked and key not in found.settings:
            parser.error(f"{words}: fpga/cells/libraries.toml has no {key} of the library {found.name}")
    if options.memory_ns is None:
        options.memory_ns = found.settings.get("memory_ns")
    if options.memory_ns is None and any(row.core for row in chosen(options)):
        parser.error(f"--memory-ns READ,WRITE: fpga/cells/libraries.toml has no memory of the library {found.name}")
    if options.bit_um2 is None:
        options.bit_um2 = found.settings.get("bit_um2")
    if options.full_adders and not found.has_cell(found.settings["full_adder"][0]):
        parser.error(f"--full-adders: no file of the library has the cell {found.settings['full_adder'][0]}")
    return found


def say(text):
    print(f"ufp4 ppa: {text}", file=sys.stderr, flush=True)


def completed(futures):
    """Yields futures as they complete. Waits in short intervals, because a signal that another thread receives wakes
    nobody up."""
    left = set(futures)
    while left:
        done, left = concurrent.futures.wait(left, 0.2, concurrent.futures.FIRST_COMPLETED)
        yield from done


def measured(row, figures, options):
    """Returns what a row says about memories besides its figures."""
    bits = memories.total(figures)
    return (
        {"memory_bits": bits}
        | ({"memories_um2": bits * options.bit_um2} if options.bit_um2 is not None else {})
        | ({"memory_ns": options.memory_ns} if row.core else {})
    )


def measure_all(todo, cells, how, tools, cache, options):
    """Returns rows of COLUMNS, in order; failed ones are reported and left out."""
    done, folders, failed = {}, {}, 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        started = {
            pool.submit(flow.synthesize, row, cells, how, tools, cache, options.seconds, options.memory_ns): row
            for row in todo
        }
        for count, future in enumerate(completed(started), 1):
            row = started[future]
            try:
                folder, figures, known = future.result()
            except toolbox.Failed as error:
                failed += 1
                say(f"{row.name} ({count} of {len(todo)}): {error}")
                continue
            say(f"{row.name} ({count} of {len(todo)}){' as measured before' if known else ''}")
            folders[row.name] = folder
            done[row.name] = (
                {"unit": row.name, "formats": row.formats, "flow": how.name}
                | figures
                | measured(row, figures, options)
                | {"script": str(folder / "synthesis.ys")}
            )
    return [done[row.name] for row in todo if row.name in done], folders, failed


def measure_energies(found, cells, folders, tools, cache, limit):
    """Adds the energies of rows.cases to the rows. Returns how many failed."""
    todo = [(row, case) for row in found for case in rows.cases(rows.BY_NAME[row["unit"]])]
    energy.check_itself(tools, cache, limit)
    failed, done = 0, {}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        started = {
            pool.submit(
                energy.of_case,
                folders[row["unit"]] / "netlist.v",
                rows.BY_NAME[row["unit"]],
                case,
                cells,
                tools,
                cache,
                limit,
            ): (row["unit"], case)
            for row, case in todo
        }
        for count, future in enumerate(completed(started), 1):
            name = f"{started[future][0]} on {' '.join(started[future][1])} ({count} of {len(todo)})"
            try:
                done[started[future]] = future.result()
                say(name)
            except toolbox.Failed as error:
                failed += 1
                say(f"{name}: {error}")
    for row in found:
        row["energy"] = [done[row["unit"], case] for of, case in todo if of is row and (row["unit"], case) in done]
    return failed


def command(words):
    return shlex.join(["./ufp4", "ppa", *words])


def table(document):
    lines = [
        (
            f"{'unit':<24} {'area, um2':>11} {'flip-flops, um2':>15} {'memory bits':>11} {'their um2':>10} "
            f"{'delay, ns':>9}  memories beside it"
        )
    ]
    lines += [
        f"{row['unit']:<24} {row['area_um2']:>11.1f} {row['flip_flops_um2']:>15.1f} {row['memory_bits']:>11g} "
        f"{format(row['memories_um2'], '.1f') if 'memories_um2' in row else '':>10} {row['delay_ns']:>9.2f}  "
        f"{memories.words(row)}".rstrip()
        for row in document["rows"]
    ]
    lines += room_lines(document) + energy_lines(document)
    about = document["library"]
    lines.append(
        f"% {about['name']} ({', '.join(pathlib.Path(file).name for file in about['files'])}), {document['flow']}; "
        f"yosys {document['yosys']}, "
        f"OpenSTA {document['opensta']}; RTL {document['rtl']}; without wires; area, "
        "flip-flops and delay without memories"
    )
    if "bit_um2" in about:
        lines.append(
            f"% memories: {about['bit_um2']:g} um2 a bit{about['bit_source']}; "
            "each has one write port and one read port"
        )
    lines += [f"% script of {row['unit']}: {row['script']}" for row in document["rows"][:1]]
    return "".join(f"{line}\n" for line in lines)


def room_lines(document):
    """Returns lines with the longest path that ends in each room of a core."""
    found = [(row, room) for row in document["rows"] for room in row.get("rooms", ())]
    if not found:
        return []
    read, write = found[0][0]["memory_ns"]
    return [
        "",
        f"{'core':<14} {'room':<14} {'delay, ns':>9}  longest path",
        *(
            f"{row['unit']:<14} {room['room']:<14} {room['delay_ns']:>9.2f}  {room['from']} -> {room['to']}"
            for row, room in found
        ),
        f"% a memory outputs read data {read:g} ns after the clock and needs address and data {write:g} ns before it; "
        "paths of memories are only in the two rows for them",
    ]


def energy_lines(document):
    found = [(row["unit"], one) for row in document["rows"] for one in row.get("energy", ())]
    if not found:
        return []
    lines = [
        "",
        (
            f"{'fJ a MAC, an element':<24} {'data':<16} {'load':<5} {'energy':>7} {'error':>6} {'gates':>7} "
            f"{'flip-flops':>10} {'clocked':>8} {'leakage':>8} {'clock pins':>11} {'input pins':>11}"
        ),
    ]
    for unit, one in found:
        parts = [one[f"{part}_fj"] for part in (*energy.PARTS, *energy.OUTSIDE)]
        widths = (7, 10, 8, 8, 11, 11)
        lines.append(
            f"{unit:<24} {one['data'] + ' ' + one['elements']:<16} {one['load']:<5} {one['energy_fj']:>7.2f} "
            f"{format(one['error_fj'], '.2f') if 'error_fj' in one else '':>6} "
            + " ".join(f"{value:>{width}.2f}" for value, width in zip(parts, widths))
        )
    return [
        *lines,
        (
            f"% energies at {document['megahertz']} MHz, of toggles at zero delay: a lower bound. "
            "Clock pins and input pins are not included, because their drivers are outside"
        ),
        "% error: standard error of the energy at full load, because the excerpt has few rows and blocks",
    ]


def comma_separated(columns, lines, document):
    file = io.StringIO()
    writer = csv.DictWriter(file, (*columns, "library", "rtl", "command"), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    about = {"library": document["library"]["name"], "rtl": document["rtl"], "command": document["command"]}
    for line in lines:
        digits = {
            key: f"{value:.{2 if key.endswith(('_ns', '_fj')) else 1}f}"
            for key, value in line.items()
            if isinstance(value, float)
        }
        if "memories" in line:
            digits["memories"] = memories.words(line)
        if "samples_fj" in line:
            digits["samples_fj"] = "; ".join(" ".join(f"{one:.2f}" for one in way) for way in line["samples_fj"])
        if "memory_ns" in line:
            digits["memory_ns"] = " ".join(f"{time:g}" for time in line["memory_ns"])
        writer.writerow(line | digits | about)
    return file.getvalue()


def write(folder, document):
    """Everything but the page needs only Python's standard library."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "ppa.json": json.dumps(document, indent=2) + "\n",
        "ppa.csv": comma_separated(COLUMNS, document["rows"], document),
    }
    if any("rooms" in row for row in document["rows"]):
        found = [
            {"unit": row["unit"], "flow": row["flow"]} | room
            for row in document["rows"]
            for room in row.get("rooms", ())
        ]
        files["rooms.csv"] = comma_separated(ROOMS, found, document)
    if "megahertz" in document:
        found = [{"unit": row["unit"]} | one for row in document["rows"] for one in row["energy"]]
        files["energy.csv"] = comma_separated(ENERGY, found, document)
    for name, text in files.items():
        beside = folder / f".{name}.tmp"
        beside.write_text(text)
        beside.rename(folder / name)
    python = os.environ.get("UFP4_PYTHON", sys.executable)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(flow.ROOT / "drivers/python"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    }
    drawn = subprocess.run(
        [python, "-B", "-m", "ufp4.report", str((folder / "ppa.json").resolve())],
        env=environment,
        capture_output=True,
        text=True,
    )
    if drawn.returncode:
        say(f"no page is drawn: {(drawn.stderr.strip().splitlines() or ['no reason'])[-1]}")


def bit(cells, options):
    """Returns the area of a memory's bit, and its source."""
    if options.bit_um2 is None:
        return {}
    own = "bit_um2" in getattr(options, "given", ())
    source = "" if own else f", {cells.settings['bit_source']}"
    return {"bit_um2": options.bit_um2, "bit_source": source}


def run(words):
    parser, options = read_options(words)
    if options.needs:  # the launcher asks it, in the words of drivers/tools/frame/needs.c
        print("tools" + "\ndrawing optional" * (options.output is not None))
        return 0
    build = pathlib.Path(os.environ.get("UFP4_BUILD", flow.ROOT / "build/release")).resolve() / "ppa"
    cells = read_library(parser, options, build)
    if options.output and pathlib.Path(options.output).exists() and not pathlib.Path(options.output).is_dir():
        parser.error(f"-o {options.output} is a file; name a folder")
    tools, cache = toolbox.Tools(), flow.Cache(build)
    how = flow.Flow(options.full_adders, options.sized, options.gated)
    todo = chosen(options)
    found, folders, failed = measure_all(todo, cells, how, tools, cache, options)
    if options.energy:
        failed += measure_energies(found, cells, folders, tools, cache, options.seconds)
    document = {
        "command": command(words),
        "library": {"name": cells.name, "names": cells.names, "files": options.liberty} | bit(cells, options),
        "flow": how.name,
        **tools.versions,
        "rtl": cache.rtl,
        "rows": found,
    }
    if options.energy:
        document["megahertz"] = cells.settings["megahertz"]
    if options.output:
        write(pathlib.Path(options.output), document)
    sys.stdout.write(json.dumps(document, indent=2) + "\n" if options.json else table(document))
    sys.stdout.flush()
    return 3 if failed else 0


def main():
    try:
        return run(sys.argv[1:])
    except toolbox.Failed as error:
        say(error)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else error)
    return 3


if __name__ == "__main__":
    sys.exit(main())
