#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warnings.sh SOURCE gcc|clang: compiles each file of the model, the driver and the program for 32-bit ARM and x86; a warning
# is an error. Files that include another library than C's are left out, because its headers are this machine's. Status 77: skipped.
set -euo pipefail
cd "$1"
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Werror -Wno-psabi)
[[ $2 == gcc ]] || warnings+=(-Wno-sign-conversion)
files=$(grep -LE '#include <(jansson|zlib|cuda_runtime_api)\.h>' $(find cmodel/src drivers/{src,backends/model,backends/cuda,backends/mmio,tools} -name "*.c"))
compiled=0
for machine in arm-linux-gnueabihf i686-linux-gnu; do
  compiler=($machine-gcc)
  [[ $2 == gcc ]] || compiler=(clang --target=$machine)
  flags=()
  [[ $machine != i686-* ]] || flags=(-msse2 -mfpmath=sse)
  command -v $machine-gcc >/dev/null && command -v "${compiler[0]}" >/dev/null ||
    { echo "skipped: needs $machine-gcc with its C library, and ${compiler[0]} (./ufp4 test --full installs them)"; exit 77; }
  for file in $files; do
    "${compiler[@]}" -std=gnu11 -O2 -c -o /dev/null "${warnings[@]}" "${flags[@]}" -ffp-contract=off -D_FILE_OFFSET_BITS=64 -DUFP4_LIBRARY_FOLDER='""' \
      -DUFP4_RELEASE_DATE='""' -Icmodel/include -Icmodel/src -Idrivers/include -Idrivers/backends/cuda/include -Idrivers -Idrivers/src -Idrivers/tools -Isim/include "$file"
    compiled=$((compiled + 1))
  done
done
echo "$compiled files compiled"
((compiled > 100))
