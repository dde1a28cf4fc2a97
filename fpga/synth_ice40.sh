#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the cells of one RTL module after synthesis for Lattice iCE40: fpga/synth_ice40.sh [MODULE [PARAMETER=VALUE ...]]
# MODULE: any module of rtl/rtl.f. Default: the GEMM engine of configuration tiny, in the form for FPGAs.
# Needs yosys with its slang reader, as `./ufp4 test` installs it.
set -euo pipefail
(($#)) || set -- ufp4_gemm Rows=1 Cols=1 TileRows=16 TileCols=16 Chunk=8 BusBytes=8 Formats=2 Lanes=4 Target=1
. "$(dirname "$0")/cells/lattice.sh"
module_to_synthesize "$@"
timeout "${SYNTH_SECONDS:-1800}" "$yosys" -q -p "read_slang -j 1 --top $module ${parameters[*]} -F rtl.f; \
synth_ice40 -top $module; flatten; tee -o $table stat" </dev/null
grep -E '^=== |^ +[0-9]+ +[A-Z][A-Z0-9_]+$' "$table"
