#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# illegal.sh VERILATOR RTL FOLDER PARAMETER..: builds ufp4_top with an illegal set of parameters,
# with warnings that do not stop Verilator, and runs it: it must stop before its first cycle. The
# modules below ufp4_top are cut to their ports, to compile fast.
set -euo pipefail
verilator=$1 rtl=$2 folder=$3
shift 3
mkdir -p "$folder"
cd "$folder"
for unit in mem/ufp4_axi_read mem/ufp4_axi_write host/ufp4_host host/ufp4_command host/ufp4_events array/ufp4_gemm quant/ufp4_quant; do
  sed '/^);/q' "$rtl/$unit.sv"
  echo endmodule
done >below.sv
"$verilator" --binary --timing -Wno-fatal -Wno-lint --top-module ufp4_top --Mdir obj --compiler clang \
  -MAKEFLAGS "CXX=clang++ LINK=clang++ OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0" "$@" "$rtl/gen/ufp4_spec_pkg.sv" \
  "$rtl/gen/ufp4_shape_pkg.sv" "$rtl/mem/ufp4_memory_pkg.sv" below.sv "$rtl/ufp4_top.sv" >verilator.log 2>&1 ||
  { tail -n 20 verilator.log; exit 1; }
status=0
obj/Vufp4_top >said 2>&1 || status=$?
cat said
((status != 0)) || { echo "it ran"; exit 1; }
grep -q "ufp4_top: parameters that do not go together" said
