// SPDX-License-Identifier: Apache-2.0
#include "sgemm.h"

#include <string.h>

// A tile of 6 x 16 accumulators fits the registers of AVX2 and hides the latency of an addition; a panel of B of 256 x
// 16 floats fits the first-level cache. Neither changes a bit: the vector lanes are columns, and sums over k wait in D
// between panels.
#define TILE_ROWS 6
#define TILE_COLS 16
#define PANEL_K 256

typedef float lanes_t __attribute__((vector_size(TILE_COLS * sizeof(float)), aligned(4), may_alias));

typedef void (*tile_fn_t)(int64_t k, const float *a, const float *b, float *d);

// d [6][16] += a [k][6] b [k][16].
static inline __attribute__((always_inline)) void tile(int64_t k, const float *a, const float *b, float *d) {
  lanes_t sum[TILE_ROWS];
  memcpy(sum, d, sizeof sum);
  for (int64_t p = 0; p < k; p++, a += TILE_ROWS, b += TILE_COLS) {
    const lanes_t column = *(const lanes_t *)b;
    for (int i = 0; i < TILE_ROWS; i++) sum[i] = sum[i] + a[i] * column;
  }
  memcpy(d, sum, sizeof sum);
}

static void tile_portable(int64_t k, const float *a, const float *b, float *d) {
  tile(k, a, b, d);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void tile_avx2(int64_t k, const float *a, const float *b, float *d) {
  tile(k, a, b, d);
}

__attribute__((target("avx512f"))) static void tile_avx512(int64_t k, const float *a, const float *b, float *d) {
  tile(k, a, b, d);
}

static tile_fn_t choose_tile(void) {
  if (__builtin_cpu_supports("avx512f")) return tile_avx512;
  if (__builtin_cpu_supports("avx2")) return tile_avx2;
  return tile_portable;
}
#else
static tile_fn_t choose_tile(void) {
  return tile_portable;
}
#endif

// out [k][width] = the first @p used of width rows (lane stride) of a view, the others zero.
static void pack(const float *data, int64_t lane, int64_t step, int64_t used, int64_t width, int64_t k, float *out) {
  for (int64_t p = 0; p < k; p++, data += step, out += width) {
    if (lane == 1) {
      memcpy(out, data, (size_t)used * sizeof *out);
    } else {
      for (int64_t i = 0; i < used; i++) out[i] = data[i * lane];
    }
    for (int64_t i = used; i < width; i++) out[i] = 0;
  }
}

static void load_tile(const float *d, int64_t ld, int64_t rows, int64_t cols, int accumulate,
                      float out[TILE_ROWS][TILE_COLS]) {
  memset(out, 0, TILE_ROWS * sizeof *out);
  for (int64_t i = 0; accumulate && i < rows; i++) memcpy(out[i], d + i * ld, (size_t)cols * sizeof **out);
}

static void store_tile(float (*in)[TILE_COLS], int64_t rows, int64_t cols, float *d, int64_t ld) {
  for (int64_t i = 0; i < rows; i++) memcpy(d + i * ld, in[i], (size_t)cols * sizeof **in);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// One panel of up to 16 columns and 256 k, all rows.
static void panel(tile_fn_t run, int64_t m, int64_t cols, int64_t k, ufp4_sgemm_view_t a, const float *b, float *d,
                  int64_t ld, int accumulate) {
  float packed[PANEL_K * TILE_ROWS], sum[TILE_ROWS][TILE_COLS];
  for (int64_t i = 0; i < m; i += TILE_ROWS) {
    int64_t rows = smaller(TILE_ROWS, m - i);
    pack(a.data + i * a.row, a.row, a.col, rows, TILE_ROWS, k, packed);
    load_tile(d + i * ld, ld, rows, cols, accumulate, sum);
    run(k, packed, b, sum[0]);
    store_tile(sum, rows, cols, d + i * ld, ld);
  }
}

void ufp4_sgemm(int64_t m, int64_t n, int64_t k, ufp4_sgemm_view_t a, ufp4_sgemm_view_t b, float *d, int64_t ld,
                int accumulate) {
  float packed[PANEL_K * TILE_COLS];
  tile_fn_t run = choose_tile();
  for (int64_t p = 0; p < k; p += PANEL_K) {
    int64_t depth = smaller(PANEL_K, k - p);
    ufp4_sgemm_view_t part = {a.data + p * a.col, a.row, a.col};
    for (int64_t j = 0; j < n; j += TILE_COLS) {
      int64_t cols = smaller(TILE_COLS, n - j);
      pack(b.data + p * b.row + j * b.col, b.col, b.row, cols, TILE_COLS, depth, packed);
      panel(run, m, cols, depth, part, packed, d + j, ld, accumulate || p > 0);
    }
  }
}
