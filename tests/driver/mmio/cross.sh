#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cross.sh SOURCE BUILD STAND_IN EMULATOR COMPILER builds those parts of the driver that need only the C library for another
# machine, and runs a layer there on a mapped core, for which the stand-in on this machine acts. Status 77: skipped.
set -euo pipefail
source=$1 build=$2 stand_in=$3 emulator=$4 compiler=$5
for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "skipped: needs $tool (./ufp4 test --full installs it)"; exit 77; }
done
rm -rf "$build"
device=$(mktemp -d) # socket names must be short
trap 'rm -rf "$device"' EXIT
mkdir -p "$build" "$device"/{run/lock,sys/class/uio/uio7/maps/map{0,1}}
cd "$source"
ccache=$(command -v ccache || true)
flags=(-std=gnu11 -O1 -w -ffp-contract=off -D_FILE_OFFSET_BITS=64 -D_GNU_SOURCE -DUFP4_LIBRARY_FOLDER='""' -DUFP4_LIBEXEC_FOLDER='""'
  -Icmodel/include -Icmodel/src -Idrivers/include -Idrivers -Idrivers/src -Idrivers/backends/cuda/include -Isim/include)
one() { local object=$build/${1//\//_}.o; $ccache "$compiler" "${flags[@]}" -c -o "$object" "$1"; }
n=0
for file in $(find cmodel/src -name "*.c") drivers/src/{bare,port,device,layer}/*.c drivers/backends/{*,model/*,cuda/*,fpga/*,systemc/*,mmio/*}.c \
  tests/driver/mmio/run_layer.c; do
  one "$file" &
  ((++n % 2)) || wait
done
wait
# crc32 is for the board link, which a mapped core does not use; libatomic is for machines without byte-wise atomic
# instructions.
atomic=$("$compiler" -print-file-name=libatomic.so)
[[ $atomic == /* ]] && atomic=-latomic || atomic=
"$compiler" -o "$build/run_layer" "$build"/*.o -Wl,--defsym=crc32=0 -lm -lpthread -ldl $atomic
"$compiler" -shared -fPIC -D_FILE_OFFSET_BITS=64 -o "$build/trap.so" tests/driver/mmio/trap.c -ldl

maps=$device/sys/class/uio/uio7/maps
echo 0xa0000000 >"$maps/map0/addr"
echo 0x1000 >"$maps/map0/size"
echo 0x70000000 >"$maps/map1/addr"
echo 0x4000000 >"$maps/map1/size"
coproc "$stand_in" "$device" small none
trap 'kill "$COPROC_PID" 2>/dev/null || true; rm -rf "$device"' EXIT
read -r -u "${COPROC[0]}" ready && [[ $ready == ready ]]
said=$("$emulator" -L "/usr/${compiler%-gcc}" -E LD_PRELOAD="$build/trap.so" -E UFP4_STAND_IN="$device" "$build/run_layer" mmio:/dev/uio7)
echo "$said"
[[ $said == equal ]]
