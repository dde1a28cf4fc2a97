# SPDX-License-Identifier: Apache-2.0
# fpga/build.sh reads these settings of the ULX3S: the device, the other sizes, the memory and clock for each
# configuration and size (ulx3s.sv), and the bitstreams of build.sh --all.
device=85k
sizes="12k 25k 45k 85k"
released="12F/tiny 25F/tiny 45F/tiny 85F/tiny 85F/board"
package=CABGA381
speed=6
loader="--board ulx3s"
files="fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/ulx3s/ulx3s.sv"
case $configuration/${size:-$device} in
  board/*) parameters="-GMemory=1 -GClockHz=24000000" ;;
  */85k) parameters="-GMemory=0 -GClockHz=24000000" ;;
  */45k) parameters="-GMemory=0 -GMemoryBytes=131072 -GClockHz=24000000" ;;
  *) parameters="-GMemory=0 -GMemoryBytes=65536 -GClockHz=24000000" ;;
esac
