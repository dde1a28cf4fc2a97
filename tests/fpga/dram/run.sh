#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE BUILD UFP4 PYTHON runs a board with LiteDRAM and a model of its DRAM in Verilator. The processor trains the
# DRAM; then properties of ../board's test run, and the program UFP4 runs a layer that must equal the golden model.
# Status 77: skipped.
set -euo pipefail
source=$1 build=$2 ufp4=$3 python=$4
here=$source/tests/fpga/dram
skip() { echo "skipped: $*"; exit 77; }
"$python" -c "import litex, litedram, pythondata_cpu_vexriscv" 2>/dev/null || skip "needs LiteX: ./ufp4 litex-tools installs it"
for tool in riscv64-unknown-elf-gcc verilator clang++; do
  command -v $tool >/dev/null || skip "needs $tool: ./ufp4 litex-tools and ./ufp4 test install it"
done
mkdir -p "$build"
cd "$build"
UFP4_LITEX_PYTHON=$python "$source/fpga/boards/litex/dram.sh" made --sim
# A model reads the ROM from the current folder when it starts.
cd made
include=$(verilator --getenv VERILATOR_ROOT)/include
verilator --cc --build -j 2 -O3 -fno-dfg --assert --x-assign fast --x-initial unique -Wno-fatal -Wno-lint -Werror-USERERROR \
  --top-module dram_board --prefix Vdram_board --Mdir ../obj -MAKEFLAGS "CXX=clang++ OPT_FAST=-Os OPT_SLOW=-O0" \
  -F "$source/rtl/rtl.f" -F "$source/fpga/boards/board.f" "$here/dram_board.sv" ufp4_dram.v VexRiscv_Min.v >../verilator.log 2>&1 ||
  { tail -n 20 ../verilator.log; exit 1; }
clang -std=gnu11 -O2 -I"$source/sim/board" -c -o ../program.o "$source/sim/board/program.c"
clang -std=gnu11 -O2 -I"$source/cmodel/include" -c -o ../check.o "$source/tests/model/support/check.c"
link() { # link PROGRAM FILE...
  clang++ -std=c++17 -O1 -I../obj -I"$source/sim/board" -I"$source/tests/model/support" -I"$source/cmodel/include" -isystem "$include" \
    -isystem "$include/vltstd" -o "$@" "$source/sim/board/ufp4_board_sim.cpp" "$here/dram_board.cpp" ../obj/Vdram_board__ALL.a \
    "$include"/verilated{,_threads}.cpp -latomic -lpthread -lz -lm
}
link ../test-board "$source/tests/fpga/board/test_board.cpp" "$source/tests/fpga/link/frame.cpp" ../check.o
for property in core_is_there memory_keeps_what_is_written writes_change_no_neighbour link_and_core_share_memory reset_ends_the_session; do
  ../test-board dram $property
done

link ../board-sim ../program.o
../board-sim --board dram >port 2>said &
board=$!
trap 'kill $board 2>/dev/null || true' EXIT
for ((i = 0; i < 3000; i++)); do
  [[ ! -s port ]] || break
  kill -0 $board || { cat said; exit 1; }
  sleep 0.1
done
port=fpga:$(<port)
"$ufp4" info --backend "$port" | tee told
grep -q ", 134217728 bytes of memory," told
grep "^dram: trained after" said
PYTHONPATH=$source/tests/e2e python3 -B -c '
import os, random, stand
draw = random.Random(int(os.environ.get("UFP4_TEST_SEED", "0")))
for name in "X", "W", "dY":
    stand.write_npy(name + ".npy", [[draw.gauss(0, 1) for _ in range(32)] for _ in range(32)])'
"$ufp4" layer X.npy W.npy dY.npy -o out --backend "$port" --check model | tee told
[[ $(grep -c ' 0 equal$' told) == 3 ]]
