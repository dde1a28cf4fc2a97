// SPDX-License-Identifier: Apache-2.0
// The forward table as a reader or a program gets it.
#ifndef UFP4_CLI_FORWARD_TABLE_H
#define UFP4_CLI_FORWARD_TABLE_H

#include <stdio.h>

#include "frame/json.h"
#include "train/study/forward.h"

/** Operands by matrix, means over the blocks, with the paper's figures below those of fc2's input;
 * on how many of them RHT gains something; kept signal and loss by recipe; comparisons. */
void ufp4_forward_print(FILE *out, const ufp4_forward_t *forward);
/** The same as {"operands", "recipes", "comparisons", "sequences", "held_tokens"}; NULL without
 * memory. */
json_t *ufp4_forward_json(const ufp4_forward_t *forward);

#endif
