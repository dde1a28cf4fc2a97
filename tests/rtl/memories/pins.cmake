# SPDX-License-Identifier: Apache-2.0
# Builds pins.sv in FOLDER and runs it.
execute_process(COMMAND ${VERILATOR} --binary --timing -Wno-fatal -Wno-lint -DUFP4_MEMORY_BIST --top-module pins --Mdir ${FOLDER}
  ${ROOT}/tests/rtl/memories/pins.sv ${RTL}/mem/ufp4_sram.sv OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/Vpins COMMAND_ERROR_IS_FATAL ANY)
