// SPDX-License-Identifier: Apache-2.0
#include "sgemm.h"

#include <string.h>

#include "base/hot.h"
#include "base/integer.h"

// A tile of 6 x 16 accumulators fits the registers of AVX2 and hides the latency of an addition; a
// panel of B of 256 x 16 floats fits the first-level cache, and 48 rows of A the second. None of
// this changes a bit, because vector lanes are columns, and sums over k are kept in D between
// panels.
#define TILE_ROWS 6
#define TILE_COLS 16
#define PANEL_K 256
#define PACKED_ROWS 48

typedef float lanes_t
    __attribute__((vector_size(TILE_COLS * sizeof(float)), aligned(4), may_alias));

// The first elements of a tile's rows of A; consecutive k are `step` elements apart.
typedef struct {
  const float *row[TILE_ROWS];
  int64_t step;
} rows_t;

// Computes d [6][ld] = (add ? d : 0) + a [6][k] b [k][16], compiled for each vector length. Wider
// vectors perform the same operations.
UFP4_HOT static void tile(int64_t k, const rows_t *a, const float *b, float *d, int64_t ld,
                          int add) {
  lanes_t sum[TILE_ROWS] = {{0}};
  for (int i = 0; add && i < TILE_ROWS; i++) sum[i] = *(const lanes_t *)(d + i * ld);
  for (int64_t p = 0; p < k; p++, b += TILE_COLS) {
    const lanes_t column = *(const lanes_t *)b;
    for (int i = 0; i < TILE_ROWS; i++) sum[i] = sum[i] + a->row[i][p * a->step] * column;
  }
  for (int i = 0; i < TILE_ROWS; i++) *(lanes_t *)(d + i * ld) = sum[i];
}

// Computes a tile at the edge of D in a whole one.
static void edge(int64_t rows, int64_t cols, int64_t k, const rows_t *a, const float *b, float *d,
                 int64_t ld, int add) {
  float whole[TILE_ROWS][TILE_COLS] = {{0}};
  const size_t bytes = (size_t)cols * sizeof *d;
  for (int64_t i = 0; add && i < rows; i++) memcpy(whole[i], d + i * ld, bytes);
  tile(k, a, b, whole[0], TILE_COLS, add);
  for (int64_t i = 0; i < rows; i++) memcpy(d + i * ld, whole[i], bytes);
}

// A tile with fewer rows repeats its last row, whose results are not stored.
static rows_t rows_of(ufp4_sgemm_view_t a, int64_t first, int64_t count) {
  rows_t out = {.step = a.col};
  for (int i = 0; i < TILE_ROWS; i++)
    out.row[i] = a.data + (first + (i < count ? i : count - 1)) * a.row;
  return out;
}

// --- Packing ------------------------------------------------------------------------------------

#define SQUARE 8

typedef float side_t __attribute__((vector_size(SQUARE * sizeof(float)), aligned(4), may_alias));

