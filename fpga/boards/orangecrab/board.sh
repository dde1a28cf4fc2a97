# SPDX-License-Identifier: Apache-2.0
# fpga/build.sh reads these settings of the OrangeCrab: the device, the other size, the memory of each, and the
# bitstreams of build.sh --all.
device=25k
sizes="25k 85k"
released="25F/tiny 85F/tiny"
package=CSFBGA285
speed=8
loader="--board orangeCrab"
files="fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/orangecrab/orangecrab.sv"
parameters="-GClockHz=24000000"
[[ ${size:-$device} != 85k ]] || parameters="-GMemoryBytes=262144 $parameters"
