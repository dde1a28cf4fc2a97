// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// --- Inputs -------------------------------------------------------------------------------------

/** Numbers of a tensor: Gaussian-like; the same over 40 binades; any finite pattern; small
 * integers, which make ties; and the first again with a NaN and an Inf somewhere. */
enum { DATA_NORMAL, DATA_WIDE, DATA_ANY, DATA_INTEGERS, DATA_NAN, DATA_COUNT };

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

/** FNV-1a, 64 bits. */
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

/** Combination n of element, scale, layout, transform, rounding and scale rounding; what is not
 * legal is no case. */
#define COMBINATIONS (3 * 2 * 2 * 2 * 2 * 2)
static ufp4_quantize_t combination(int n) {
  static const ufp4_scale_t scales[] = {UFP4_SCALE_E4M3, UFP4_SCALE_FP32};
  return (ufp4_quantize_t){.elem = (ufp4_elem_t)(n % 3),
                           .scale = scales[n / 3 % 2],
                           .layout = (ufp4_layout_t)(n / 6 % 2),
                           .rht = (ufp4_rht_t)(n / 12 % 2),
                           .round = (ufp4_round_t)(n / 24 % 2),
                           .scale_round = (ufp4_scale_round_t)(n / 48 % 2),
                           .rht_mask = UFP4_RHT_DEFAULT_MASK,
                           .axis = (ufp4_axis_t)(n % 2),
                           .seed = 0x0123456789ABCDEFu,
                           .tensor_id = (uint64_t)n};
}

/** The same of what is quantized by kernels of its own: NVFP4, E8M0, the transform in BF16. */
#define OTHERS (3 * 3 * 2 * 3 * 2 * 4)
static ufp4_quantize_t other_combination(int n) {
  static const ufp4_scale_t scales[] = {UFP4_SCALE_E4M3, UFP4_SCALE_NVFP4, UFP4_SCALE_E8M0};
  ufp4_quantize_t how = combination(n % 3);
  how.scale = scales[n / 3 % 3];
  how.layout = (ufp4_layout_t)(n / 9 % 2);
  how.rht = (ufp4_rht_t)(n / 18 % 3);
  how.round = (ufp4_round_t)(n / 54 % 2);
  how.scale_round = (ufp4_scale_round_t)(n / 108 % 4);
  how.axis = (ufp4_axis_t)(n % 2);
  how.tensor_id = (uint64_t)n;
  return how;
}

static int is_legal(const ufp4_quantize_t *how) {
  return ufp4_combination_quantize(how, 0, "cuda", NULL) == UFP4_OK;
}

static int is_combination(int i) {
  const ufp4_quantize_t how = combination(i);
  return i < COMBINATIONS && is_legal(&how);
}

static int is_other(int i) {
  const ufp4_quantize_t how = other_combination(i);
  return (how.scale != UFP4_SCALE_E4M3 || how.rht == UFP4_RHT_BF16) && is_legal(&how);
}

/** E4M3 scales for each block: what the quick kernels take in whole tiles. */
static int is_tiled(int i) {
  const ufp4_quantize_t how = combination(i);
  return how.scale == UFP4_SCALE_E4M3 && how.layout == UFP4_LAYOUT_1D && is_combination(i);
}

/** The combination that is number @p n of those that are @p wanted. */
static int nth(int (*wanted)(int i), int n) {
  for (int i = 0; i < OTHERS; i++) {
    if (wanted(i) && n-- == 0) return i;
  }
  return -1;
}

static int count_of(int (*wanted)(int i)) {
  int count = 0;
  for (int i = 0; i < OTHERS; i++) count += wanted(i);
  return count;
}

/** In place, cut off. */
static void make_bf16(uint32_t *values, int64_t count) {
  uint16_t *narrow = (uint16_t *)values;
  for (int64_t i = 0; i < count; i++) narrow[i] = (uint16_t)(values[i] >> 16);
}

