// SPDX-License-Identifier: Apache-2.0
// Random numbers of the trainer: Threefry-4x32-12 on a counter, so that a stream can start anywhere
// and is the same on every machine.
#ifndef UFP4_TRAIN_DRAW_H
#define UFP4_TRAIN_DRAW_H

#include <stdint.h>

/** The purposes of the numbers, each of which has its own stream. The quantizer's bytes use key
 * word 2 = 0, which these do not. */
typedef enum { UFP4_DRAW_WEIGHTS = 1, UFP4_DRAW_DATA = 2, UFP4_DRAW_PERTURB = 3 } ufp4_draw_use_t;

typedef struct {
  uint32_t key[4];
  uint64_t counter;
} ufp4_draw_t;

ufp4_draw_t ufp4_draw_start(uint64_t seed, ufp4_draw_use_t use);
/** Returns the 64 uniform bits of number @p index of the stream. */
uint64_t ufp4_draw_at(const ufp4_draw_t *draw, uint64_t index);
/** Returns the next approximately normal number, mean 0, deviation 1, within +-6: the sum of 12
 * uniform ones (Irwin-Hall), exact in integers. */
float ufp4_draw_normal(ufp4_draw_t *draw);

#endif
