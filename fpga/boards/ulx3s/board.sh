# SPDX-License-Identifier: Apache-2.0
# What fpga/build.sh has to know of the ULX3S: the device, and for each configuration its memory and clock (ulx3s.sv).
device=85k
package=CABGA381
speed=6
loader="--board ulx3s"
files="fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/ulx3s/ulx3s.sv"
case $configuration in
  board) parameters="-GMemory=1 -GClockHz=24000000" ;;
  *) parameters="-GMemory=0 -GClockHz=24000000" ;;
esac