static ufp4_status_t run_quantize(int n, ufp4_dtype_t dtype, ufp4_quantize_t how, int64_t rows,
                                  int64_t cols, const engine_t *engine, char name[64],
                                  uint64_t *hash) {
  const int data = n % DATA_COUNT, narrow = dtype == UFP4_DTYPE_BF16;
  char words[64] = "";  // whole when a signal looks at the name, which snprintf empties first
  snprintf(words, sizeof words, "quantize_%s_%s_%s_%s_%s_%s_%s_%lldx%lld%s", elem_names[how.elem],
           scale_names[how.scale], layout_names[how.layout], rht_names[how.rht],
           round_names[how.round], scale_round_names[how.scale_round],
           how.axis == UFP4_AXIS_ROW ? "row" : "col", (long long)rows, (long long)cols,
           narrow ? "_bf16" : "");
  memcpy(name, words, sizeof words);
  uint32_t *values = tensor(data, (uint64_t)n, rows * cols);
  if (values == NULL) return UFP4_ERROR_MEMORY;
  if (narrow) make_bf16(values, rows * cols);
  const ufp4_matrix_t in = {dtype, rows, cols, cols, values};
  ufp4_operand_t out;
  ufp4_status_t status = quantize(engine, &in, &how, &out);
  free(values);
  if (status != UFP4_OK) return status;
  *hash = hash_operand(&out);
  ufp4_operand_free(&out);
  return UFP4_OK;
}

// --- GEMM ---------------------------------------------------------------------------------------

/** What is multiplied: quantized data, or any codes, which no quantizer would make, with scales but
 * NaN: any; within 8 binades; as the second for A and the first for B; and within 4 but for a few
 * far away, above in A and below in B. */
enum { SCALES_QUANTIZED, SCALES_ANY, SCALES_NEAR, SCALES_NEAR_AND_ANY, SCALES_FEW_FAR };

/** What comes out: FP32 as it is; BF16; either with alpha and C; and unrounded sums, added to
 * others. */
enum { D_F32, D_BF16, D_F32_ALPHA_C, D_BF16_ALPHA_C, D_I64, D_COUNT };
static const char *const d_names[D_COUNT] = {"", "_dbf16", "_c", "_dbf16_c", "_i64"};

typedef struct {
  ufp4_contract_t contract;
  ufp4_scale_t scale;
  ufp4_elem_t a, b;
  int scales;
  int64_t m, n, k;
  int d;
} gemm_case_t;

#define CASE(contract_, scale_, a_, b_, scales_, ...) \
  {.contract = UFP4_CONTRACT_##contract_,             \
   .scale = UFP4_SCALE_##scale_,                      \
   UFP4_ELEM_##a_,                                    \
   UFP4_ELEM_##b_,                                    \
   SCALES_##scales_,                                  \
   __VA_ARGS__}
