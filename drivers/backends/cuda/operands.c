// SPDX-License-Identifier: Apache-2.0
// Whole operands on a GPU: those that it keeps, and those in host memory, which it keeps during a
// call.
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

// Returns the bytes of rows in memory, up to the end of the last one.
static size_t span_bytes(int64_t rows, int64_t cols, int64_t ld, ufp4_dtype_t dtype) {
  return (size_t)((rows - 1) * ld + cols) * dtype_size(dtype);
}

// On the device each group of 16 has a scale, so both halves of a block of 32 have the same one.
static size_t scale_size(const ufp4_operand_t *x) {
  return x->scale == UFP4_SCALE_FP32 ? sizeof *x->scales_f32 : 1;
}

static size_t device_scale_bytes(const ufp4_operand_t *x) {
  return (size_t)(x->rows * x->blocks) * scale_size(x);
}

static ufp4_status_t upload_scales(state_t *state, const ufp4_operand_t *in, void *target) {
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(in, &bytes);
  if (in->scale_blocks == in->blocks)
    return state->table->write(state->cuda, target, scales, (size_t)bytes);
  uint8_t *each = malloc(device_scale_bytes(in));
  if (each == NULL) return UFP4_ERROR_MEMORY;
  for (int64_t row = 0; row < in->rows; row++) {
    for (int64_t b = 0; b < in->blocks; b++)
      each[row * in->blocks + b] = scales[row * in->scale_blocks + b / 2];
  }
  ufp4_status_t status = state->table->write(state->cuda, target, each, device_scale_bytes(in));
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

// Words of an operand that depend on its data and are in device memory. The first two are as in
// ufp4_cuda_operand_t.
typedef struct {
  int32_t exponent;
  float tensor_scale;
  uint32_t flags;
} words_t;

struct ufp4_kept {
  ufp4_cuda_operand_t x;
  words_t *words;         // in device memory
  const uint32_t *flags;  // in device memory, of the call that made the operand
  ufp4_axis_t axis;
};

static ufp4_status_t create_kept(state_t *state, const ufp4_operand_t *like, ufp4_kept_t **out) {
  void *codes = NULL, *scales = NULL, *words = NULL;
  ufp4_kept_t *kept = calloc(1, sizeof *kept);
  if (kept == NULL) return UFP4_ERROR_MEMORY;
  ufp4_status_t status =
      state->table->allocate(state->cuda, (size_t)(like->rows * like->blocks) * 8, &codes);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, device_scale_bytes(like), &scales);
  if (status == UFP4_OK) status = state->table->allocate(state->cuda, sizeof *kept->words, &words);
  kept->words = words;
  kept->x =
      (ufp4_cuda_operand_t){.elem = like->elem,
                            .scale = like->scale,
                            .rows = like->rows,
                            .cols = like->cols,
                            .codes = codes,
                            .scales = scales,
                            .exponent = words != NULL ? &kept->words->exponent : NULL,
                            .tensor_scale = words != NULL ? &kept->words->tensor_scale : NULL};
  *out = kept;
  if (status == UFP4_OK) return status;
  ufp4_cuda_kept_free(state, kept);
  *out = NULL;
  return status;
}

void ufp4_cuda_kept_free(state_t *state, ufp4_kept_t *kept) {
  if (kept == NULL) return;
  state->table->release(state->cuda, kept->x.codes);
  state->table->release(state->cuda, kept->x.scales);
  state->table->release(state->cuda, kept->words);
  free(kept);
}

// --- Quantizing ---------------------------------------------------------------------------------

// Returns an operand's sizes without memory.
static ufp4_operand_t operand_like(const ufp4_matrix_t *in, const ufp4_quantize_t *how) {
  const int turned = how->axis == UFP4_AXIS_COL;
  ufp4_operand_t like = {.elem = how->elem,
                         .scale = how->scale,
                         .rows = turned ? in->cols : in->rows,
                         .cols = turned ? in->rows : in->cols};
  like.blocks = (like.cols + 15) / 16;
  return like;
}

