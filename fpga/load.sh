#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Loads a board's bitstream over its USB cable.
#   fpga/load.sh BOARD [--size SIZE] [--config NAME] [--flash]
# SIZE, NAME: as given to fpga/build.sh; --flash: writes the flash memory, so that the board starts with the bitstream.
# Needs openFPGALoader (Debian: openfpgaloader), and permission to use the USB device.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "load: $2" >&2; exit "$1"; }
board='' configuration=tiny size='' flash=()
while (($#)); do
  case $1 in
    -h | --help) sed -n '3,6s/^# //p' "$0"; exit 0 ;;
    --config | --size)
      (($# > 1)) || fail 2 "$1 needs a value"
      [[ $1 == --size ]] && size=$2 || configuration=$2
      shift ;;
    --flash) flash=(--write-flash) ;;
    -*) fail 2 "unknown option '$1'" ;;
    *) [[ -z $board ]] || fail 2 "one board at a time: '$board' or '$1'"; board=$1 ;;
  esac
  shift
done
[[ -n $board ]] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
. "$root/fpga/boards/ecp5.sh"
ecp5_board "$board" "$configuration" "$size"
made=${UFP4_BUILD:-$root/build/release}/fpga/$bitstream
[[ -r $made ]] || fail 2 "$made does not exist; make it: fpga/build.sh $board --size $size_name --config $configuration"
command -v openFPGALoader >/dev/null || fail 3 "openFPGALoader is missing; on Debian: apt-get install openfpgaloader"
openFPGALoader $loader "${flash[@]}" "$made"
