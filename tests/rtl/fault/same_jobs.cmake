# SPDX-License-Identifier: Apache-2.0
# Two forms of a core, ONE and OTHER, must print the same cycles and bits for random jobs, and at
# least 40 jobs.
foreach(core ONE OTHER)
  execute_process(COMMAND ${${core}} jobs OUTPUT_VARIABLE said_${core} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
string(REGEX MATCHALL "cycles" jobs "${said_ONE}")
list(LENGTH jobs count)
if(NOT said_ONE STREQUAL said_OTHER OR count LESS 40)
  message(FATAL_ERROR "${count} jobs:\n${said_ONE}\nagainst\n${said_OTHER}")
endif()
message(STATUS "${count} jobs are the same")
