// SPDX-License-Identifier: Apache-2.0
// Runs the contracts that round along K, fp32 and nv, on whole operands.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "base/processor.h"
#include "base/threads.h"
#include "gemm/micro.h"
#include "gemm/store.h"
#include "ufp4/format.h"

#define TILE_ROWS 64         // a unit of work: 64 x 16 outputs
#define THREAD_MACS 1000000  // work below which a thread is not worth starting

// --- Unpacked operands --------------------------------------------------------------------------

static void unpacked_free(unpacked_t *x) {
  free(x->quanta);
  free(x->scales);
  free(x->significands);
  free(x->exponents);
  free(x->poisoned);
}

static ufp4_status_t unpacked_create(const ufp4_operand_t *in, int64_t width, unpacked_t *out) {
  *out = (unpacked_t){.rows = in->rows, .width = width, .block_groups = in->block / BLOCK};
  out->groups = in->scale_blocks * out->block_groups;
  int64_t rows = (in->rows + width - 1) / width * width;
  size_t scales = ufp4_matrix_bytes(rows, in->scale_blocks, 1);
  out->quanta = calloc(ufp4_matrix_bytes(rows, out->groups, 1), BLOCK * sizeof *out->quanta);
  out->scales = calloc(scales, sizeof *out->scales);
  out->significands = calloc(scales, sizeof *out->significands);
  out->exponents = calloc(scales, sizeof *out->exponents);
  out->poisoned = calloc((size_t)rows, 1);
  int complete = out->quanta != NULL && out->scales != NULL && out->significands != NULL &&
                 out->exponents != NULL && out->poisoned != NULL;
  if (complete) return UFP4_OK;
  unpacked_free(out);
  return UFP4_ERROR_MEMORY;
}

static void fill_codes(const ufp4_operand_t *in, int64_t row, unpacked_t *out) {
  int16_t *to =
      out->quanta + row / out->width * out->width * out->groups * BLOCK + row % out->width;
  const uint8_t *codes = in->codes + row * in->blocks * CODE_BYTES;
  for (int64_t k = 0; k < in->blocks * BLOCK; k++) {
    const ufp4_elem_t grid =
        in->elem != UFP4_ELEM_MIXED
            ? in->elem
            : ufp4_elem_grid(in->elem, in->scales[row * in->scale_blocks + k / in->block]);
    to[k * out->width] = (int16_t)ufp4_elem_quanta(grid, codes[k / 2] >> 4 * (k % 2) & 15);
  }
}

// Splits scale bytes as contract nv does: a subnormal has the exponent of the smallest normal
// number.
static int split_scale(const ufp4_operand_t *in, int64_t from, int32_t *significand,
                       int32_t *exponent) {
  uint8_t byte = in->scales[from];
  if (in->scale == UFP4_SCALE_E8M0) {
    *significand = 8;
    *exponent = byte - 127;
    return byte != 0xFF;
  }
  int sig, exp;
  int clean = ufp4_e4m3_decode(byte, &sig, &exp);
  *significand = sig;
  *exponent = sig == 0 ? -126 : exp - 6;
  return clean;
}

static void fill_scales(const ufp4_operand_t *in, int64_t row, unpacked_t *out) {
  for (int64_t b = 0; b < in->scale_blocks; b++) {
    int64_t from = row * in->scale_blocks + b;
    int64_t to = (row / out->width * in->scale_blocks + b) * out->width + row % out->width;
    int clean;
    if (in->scale == UFP4_SCALE_FP32) {
      out->scales[to] = in->scales_f32[from];
      clean = in->scales_f32[from] == in->scales_f32[from];
    } else {
      clean = split_scale(in, from, &out->significands[to], &out->exponents[to]);
      out->scales[to] =
          ufp4_f32_value(ufp4_f32_from_scaled(out->significands[to], out->exponents[to] - 3));
    }
    if (clean) continue;
    out->scales[to] = 0.0f;
    out->poisoned[row] = 1;
  }
}

static void unpacked_fill(const ufp4_operand_t *in, unpacked_t *out) {
  for (int64_t row = 0; row < in->rows; row++) {
    fill_codes(in, row, out);
    fill_scales(in, row, out);
  }
}

