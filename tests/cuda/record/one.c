// SPDX-License-Identifier: Apache-2.0
#include "one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// --- Inputs -------------------------------------------------------------------------------------

static uint32_t number(int data, const uint8_t bytes[16]) {
  int sum = -1020;
  for (int i = 0; i < 8; i++) sum += bytes[i];
  const uint32_t sign = (uint32_t)(bytes[12] & 1) << 31;
  const uint32_t any = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8 | (uint32_t)bytes[10] << 16;
  switch (data) {
    case DATA_WIDE:
      return ufp4_f32_from_scaled(sum, bytes[11] % 40 - 30);
    case DATA_ANY:
      return sign | (any & 0x7FFFFF) | (uint32_t)(bytes[11] % 255) << 23;
    case DATA_INTEGERS:
      return ufp4_f32_from_scaled(bytes[8] % 33 - 16, 0);
    default:
      return ufp4_f32_from_scaled(sum, -8);
  }
}

static uint32_t *tensor(int data, uint64_t id, int64_t count) {
  uint32_t *values = malloc((size_t)count * sizeof *values);
  if (values == NULL) return NULL;
  for (int64_t i = 0; i < count; i++) {
    uint8_t bytes[16];
    ufp4_random_block(0x7265636F7264, id, (uint64_t)i, bytes);
    values[i] = number(data, bytes);
  }
  if (data == DATA_NAN) {
    values[count / 3] = UFP4_F32_NAN;
    values[count / 2] = 0xFF800000u;
  }
  return values;
}

// --- Hashes -------------------------------------------------------------------------------------

/** FNV-1a with 64 bits. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
  const uint8_t *from = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ from[i]) * 0x100000001B3u;
  return hash;
}

static uint64_t hash_start(void) {
  return 0xCBF29CE484222325u;
}

static uint64_t hash_operand(const ufp4_operand_t *x) {
  int64_t scale_bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(x, &scale_bytes);
  const int32_t words[2] = {x->exponent, (int32_t)x->flags};
  uint64_t hash = hash_bytes(hash_start(), x->codes, (size_t)(x->rows * x->blocks) * 8);
  hash = hash_bytes(hash, scales, (size_t)scale_bytes);
  hash = hash_bytes(hash, words, sizeof words);
  if (x->scale != UFP4_SCALE_NVFP4) return hash;
  return hash_bytes(hash, &x->tensor_scale, sizeof x->tensor_scale);
}

// --- Quantizer ----------------------------------------------------------------------------------

static ufp4_status_t quantize(const engine_t *engine, const ufp4_matrix_t *in,
                              const ufp4_quantize_t *how, ufp4_operand_t *out) {
  if (engine->state == NULL) return ufp4_quantize(in, how, out);
  return ufp4_backend_cuda.quantize(engine->state, in, how, out);
}

/** Truncates the values to BF16 in place. */
static void make_bf16(uint32_t *values, int64_t count) {
  uint16_t *narrow = (uint16_t *)values;
  for (int64_t i = 0; i < count; i++) narrow[i] = (uint16_t)(values[i] >> 16);
}

ufp4_status_t one_quantize(const quantize_case_t *c, const engine_t *engine, char name[64],
                           uint64_t *hash) {
  const ufp4_quantize_t how = c->how;
  const int64_t rows = c->rows, cols = c->cols;
  const int narrow = c->dtype == UFP4_DTYPE_BF16;
  char words[64] = "";  // complete when a signal handler reads the name, which snprintf empties
                        // first
  snprintf(words, sizeof words, "quantize_%s_%s_%s_%s_%s_%s_%s_%lldx%lld%s", elem_names[how.elem],
           scale_names[how.scale], layout_names[how.layout], rht_names[how.rht],
           round_names[how.round], scale_round_names[how.scale_round],
           how.axis == UFP4_AXIS_ROW ? "row" : "col", (long long)rows, (long long)cols,
           narrow ? "_bf16" : "");
  memcpy(name, words, sizeof words);
  uint32_t *values = tensor(c->data, c->id, rows * cols);
  if (values == NULL) return UFP4_ERROR_MEMORY;
  if (narrow) make_bf16(values, rows * cols);
  const ufp4_matrix_t in = {c->dtype, rows, cols, cols, values};
  ufp4_operand_t out;
  ufp4_status_t status = quantize(engine, &in, &how, &out);
  free(values);
  if (status != UFP4_OK) return status;
  *hash = hash_operand(&out);
  ufp4_operand_free(&out);
  return UFP4_OK;
}

// --- GEMM ---------------------------------------------------------------------------------------

// FEW_FAR: like NEAR, but with one block at an end of the range that the kernels fold into BF16.
static uint8_t any_e8m0(int scales, int64_t index, const uint8_t bytes[16]) {
  static const uint8_t ends[] = {0, 6, 7, 8, 76, 77, 176, 177, 246, 247, 248, 254};
  if (scales == SCALES_FEW_FAR && index == 0) return ends[bytes[9] % sizeof ends];
  if (scales == SCALES_FEW_FAR) return (uint8_t)(120 + bytes[8] % 15);
  return scales == SCALES_NEAR ? (uint8_t)(112 + bytes[8] % 30) : (uint8_t)(bytes[8] % 0xFF);
}

static uint8_t any_scale(int scales, int is_b, int64_t row, int64_t block,
                         const uint8_t bytes[16]) {
  const int is_far = row % 60 == 7 && block % 50 == row / 60;
  if (scales == SCALES_NEAR || (scales == SCALES_NEAR_AND_ANY && !is_b))
    return (uint8_t)((4 + bytes[8] % 8) << 3 | bytes[9] % 8);
  if (scales == SCALES_FEW_FAR) {
    const int exponent = is_far ? 14 : 1 + bytes[8] % 4;
    return (uint8_t)((is_b ? 15 - exponent : exponent) << 3 | bytes[9] % 8);
  }
  return (uint8_t)(bytes[8] % 0x7F);
}

