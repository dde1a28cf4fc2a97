// SPDX-License-Identifier: Apache-2.0
// Splits a tensor into runs of rows of its blocked orientation, one per thread.
#ifndef UFP4_QUANTIZE_PARTS_H
#define UFP4_QUANTIZE_PARTS_H

#include "quantize/kernel.h"

/** Quantizes all rows of a source. */
typedef ufp4_status_t quantize_rows_t(const source_t *source, const ufp4_quantize_t *how,
                                      ufp4_operand_t *out);

/** Quantizes as ufp4_quantize does, with E4M3 scales of one row, with up to how->threads threads
 * and by @p kernel (NULL: portable.c); neither changes the bits. @p out is allocated. */
ufp4_status_t ufp4_quantize_parts(const source_t *source, const ufp4_quantize_t *how,
                                  const quantize_kernel_t *kernel, ufp4_operand_t *out);
/** Quantizes by @p run, also with up to how->threads threads, for scales that depend only on their
 * own block or tile. */
ufp4_status_t ufp4_quantize_rows(const source_t *source, const ufp4_quantize_t *how,
                                 quantize_rows_t *run, ufp4_operand_t *out);

#endif
