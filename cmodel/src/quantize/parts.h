// SPDX-License-Identifier: Apache-2.0
// A tensor cut into runs of rows of its blocked orientation, a thread each; E4M3 scales of one row.
#ifndef UFP4_QUANTIZE_PARTS_H
#define UFP4_QUANTIZE_PARTS_H

#include "quantize/kernel.h"

/** As ufp4_quantize by up to how->threads threads, with @p kernel (NULL: portable.c): the same
 * bits.
 * @p out is allocated. */
ufp4_status_t ufp4_quantize_parts(const source_t *source, const ufp4_quantize_t *how,
                                  const quantize_kernel_t *kernel, ufp4_operand_t *out);

#endif
