# SPDX-License-Identifier: Apache-2.0
# Checks that a record of the emulated GPU agrees with the golden model, and that it does not after a hash has lost a
# digit or the record is cut short.
function(run expected)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL ${expected})
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: status ${status}, want ${expected}\n${out}${err}")
  endif()
endfunction()

set(record ${FOLDER}/emulated_record.txt)
file(REMOVE ${record})
run(0 -o ${record} --quick --size 128)
run(0 --check ${record})
file(READ ${record} text)
foreach(figure quantize_plain quantize_plain_to_copy quantize_rht_sr_to_plain amax_rht_to_copy gemm_exact gemm_fp32 gemm_fp32_int8
    host_quantize host_gemm_fp32 host_gemm_exact
    quantize_rows quantize_derived quantize_derived_rows quantize_nvfp4 quantize_mxfp4
    gemm_fp32_panels_f32 gemm_fp32_panels_bf16 gemm_exact_panels_f32 gemm_exact_panels_bf16
    gemm_fp32_rows_f32 gemm_fp32_rows_bf16 gemm_exact_rows_f32 gemm_exact_rows_bf16
    gemm_nvfp4_fp32_f32 gemm_nvfp4_fp32_bf16 gemm_nvfp4_exact_f32 gemm_nvfp4_exact_bf16 gemm_mxfp4_f32 gemm_mxfp4_bf16)
  if(NOT text MATCHES "\nfigure ${figure} 128 ")
    message(FATAL_ERROR "no figure ${figure} in ${record}")
  endif()
endforeach()
string(REGEX REPLACE "(\nhash 7 [^ ]+ )[0-9a-f]" "\\1z" changed "${text}")
string(REGEX REPLACE "(\nhash 7 [^ ]+ )z" "\\1" changed "${changed}")
file(WRITE ${record} "${changed}")
run(1 --check ${record})
string(REGEX REPLACE "\nhash 9 .*" "\n" cut "${text}")
file(WRITE ${record} "${cut}")
run(1 --check ${record})
file(WRITE ${record} "no record\n")
run(2 --check ${record})
# A record of one way is refused if one of the cases of that way is missing.
run(0 -o ${record} --way nvfp4 --quick --size 0)
run(0 --check ${record})
file(READ ${record} text)
string(REGEX REPLACE "\nhash [0-9]+ [^\n]*\n$" "\n" cut "${text}")
file(WRITE ${record} "${cut}")
run(1 --check ${record})
# The contract nv needs compute capability 12: on others a record names that reason in place of the cases.
run(0 -o ${record} --way nv --quick --size 0)
run(0 --check ${record})
file(READ ${record} text)
if(text MATCHES "\nhash " OR NOT text MATCHES "\nskipped nv: it needs compute capability 12.0")
  message(FATAL_ERROR "cases of the contract nv on compute capability 9.0:\n${text}")
endif()
set(ENV{UFP4_EMULATED_CAPABILITY} 120)
run(0 -o ${record} --way nv --quick --size 0)
run(0 --check ${record})
file(READ ${record} text)
string(REGEX REPLACE "\nhash [0-9]+ [^\n]*\n$" "\n" cut "${text}")
file(WRITE ${record} "${cut}")
run(1 --check ${record})
run(0 --fuzz 1 --seed 3)
run(2 -o ${record} --way nothing)
run(2)
run(2 -o ${record} --check ${record})
