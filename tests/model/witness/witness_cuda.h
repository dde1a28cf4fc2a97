// SPDX-License-Identifier: Apache-2.0
// NVIDIA's conversions on the host, callable from C.
#ifndef UFP4_WITNESS_CUDA_H
#define UFP4_WITNESS_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint8_t witness_e2m1(float x);
uint8_t witness_e4m3(float x);
uint8_t witness_e8m0(float x, int up);

#ifdef __cplusplus
}
#endif

#endif
