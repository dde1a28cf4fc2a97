# SPDX-License-Identifier: Apache-2.0
# Checks that ptxas keeps all variables of the kernels in registers, for sm_80 and sm_90a, and serializes no wgmma; and
# that the kernels of contract nv for sm_120f have no spills and are not empty.
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

execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE release)
string(REGEX REPLACE ".*release ([0-9.]+).*" "\\1" release "${release}")
if(release VERSION_LESS 12.9)
  message(STATUS "nvcc ${release} has no sm_120f: the contract nv was left out")
  return()
endif()
file(WRITE ${FOLDER}/code_nv.cu "#include \"gemm_nv.cuh\"
template __global__ void nv_kernel<128>(const __grid_constant__ gpu_gemm_t g);
template __global__ void nv_kernel<64>(const __grid_constant__ gpu_gemm_t g);
")
execute_process(COMMAND ${NVCC} -std=c++17 -O3 -fmad=false -cubin -gencode arch=compute_120f,code=sm_120f -Xptxas -v -I${SOURCE}/cmodel/include
    -I${SOURCE}/drivers/backends/cuda -I${SOURCE}/drivers/backends/cuda/include -o ${FOLDER}/code_nv.cubin ${FOLDER}/code_nv.cu
  RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
string(APPEND err "${out}")
string(REGEX MATCHALL "nv_kernelILi(64|128)E[^\n]*for 'sm_120f'" found "${err}")
list(LENGTH found kernels)
if(NOT status EQUAL 0 OR NOT kernels EQUAL 2 OR err MATCHES "[1-9][0-9]* bytes spill")
  message(FATAL_ERROR "sm_120f: nvcc: status ${status}\n${err}")
endif()
# The kernels would be empty if the macro that selects this architecture's code were wrong.
string(REGEX MATCH "nv_kernelILi128E[^\n]*'sm_120f'\n[^\n]*\n[^\n]*\n[^\n]*Used ([0-9]+) registers" found "${err}")
if(NOT found OR CMAKE_MATCH_1 LESS 64)
  message(FATAL_ERROR "sm_120f: nv_kernel has no sums to hold\n${err}")
endif()