// Keeps an existing operand that has these formats and sizes; otherwise replaces it by a new one.
static ufp4_status_t renew(state_t *state, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                           ufp4_kept_t **kept) {
  const ufp4_operand_t like = operand_like(in, how);
  const ufp4_cuda_operand_t *x = *kept != NULL ? &(*kept)->x : NULL;
  if (x != NULL && x->elem == like.elem && x->scale == like.scale && x->rows == like.rows &&
      x->cols == like.cols)
    return UFP4_OK;
  ufp4_cuda_kept_free(state, *kept);
  *kept = NULL;
  return create_kept(state, &like, kept);
}

static ufp4_status_t place_source(state_t *state, const ufp4_matrix_t *in, ufp4_matrix_t *there) {
  const size_t bytes = span_bytes(in->rows, in->cols, in->ld, in->dtype);
  ufp4_status_t status = ufp4_cuda_room(state, bytes, &state->source);
  *there = *in;
  there->data = state->source.memory;
  return status == UFP4_OK ? state->table->write(state->cuda, state->source.memory, in->data, bytes)
                           : status;
}

ufp4_status_t ufp4_cuda_keep(state_t *state, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                             int copies, ufp4_kept_t **out[]) {
  ufp4_cuda_operand_t x[2];
  ufp4_matrix_t there;
  ufp4_cuda_call_t call;
  ufp4_status_t status = place_source(state, in, &there);
  for (int i = 0; i < copies && status == UFP4_OK; i++) {
    status = renew(state, in, &how[i], out[i]);
    if (status != UFP4_OK) break;
    x[i] = (*out[i])->x;
    (*out[i])->axis = how[i].axis;
    (*out[i])->flags = &(*out[0])->words->flags;
  }
  if (status == UFP4_OK)
    status = ufp4_cuda_call(state, state->table->quantize_workspace(state->cuda, &there), &call);
  return status == UFP4_OK ? state->table->quantize(state->cuda, &there, how, x, copies,
                                                    &(*out[0])->words->flags, &call)
                           : status;
}

ufp4_status_t ufp4_cuda_kept_read(state_t *state, const ufp4_kept_t *kept, ufp4_operand_t *out) {
  const ufp4_cuda_operand_t *x = &kept->x;
  words_t words = {0, 1, 0};
  ufp4_status_t status = ufp4_operand_create_scaled(x->elem, x->scale, x->rows, x->cols, out);
  if (status != UFP4_OK) return status;
  status = state->table->read(state->cuda, &words, kept->words, sizeof words);
  if (status == UFP4_OK)
    status = state->table->read(state->cuda, &words.flags, kept->flags, sizeof words.flags);
  if (status == UFP4_OK) {
    status = state->table->read(state->cuda, out->codes, x->codes,
                                (size_t)(out->rows * out->blocks) * 8);
  }
  if (status == UFP4_OK) status = download_scales(state, x->scales, out);
  if (status != UFP4_OK) {
    ufp4_operand_free(out);
    return status;
  }
  const unsigned own =
      kept->axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  out->flags = (words.flags & UFP4_FLAG_NAN) | (words.flags & own ? UFP4_FLAG_ROW_SATURATED : 0);
  if (x->scale == UFP4_SCALE_E4M3) out->exponent = words.exponent;
  if (x->scale == UFP4_SCALE_NVFP4) out->tensor_scale = words.tensor_scale;
  return UFP4_OK;
}

ufp4_status_t ufp4_cuda_quantize_operand(state_t *state, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out) {
  ufp4_kept_t *kept = NULL, **place[] = {&kept};
  ufp4_status_t status = ufp4_cuda_keep(state, in, how, 1, place);
  if (status == UFP4_OK) status = ufp4_cuda_kept_read(state, kept, out);
  ufp4_cuda_kept_free(state, kept);
  return status;
}

// --- Multiplying --------------------------------------------------------------------------------

static ufp4_status_t keep_operand(state_t *state, const ufp4_operand_t *in, ufp4_kept_t **out) {
  const words_t words = {in->exponent, in->tensor_scale, 0};
  ufp4_status_t status = create_kept(state, in, out);
  if (status != UFP4_OK) return status;
  status = state->table->write(state->cuda, (*out)->x.codes, in->codes,
                               (size_t)(in->rows * in->blocks) * 8);
  if (status == UFP4_OK) status = upload_scales(state, in, (*out)->x.scales);
  return status == UFP4_OK ? state->table->write(state->cuda, (*out)->words, &words, sizeof words)
                           : status;
}

