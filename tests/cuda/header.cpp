// SPDX-License-Identifier: Apache-2.0
// Compiles ufp4_cuda.h in a C++ program, without a CUDA header.
#include "ufp4_cuda.h"

extern "C" size_t operand_bytes_in_cpp(void) {
  ufp4_cuda_call_t call = {};
  return ufp4_cuda_quantize(nullptr, nullptr, nullptr, nullptr, 1, nullptr, &call) ==
                 UFP4_ERROR_ARGUMENT
             ? ufp4_cuda_struct_bytes("ufp4_cuda_operand_t")
             : 0;
}