// --- Tiles and threads --------------------------------------------------------------------------

typedef struct {
  const gemm_job_t *job;
  gemm_micro_t micro;
  unpacked_t a, b;
  int frac;  // fraction bits of products
  int64_t tiles;
  atomic_llong next_tile;
} work_t;

// Only nv starts from C.
static void start_sums(const work_t *work, int64_t row, int64_t col,
                       float sums[MICRO_ROWS][MICRO_COLS]) {
  const ufp4_gemm_t *how = work->job->how;
  memset(sums, 0, sizeof(float[MICRO_ROWS][MICRO_COLS]));
  if (how->contract != UFP4_CONTRACT_NV || how->c == NULL) return;
  for (int64_t i = 0; i < min_i64(work->a.rows - row, MICRO_ROWS); i++) {
    for (int64_t j = 0; j < min_i64(work->b.rows - col, MICRO_COLS); j++) {
      sums[i][j] = how->c[(row + i) * how->c_ld + col + j];
    }
  }
}

static void run_micro(const work_t *work, int64_t row, int64_t col) {
  float sums[MICRO_ROWS][MICRO_COLS];
  start_sums(work, row, col, sums);
  work->micro(&work->a, row, &work->b, col, work->frac, sums);
  for (int64_t i = 0; i < min_i64(work->a.rows - row, MICRO_ROWS); i++) {
    for (int64_t j = 0; j < min_i64(work->b.rows - col, MICRO_COLS); j++) {
      int poisoned = work->a.poisoned[row + i] | work->b.poisoned[col + j];
      gemm_store_f32(work->job, poisoned, sums[i][j], row + i, col + j);
    }
  }
}

static void run_tiles(void *argument) {
  work_t *work = argument;
  const int64_t across = (work->b.rows + MICRO_COLS - 1) / MICRO_COLS;
  for (;;) {
    int64_t tile = atomic_fetch_add(&work->next_tile, 1);
    if (tile >= work->tiles) return;
    int64_t row = tile / across * TILE_ROWS, col = tile % across * MICRO_COLS;
    int64_t end = min_i64(row + TILE_ROWS, work->a.rows);
    for (; row < end; row += MICRO_ROWS) run_micro(work, row, col);
  }
}

static void run_threads(work_t *work) {
  void *arguments[MAX_THREADS];
  for (int i = 0; i < MAX_THREADS; i++) arguments[i] = work;
  int64_t useful = work->a.rows * work->b.rows * work->a.groups * BLOCK / THREAD_MACS + 1;
  int64_t asked = work->job->how->threads > 1 ? work->job->how->threads : 1;
  threads_run(run_tiles, arguments,
              (int)min_i64(min_i64(asked, useful), min_i64(work->tiles, MAX_THREADS)));
}

static gemm_micro_t micro_of(const gemm_job_t *job) {
  if (job->how->contract == UFP4_CONTRACT_FP32) return gemm_fp32_micro(job->a->scale);
  return ufp4_kernel_chosen(job->how->kernel) == UFP4_KERNEL_AVX512 ? gemm_avx512_nv_micro
                                                                    : gemm_nv_micro;
}

ufp4_status_t gemm_rounding(const gemm_job_t *job) {
  work_t work = {.job = job, .frac = ufp4_elem_frac(job->a->elem) + ufp4_elem_frac(job->b->elem)};
  work.micro = micro_of(job);
  work.tiles =
      ((job->a->rows + TILE_ROWS - 1) / TILE_ROWS) * ((job->b->rows + MICRO_COLS - 1) / MICRO_COLS);
  ufp4_status_t status = unpacked_create(job->a, MICRO_ROWS, &work.a);
  if (status != UFP4_OK) return status;
  status = unpacked_create(job->b, MICRO_COLS, &work.b);
  if (status == UFP4_OK) {
    unpacked_fill(job->a, &work.a);
    unpacked_fill(job->b, &work.b);
    run_threads(&work);
    unpacked_free(&work.b);
  }
  unpacked_free(&work.a);
  return status;
}
