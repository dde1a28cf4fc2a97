# SPDX-License-Identifier: Apache-2.0
# ufp4_from_root(OUT WORD...) makes words that are files of this checkout relative to its root, where Verilator runs.
# Verilator's output contains these names and is therefore equal in every checkout, so that ccache can reuse it.
function(ufp4_from_root out)
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" root "${PROJECT_SOURCE_DIR}")
  list(TRANSFORM ARGN REPLACE "^${root}/" "")
  set(${out} ${ARGN} PARENT_SCOPE)
endfunction()

# ufp4_verilated(NAME PREFIX WORD... [OPTIMIZE -O0] [DEPENDS FILE...]) makes the library NAME from a module that
# Verilator compiles with these words; PREFIX is its class. Clang -Os compiles the output fastest; -fno-dfg is needed.
function(ufp4_verilated name prefix)
  cmake_parse_arguments(PARSE_ARGV 2 of "" "OPTIMIZE" "DEPENDS")
  if(NOT of_OPTIMIZE)
    set(of_OPTIMIZE -Os)
  endif()
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  ufp4_from_root(words ${of_UNPARSED_ARGUMENTS})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(archive ${folder}/${prefix}__ALL.a)
  add_custom_command(OUTPUT ${archive} BYPRODUCTS ${folder}/${prefix}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${VERILATOR} --cc -fno-dfg -Wno-fatal -Werror-USERERROR -Wno-lint --prefix ${prefix} --Mdir ${folder}
      ${words}
    COMMAND make --silent -C ${folder} -f ${prefix}.mk -j${cores} CXX=${CLANGXX} OBJCACHE=${CMAKE_CXX_COMPILER_LAUNCHER}
      OPT_FAST=${of_OPTIMIZE} OPT_SLOW=-O0 VM_PARALLEL_BUILDS=1 ${prefix}__ALL.a
    DEPENDS ${of_DEPENDS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Verilating ${name}" VERBATIM)
  add_custom_target(${name}_archive DEPENDS ${archive})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_archive)
  target_include_directories(${name} SYSTEM INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE ${archive} ufp4_verilated)
endfunction()
