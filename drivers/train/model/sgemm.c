// SPDX-License-Identifier: Apache-2.0
#include "model/sgemm.h"

#include <string.h>

#include "model/hot.h"
#include "number/integer.h"

// A tile of 6 x 16 accumulators fits the registers of AVX2 and hides the latency of an addition; a
// panel of B of 256 x 16 floats fits the first-level cache. Neither changes a bit: the vector lanes
// are columns, and sums over k wait in D between panels.
#define TILE_ROWS 6
#define TILE_COLS 16
#define PANEL_K 256

typedef float lanes_t
    __attribute__((vector_size(TILE_COLS * sizeof(float)), aligned(4), may_alias));

// Where the rows of a tile of A begin; @p step elements from one k to the next.
typedef struct {
  const float *row[TILE_ROWS];
  int64_t step;
} rows_t;

// d [6][16] += a [6][k] b [k][16], compiled for each vector length. Wider vectors do the same
// operations.
UFP4_HOT static void tile(int64_t k, const rows_t *a, const float *b, float *d) {
  lanes_t sum[TILE_ROWS];
  memcpy(sum, d, sizeof sum);
  for (int64_t p = 0; p < k; p++, b += TILE_COLS) {
    const lanes_t column = *(const lanes_t *)b;
    for (int i = 0; i < TILE_ROWS; i++) sum[i] = sum[i] + a->row[i][p * a->step] * column;
  }
  memcpy(d, sum, sizeof sum);
}

// A tile of fewer rows takes its last row again; what comes of it is not stored.
static rows_t rows_of(ufp4_sgemm_view_t a, int64_t first, int64_t count) {
  rows_t out = {.step = a.col};
  for (int i = 0; i < TILE_ROWS; i++)
    out.row[i] = a.data + (first + (i < count ? i : count - 1)) * a.row;
  return out;
}

// out [k][16] = up to 16 columns of B, the others zero.
static void pack(ufp4_sgemm_view_t b, int64_t cols, int64_t k, float *out) {
  for (int64_t p = 0; p < k; p++, out += TILE_COLS) {
    const float *from = b.data + p * b.row;
    for (int64_t j = 0; j < cols; j++) out[j] = from[j * b.col];
    for (int64_t j = cols; j < TILE_COLS; j++) out[j] = 0;
  }
}

static void load_tile(const float *d, int64_t ld, int64_t rows, int64_t cols, int accumulate,
                      float out[TILE_ROWS][TILE_COLS]) {
  memset(out, 0, TILE_ROWS * sizeof *out);
  for (int64_t i = 0; accumulate && i < rows; i++)
    memcpy(out[i], d + i * ld, (size_t)cols * sizeof **out);
}

static void store_tile(float (*in)[TILE_COLS], int64_t rows, int64_t cols, float *d, int64_t ld) {
  for (int64_t i = 0; i < rows; i++) memcpy(d + i * ld, in[i], (size_t)cols * sizeof **in);
}

// One panel of up to 16 columns and 256 k, all rows.
static void panel(int64_t m, int64_t cols, int64_t k, ufp4_sgemm_view_t a, const float *b, float *d,
                  int64_t ld, int accumulate) {
  float sum[TILE_ROWS][TILE_COLS];
  for (int64_t i = 0; i < m; i += TILE_ROWS) {
    int64_t rows = min_i64(TILE_ROWS, m - i);
    rows_t from = rows_of(a, i, rows);
    load_tile(d + i * ld, ld, rows, cols, accumulate, sum);
    tile(k, &from, b, sum[0]);
    store_tile(sum, rows, cols, d + i * ld, ld);
  }
}

void ufp4_sgemm(int64_t m, int64_t n, int64_t k, ufp4_sgemm_view_t a, ufp4_sgemm_view_t b, float *d,
                int64_t ld, int accumulate) {
  float packed[PANEL_K * TILE_COLS];
  for (int64_t p = 0; p < k; p += PANEL_K) {
    int64_t depth = min_i64(PANEL_K, k - p);
    ufp4_sgemm_view_t part = {a.data + p * a.col, a.row, a.col};
    for (int64_t j = 0; j < n; j += TILE_COLS) {
      int64_t cols = min_i64(TILE_COLS, n - j);
      pack((ufp4_sgemm_view_t){b.data + p * b.row + j * b.col, b.row, b.col}, cols, depth, packed);
      panel(m, cols, depth, part, packed, d + j, ld, accumulate || p > 0);
    }
  }
}
