// SPDX-License-Identifier: Apache-2.0
// A GPU behind whole operands of the host.
#include <stdlib.h>
#include <string.h>

#include "state.h"

static ufp4_status_t upload(state_t *state, const void *data, size_t bytes, void **out) {
  ufp4_status_t status = state->table->allocate(state->cuda, bytes, out);
  return status == UFP4_OK ? state->table->write(state->cuda, *out, data, bytes) : status;
}

static size_t dtype_size(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

// Rows as they lie in memory, up to the end of the last.
static size_t span_bytes(int64_t rows, int64_t cols, int64_t ld, ufp4_dtype_t dtype) {
  return (size_t)((rows - 1) * ld + cols) * dtype_size(dtype);
}

// On the device each group of 16 has a scale, so both halves of a block of 32 have the same.
static size_t scale_size(const ufp4_operand_t *x) {
  return x->scales_f32 != NULL ? sizeof *x->scales_f32 : 1;
}

static size_t device_scale_bytes(const ufp4_operand_t *x) {
  return (size_t)(x->rows * x->blocks) * scale_size(x);
}

static ufp4_status_t upload_scales(state_t *state, const ufp4_operand_t *in, void **out) {
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(in, &bytes);
  if (in->scale_blocks == in->blocks) return upload(state, scales, (size_t)bytes, out);
  uint8_t *each = malloc(device_scale_bytes(in));
  if (each == NULL) return UFP4_ERROR_MEMORY;
  for (int64_t row = 0; row < in->rows; row++) {
    for (int64_t b = 0; b < in->blocks; b++)
      each[row * in->blocks + b] = scales[row * in->scale_blocks + b / 2];
  }
  ufp4_status_t status = upload(state, each, device_scale_bytes(in), out);
  free(each);
  return status;
}

static ufp4_status_t download_scales(state_t *state, const void *from, ufp4_operand_t *out) {
  void *scales = out->scales_f32 != NULL ? (void *)out->scales_f32 : (void *)out->scales;
  if (out->scale_blocks == out->blocks)
    return state->table->read(state->cuda, scales, from, device_scale_bytes(out));
  uint8_t *each = malloc(device_scale_bytes(out));
  if (each == NULL) return UFP4_ERROR_MEMORY;
  ufp4_status_t status = state->table->read(state->cuda, each, from, device_scale_bytes(out));
  for (int64_t row = 0; row < out->rows; row++) {
    for (int64_t b = 0; b < out->scale_blocks; b++)
      out->scales[row * out->scale_blocks + b] = each[row * out->blocks + 2 * b];
  }
  free(each);
  return status;
}

// What depends on the data, on the device: as ufp4_cuda_operand_t has it.
typedef struct {
  int32_t exponent;
  float tensor_scale;
  uint32_t flags;
} words_t;

// An operand on the device.
typedef struct {
  void *codes, *scales;
  words_t *words;
  ufp4_cuda_operand_t x;
} placed_t;

static void release_placed(state_t *state, placed_t *placed) {
  state->table->release(state->cuda, placed->codes);
  state->table->release(state->cuda, placed->scales);
  state->table->release(state->cuda, placed->words);
}

static void describe_placed(const ufp4_operand_t *like, placed_t *placed) {
  placed->x = (ufp4_cuda_operand_t){.elem = like->elem,
                                    .scale = like->scale,
                                    .rows = like->rows,
                                    .cols = like->cols,
                                    .codes = placed->codes,
                                    .scales = placed->scales,
                                    .exponent = &placed->words->exponent,
                                    .tensor_scale = &placed->words->tensor_scale};
}

// --- Quantizing ---------------------------------------------------------------------------------

static ufp4_status_t allocate_placed(state_t *state, const ufp4_operand_t *like,
                                     placed_t *placed) {
  void *words = NULL;
  ufp4_status_t status = state->table->allocate(
      state->cuda, (size_t)(like->rows * like->blocks) * 8, &placed->codes);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, device_scale_bytes(like), &placed->scales);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, sizeof *placed->words, &words);
  placed->words = words;
  describe_placed(like, placed);
  return status;
}

static ufp4_status_t download_placed(state_t *state, const ufp4_quantize_t *how,
                                     const placed_t *placed, ufp4_operand_t *out) {
  words_t words;
  ufp4_status_t status = state->table->read(state->cuda, &words, placed->words, sizeof words);
  if (status == UFP4_OK) {
    status = state->table->read(state->cuda, out->codes, placed->codes,
                                (size_t)(out->rows * out->blocks) * 8);
  }
  if (status == UFP4_OK) status = download_scales(state, placed->scales, out);
  if (status != UFP4_OK) return status;
  out->flags = words.flags & UFP4_FLAG_NAN;
  if (words.flags & (UFP4_FLAG_ROW_SATURATED | UFP4_FLAG_COL_SATURATED))
    out->flags |= UFP4_FLAG_ROW_SATURATED;
  if (how->scale == UFP4_SCALE_E4M3)
    out->exponent = how->exponent_given ? how->exponent : words.exponent;
  if (how->scale == UFP4_SCALE_NVFP4) out->tensor_scale = words.tensor_scale;
  return UFP4_OK;
}

static ufp4_status_t quantize_source(state_t *state, const ufp4_matrix_t *in,
                                     const ufp4_quantize_t *how, const placed_t *placed) {
  void *source = NULL;
  ufp4_matrix_t there = *in;
  ufp4_cuda_call_t call;
  ufp4_status_t status =
      upload(state, in->data, span_bytes(in->rows, in->cols, in->ld, in->dtype), &source);
  there.data = source;
  if (status == UFP4_OK) {
    status =
        ufp4_cuda_call(state, state->table->quantize_workspace(state->cuda, &there), &call);
  }
  if (status == UFP4_OK) {
    status = state->table->quantize(state->cuda, &there, how, &placed->x, 1,
                                    &placed->words->flags, &call);
  }
  state->table->release(state->cuda, source);
  return status;
}

