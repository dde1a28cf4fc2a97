# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=ufp4 -DHELP2MAN=help2man -DFOLDER=man1 -DDATE=2026-01-31 -DVERSION=0.1.0 -P manual.cmake writes the
# manual pages of the program and of every command that it lists, from --help.
get_filename_component(place ${PROGRAM} DIRECTORY)

# write_page NAME SUMMARY writes the page of the program or command NAME, where a dash stands for the blank before a
# command.
function(write_page name summary)
  string(REPLACE "ufp4-" "ufp4 " call ${name})
  string(REGEX REPLACE "\\.$" "" summary "${summary}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PATH=${place}:$ENV{PATH}" SOURCE_DATE_EPOCH= ${HELP2MAN} --no-info
    --section 1 --manual "ufp4 manual" --source "ufp4 ${VERSION}" --version-string "ufp4 ${VERSION}" --name "${summary}"
    --output ${FOLDER}/${name}.1 ${call} RESULT_VARIABLE status ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "help2man ${call}: exit status ${status}: ${text}")
  endif()
  # The title is the name of the command, the date that of the version.
  file(READ ${FOLDER}/${name}.1 page)
  string(TOUPPER ${name} title)
  string(REGEX REPLACE "\n\\.TH [^\n]*\n" "\n.TH ${title} 1 \"${DATE}\" \"ufp4 ${VERSION}\" \"ufp4 manual\"\n" page "${page}")
  string(REGEX REPLACE "\n\\.SH NAME\n[^\n]*\n" "\n.SH NAME\n${name} \\\\- ${summary}\n" page "${page}")
  file(WRITE ${FOLDER}/${name}.1 "${page}")
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE text)
write_page(ufp4 "an open 4-bit training tensor core")
string(REGEX MATCHALL "\n  [a-z]+ +[^\n]+" commands "${text}")
foreach(line ${commands})
  if("${line}" MATCHES "^\n  ([a-z]+) +([^\n]+)$")
    write_page(ufp4-${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endif()
endforeach()
