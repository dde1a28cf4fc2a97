// SPDX-License-Identifier: Apache-2.0
// Checks that a tensor exponent that the user gave fits the tensor.
#ifndef UFP4_CLI_QUANTIZE_FIT_H
#define UFP4_CLI_QUANTIZE_FIT_H

#include "ufp4.h"

/** Says on stderr if the exponent of @p q is too large for some blocks, or so small that all codes
 * became zero. A derived exponent always fits. */
void quantize_print_fit(const ufp4_operand_t *q);

#endif