// Matrices that a GEMM has in device memory besides its operands.
typedef struct {
  void *c, *accumulate;
} added_t;

// Copies to @p there the matrices that @p how needs in device memory.
static ufp4_status_t upload_added(state_t *state, int64_t m, int64_t n, const ufp4_gemm_t *how,
                                  added_t *x, ufp4_gemm_t *there) {
  ufp4_status_t status = UFP4_OK;
  if (how->c != NULL)
    status = upload(state, how->c, span_bytes(m, n, how->c_ld, UFP4_DTYPE_F32), &x->c);
  if (status == UFP4_OK && how->accumulate != NULL) {
    status = upload(state, how->accumulate, span_bytes(m, n, how->accumulate_ld, UFP4_DTYPE_I64),
                    &x->accumulate);
  }
  *there = *how;
  there->c = x->c;
  there->accumulate = x->accumulate;
  return status;
}

// Copies D, which has no gaps on the device, to rows with a stride.
static ufp4_status_t download_d(state_t *state, ufp4_dtype_t dtype, int64_t m, int64_t n, void *d,
                                int64_t d_ld) {
  const size_t size = dtype_size(dtype), row = (size_t)n * size;
  const uint8_t *from = state->output.memory;
  ufp4_status_t status = UFP4_OK;
  if (d_ld == n) return state->table->read(state->cuda, d, from, row * (size_t)m);
  for (int64_t i = 0; i < m && status == UFP4_OK; i++) {
    status = state->table->read(state->cuda, (uint8_t *)d + (size_t)(i * d_ld) * size,
                                from + (size_t)i * row, row);
  }
  return status;
}

static ufp4_status_t multiply(state_t *state, const ufp4_cuda_choice_t *choice,
                              const ufp4_kept_t *a, const ufp4_kept_t *b, const ufp4_gemm_t *how,
                              void *d, int64_t d_ld) {
  const int64_t m = a->x.rows, n = b->x.rows;
  added_t added = {NULL, NULL};
  ufp4_gemm_t there;
  ufp4_cuda_call_t call;
  ufp4_status_t status = upload_added(state, m, n, how, &added, &there);
  if (status == UFP4_OK)
    status = ufp4_cuda_room(state, (size_t)(m * n) * dtype_size(how->d_dtype), &state->output);
  if (status == UFP4_OK) {
    status = ufp4_cuda_call(
        state, state->table->gemm_workspace(state->cuda, choice, &a->x, &b->x, &there), &call);
  }
  if (status == UFP4_OK) {
    status = state->table->gemm(state->cuda, choice, &a->x, &b->x, &there, state->output.memory, n,
                                &call);
  }
  if (status == UFP4_OK) status = download_d(state, how->d_dtype, m, n, d, d_ld);
  state->table->release(state->cuda, added.c);
  state->table->release(state->cuda, added.accumulate);
  return status;
}

static const ufp4_cuda_choice_t any = {0, UFP4_CUDA_PRODUCT_AUTO};

ufp4_status_t ufp4_cuda_kept_gemm(state_t *state, const ufp4_kept_t *a, const ufp4_kept_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  return multiply(state, &any, a, b, how, d, d_ld);
}

ufp4_status_t ufp4_cuda_gemm_with(state_t *state, const ufp4_cuda_choice_t *choice,
                                  const ufp4_operand_t *a, const ufp4_operand_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  ufp4_kept_t *sides[2] = {NULL, NULL};
  ufp4_status_t status = keep_operand(state, a, &sides[0]);
  if (status == UFP4_OK) status = keep_operand(state, b, &sides[1]);
  if (status == UFP4_OK) status = multiply(state, choice, sides[0], sides[1], how, d, d_ld);
  for (int i = 0; i < 2; i++) ufp4_cuda_kept_free(state, sides[i]);
  return status;
}

ufp4_status_t ufp4_cuda_gemm_operands(state_t *state, const ufp4_operand_t *a,
                                      const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                      int64_t d_ld) {
  return ufp4_cuda_gemm_with(state, &any, a, b, how, d, d_ld);
}
