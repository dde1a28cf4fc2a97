# SPDX-License-Identifier: Apache-2.0
# Runs the example platform with CORES cores of each module: the bits must be the golden model's, and cycles and times
# equal.
foreach(model rtl timed)
  execute_process(COMMAND ${PROGRAM} ${model} ${CORES} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
  string(REGEX MATCHALL "core [^\n]*" ${model} "${printed}")
  list(LENGTH ${model} count)
  if(NOT status EQUAL 0 OR NOT count EQUAL CORES)
    message(FATAL_ERROR "platform ${model} ${CORES}: status ${status}\n${printed}")
  endif()
endforeach()
if(NOT rtl STREQUAL timed)
  message(FATAL_ERROR "rtl: ${rtl}\ntimed: ${timed}")
endif()
