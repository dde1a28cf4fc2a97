#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cross.sh SOURCE BUILD PROCESSOR COMPILER EMULATOR: builds the golden model and the reference model for another machine,
# warnings as errors, and runs the fast tests of the units below there: 35 to 55 processor seconds where ccache has the
# objects, a minute more where it has not. Status 77: skipped.
set -euo pipefail
source=$1 build=$2 processor=$3 compiler=$4 emulator=$5
units=(format random rht panel block scale mixed gemm gemm_mixed contract size golden)
# Left out, because an emulator takes longest for them: other tests have the combinations of the first, the second
# compares numbers of threads, and the last two draw what shorter tests of the transform have examples of.
long='^model\.(contract\.(fp32_with_every_scale|any_number_of_threads_gives_the_same_bits)'
long+='|rht\.(undo_is_that_of_the_reference|bf16_variant_at_every_span))$'
for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "skipped: needs $tool (./ufp4 test --full installs it)"; exit 77; }
done
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
cmake -S "$source" -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_C_COMPILER="$compiler" \
  -DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v "$emulator")" -DCMAKE_EXE_LINKER_FLAGS=-static -DUFP4_MODEL_ONLY=ON \
  -DUFP4_TESTS=AUTO -DUFP4_WERROR=ON "${launcher[@]}"
cmake --build "$build" --parallel 2 --target "${units[@]/#/test_}"
cd "$build"
unset UFP4_TEST_DRAWS # ./ufp4 test --full draws more, which would take an emulator minutes
ctest -L '^fast$' -R "^model\.($(IFS='|'; echo "${units[*]}"))\." -E "$long" --no-tests=error --output-on-failure
