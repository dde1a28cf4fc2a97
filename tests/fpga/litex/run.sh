#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE BUILD GOLDEN PYTHON runs the core in a LiteX SoC in Verilator, driven by firmware on its VexRiscv. GOLDEN is
# the program of make_golden.c, PYTHON a Python with LiteX. Status 77: skipped.
set -euo pipefail
source=$1 build=$2 golden=$3 python=$4
here=$source/tests/fpga/litex start=$source/fpga/boards/litex configuration=tiny-quant
skip() { echo "skipped: $*"; exit 77; }
"$python" -c "import litex, litedram, litescope, pythondata_cpu_vexriscv" 2>/dev/null ||
  skip "needs LiteX: ./ufp4 litex-tools installs it"
for tool in riscv64-unknown-elf-gcc verilator clang++; do
  command -v $tool >/dev/null || skip "needs $tool: ./ufp4 litex-tools and ./ufp4 test install it"
done
mkdir -p "$build"
cd "$build"
"$golden" "$configuration" 0x40000000 >golden.h

# The SoC is first built without a program for its addresses, which are macros in the firmware.
soc() { "$python" -B "$here/soc.py" "$build/soc" "$1" "$configuration" >soc.log 2>&1 || { tail -n 20 soc.log; exit 1; }; }
head -c 4 /dev/zero >firmware.bin
! "$python" -B "$here/soc.py" "$build/with_l2" "$build/firmware.bin" "$configuration" 8192 >l2.log 2>&1 && grep -q "this SoC has an L2 cache" l2.log ||
  { echo "a SoC with an L2 cache is taken"; exit 1; }
soc "$build/firmware.bin"
macros=$("$python" - soc/csr.json <<'PY'
import json, sys
soc = json.load(open(sys.argv[1]))
names = {"UART_RXTX": "uart_rxtx", "UART_TXFULL": "uart_txfull", "SDRAM_DFII_CONTROL": "sdram_dfii_control"}
for name, register in names.items():
    print(f"-D{name}={soc['csr_registers'][register]['addr']:#x}u")
print(f"-DMAIN_RAM={soc['memories']['main_ram']['base']:#x}u -DUFP4_REGISTERS={soc['memories']['ufp4']['base']:#x}u")
print(f"-DUFP4_INTERRUPT={soc['constants']['ufp4_interrupt']}")
PY
)
riscv64-unknown-elf-gcc -march=rv32im_zicsr -mabi=ilp32 -std=c11 -Os -ffreestanding -nostdlib -Wall -Wextra -Werror $macros -I. \
  -I"$source/cmodel/include" -I"$source/drivers/include" -Wl,--defsym=ROM_BYTES=0x20000,--defsym=SRAM_BYTES=0x4000 -T "$start/firmware.ld" -o firmware.elf \
  "$start/start.S" "$here/firmware.c" "$source/drivers/src/bare/ufp4_bare.c" "$source/cmodel/src/tensor/panel.c" -lgcc
riscv64-unknown-elf-objcopy -O binary firmware.elf firmware.bin
soc "$build/firmware.bin"

# The model is rebuilt if a source has changed; it reads the program when it starts.
cd soc
hash=$(sed '/^\/\/ .*20[0-9][0-9]-/d' soc.v $(cat sources.txt) "$here/main.cpp" | sha256sum)
if [[ ! -x obj/soc || $(cat hash 2>/dev/null) != "$hash" ]]; then
  verilator --cc --exe --build -j 2 -O3 -Wno-fatal -Werror-USERERROR -Wno-lint --top-module soc --Mdir obj -o soc --compiler clang \
    -MAKEFLAGS "CXX=clang++ LINK=clang++ OPT_FAST=-Os OPT_SLOW=-O0" "$here/main.cpp" $(cat sources.txt) soc.v >verilator.log 2>&1 ||
    { tail -n 20 verilator.log; exit 1; }
  echo "$hash" >hash
fi
obj/soc 20000000 | tee ../said
grep -qx "end: equal" ../said
