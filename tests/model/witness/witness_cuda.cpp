// SPDX-License-Identifier: Apache-2.0
#include "witness_cuda.h"

#include <cuda_fp4.h>
#include <cuda_fp8.h>

uint8_t witness_e2m1(float x) {
  return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
}

uint8_t witness_e4m3(float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

uint8_t witness_e8m0(float x, int up) {
  return __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, up ? cudaRoundPosInf : cudaRoundZero);
}
