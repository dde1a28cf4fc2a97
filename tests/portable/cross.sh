#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cross.sh SOURCE BUILD PROCESSOR COMPILER EMULATOR: builds the golden model alone for another machine, warnings as errors,
# and checks it against its vectors, and what it refuses, there. Status 77: skipped.
set -euo pipefail
source=$1 build=$2 processor=$3 compiler=$4 emulator=$5
for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "skipped: needs $tool (./ufp4 test --full installs it)"; exit 77; }
done
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
cmake -S "$source" -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_C_COMPILER="$compiler" \
  -DCMAKE_EXE_LINKER_FLAGS=-static -DUFP4_MODEL_ONLY=ON -DUFP4_TESTS=AUTO -DUFP4_WERROR=ON "${launcher[@]}"
cmake --build "$build" --parallel 2
cd "$build"
"$emulator" tests/portable/check_golden
"$emulator" tests/portable/check_size
