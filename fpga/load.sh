#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Loads a board's bitstream over its USB cable.
#   fpga/load.sh BOARD [--config NAME] [--flash]      NAME: default tiny; --flash: so that it is there after power comes back
# Needs openFPGALoader (Debian: openfpgaloader), and the right to the USB device.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "load: $2" >&2; exit "$1"; }
board='' configuration=tiny flash=()
while (($#)); do
  case $1 in
    -h | --help) sed -n '3,5s/^# //p' "$0"; exit 0 ;;
    --config) (($# > 1)) || fail 2 "$1 wants a value"; configuration=$2; shift ;;
    --flash) flash=(--write-flash) ;;
    -*) fail 2 "unknown option '$1'" ;;
    *) [[ -z $board ]] || fail 2 "one board at a time: '$board' or '$1'"; board=$1 ;;
  esac
  shift
done
[[ -n $board ]] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
[[ $board =~ ^[a-z0-9_]+$ && -r $root/fpga/boards/$board/board.sh ]] || fail 2 "no board '$board'; there are: $(cd "$root/fpga/boards" && dirname */board.sh | paste -sd " ")"
bitstream=${UFP4_BUILD:-$root/build/release}/fpga/$board-$configuration.bit
[[ -r $bitstream ]] || fail 2 "there is no $bitstream; make it: fpga/build.sh $board --config $configuration"
command -v openFPGALoader >/dev/null || fail 3 "openFPGALoader is missing; on Debian: apt-get install openfpgaloader"
. "$root/fpga/boards/$board/board.sh"
openFPGALoader $loader "${flash[@]}" "$bitstream"
