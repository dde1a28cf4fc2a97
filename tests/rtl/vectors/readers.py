#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readers.py PROGRAM: what readers of vector files share, from the tables that `PROGRAM vectors --help` prints.

The output is SystemVerilog with a macro `READER_unit for each unit. It declares in_COLUMN of each operand, want_COLUMN
of each result, a clock with the task tick, and the tasks open_file, read_record, judge (a record is right; shown says
whether to print what was got) and close_file.
"""

import re
import subprocess
import sys

READER = """
DECLARED  integer file, got, records = 0, mismatches = 0;
  reg [8*200-1:0] path, header;
  reg clk = 1'b0, shown;
  task tick; begin #1 clk = 1'b1; #1 clk = 1'b0; end endtask
  task open_file; begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "UNIT: the file cannot be opened");
    repeat (3) got = $fgets(header, file);
  end endtask
  task read_record; begin
    got = $fscanf(file, "FORMAT\\n", READ);
    if (got != COUNT) $fatal(1, "UNIT: record %0d has %0d of COUNT columns", records + 1, got);
    {INPUTS} = {READ_INPUTS};
  end endtask
  task judge(input good); begin
    records = records + 1;
    shown = good !== 1'b1 && mismatches < 5;
    if (good !== 1'b1) mismatches = mismatches + 1;
    if (shown) $display("record %0d: NAMED", records, READ);
  end endtask
  task close_file; begin
    $display("UNIT: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "UNIT failed");
    $finish;
  end endtask
"""


def tables(text):
    """{unit: [(column, width, whether it is a result)]}"""
    units, columns = {}, None
    for line in text.splitlines():
        if match := re.match(r"  ([a-z0-9_]+): ", line):
            columns = units.setdefault(match[1], [])
        elif columns is not None and (match := re.match(r"    ([a-z0-9_]+) +(\d+)  (result:)?", line)):
            columns.append((match[1], int(match[2]), bool(match[3])))
    return units


def macro(unit, columns):
    inputs = [name for name, _, result in columns if not result]
    read = [f"want_{name}" if result else f"read_{name}" for name, _, result in columns]
    # Verilator 5.006 misses that $fscanf changes a variable, so operands are read into variables of
    # their own and assigned.
    declared = (
        f"  reg [{width - 1}:0] {f'want_{name}' if result else f'read_{name}, in_{name}'};\n"
        for name, width, result in columns
    )
    body = READER
    for word, text in {
        "DECLARED": "".join(declared),
        "READ_INPUTS": ", ".join(f"read_{name}" for name in inputs),
        "INPUTS": ", ".join(f"in_{name}" for name in inputs),
        "NAMED": ", ".join(f"{name.removeprefix('read_').replace('want_', 'want ')} %h" for name in read),
        "READ": ", ".join(read),
        "FORMAT": " ".join(["%h"] * len(columns)),
        "COUNT": str(len(columns)),
        "UNIT": unit,
    }.items():
        body = body.replace(word, text)
    return f"`define READER_{unit}" + body.rstrip().replace("\n", " \\\n") + "\n"


def header(program):
    told = subprocess.run([program, "vectors", "--help"], check=True, capture_output=True, text=True).stdout
    return "\n".join(macro(unit, columns) for unit, columns in tables(told).items())


if __name__ == "__main__":
    print(header(sys.argv[1]))
