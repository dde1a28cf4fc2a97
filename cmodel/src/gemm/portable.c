// SPDX-License-Identifier: Apache-2.0
// The exact GEMM for any processor. Operands are unpacked to quanta once. Every block product is
// then a 16-bit integer (2304 at most), which is multiplied by the two scales and added to the
// 64-bit sum of its output. The order of integer additions does not matter, so neither the tiling
// nor the threads change the bits.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "base/threads.h"
#include "gemm/kernel.h"
#include "gemm/store.h"
#include "number/lanes.h"
#include "ufp4/format.h"

#define MICRO_ROWS 4  // the dot products of 4 x 32 outputs stay in vector registers
#define MICRO_COLS 32
#define DOTS 16
#define TILE_ROWS 64         // a unit of work: 64 x 32 outputs
#define CHUNK_BLOCKS 64      // blocks for which a part of B stays in the nearest cache
#define THREAD_MACS 2000000  // work below which a thread is not worth starting

typedef int16_t dots_t __attribute__((vector_size(2 * DOTS)));

// --- Unpacked operands --------------------------------------------------------------------------

// Panels of `width` rows. A panel has quanta [16][width] and scales [width] for each block. Rows
// that pad the last panel are zero.
typedef struct {
  int64_t rows, blocks, width;
  int16_t *quanta;
  int32_t *weights;   // scale * 2^9, under 2^18; 0 for NaN
  uint8_t *poisoned;  // [rows]: some scale of the row is NaN
} panels_t;

static void panels_free(panels_t *panels) {
  free(panels->quanta);
  free(panels->weights);
  free(panels->poisoned);
}

static ufp4_status_t panels_create(const ufp4_operand_t *in, int64_t width, panels_t *out) {
  int64_t rows = (in->rows + width - 1) / width * width;
  size_t scales = ufp4_matrix_bytes(rows, in->blocks, 1);
  *out = (panels_t){in->rows, in->blocks, width, NULL, NULL, NULL};
  out->quanta = calloc(scales, BLOCK * sizeof *out->quanta);
  out->weights = calloc(scales, sizeof *out->weights);
  out->poisoned = calloc((size_t)rows, sizeof *out->poisoned);
  if (out->quanta != NULL && out->weights != NULL && out->poisoned != NULL) return UFP4_OK;
  panels_free(out);
  return UFP4_ERROR_MEMORY;
}

static void panels_fill_block(const ufp4_operand_t *in, int64_t row, int64_t b,
                              int16_t quanta[2][16], panels_t *out) {
  const uint8_t scale = in->scales[row * in->blocks + b];
  const uint8_t *codes = in->codes + (row * in->blocks + b) * CODE_BYTES;
  int64_t at = (row / out->width * in->blocks + b) * out->width;
  int16_t *to = out->quanta + at * BLOCK + row % out->width;
  for (unsigned k = 0; k < BLOCK; k++)
    to[k * out->width] = quanta[scale >> 7][codes[k / 2] >> 4 * (k % 2) & 15];
  int sig, exp;
  if (ufp4_e4m3_decode(scale, &sig, &exp)) {
    out->weights[at + row % out->width] = sig << exp;
  } else {
    out->poisoned[row] = 1;
  }
}

static void panels_fill(const ufp4_operand_t *in, panels_t *out) {
  int16_t quanta[2][16];  // by bit 7 of the scale byte
  for (unsigned i = 0; i < 32; i++) {
    const ufp4_elem_t grid = ufp4_elem_grid(in->elem, (uint8_t)(i / 16 << 7));
    quanta[i / 16][i % 16] = (int16_t)ufp4_elem_quanta(grid, i % 16);
  }
  for (int64_t row = 0; row < in->rows; row++) {
    for (int64_t b = 0; b < in->blocks; b++) panels_fill_block(in, row, b, quanta, out);
  }
}

// --- Sums ---------------------------------------------------------------------------------------

typedef int64_t sums_t[MICRO_ROWS][MICRO_COLS];

INLINE void block_dots(const int16_t a[BLOCK][MICRO_ROWS], const int16_t b[BLOCK][MICRO_COLS],
                       int16_t dots[MICRO_ROWS][MICRO_COLS]) {
  dots_t sum[MICRO_ROWS][2] = {{{0}}};
  for (unsigned k = 0; k < BLOCK; k++) {
    dots_t low, high;
    memcpy(&low, b[k], sizeof low);
    memcpy(&high, b[k] + DOTS, sizeof high);
    for (unsigned r = 0; r < MICRO_ROWS; r++) {
      sum[r][0] += a[k][r] * low;
      sum[r][1] += a[k][r] * high;
    }
  }
  memcpy(dots, sum, sizeof sum);
}