static const gemm_case_t gemm_cases[] = {
    CASE(EXACT, E4M3, E1M2, E1M2, QUANTIZED, 257, 129, 500),
    CASE(EXACT, E4M3, E2M1, E2M1, ANY, 130, 70, 1000),
    CASE(EXACT, E4M3, INT4, E2M1, ANY, 63, 200, 333),
    CASE(FP32, E4M3, E1M2, E1M2, QUANTIZED, 257, 129, 500),
    CASE(FP32, E4M3, E2M1, E2M1, ANY, 130, 70, 1000),
    CASE(FP32, E4M3, INT4, E2M1, ANY, 63, 200, 333),
    CASE(FP32, FP32, E2M1, E1M2, QUANTIZED, 130, 70, 300),
    // The larger ones.
    CASE(EXACT, E4M3, E1M2, E1M2, QUANTIZED, 1000, 1100, 4100),
    CASE(EXACT, E4M3, E2M1, E2M1, ANY, 1024, 1024, 2048),
    CASE(FP32, E4M3, E1M2, E1M2, QUANTIZED, 1000, 1100, 4100),
    CASE(FP32, E4M3, E2M1, E2M1, ANY, 1024, 1024, 2048),
    // Two and three digits in the contract exact; panels and chunks that are not whole; k for which
    // 32-bit sums of digits are taken up in between.
    CASE(EXACT, E4M3, E1M2, E1M2, NEAR, 300, 260, 1000),
    CASE(EXACT, E4M3, INT4, E2M1, NEAR_AND_ANY, 257, 129, 700),
    CASE(EXACT, E4M3, E2M1, E1M2, FEW_FAR, 200, 390, 3000),
    CASE(EXACT, E4M3, INT4, INT4, ANY, 129, 257, 2050),
    CASE(EXACT, E4M3, E1M2, INT4, NEAR, 40, 30, 40000),
    CASE(EXACT, E4M3, E2M1, E2M1, FEW_FAR, 30, 40, 40000),
    CASE(FP32, E4M3, E1M2, E2M1, NEAR, 200, 390, 3000),
    // E8M0, and NVFP4 by both contracts.
    CASE(FP32, E8M0, E2M1, E2M1, QUANTIZED, 257, 129, 500),
    CASE(FP32, E8M0, INT4, E1M2, NEAR, 130, 70, 1000),
    CASE(FP32, E8M0, E2M1, INT4, ANY, 63, 200, 333),
    CASE(EXACT, NVFP4, E2M1, E2M1, QUANTIZED, 130, 200, 500),
    CASE(FP32, NVFP4, E2M1, E2M1, QUANTIZED, 130, 200, 500),
    CASE(FP32, E8M0, E2M1, E2M1, QUANTIZED, 1000, 1100, 4100),
    CASE(FP32, E8M0, E1M2, E2M1, NEAR, 1024, 1024, 2048),
    // What a GEMM may do with its sums, by each kernel; odd columns, of which the last has no pair.
    CASE(FP32, E4M3, E1M2, E1M2, QUANTIZED, 257, 129, 500, D_BF16),
    CASE(FP32, E4M3, E2M1, E1M2, NEAR, 200, 131, 300, D_BF16_ALPHA_C),
    CASE(FP32, E4M3, INT4, E2M1, ANY, 63, 200, 333, D_F32_ALPHA_C),
    CASE(FP32, FP32, E2M1, E1M2, QUANTIZED, 130, 71, 300, D_BF16),
    CASE(FP32, E8M0, E2M1, E2M1, QUANTIZED, 130, 71, 500, D_BF16),
    CASE(FP32, E8M0, INT4, E1M2, NEAR, 70, 130, 300, D_BF16_ALPHA_C),
    CASE(FP32, NVFP4, E2M1, E2M1, QUANTIZED, 200, 131, 300, D_BF16),
    CASE(EXACT, NVFP4, E2M1, E2M1, QUANTIZED, 200, 131, 300, D_BF16_ALPHA_C),
    CASE(EXACT, E4M3, E1M2, E1M2, NEAR, 257, 129, 500, D_BF16),
    CASE(EXACT, E4M3, E2M1, E1M2, FEW_FAR, 200, 131, 300, D_BF16_ALPHA_C),
    CASE(EXACT, E4M3, INT4, E2M1, ANY, 63, 200, 333, D_F32_ALPHA_C),
    CASE(EXACT, E4M3, E1M2, INT4, NEAR, 130, 71, 300, D_I64),
    CASE(EXACT, E4M3, INT4, INT4, ANY, 129, 40, 300, D_I64),
    CASE(EXACT, E4M3, E2M1, E2M1, ANY, 1, 1, 16, D_BF16),
};
#define QUICK_GEMMS 7            // numbered before the larger tensors
#define FIRST_GEMMS 18           // numbered before the other quantizers
#define QUICK_PRODUCTS 20000000  // of those numbered behind
#define ALL_GEMMS ((int)(sizeof gemm_cases / sizeof gemm_cases[0]))

static const ufp4_cuda_choice_t choices[] = {
    {128, UFP4_CUDA_PRODUCT_BF16}, {64, UFP4_CUDA_PRODUCT_BF16}, {128, UFP4_CUDA_PRODUCT_INT8}};
#define CHOICES 3

