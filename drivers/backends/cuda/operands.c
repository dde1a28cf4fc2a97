// SPDX-License-Identifier: Apache-2.0
// A GPU behind whole operands of the host.
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "ufp4/panel.h"

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

// Words beside the copy of a tensor: of AMAX in two stages, and Sd.
enum { WORD_FLAGS, WORD_LARGEST, WORD_EXPONENT, WORD_TENSOR_SCALE, WORDS };

// One copy of a tensor, on the device.
typedef struct {
  void *source, *codes, *scales, *words;
} quantized_t;

static void release_quantized(state_t *state, quantized_t *q) {
  void *const all[] = {q->source, q->codes, q->scales, q->words};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    state->table->release(state->cuda, all[i]);
}

static ufp4_status_t allocate_quantized(state_t *state, const ufp4_matrix_t *in,
                                        const ufp4_operand_t *out, quantized_t *q) {
  static const int32_t words[WORDS] = {[WORD_LARGEST] = INT32_MAX};
  ufp4_status_t status =
      upload(state, in->data, span_bytes(in->rows, in->cols, in->ld, in->dtype), &q->source);
  if (status == UFP4_OK) status = upload(state, words, sizeof words, &q->words);
  if (status == UFP4_OK) {
    status = state->table->allocate(state->cuda, (size_t)(out->rows * out->blocks) * 8, &q->codes);
  }
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, device_scale_bytes(out), &q->scales);
  return status;
}

static ufp4_cuda_quantize_t describe_whole(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                           const ufp4_operand_t *out, const quantized_t *q) {
  int32_t *words = q->words;
  ufp4_cuda_quantize_t job = {.source = q->source,
                              .dtype = in->dtype,
                              .rows = in->rows,
                              .cols = in->cols,
                              .ld = in->ld,
                              .elem = how->elem,
                              .scale = how->scale,
                              .layout = how->layout,
                              .rht_mask = (uint16_t)how->rht_mask,
                              .round = how->round,
                              .scale_round = how->scale_round,
                              .seed = how->seed,
                              .flags = q->words};
  job.copies[how->axis] = (ufp4_cuda_copy_t){.enabled = 1,
                                             .rht = how->rht,
                                             .tensor_id = how->tensor_id,
                                             .exponent = {words + WORD_EXPONENT, 0},
                                             .codes = q->codes,
                                             .scales = q->scales,
                                             .place = {16 * out->blocks, 1, out->blocks},
                                             .largest = words + WORD_LARGEST,
                                             .tensor_scale = (float *)words + WORD_TENSOR_SCALE};
  if (how->exponent_given)
    job.copies[how->axis].exponent = (ufp4_cuda_exponent_t){NULL, how->exponent};
  return job;
}

static ufp4_status_t run_whole(state_t *state, const ufp4_cuda_quantize_t *job,
                               const ufp4_quantize_t *how, const quantized_t *q) {
  int32_t *words = q->words;
  ufp4_status_t status = UFP4_OK;
  if ((how->scale == UFP4_SCALE_E4M3 && !how->exponent_given) || how->scale == UFP4_SCALE_NVFP4) {
    status = state->table->amax(state->cuda, job);
    if (status == UFP4_OK)
      status = state->table->settle(state->cuda, words + WORD_LARGEST, words + WORD_EXPONENT);
  }
  return status == UFP4_OK ? state->table->quantize(state->cuda, job) : status;
}

static ufp4_status_t download_quantized(state_t *state, const ufp4_quantize_t *how,
                                        const quantized_t *q, ufp4_operand_t *out) {
  int32_t words[WORDS];
  ufp4_status_t status = state->table->read(state->cuda, words, q->words, sizeof words);
  if (status == UFP4_OK) {
    status = state->table->read(state->cuda, out->codes, q->codes,
                                (size_t)(out->rows * out->blocks) * 8);
  }
  if (status == UFP4_OK) status = download_scales(state, q->scales, out);
  if (status != UFP4_OK) return status;
  const uint32_t flags = (uint32_t)words[WORD_FLAGS];
  out->flags = flags & UFP4_FLAG_NAN;
  if (flags & (UFP4_FLAG_ROW_SATURATED | UFP4_FLAG_COL_SATURATED))
    out->flags |= UFP4_FLAG_ROW_SATURATED;
  if (how->scale == UFP4_SCALE_E4M3)
    out->exponent = how->exponent_given ? how->exponent : words[WORD_EXPONENT];
  if (how->scale == UFP4_SCALE_NVFP4)
    memcpy(&out->tensor_scale, &words[WORD_TENSOR_SCALE], sizeof out->tensor_scale);
  return UFP4_OK;
}