// dot * a's scale is under 2304 * 2^18 < 2^30.
INLINE void add_scaled(const int16_t dots[MICRO_COLS], int32_t a, const int32_t b[MICRO_COLS],
                       int64_t sums[MICRO_COLS]) {
  for (unsigned j = 0; j < MICRO_COLS; j++) sums[j] += (int64_t)(dots[j] * a) * b[j];
}

HOT static void micro_sums(int64_t blocks, const int16_t *a, const int32_t *a_weights,
                           const int16_t *b, const int32_t *b_weights, sums_t sums) {
  for (int64_t k = 0; k < blocks; k++) {
    int16_t dots[MICRO_ROWS][MICRO_COLS];
    block_dots((const int16_t(*)[MICRO_ROWS])a + k * BLOCK,
               (const int16_t(*)[MICRO_COLS])b + k * BLOCK, dots);
    for (unsigned r = 0; r < MICRO_ROWS; r++) {
      add_scaled(dots[r], a_weights[k * MICRO_ROWS + r], b_weights + k * MICRO_COLS, sums[r]);
    }
  }
}

static void tile_sums(const panels_t *a, const panels_t *b, int64_t row, int64_t rows, int64_t col,
                      sums_t *sums) {
  memset(sums, 0, sizeof(sums_t) * TILE_ROWS / MICRO_ROWS);
  for (int64_t k = 0; k < a->blocks; k += CHUNK_BLOCKS) {
    int64_t blocks = min_i64(a->blocks - k, CHUNK_BLOCKS);
    const int64_t at_b = col * b->blocks + k * MICRO_COLS;
    for (int64_t r = 0; r < rows; r += MICRO_ROWS) {
      const int64_t at_a = (row + r) * a->blocks + k * MICRO_ROWS;
      micro_sums(blocks, a->quanta + at_a * BLOCK, a->weights + at_a, b->quanta + at_b * BLOCK,
                 b->weights + at_b, sums[r / MICRO_ROWS]);
    }
  }
}

// --- Tiles and threads --------------------------------------------------------------------------

typedef struct {
  const gemm_job_t *job;
  panels_t a, b;
  int64_t tiles;
  atomic_llong next_tile;
} work_t;

static void run_tile(const work_t *work, int64_t tile) {
  const panels_t *a = &work->a, *b = &work->b;
  sums_t sums[TILE_ROWS / MICRO_ROWS];
  int64_t across = (b->rows + MICRO_COLS - 1) / MICRO_COLS;
  int64_t row = tile / across * TILE_ROWS, col = tile % across * MICRO_COLS;
  int64_t rows = min_i64(a->rows - row, TILE_ROWS), cols = min_i64(b->rows - col, MICRO_COLS);
  tile_sums(a, b, row, rows, col, sums);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      int poisoned = a->poisoned[row + i] | b->poisoned[col + j];
      gemm_store(work->job, poisoned, sums[i / MICRO_ROWS][i % MICRO_ROWS][j], row + i, col + j);
    }
  }
}

static void run_tiles(void *argument) {
  work_t *work = argument;
  for (;;) {
    int64_t tile = atomic_fetch_add(&work->next_tile, 1);
    if (tile >= work->tiles) return;
    run_tile(work, tile);
  }
}

static int useful_threads(const work_t *work) {
  int64_t macs = work->a.rows * work->b.rows * work->a.blocks * BLOCK;
  int64_t useful = min_i64(macs / THREAD_MACS + 1, min_i64(work->tiles, MAX_THREADS));
  return (int)min_i64(work->job->how->threads > 1 ? work->job->how->threads : 1, useful);
}

ufp4_status_t gemm_portable(const gemm_job_t *job) {
  work_t work = {.job = job};
  ufp4_status_t status = panels_create(job->a, MICRO_ROWS, &work.a);
  if (status != UFP4_OK) return status;
  status = panels_create(job->b, MICRO_COLS, &work.b);
  if (status == UFP4_OK) {
    void *arguments[MAX_THREADS];
    for (int i = 0; i < MAX_THREADS; i++) arguments[i] = &work;
    panels_fill(job->a, &work.a);
    panels_fill(job->b, &work.b);
    work.tiles = ((job->a->rows + TILE_ROWS - 1) / TILE_ROWS) *
                 ((job->b->rows + MICRO_COLS - 1) / MICRO_COLS);
    threads_run(run_tiles, arguments, useful_threads(&work));
    panels_free(&work.b);
  }
  panels_free(&work.a);
  return status;
}