// out [8][out_step] = in [8][in_step]^T.
static inline __attribute__((always_inline)) void turn(const float *in, int64_t in_step, float *out,
                                                       int64_t out_step) {
  side_t v[SQUARE], w[SQUARE];
  for (int i = 0; i < SQUARE; i++) v[i] = *(const side_t *)(in + i * in_step);
  // Each stage interleaves rows that are half the size of the square apart.
  for (int stage = 0; stage < 3; stage++) {
    for (int i = 0; i < SQUARE / 2; i++) {
      w[2 * i] = __builtin_shufflevector(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(v, w, sizeof v);
  }
  for (int i = 0; i < SQUARE; i++) *(side_t *)(out + i * out_step) = v[i];
}

// Packs columns that are each contiguous in k, in whole squares. @return how many of k are done.
UFP4_HOT static int64_t pack_columns(const float *from, int64_t step, int64_t k, float *out) {
  int64_t p = 0;
  for (; p + SQUARE <= k; p += SQUARE) {
    for (int j = 0; j < TILE_COLS; j += SQUARE)
      turn(from + j * step + p, step, out + p * TILE_COLS + j, TILE_COLS);
  }
  return p;
}

// Packs up to 16 columns of B into out [k][16], and zeros for the rest.
static void pack_b(ufp4_sgemm_view_t b, int64_t cols, int64_t k, float *out) {
  int64_t p = 0;
  if (cols == TILE_COLS && b.col == 1) {
    for (; p < k; p++) memcpy(out + p * TILE_COLS, b.data + p * b.row, TILE_COLS * sizeof *out);
  } else if (cols == TILE_COLS && b.row == 1) {
    p = pack_columns(b.data, b.col, k, out);
  }
  for (; p < k; p++) {
    for (int64_t j = 0; j < TILE_COLS; j++)
      out[p * TILE_COLS + j] = j < cols ? b.data[p * b.row + j * b.col] : 0;
  }
}

// Packs rows side by side for each k, tile by tile [k][6]; the last tile may be short.
static void pack_a(const float *from, int64_t step, int64_t rows, int64_t k, float *out) {
  for (int64_t p = 0; p < k; p++, from += step) {
    int64_t i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
      memcpy(out + i * k + p * TILE_ROWS, from + i, TILE_ROWS * sizeof *out);
    memcpy(out + i * k + p * TILE_ROWS, from + i, (size_t)(rows - i) * sizeof *out);
  }
}

// --- Loops --------------------------------------------------------------------------------------

typedef struct {
  ufp4_sgemm_view_t a, b;
  const float *packed_a;  // NULL: A is read in place
  float *d;
  int64_t ld;
  int add;
} part_t;

// Computes all rows for a panel of up to 16 columns, packed in b [k][16].
static void panel(const part_t *part, int64_t m, int64_t cols, int64_t k, const float *b,
                  float *d) {
  for (int64_t i = 0; i < m; i += TILE_ROWS, d += TILE_ROWS * part->ld) {
    const int64_t rows = min_i64(TILE_ROWS, m - i);
    rows_t from = rows_of(part->a, i, rows);
    if (part->packed_a != NULL)
      from = rows_of((ufp4_sgemm_view_t){part->packed_a + i * k, 1, TILE_ROWS}, 0, rows);
    if (rows == TILE_ROWS && cols == TILE_COLS) {
      tile(k, &from, b, d, part->ld, part->add);
    } else {
      edge(rows, cols, k, &from, b, d, part->ld, part->add);
    }
  }
}

static void panels(const part_t *part, int64_t m, int64_t n, int64_t k) {
  float packed[PANEL_K * TILE_COLS];
  for (int64_t j = 0; j < n; j += TILE_COLS) {
    const int64_t cols = min_i64(TILE_COLS, n - j);
    const ufp4_sgemm_view_t columns = {part->b.data + j * part->b.col, part->b.row, part->b.col};
    pack_b(columns, cols, k, packed);
    panel(part, m, cols, k, packed, part->d + j);
  }
}

// A row of A that is strided in k would touch one cache line per element.
static void packed_panels(const part_t *all, int64_t m, int64_t n, int64_t k) {
  float packed[PACKED_ROWS * PANEL_K];
  part_t part = *all;
  part.packed_a = packed;
  for (int64_t i = 0; i < m; i += PACKED_ROWS) {
    const int64_t rows = min_i64(PACKED_ROWS, m - i);
    pack_a(all->a.data + i, all->a.col, rows, k, packed);
    part.d = all->d + i * all->ld;
    panels(&part, rows, n, k);
  }
}

void ufp4_sgemm(int64_t m, int64_t n, int64_t k, ufp4_sgemm_view_t a, ufp4_sgemm_view_t b, float *d,
                int64_t ld, int accumulate) {
  for (int64_t p = 0; p < k; p += PANEL_K) {
    const part_t part = {.a = {a.data + p * a.col, a.row, a.col},
                         .b = {b.data + p * b.row, b.row, b.col},
                         .d = d,
                         .ld = ld,
                         .add = accumulate || p > 0};
    const int64_t depth = min_i64(PANEL_K, k - p);
    if (a.row == 1 && a.col != 1) {
      packed_panels(&part, m, n, depth);
    } else {
      panels(&part, m, n, depth);
    }
  }
}
