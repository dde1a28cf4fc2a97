// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "ufp4/matrix.h"

#define ALIGNMENT 64

static int grow(ufp4_pool_t *pool) {
  if (pool->count < pool->capacity) return 1;
  int capacity = pool->capacity ? 2 * pool->capacity : 32;
  void **items = realloc(pool->items, (size_t)capacity * sizeof *items);
  if (!items) return 0;
  pool->items = items;
  pool->capacity = capacity;
  return 1;
}

void *ufp4_pool_alloc(ufp4_pool_t *pool, int64_t count, int64_t size) {
  void *item = NULL;
  if (count >= 0 && size > 0 && count <= (INT64_MAX - ALIGNMENT) / size && grow(pool)) {
    size_t bytes = (ufp4_matrix_bytes(count, size, 1) + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    item = aligned_alloc(ALIGNMENT, bytes);
    if (item) memset(item, 0, bytes);
  }
  if (!item) {
    pool->failed = 1;
    return NULL;
  }
  pool->items[pool->count++] = item;
  return item;
}

float *ufp4_pool_floats(ufp4_pool_t *pool, int64_t count) {
  return ufp4_pool_alloc(pool, count, (int64_t)sizeof(float));
}

void ufp4_pool_free(ufp4_pool_t *pool) {
  for (int i = 0; i < pool->count; i++) free(pool->items[i]);
  free(pool->items);
  *pool = (ufp4_pool_t){0};
}
