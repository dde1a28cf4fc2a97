// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_OPERAND_H
#define UFP4_OPERAND_H

#include "ufp4/quantize.h"

/** As ufp4_operand_create_scaled, of legal arguments; codes are not set. */
ufp4_status_t ufp4_operand_allocate(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows, int64_t cols,
                                    ufp4_operand_t *out);
/** Whether an operand has data, sizes that agree, and a tensor scale above zero and finite where it counts. */
int ufp4_operand_ok(const ufp4_operand_t *operand);
/** Whether no FP32 scale is negative or infinite. */
int ufp4_scales_ok(const ufp4_operand_t *operand);

#endif
