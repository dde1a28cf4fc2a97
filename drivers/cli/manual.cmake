# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=ufp4 -DFOLDER=man1 -P manual.cmake: the page of the program and of every command that it lists.
function(write_page name)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --man OUTPUT_FILE ${FOLDER}/${name}.1 RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ${ARGN} --man: exit status ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
write_page(ufp4)
execute_process(COMMAND ${PROGRAM} --man OUTPUT_VARIABLE text)
string(REGEX MATCHALL "\n\\.BR ufp4.-[a-z]+" references "${text}")
foreach(reference ${references})
  string(REGEX REPLACE "^.*-" "" command "${reference}")
  write_page(ufp4-${command} ${command})
endforeach()
