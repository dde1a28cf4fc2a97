// SPDX-License-Identifier: Apache-2.0
// Zeroed arrays that are freed together, so that one check suffices after many allocations.
#ifndef UFP4_TRAIN_POOL_H
#define UFP4_TRAIN_POOL_H

#include <stdint.h>

/** Start from all zeros. */
typedef struct {
  void **items;
  int count;
  int capacity;
  int failed;  ///< 1 after any allocation has failed
} ufp4_pool_t;

/** Allocates @p count elements of @p size bytes, zeroed and aligned to 64 bytes. NULL, and failed
 * set, if memory is exhausted or a number is negative. */
void *ufp4_pool_alloc(ufp4_pool_t *pool, int64_t count, int64_t size);
/** Allocates floats as ufp4_pool_alloc does. */
float *ufp4_pool_floats(ufp4_pool_t *pool, int64_t count);
void ufp4_pool_free(ufp4_pool_t *pool);

#endif
