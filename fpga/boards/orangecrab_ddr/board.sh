# SPDX-License-Identifier: Apache-2.0
# fpga/build.sh reads these settings of the OrangeCrab with its DRAM: the device, the other size, the script that makes
# LiteDRAM's Verilog, and the bitstreams of build.sh --all.
device=85k
sizes="25k 85k"
released=""
package=CSFBGA285
speed=8
loader="--board orangeCrab"
files="fpga/boards/dram_cells.v fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/orangecrab_ddr/orangecrab_ddr.sv"
parameters="-GClockHz=24000000"
made_by=fpga/boards/litex/dram.sh
