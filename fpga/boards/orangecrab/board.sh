# SPDX-License-Identifier: Apache-2.0
# What fpga/build.sh has to know of the OrangeCrab.
device=25k
package=CSFBGA285
speed=8
loader="--board orangeCrab"
files="fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/orangecrab/orangecrab.sv"
parameters="-GClockHz=24000000"
