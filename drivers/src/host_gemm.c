// SPDX-License-Identifier: Apache-2.0
#include "host_gemm.h"

#include <stdlib.h>

#define TILE_M 6
#define TILE_N 16
#define CHUNK_K 512  // a packed panel of B stays in the first-level cache

// One clone per instruction set; each does the same IEEE operations in the same order. (Address
// sanitizer's run-time is not up yet when clones are chosen.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONES
#endif

typedef float lanes_t __attribute__((vector_size(TILE_N * sizeof(float))));

// a: [k][TILE_M], b: [k][TILE_N], d: [TILE_M][TILE_N], added to.
CLONES static void kernel(const float *a, const lanes_t *b, int64_t k, lanes_t *d) {
  lanes_t sum[TILE_M];
  for (int i = 0; i < TILE_M; i++) sum[i] = d[i];
  for (int64_t p = 0; p < k; p++) {
    for (int i = 0; i < TILE_M; i++) sum[i] += a[p * TILE_M + i] * b[p];
  }
  for (int i = 0; i < TILE_M; i++) d[i] = sum[i];
}

// Rows row..row+width of the operand, k0..k0+k, as [k][width]; rows that do not exist are zero.
static void pack(const host_operand_t *in, int64_t row, int64_t rows, int width, int64_t k0,
                 int64_t k, float *out) {
  for (int i = 0; i < width; i++) {
    const float *from = in->data + (row + i) * in->row_step + k0 * in->k_step;
    for (int64_t p = 0; p < k; p++)
      out[p * width + i] = row + i < rows ? from[p * in->k_step] : 0.0f;
  }
}

typedef struct {
  int64_t m, n;
  float *d;
  int64_t d_ld;
} output_t;

static void load_tile(const output_t *to, int64_t i0, int64_t j0, int first, lanes_t tile[TILE_M]) {
  for (int i = 0; i < TILE_M; i++) {
    for (int j = 0; j < TILE_N; j++) {
      int inside = i0 + i < to->m && j0 + j < to->n;
      tile[i][j] = !first && inside ? to->d[(i0 + i) * to->d_ld + j0 + j] : 0.0f;
    }
  }
}

static void store_tile(const output_t *to, int64_t i0, int64_t j0, const lanes_t tile[TILE_M]) {
  for (int i = 0; i < TILE_M && i0 + i < to->m; i++) {
    for (int j = 0; j < TILE_N && j0 + j < to->n; j++)
      to->d[(i0 + i) * to->d_ld + j0 + j] = tile[i][j];
  }
}

ufp4_status_t host_gemm(const host_operand_t *a, const host_operand_t *b, int64_t m, int64_t n,
                        int64_t k, float *d, int64_t d_ld) {
  output_t to = {m, n, d, d_ld};
  int64_t strips = (m + TILE_M - 1) / TILE_M;
  float *panel_a = malloc(ufp4_matrix_bytes(strips, TILE_M * CHUNK_K, sizeof *panel_a));
  lanes_t *panel_b = aligned_alloc(sizeof(lanes_t), CHUNK_K * sizeof *panel_b);
  if (panel_a == NULL || panel_b == NULL) {
    free(panel_a);
    free(panel_b);
    return UFP4_ERROR_MEMORY;
  }
  for (int64_t k0 = 0; k0 < k; k0 += CHUNK_K) {
    int64_t kc = k - k0 < CHUNK_K ? k - k0 : CHUNK_K;
    for (int64_t s = 0; s < strips; s++)
      pack(a, s * TILE_M, m, TILE_M, k0, kc, panel_a + s * TILE_M * kc);
    for (int64_t j0 = 0; j0 < n; j0 += TILE_N) {
      pack(b, j0, n, TILE_N, k0, kc, (float *)panel_b);
      for (int64_t s = 0; s < strips; s++) {
        lanes_t tile[TILE_M];
        load_tile(&to, s * TILE_M, j0, k0 == 0, tile);
        kernel(panel_a + s * TILE_M * kc, panel_b, kc, tile);
        store_tile(&to, s * TILE_M, j0, tile);
      }
    }
  }
  free(panel_a);
  free(panel_b);
  return UFP4_OK;
}
