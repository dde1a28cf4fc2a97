#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes LiteDRAM as Verilog for fpga/build.sh: controller, PHY, and a small processor whose firmware trains the DRAM.
#   fpga/boards/litex/dram.sh FOLDER [--sim]
# FOLDER receives ufp4_dram.v, the processor's Verilog and its ROM. --sim: a simulation model instead of PHY and DRAM.
# Uses LiteX from the Python UFP4_LITEX_PYTHON, otherwise from ./ufp4 litex-tools, which installs it.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
here=$root/fpga/boards/litex
fail() { echo "dram: $2" >&2; exit "$1"; }
(($# == 1)) || [[ $# == 2 && $2 == --sim ]] || fail 2 "usage: fpga/boards/litex/dram.sh FOLDER [--sim]"
out=$(realpath -m "$1") sim=${2:-}
python=${UFP4_LITEX_PYTHON:-$("$root/ufp4" litex-tools)/python} || exit 3
software=$("$python" -c "import litex, pathlib; print(pathlib.Path(litex.__file__).parent / 'soc')") || fail 3 "$python has no LiteX"
headers=/usr/lib/picolibc/riscv64-unknown-elf/include
command -v riscv64-unknown-elf-gcc >/dev/null && [[ -d $headers ]] ||
  fail 3 "gcc-riscv64-unknown-elf or picolibc-riscv64-unknown-elf is missing; ./ufp4 litex-tools installs them"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
generate() { timeout 300 "$python" -B "$here/ufp4_dram.py" "$work/made" "$1" $sim >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail 3 "LiteX failed"; }; }
# The first run has no program and only determines the addresses of the registers.
head -c 4 /dev/zero >"$work/none"
generate "$work/none"
riscv64-unknown-elf-gcc -march=rv32i_zicsr -mabi=ilp32 -std=gnu11 -Os -ffreestanding -nostdlib -ffunction-sections -fdata-sections \
  -Wl,--gc-sections,-e,_start,--defsym=ROM_BYTES=0x1000,--defsym=SRAM_BYTES=0x400 -Wall -Wextra -isystem "$headers" -I"$work/made/include" -isystem "$software/software/include" \
  -isystem "$software/software" -isystem "$software/software/libbase" -isystem "$software/cores/cpu/vexriscv" \
  -DMEMTEST_DATA_SIZE=2048 ${sim:+-DCONFIG_BIOS_NO_DELAYS} -T "$here/firmware.ld" -o "$work/firmware.elf" "$here/start.S" "$here/dram.c" \
  "$software"/software/liblitedram/{sdram,accessors}.c -lgcc >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail 3 "the firmware does not compile"; }
riscv64-unknown-elf-objcopy -O binary "$work/firmware.elf" "$work/firmware.bin"
generate "$work/firmware.bin"
# Removes a comment with the date, and a list whose order varies, so that equal sources give equal Verilog.
sed -i -E '/^\/\/.*[0-9]{4}-[0-9]{2}-[0-9]{2}/d; /^\/\*$/,/^\*\/$/d' "$work/made/ufp4_dram.v"
mkdir -p "$out"
cp "$work"/made/*.v "$work"/made/*.init "$out"
