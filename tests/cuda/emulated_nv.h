// SPDX-License-Identifier: Apache-2.0
// The arithmetic of an FP4 product of the emulated GPU.
#ifndef UFP4_TESTS_CUDA_EMULATED_NV_H
#define UFP4_TESTS_CUDA_EMULATED_NV_H

#include <stdint.h>

/** One row of A, or one column of B: 64 codes of E2M1 and the E4M3 scales of four groups of 16. */
typedef struct {
  uint8_t codes[64], scales[4];
} emulated_nv_line_t;

#ifdef __cplusplus
extern "C" {
#endif
/** Adds one step of contract nv to each of 16 x 8 sums, by the golden model (cmodel/src/gemm/nv.c).
 * The emulated GPU therefore tests the operands of a product, not how a tensor core rounds. A NaN
 * scale makes its row or column NaN. */
void emulated_nv_step(const emulated_nv_line_t a[16], const emulated_nv_line_t b[8],
                      float sums[16][8]);
#ifdef __cplusplus
}
#endif

#endif
