# SPDX-License-Identifier: Apache-2.0
# fpga/build.sh has to know this of the OrangeCrab: the device, that of the other size, and the memory of each; and what
# build.sh --all makes.
device=25k
sizes="25k 85k"
released="25F/tiny 85F/tiny"
package=CSFBGA285
speed=8
loader="--board orangeCrab"
files="fpga/boards/ecp5_cells.v fpga/boards/ecp5_clock.sv fpga/boards/orangecrab/orangecrab.sv"
parameters="-GClockHz=24000000"
[[ ${size:-$device} != 85k ]] || parameters="-GMemoryBytes=262144 $parameters"