ufp4_status_t ufp4_cuda_quantize_operand(state_t *state, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out) {
  const int transposed = how->axis == UFP4_AXIS_COL;
  ufp4_operand_t made;
  placed_t placed = {0};
  ufp4_status_t status =
      ufp4_operand_create_scaled(how->elem, how->scale, transposed ? in->cols : in->rows,
                                 transposed ? in->rows : in->cols, &made);
  if (status != UFP4_OK) return status;
  status = allocate_placed(state, &made, &placed);
  if (status == UFP4_OK) status = quantize_source(state, in, how, &placed);
  if (status == UFP4_OK) status = download_placed(state, how, &placed, &made);
  release_placed(state, &placed);
  if (status == UFP4_OK) {
    *out = made;
  } else {
    ufp4_operand_free(&made);
  }
  return status;
}

// --- Multiplying --------------------------------------------------------------------------------

static ufp4_status_t upload_operand(state_t *state, const ufp4_operand_t *in, placed_t *placed) {
  const words_t words = {in->exponent, in->tensor_scale, 0};
  void *there = NULL;
  ufp4_status_t status =
      upload(state, in->codes, (size_t)(in->rows * in->blocks) * 8, &placed->codes);
  if (status == UFP4_OK) status = upload_scales(state, in, &placed->scales);
  if (status == UFP4_OK) status = upload(state, &words, sizeof words, &there);
  placed->words = there;
  describe_placed(in, placed);
  return status;
}

// What a GEMM has on the device.
typedef struct {
  placed_t sides[2];
  void *c, *accumulate, *d;
} multiplied_t;

static void release_multiplied(state_t *state, multiplied_t *x) {
  void *const all[] = {x->c, x->accumulate, x->d};
  for (int i = 0; i < 2; i++) release_placed(state, &x->sides[i]);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    state->table->release(state->cuda, all[i]);
}

// Into @p there what @p how has in device memory.
static ufp4_status_t upload_gemm(state_t *state, const ufp4_operand_t *a, const ufp4_operand_t *b,
                                 const ufp4_gemm_t *how, multiplied_t *x, ufp4_gemm_t *there) {
  const int64_t m = a->rows, n = b->rows;
  ufp4_status_t status = upload_operand(state, a, &x->sides[0]);
  if (status == UFP4_OK) status = upload_operand(state, b, &x->sides[1]);
  if (status == UFP4_OK && how->c != NULL) {
    status = upload(state, how->c, span_bytes(m, n, how->c_ld, UFP4_DTYPE_F32), &x->c);
  }
  if (status == UFP4_OK && how->accumulate != NULL) {
    status = upload(state, how->accumulate, span_bytes(m, n, how->accumulate_ld, UFP4_DTYPE_I64),
                    &x->accumulate);
  }
  if (status == UFP4_OK) {
    status = state->table->allocate(state->cuda, (size_t)(m * n) * dtype_size(how->d_dtype), &x->d);
  }
  *there = *how;
  there->c = x->c;
  there->accumulate = x->accumulate;
  return status;
}

// D without gaps becomes rows with some.
static ufp4_status_t download_d(state_t *state, ufp4_dtype_t dtype, int64_t m, int64_t n,
                                const void *from, void *d, int64_t d_ld) {
  const size_t size = dtype_size(dtype), row = (size_t)n * size;
  ufp4_status_t status = UFP4_OK;
  if (d_ld == n) return state->table->read(state->cuda, d, from, row * (size_t)m);
  for (int64_t i = 0; i < m && status == UFP4_OK; i++) {
    status = state->table->read(state->cuda, (uint8_t *)d + (size_t)(i * d_ld) * size,
                                (const uint8_t *)from + (size_t)i * row, row);
  }
  return status;
}

static ufp4_status_t run(state_t *state, const ufp4_cuda_choice_t *choice,
                         const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                         const ufp4_gemm_t *how, void *d) {
  ufp4_cuda_call_t call;
  ufp4_status_t status = ufp4_cuda_call(
      state, state->table->gemm_workspace(state->cuda, choice, a, b, how), &call);
  return status == UFP4_OK
             ? state->table->gemm(state->cuda, choice, a, b, how, d, b->rows, &call)
             : status;
}

ufp4_status_t ufp4_cuda_gemm_with(state_t *state, const ufp4_cuda_choice_t *choice,
                                  const ufp4_operand_t *a, const ufp4_operand_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  multiplied_t x = {0};
  ufp4_gemm_t there;
  ufp4_status_t status = upload_gemm(state, a, b, how, &x, &there);
  if (status == UFP4_OK)
    status = run(state, choice, &x.sides[0].x, &x.sides[1].x, &there, x.d);
  if (status == UFP4_OK)
    status = download_d(state, how->d_dtype, a->rows, b->rows, x.d, d, d_ld);
  release_multiplied(state, &x);
  return status;
}

ufp4_status_t ufp4_cuda_gemm_operands(state_t *state, const ufp4_operand_t *a,
                                      const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                      int64_t d_ld) {
  const ufp4_cuda_choice_t any = {0, UFP4_CUDA_PRODUCT_AUTO};
  return ufp4_cuda_gemm_with(state, &any, a, b, how, d, d_ld);
}
