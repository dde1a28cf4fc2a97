#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the FuseSoC project of a board with an ECP5. Its Verilog is that of the configuration with
# the memory of the board, has no parameters, and can be read by Verilator with the cells of the
# FPGA; the clock cell has its settings as attributes; and the tools get the pins, device and speed of the board.
# usage: check_ecp5_board.sh FUSESOC VERILATOR ROOT WORK BOARD CONFIGURATION
set -euo pipefail
fusesoc=$1 verilator=$2 root=$3 work=$4 board=$5 configuration=$6
target=$board
[[ $configuration == tiny ]] || target+=_$configuration
rm -rf "$work"
timeout 3600 "$fusesoc" --cores-root "$root/rtl" --cores-root "$root/fpga" run --setup --target "$target" --work-root "$work" ufp4:ufp4:boards
. "$root/fpga/boards/$board/board.sh"
cd "$work"
verilog=$(find src -name "$board.v")
grep -qx 'parameters: {}' ./*.eda.yml || { echo "flat Verilog has no parameters: $(grep -A 20 '^parameters' ./*.eda.yml)"; exit 1; }
timeout 3600 "$verilator" --lint-only -Wno-fatal -Wno-lint -Werror-SELRANGE --top-module "$board" "$verilog" "$root/fpga/boards/ecp5_cells.v" 2>lint.txt ||
  { grep -m 5 '^%Error' lint.txt; exit 1; }
grep -q "on the board $board, configuration: $configuration\." "$verilog" || { echo "another configuration: $(head -n 2 "$verilog")"; exit 1; }
[[ $parameters == *-GMemory=1* ]] && memory=gen_sdram || memory=gen_block
grep -qE "u_memory\.(gen_march\.)?$memory\." "$verilog" || { echo "the memory is another one than $memory"; exit 1; }
grep -q 'ICP_CURRENT = "12"' "$verilog" || { echo "the PLL has lost its attributes"; exit 1; }
# A memory that is written bit by bit would take a block RAM per bit.
! grep -qE 'u_sram\.mem .*\]\[([0-9]+):\1\] <=' "$verilog" || { echo "memories are written bit by bit"; exit 1; }
made=$(grep -m 1 nextpnr-ecp5 Makefile)
for option in "--$device" "--package $package" "--speed $speed" "--lpf src/[^ ]*/$board.lpf"; do
  [[ $made =~ \ $option\  ]] || { echo "nextpnr does not get '$option': $made"; exit 1; }
done
for line in "read_verilog {$verilog}" "set top $board"; do
  grep -qF "$line" edalize_yosys_procs.tcl || { echo "yosys does not get '$line'"; exit 1; }
done
