#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# freestanding.sh SOURCE BUILD EMULATOR COMPILER [FLAG...] compiles the driver without an operating system and the program
# of its page, with only the compiler's own headers and warnings as errors. It checks that the driver calls only memcpy and
# memset, so no floating-point library; FLAG -mgeneral-regs-only also forbids the machine's floating point. Then it runs
# the driver's tests under EMULATOR, unless that is -. Prints the driver's size. Status 77: skipped.
set -euo pipefail
source=$1 build=$2 emulator=$3 compiler=$4
shift 4
for tool in "$compiler" ${emulator#-}; do
  command -v "$tool" >/dev/null || { echo "skipped: needs $tool (./ufp4 test --full installs it)"; exit 77; }
done
mkdir -p "$build"
cd "$build"
flags=(-std=c11 -Os -ffreestanding -nostdinc -isystem "$("$compiler" -print-file-name=include)" -Wall -Wextra -Wpedantic -Wconversion -Werror "$@"
  -I"$source/cmodel/include" -I"$source/drivers/include")
"$compiler" "${flags[@]}" -c "$source/drivers/src/bare/ufp4_bare.c" "$source/cmodel/src/tensor/panel.c"
sed -n '/^```c$/,/^```$/{/^```/!p}' "$source/docs/howto/bare-metal.md" >page.c
"$compiler" "${flags[@]}" -Wno-int-to-pointer-cast -c page.c
nm=$("$compiler" -print-prog-name=nm)
calls=$("$nm" -u ufp4_bare.o panel.o | sed -n 's/^ *U //p' | sort -u | grep -vxE 'memcpy|memset' || true)
[[ -z $calls ]] || { echo "the driver calls" $calls; exit 1; }
"$("$compiler" -print-prog-name=size)" -t ufp4_bare.o panel.o
[[ $emulator != - ]] || exit 0
"$compiler" "${flags[@]}" -nostdlib -static -I"$source/tests/model/support" -o test_bare ufp4_bare.o panel.o \
  "$source"/tests/driver/bare/{test_bare,freestanding}.c -lgcc
"$emulator" ./test_bare
