# SPDX-License-Identifier: Apache-2.0
# fpga/build.sh has to know this of the OrangeCrab with its DRAM: the device, that of the other size, what makes
# LiteDRAM's Verilog, and what build.sh --all makes.
device=85k
sizes="25k 85k"
released=""
package=CSFBGA285
speed=8
loader="--board orangeCrab"
files="fpga/boards/dram_cells.v fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/orangecrab_ddr/orangecrab_ddr.sv"
parameters="-GClockHz=24000000"
made_by=fpga/boards/litex/dram.sh
