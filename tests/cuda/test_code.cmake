# SPDX-License-Identifier: Apache-2.0
# ptxas keeps everything that the kernels hold in registers, for sm_80 and sm_90a, and lets no wgmma wait for the one
# before.
foreach(architecture 80 90a)
  execute_process(COMMAND ${NVCC} -std=c++17 -O3 -fmad=false -cubin -gencode arch=compute_${architecture},code=sm_${architecture}
      -Xptxas -v -I${SOURCE}/cmodel/include -I${SOURCE}/drivers/backends/cuda/include -o ${FOLDER}/code.cubin ${SOURCE}/drivers/backends/cuda/library.cu
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(APPEND err "${out}")
  if(NOT status EQUAL 0 OR NOT err MATCHES "exact_kernel" OR NOT err MATCHES "fp32_kernel" OR NOT err MATCHES "quick_kernel")
    message(FATAL_ERROR "nvcc: status ${status}\n${err}")
  endif()
  string(REGEX MATCHALL "[^\n]*([1-9][0-9]* bytes spill|C75[0-9][0-9]|setmaxnreg)[^\n]*" faults "${err}")
  if(faults)
    message(FATAL_ERROR "sm_${architecture}: ${faults}\n${err}")
  endif()
endforeach()
