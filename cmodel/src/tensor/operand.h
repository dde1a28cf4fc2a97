// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_OPERAND_H
#define UFP4_OPERAND_H

#include "ufp4/quantize.h"

/** Allocates an operand as ufp4_operand_create_blocks does, but expects legal arguments and leaves
 * the codes unset. */
ufp4_status_t ufp4_operand_allocate(ufp4_elem_t elem, ufp4_scale_t scale, int block, int64_t rows,
                                    int64_t cols, ufp4_operand_t *out);
/** Checks that an operand has data, consistent sizes and legal scales: UFP4_ERROR_ARGUMENT
 * otherwise. @p message (may be NULL) calls it @p name. */
ufp4_status_t ufp4_operand_check(const ufp4_operand_t *operand, const char *name,
                                 ufp4_message_t *message);

#endif
