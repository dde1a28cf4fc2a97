// SPDX-License-Identifier: Apache-2.0
// The NVFP4 quantizer in which each block chooses one of two scales: for a largest code of 6 or of
// 4 (Four Over Six), or for the two grids of mixed (docs/reference/numerics.md, 2 and 4).
#ifndef UFP4_QUANTIZE_CHOICE_H
#define UFP4_QUANTIZE_CHOICE_H

#include "quantize/walk.h"

/** Quantizes as ufp4_quantize does, with the scale rounding 46 or the element mixed; @p out is
 * allocated and @p how is legal. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_choice(const source_t *source, const ufp4_quantize_t *how,
                                   ufp4_operand_t *out);

#endif