ufp4_status_t ufp4_cuda_quantize_operand(state_t *state, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out) {
  const int transposed = how->axis == UFP4_AXIS_COL;
  ufp4_operand_t made;
  quantized_t q = {0};
  ufp4_status_t status =
      ufp4_operand_create_scaled(how->elem, how->scale, transposed ? in->cols : in->rows,
                                 transposed ? in->rows : in->cols, &made);
  if (status != UFP4_OK) return status;
  status = allocate_quantized(state, in, &made, &q);
  if (status == UFP4_OK) {
    const ufp4_cuda_quantize_t job = describe_whole(in, how, &made, &q);
    status = run_whole(state, &job, how, &q);
  }
  if (status == UFP4_OK) status = download_quantized(state, how, &q, &made);
  release_quantized(state, &q);
  if (status == UFP4_OK) {
    *out = made;
  } else {
    ufp4_operand_free(&made);
  }
  return status;
}

// What a GEMM has on the device.
typedef struct {
  void *codes[2], *scales[2], *c, *accumulate, *d;
} multiplied_t;

static void release_multiplied(state_t *state, multiplied_t *x) {
  void *const all[] = {x->codes[0], x->codes[1],   x->scales[0], x->scales[1],
                       x->c,        x->accumulate, x->d};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    state->table->release(state->cuda, all[i]);
}

static ufp4_status_t upload_operand(state_t *state, const ufp4_operand_t *in, int side,
                                    multiplied_t *x, ufp4_cuda_operand_t *out) {
  ufp4_status_t status =
      upload(state, in->codes, (size_t)(in->rows * in->blocks) * 8, &x->codes[side]);
  if (status == UFP4_OK) status = upload_scales(state, in, &x->scales[side]);
  *out = (ufp4_cuda_operand_t){.elem = in->elem,
                               .rows = in->rows,
                               .codes = x->codes[side],
                               .scales = x->scales[side],
                               .place = {16 * in->blocks, 1, in->blocks},
                               .exponent = {NULL, in->exponent}};
  return status;
}

static ufp4_status_t upload_gemm(state_t *state, const ufp4_operand_t *a, const ufp4_operand_t *b,
                                 const ufp4_gemm_t *how, multiplied_t *x, ufp4_cuda_gemm_t *job) {
  const int64_t m = a->rows, n = b->rows;
  ufp4_status_t status = upload_operand(state, a, 0, x, &job->a);
  if (status == UFP4_OK) status = upload_operand(state, b, 1, x, &job->b);
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
  return status;
}

static ufp4_status_t download_d(state_t *state, const ufp4_cuda_gemm_t *job, void *d,
                                int64_t d_ld) {
  const size_t size = dtype_size(job->d_dtype), row = (size_t)job->d_ld * size;
  ufp4_status_t status = UFP4_OK;
  if (d_ld == job->d_ld)
    return state->table->read(state->cuda, d, job->d, row * (size_t)job->a.rows);
  for (int64_t i = 0; i < job->a.rows && status == UFP4_OK; i++) {
    status = state->table->read(state->cuda, (uint8_t *)d + (size_t)(i * d_ld) * size,
                                (const uint8_t *)job->d + (size_t)i * row, row);
  }
  return status;
}

ufp4_status_t ufp4_cuda_gemm_with(state_t *state, const ufp4_cuda_choice_t *choice,
                                  const ufp4_operand_t *a, const ufp4_operand_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  multiplied_t x = {0};
  ufp4_cuda_gemm_t job = {.contract = how->contract,
                          .scale = a->scale,
                          .k = a->cols,
                          .alpha = how->alpha,
                          .tile = choice->tile,
                          .product = choice->product};
  ufp4_status_t status = upload_gemm(state, a, b, how, &x, &job);
  job.scale_product = a->scale == UFP4_SCALE_NVFP4 ? a->tensor_scale * b->tensor_scale : 1.0f;
  job.c = x.c;
  job.c_ld = how->c_ld;
  job.accumulate = x.accumulate;
  job.accumulate_ld = how->accumulate_ld;
  job.d = x.d;
  job.d_dtype = how->d_dtype;
  job.d_ld = b->rows;
  if (status == UFP4_OK) status = state->table->gemm(state->cuda, &job);
  if (status == UFP4_OK) status = download_d(state, &job, d, d_ld);
  release_multiplied(state, &x);
  return status;
}

ufp4_status_t ufp4_cuda_gemm_operands(state_t *state, const ufp4_operand_t *a,
                                      const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                      int64_t d_ld) {
  const ufp4_cuda_choice_t any = {0, UFP4_CUDA_PRODUCT_AUTO};
  return ufp4_cuda_gemm_with(state, &any, a, b, how, d, d_ld);
}
