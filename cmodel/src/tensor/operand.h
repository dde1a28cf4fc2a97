// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_OPERAND_H
#define UFP4_OPERAND_H

#include "ufp4/quantize.h"

/** Allocates an operand as ufp4_operand_create_blocks does, but the arguments are legal and the
 * codes are not set. */
ufp4_status_t ufp4_operand_allocate(ufp4_elem_t elem, ufp4_scale_t scale, int block, int64_t rows,
                                    int64_t cols, ufp4_operand_t *out);
/** Whether an operand has data, sizes that agree, and scales that may be: UFP4_ERROR_ARGUMENT. @p
 * message (may be NULL) calls it @p name. */
ufp4_status_t ufp4_operand_check(const ufp4_operand_t *operand, const char *name,
                                 ufp4_message_t *message);

#endif
