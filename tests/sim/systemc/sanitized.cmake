# SPDX-License-Identifier: Apache-2.0
# Builds the tests of SOURCE with sanitizers and runs each property: cmake -DBUILD= -DPROGRAM= -DSOURCE= -P sanitized.cmake.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target test_sim_systemc_sanitized COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${SOURCE} lines REGEX "^(SLOW_)?TEST\\(")
foreach(line ${lines})
  string(REGEX REPLACE "^[A-Z_]+\\(([a-z0-9_]+)\\).*" "\\1" property "${line}")
  # A report that ends the simulation stops threads in place, so that their memory counts as leaked.
  set(ENV{ASAN_OPTIONS} detect_leaks=1)
  if(property MATCHES rejects)
    set(ENV{ASAN_OPTIONS} detect_leaks=0)
  endif()
  execute_process(COMMAND ${PROGRAM} ${property} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
