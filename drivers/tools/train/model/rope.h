// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: elements i and i + n/2 of a head of n are rotated by the angle
// position * 10000^(-2i/n).
#ifndef UFP4_TRAIN_ROPE_H
#define UFP4_TRAIN_ROPE_H

#include <stdint.h>

/** Makes the table of cosines, then sines: [2][context][head/2]. */
void ufp4_rope_table(int64_t context, int64_t head, float *table);
/** Rotates @p heads heads at the start of each of @p context rows of stride @p ld in place; @p
 * inverse 1 rotates back (the gradient). */
void ufp4_rope_apply(int64_t context, int64_t heads, int64_t head, const float *table, int inverse,
                     float *x, int64_t ld);

#endif