static uint8_t any_e8m0(int scales, const uint8_t bytes[16]) {
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
                         ? any_e8m0(c->scales, bytes)
                         : any_scale(c->scales, is_b, i / out->blocks, i % out->blocks, bytes);
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

/** @p how as case @p c wants it, with C or other sums, drawn by @p id, in *added, which the caller
 * frees. */
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

static ufp4_status_t multiply(const gemm_case_t *c, const engine_t *engine,
                              const ufp4_cuda_choice_t *choice, const ufp4_operand_t *a,
                              const ufp4_operand_t *b, uint64_t *hash) {
  ufp4_gemm_t how = {.threads = engine->threads};
  void *added = NULL;
  ufp4_status_t status = make_how(c, 1002, &how, &added);
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

static ufp4_status_t run_gemm(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  const gemm_case_t *c = &gemm_cases[n / CHOICES];
  const ufp4_cuda_choice_t *choice = &choices[n % CHOICES];
  char words[64] = "";  // whole when a signal looks at the name, which snprintf empties first
  snprintf(words, sizeof words, "gemm_%s_%s_%s_%s_%lldx%lldx%lld_tile%d_%s%s",
           contract_names[c->contract], scale_names[c->scale], elem_names[c->a], elem_names[c->b],
           (long long)c->m, (long long)c->n, (long long)c->k, choice->tile,
           choice->product == UFP4_CUDA_PRODUCT_BF16 ? "bf16" : "int8", d_names[c->d]);
  memcpy(name, words, sizeof words);
  ufp4_operand_t a = {0}, b = {0};
  ufp4_status_t status = make_operand(c, 0, 2u * (unsigned)n / CHOICES, &a);
  if (status == UFP4_OK) status = make_operand(c, 1, 1001, &b);
  if (status == UFP4_OK) status = multiply(c, engine, choice, &a, &b, hash);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  return status;
}

// --- All ----------------------------------------------------------------------------------------

/** Sections of numbers, in their order. What is added to gemm_cases comes behind all others. */
typedef enum {
  SMALL,
  QUICK,
  LARGE,
  GEMMS,
  OTHER_SMALL,
  OTHER_LARGE,
  TILED,
  MORE_GEMMS,
  SECTIONS
} section_t;

static int section_cases(section_t section) {
  switch (section) {
    case SMALL:
    case LARGE:
      return count_of(is_combination);
    case QUICK:
      return QUICK_GEMMS * CHOICES;
    case GEMMS:
      return (FIRST_GEMMS - QUICK_GEMMS) * CHOICES;
    case TILED:
      return count_of(is_tiled);
    case MORE_GEMMS:
      return (ALL_GEMMS - FIRST_GEMMS) * CHOICES;
    default:
      return count_of(is_other);
  }
}

/** That of case *n, which becomes its number there. */
static section_t section_of(int *n) {
  int section = 0;
  for (; section < MORE_GEMMS && *n >= section_cases((section_t)section); section++)
    *n -= section_cases((section_t)section);
  return (section_t)section;
}

int cases_count(void) {
  int count = 0;
  for (int section = 0; section < SECTIONS; section++) count += section_cases((section_t)section);
  return count;
}

int cases_fewest(void) {
  return section_cases(SMALL) + section_cases(QUICK);
}

int cases_is_quick(int n) {
  const section_t section = section_of(&n);
  if (section != MORE_GEMMS)
    return section == SMALL || section == QUICK || section == OTHER_SMALL || section == TILED;
  const gemm_case_t *c = &gemm_cases[FIRST_GEMMS + n / CHOICES];
  return c->m * c->n * c->k <= QUICK_PRODUCTS;
}

static const char *gemm_way(int n) {
  const gemm_case_t *c = &gemm_cases[n / CHOICES];
  const ufp4_cuda_choice_t *choice = &choices[n % CHOICES];
  if (c->d != D_F32) return "outputs";
  if (c->scale == UFP4_SCALE_E8M0) return "e8m0";
  if (c->scale == UFP4_SCALE_NVFP4) return "nvfp4";
  if (choice->tile == 64) return "tile64";
  if (c->contract == UFP4_CONTRACT_EXACT)
    return c->scales == SCALES_QUANTIZED || c->scales == SCALES_NEAR ? "exact_near" : "exact_far";
  return c->scale == UFP4_SCALE_FP32 || choice->product == UFP4_CUDA_PRODUCT_INT8 ? "tile128"
                                                                                  : "fp32";
}

const char *cases_way(int n) {
  switch (section_of(&n)) {
    case SMALL:
    case LARGE:
      return "quantize";
    case OTHER_SMALL:
    case OTHER_LARGE:
      return "scales";
    case TILED:
      return "quick";
    case QUICK:
      return gemm_way(n);
    case GEMMS:
      return gemm_way(n + QUICK_GEMMS * CHOICES);
    default:
      return gemm_way(n + FIRST_GEMMS * CHOICES);
  }
}

ufp4_status_t cases_run(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  const section_t section = section_of(&n);
  // Over 64,000 blocks each of the large ones: more than a million together.
  switch (section) {
    case SMALL:
    case LARGE:
      return run_quantize(n, UFP4_DTYPE_F32, combination(nth(is_combination, n)),
                          section == LARGE ? 1000 : 65 + n, section == LARGE ? 1040 : 131, engine,
                          name, hash);
    case OTHER_SMALL:
    case OTHER_LARGE:
      return run_quantize(n, UFP4_DTYPE_F32, other_combination(nth(is_other, n)),
                          section == OTHER_LARGE ? 1000 : 65 + n,
                          section == OTHER_LARGE ? 1040 : 131, engine, name, hash);
    case TILED:
      return run_quantize(n, n % 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32,
                          combination(nth(is_tiled, n)), 100, 200, engine, name, hash);
    case QUICK:
      return run_gemm(n, engine, name, hash);
    case GEMMS:
      return run_gemm(n + QUICK_GEMMS * CHOICES, engine, name, hash);
    default:
      return run_gemm(n + FIRST_GEMMS * CHOICES, engine, name, hash);
  }
}
