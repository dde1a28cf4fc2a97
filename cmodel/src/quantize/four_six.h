// SPDX-License-Identifier: Apache-2.0
// NVFP4 where each block's scale is for a largest code of 6 or of 4 (docs/reference/numerics.md,
// 2).
#ifndef UFP4_QUANTIZE_FOUR_SIX_H
#define UFP4_QUANTIZE_FOUR_SIX_H

#include "quantize/walk.h"

/** As ufp4_quantize, with the scale rounding 46; @p out is allocated and @p how is legal.
 * UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_four_six(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out);

#endif