static ufp4_status_t any_operand(const gemm_case_t *c, int is_b, uint64_t id, ufp4_operand_t *out) {
  const int64_t rows = is_b ? c->n : c->m;
  ufp4_status_t status = ufp4_operand_create_scaled(is_b ? c->b : c->a, c->scale, rows, c->k, out);
  for (int64_t i = 0; status == UFP4_OK && i < rows * out->blocks; i++) {
    uint8_t bytes[16];
    ufp4_random_block(0x6F706572616E64, id, (uint64_t)i, bytes);
    memcpy(out->codes + 8 * i, bytes, 8);
    if (i >= rows * out->scale_blocks) continue;
    out->scales[i] = c->scale == UFP4_SCALE_E8M0
                         ? any_e8m0(c->scales, i, bytes)
                         : any_scale(c->scales, is_b, i / out->blocks, i % out->blocks, bytes);
    if (out->elem == UFP4_ELEM_MIXED) out->scales[i] |= bytes[10] & 0x80;
  }
  return status;
}

static ufp4_status_t make_operand(const gemm_case_t *c, int is_b, uint64_t id,
                                  ufp4_operand_t *out) {
  const ufp4_elem_t elem = is_b ? c->b : c->a;
  const int64_t rows = is_b ? c->n : c->m;
  if (c->scales != SCALES_QUANTIZED) return any_operand(c, is_b, id, out);
  const ufp4_quantize_t how = {
      .elem = elem,
      .scale = c->scale,
      .scale_round = c->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
  uint32_t *values = tensor(id % 2 ? DATA_NORMAL : DATA_NAN, id, rows * c->k);
  if (values == NULL) return UFP4_ERROR_MEMORY;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, rows, c->k, c->k, values};
  ufp4_status_t status = ufp4_quantize(&in, &how, out);
  free(values);
  return status;
}

/** Sets @p how for case @p c. *added gets C or other sums, drawn by @p id, and the caller frees
 * it. */
static ufp4_status_t make_how(const gemm_case_t *c, uint64_t id, ufp4_gemm_t *how, void **added) {
  const int64_t count = c->m * c->n;
  how->contract = c->contract;
  how->alpha = 1;
  how->d_dtype = c->d == D_I64                              ? UFP4_DTYPE_I64
                 : c->d == D_BF16 || c->d == D_BF16_ALPHA_C ? UFP4_DTYPE_BF16
                                                            : UFP4_DTYPE_F32;
  if (c->d == D_F32 || c->d == D_BF16) return UFP4_OK;
  uint32_t *values = tensor(DATA_WIDE, id, count * (c->d == D_I64 ? 2 : 1));
  *added = values;
  if (values == NULL) return UFP4_ERROR_MEMORY;
  if (c->d == D_I64) {
    int64_t *sums = *added;
    for (int64_t i = 0; i < count; i++) sums[i] /= 1 << 20;
    how->accumulate = sums;
    how->accumulate_ld = c->n;
  } else {
    how->alpha = 0.3F;
    how->c = *added;
    how->c_ld = c->n;
  }
  return UFP4_OK;
}

static size_t dtype_bytes(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_I64 ? 8 : dtype == UFP4_DTYPE_BF16 ? 2 : 4;
}

static ufp4_status_t multiply(const gemm_case_t *c, uint64_t id, const engine_t *engine,
                              const ufp4_cuda_choice_t *choice, const ufp4_operand_t *a,
                              const ufp4_operand_t *b, uint64_t *hash) {
  ufp4_gemm_t how = {.threads = engine->threads};
  void *added = NULL;
  ufp4_status_t status = make_how(c, id, &how, &added);
  const size_t bytes = (size_t)(c->m * c->n) * dtype_bytes(how.d_dtype);
  void *d = malloc(bytes);
  if (status == UFP4_OK && d == NULL) status = UFP4_ERROR_MEMORY;
  if (status == UFP4_OK)
    status = engine->state == NULL
                 ? ufp4_gemm(a, b, &how, d, c->n)
                 : ufp4_cuda_gemm_with(engine->state, choice, a, b, &how, d, c->n);
  if (status == UFP4_OK) *hash = hash_bytes(hash_start(), d, bytes);
  free(d);
  free(added);
  return status;
}

static const char *const d_names[D_COUNT] = {"", "_dbf16", "_c", "_dbf16_c", "_i64"};

ufp4_status_t one_gemm(const gemm_case_t *c, const gemm_ids_t *ids,
                       const ufp4_cuda_choice_t *choice, const engine_t *engine, char name[64],
                       uint64_t *hash) {
  char words[64] = "";  // complete when a signal handler reads the name, which snprintf empties
                        // first
  snprintf(words, sizeof words, "gemm_%s_%s_%s_%s_%lldx%lldx%lld_tile%d_%s%s",
           contract_names[c->contract], scale_names[c->scale], elem_names[c->a], elem_names[c->b],
           (long long)c->m, (long long)c->n, (long long)c->k, choice->tile,
           choice->product == UFP4_CUDA_PRODUCT_BF16 ? "bf16" : "int8", d_names[c->d]);
  memcpy(name, words, sizeof words);
  ufp4_operand_t a = {0}, b = {0};
  ufp4_status_t status = make_operand(c, 0, ids->a, &a);
  if (status == UFP4_OK) status = make_operand(c, 1, ids->b, &b);
  if (status == UFP4_OK) status = multiply(c, ids->added, engine, choice, &a, &b, hash);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  return status;
}
