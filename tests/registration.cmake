# SPDX-License-Identifier: Apache-2.0
# Functions that register tests. Labels: fast (about a second or less), slow, full (only ./ufp4 test --full).

# The programs that fast tests run; ./ufp4 test -L fast builds only these.
add_custom_target(ufp4_fast)

# Tests of the program may draw only if they test that alone, because drawing takes a second. This Python draws, if it
# can.
set(ufp4_drawing UFP4_PYTHON=unset:)
if(UFP4_DRAWS)
  list(APPEND ufp4_drawing "UFP4_TEST_PYTHON=set:${UFP4_PYTHON}" "PYTHONPATH=path_list_prepend:${PROJECT_SOURCE_DIR}/drivers/python")
endif()

# The duration of each test (tests/durations.py). The longest tests start first, so that the end does not wait for one.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/durations.csv)
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/durations.csv rows REGEX ",[0-9]")
foreach(row ${rows})
  string(REGEX MATCH "^(.*),(.*)$" row ${row})
  set(ufp4_duration_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()

# tests.targets has a line for each test: name, limit, and targets, which ./ufp4 test builds for a selection of tests.
set(ufp4_targets ${PROJECT_BINARY_DIR}/tests.targets)
file(WRITE ${ufp4_targets} "")

# The limit of a test in seconds of wall-clock time, which leaves room for a busy machine. The budget of a test is in
# processor seconds, which tests/durations.py measures.
set(ufp4_limit_fast 600)
set(ufp4_limit 3600)

# ufp4_test(NAME LABELS COMMAND WORD... [NEEDS TARGET...] [PROPERTIES KEY VALUE...]) registers one test. The targets in
# its command, its properties and NEEDS are built before it runs.
function(ufp4_test name labels)
  cmake_parse_arguments(PARSE_ARGV 2 test "" "" "COMMAND;NEEDS;PROPERTIES")
  add_test(NAME ${name} COMMAND ${test_COMMAND})
  set(limit ${ufp4_limit})
  if("fast" IN_LIST labels)
    set(limit ${ufp4_limit_fast})
  endif()
  set(cost 0)
  if(DEFINED "ufp4_duration_${name}")
    set(cost ${ufp4_duration_${name}})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} COST ${cost} ${test_PROPERTIES} LABELS "${labels}")
  string(REGEX MATCHALL "TARGET_FILE:[^>]+" files "${test_COMMAND} ${test_PROPERTIES}")
  list(TRANSFORM files REPLACE "^TARGET_FILE:" "")
  list(GET test_COMMAND 0 program)
  set(targets "")
  foreach(target ${program} ${files} ${test_NEEDS})
    if(TARGET ${target} OR target STREQUAL all)
      list(APPEND targets ${target})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  list(JOIN targets " " targets_of)
  get_test_property(${name} TIMEOUT limit)
  file(APPEND ${ufp4_targets} "${name} ${limit} ${targets_of}\n")
  if("fast" IN_LIST labels)
    foreach(target ${targets})
      add_dependencies(ufp4_fast ${target})
    endforeach()
  endif()
endfunction()

# ufp4_skipped_test(NAME LABELS WHY) registers a test that cannot run here and prints the reason.
function(ufp4_skipped_test name labels why)
  ufp4_test(${name} "${labels}" COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}"
    PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# ufp4_properties(PREFIX SOURCE COMMAND WORD... [..]) registers a test PREFIX.PROPERTY for each property that SOURCE
# defines. It runs COMMAND PROPERTY.
# In C and C++ properties are TEST(PROPERTY), SLOW_TEST and FULL_TEST, with the labels fast, slow and full.
# In Python they are functions KIND_PROPERTY, with the label fast, or slow or full after a line @slow or @full.
# Options besides those of ufp4_test:
#   PYTHON KIND     SOURCE is in Python; KIND is the first word of the functions' names, mostly test
#   SUFFIX TEXT     is appended to each name
#   EXCLUDE REGEX   leaves these properties out
#   SLOW            gives the label slow instead of fast
#   FULL REGEX      gives these properties the label full
#   LABEL TEXT      adds one more label
# A property whose name ends in _on_rtl is skipped if the build has no simulated core.
function(ufp4_properties prefix source)
  cmake_parse_arguments(PARSE_ARGV 2 of "SLOW" "PYTHON;SUFFIX;EXCLUDE;FULL;LABEL" "COMMAND;NEEDS;PROPERTIES")
  set(pattern "^(SLOW_|FULL_)?TEST\\(([a-z0-9_]+)\\)")
  set(first "")
  if(of_PYTHON)
    set(pattern "^(@slow|@full|def ${of_PYTHON}_([a-z0-9_]+)\\()")
    set(first ${of_PYTHON}_)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} lines REGEX "${pattern}")
  set(label fast)
  foreach(line ${lines})
    string(REGEX MATCH "${pattern}" match "${line}")
    set(property "${CMAKE_MATCH_2}")
    if(line MATCHES "^(@slow|SLOW_)")
      set(label slow)
    elseif(line MATCHES "^(@full|FULL_)")
      set(label full)
    endif()
    if(property STREQUAL "") # a line @slow or @full concerns the next function
      continue()
    endif()
    if(of_FULL AND property MATCHES "${of_FULL}")
      set(label full)
    elseif(of_SLOW AND label STREQUAL fast)
      set(label slow)
    endif()
    if(of_EXCLUDE AND property MATCHES "${of_EXCLUDE}")
    elseif(property MATCHES "_on_rtl$" AND NOT UFP4_HAVE_RTL)
      ufp4_skipped_test(${prefix}.${property}${of_SUFFIX} ${label} "needs verilator and clang++")
    else()
      ufp4_test(${prefix}.${property}${of_SUFFIX} "${label};${of_LABEL}" COMMAND ${of_COMMAND} ${first}${property}
        NEEDS ${of_NEEDS} PROPERTIES ${of_PROPERTIES})
    endif()
    set(label fast)
  endforeach()
endfunction()
