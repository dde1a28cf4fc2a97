// SPDX-License-Identifier: Apache-2.0
// The scalar functions of format.h and rht.h applied to whole tensors, so that a binding of another
// language makes one call per tensor.
#ifndef UFP4_ARRAY_H
#define UFP4_ARRAY_H

#include <stdint.h>

#include "ufp4/matrix.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The formats to which ufp4_cast casts; the first three have the values of ufp4_elem_t. */
typedef enum {
  UFP4_CAST_E2M1 = 0,
  UFP4_CAST_E1M2,
  UFP4_CAST_INT4,
  UFP4_CAST_E4M3,
  UFP4_CAST_E8M0_DOWN,
  UFP4_CAST_E8M0_UP,
  UFP4_CAST_COUNT
} ufp4_cast_t;

/** Casts each element of @p in (F32 or BF16) by itself, as ufp4_elem_cast, ufp4_e4m3_cast or
 * ufp4_e8m0_cast does, to codes [rows][cols]. UFP4_ERROR_ARGUMENT: another type, a size under 1, ld
 * under cols, or no such format. */
ufp4_status_t ufp4_cast(const ufp4_matrix_t *in, ufp4_cast_t format, uint8_t *codes);

/** Transforms each block of 16 along the rows of @p in (F32 or BF16) into out [rows][16 *
 * ceil(cols/16)]; positions beyond cols count as zeros. INTEGER: out[i] * 2^(E - 152) of
 * ufp4_rht_block, which a double holds exactly; BF16: the result of ufp4_rht_block_bf16. A block
 * that these functions refuse becomes NaN. UFP4_ERROR_ARGUMENT: as ufp4_cast, or @p rht NONE. */
ufp4_status_t ufp4_rht(const ufp4_matrix_t *in, ufp4_rht_t rht, uint16_t mask, double *out);
/** Undoes the transform of @p count adjacent blocks, each as ufp4_rht_undo_points does. */
void ufp4_rht_undo_all(float *blocks, int64_t count, int points, uint64_t mask);

#ifdef __cplusplus
}
#endif

#endif
