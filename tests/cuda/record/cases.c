// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include "one.h"
#include "ufp4/combination.h"

// --- Quantizer ----------------------------------------------------------------------------------

/** Returns combination n of element, scale, layout, transform, rounding and scale rounding; illegal
 * ones are no cases. */
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

/** Returns the combinations that have kernels of their own: NVFP4, E8M0, the transform in BF16. */
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

/** Returns whether combination @p i is one that the quick kernels quantize in whole tiles: a scale
 * in E4M3 for each block. */
static int is_tiled(int i) {
  const ufp4_quantize_t how = combination(i);
  return how.scale == UFP4_SCALE_E4M3 && how.layout == UFP4_LAYOUT_1D && is_combination(i);
}

/** Returns combination number @p n of those that are @p wanted. */
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

static ufp4_status_t run_quantize(int n, ufp4_dtype_t dtype, ufp4_quantize_t how, int64_t rows,
                                  int64_t cols, const engine_t *engine, char name[64],
                                  uint64_t *hash) {
  const quantize_case_t c = {how, dtype, rows, cols, n % DATA_COUNT, (uint64_t)n};
  return one_quantize(&c, engine, name, hash);
}

// --- GEMM ---------------------------------------------------------------------------------------

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
    // Larger cases.
    CASE(EXACT, E4M3, E1M2, E1M2, QUANTIZED, 1000, 1100, 4100),
    CASE(EXACT, E4M3, E2M1, E2M1, ANY, 1024, 1024, 2048),
    CASE(FP32, E4M3, E1M2, E1M2, QUANTIZED, 1000, 1100, 4100),
    CASE(FP32, E4M3, E2M1, E2M1, ANY, 1024, 1024, 2048),
    // Contract exact with two and three digits; partial panels and chunks; values of k at which
    // 32-bit sums of digits are added up in between.
    CASE(EXACT, E4M3, E1M2, E1M2, NEAR, 300, 260, 1000),
    CASE(EXACT, E4M3, INT4, E2M1, NEAR_AND_ANY, 257, 129, 700),
    CASE(EXACT, E4M3, E2M1, E1M2, FEW_FAR, 200, 390, 3000),
    CASE(EXACT, E4M3, INT4, INT4, ANY, 129, 257, 2050),
    CASE(EXACT, E4M3, E1M2, INT4, NEAR, 40, 30, 40000),
    CASE(EXACT, E4M3, E2M1, E2M1, FEW_FAR, 30, 40, 40000),
    CASE(FP32, E4M3, E1M2, E2M1, NEAR, 200, 390, 3000),
    // E8M0, and NVFP4 with both contracts.
    CASE(FP32, E8M0, E2M1, E2M1, QUANTIZED, 257, 129, 500),
    CASE(FP32, E8M0, INT4, E1M2, NEAR, 130, 70, 1000),
    CASE(FP32, E8M0, E2M1, INT4, ANY, 63, 200, 333),
    CASE(EXACT, NVFP4, E2M1, E2M1, QUANTIZED, 130, 200, 500),
    CASE(FP32, NVFP4, E2M1, E2M1, QUANTIZED, 130, 200, 500),
    CASE(FP32, E8M0, E2M1, E2M1, QUANTIZED, 1000, 1100, 4100),
    CASE(FP32, E8M0, E1M2, E2M1, NEAR, 1024, 1024, 2048),
    // Every kind of output for each kernel; the number of columns is odd, so that the last column
    // has no partner.
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
    // More tiles than multiprocessors, so that thread blocks process a second tile.
    CASE(FP32, E4M3, E1M2, E2M1, NEAR, 4100, 2050, 64),
    CASE(FP32, E8M0, E2M1, E2M1, NEAR, 4100, 2050, 64),
    CASE(FP32, E8M0, E2M1, E2M1, FEW_FAR, 300, 260, 500),
};
// Contract nv, each case in large and in small tiles.
static const gemm_case_t nv_cases[] = {
    CASE(NV, E4M3, E2M1, E2M1, ANY, 130, 70, 1000),
    CASE(NV, E4M3, E2M1, E2M1, NEAR, 257, 129, 500),
    CASE(NV, E4M3, E2M1, E2M1, FEW_FAR, 63, 200, 333),
    CASE(NV, NVFP4, E2M1, E2M1, QUANTIZED, 130, 200, 500),
    CASE(NV, NVFP4, E2M1, E2M1, QUANTIZED, 200, 131, 300, D_BF16),
    CASE(NV, E4M3, E2M1, E2M1, ANY, 1, 1, 16, D_BF16),
    CASE(NV, E4M3, E2M1, E2M1, ANY, 1024, 1024, 2048),
};
#define NV_CHOICES 2
#define NV_GEMMS ((int)(sizeof nv_cases / sizeof nv_cases[0]) * NV_CHOICES)
#define QUICK_GEMMS 7            // these have numbers before the larger tensors
#define FIRST_GEMMS 18           // these have numbers before the other quantizers
#define QUICK_PRODUCTS 20000000  // limit of m * n * k for quick cases
#define ALL_GEMMS ((int)(sizeof gemm_cases / sizeof gemm_cases[0]))

static const ufp4_cuda_choice_t choices[] = {
    {128, UFP4_CUDA_PRODUCT_BF16}, {64, UFP4_CUDA_PRODUCT_BF16}, {128, UFP4_CUDA_PRODUCT_INT8}};
#define CHOICES 3

/** @return the place in gemm_cases of case @p n of those for fp32_kernel, or with -1 the number of
 * such cases. */
static int tall_gemm(int n) {
  int count = 0;
  for (int i = 0; i < ALL_GEMMS; i++) {
    if (gemm_cases[i].contract == UFP4_CONTRACT_FP32 && gemm_cases[i].scale != UFP4_SCALE_FP32 &&
        count++ == n)
      return i;
  }
  return count;
}

static ufp4_status_t run_tall_gemm(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  static const ufp4_cuda_choice_t choice = {192, UFP4_CUDA_PRODUCT_BF16};
  const int i = tall_gemm(n);
  const gemm_ids_t ids = {2u * (unsigned)i, 1001, 1002};
  return one_gemm(&gemm_cases[i], &ids, &choice, engine, name, hash);
}

static ufp4_status_t run_gemm(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  const gemm_ids_t ids = {2u * (unsigned)n / CHOICES, 1001, 1002};
  return one_gemm(&gemm_cases[n / CHOICES], &ids, &choices[n % CHOICES], engine, name, hash);
}

static ufp4_status_t run_nv_gemm(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  const gemm_ids_t ids = {2u * (unsigned)(n / NV_CHOICES) + 5000, 5001, 5002};
  return one_gemm(&nv_cases[n / NV_CHOICES], &ids, &choices[n % NV_CHOICES], engine, name, hash);
}

// --- All ----------------------------------------------------------------------------------------

/** Sections of case numbers, in their order. A case that is added to gemm_cases comes at the end of
 * MORE_GEMMS, which moves the numbers of the last two sections. */
typedef enum {
  SMALL,
  QUICK,
  LARGE,
  GEMMS,
  OTHER_SMALL,
  OTHER_LARGE,
  TILED,
  MORE_GEMMS,
  TALL_GEMMS,  // the cases of contract fp32 again, in tiles of 192 rows
  NV_SECTION,
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
    case TALL_GEMMS:
      return tall_gemm(-1);
    case NV_SECTION:
      return NV_GEMMS;
    default:
      return count_of(is_other);
  }
}

/** Returns the section of case *n, and sets *n to its number there. */
static section_t section_of(int *n) {
  int section = 0;
  for (; section < SECTIONS - 1 && *n >= section_cases((section_t)section); section++)
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
  if (section != MORE_GEMMS && section != TALL_GEMMS && section != NV_SECTION)
    return section == SMALL || section == QUICK || section == OTHER_SMALL || section == TILED;
  const gemm_case_t *c = section == NV_SECTION   ? &nv_cases[n / NV_CHOICES]
                         : section == TALL_GEMMS ? &gemm_cases[tall_gemm(n)]
                                                 : &gemm_cases[FIRST_GEMMS + n / CHOICES];
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
    case TALL_GEMMS:
      return gemm_way(tall_gemm(n) * CHOICES);
    case NV_SECTION:
      return CASES_NV;
    default:
      return gemm_way(n + FIRST_GEMMS * CHOICES);
  }
}

ufp4_status_t cases_run(int n, const engine_t *engine, char name[64], uint64_t *hash) {
  const section_t section = section_of(&n);
  // The large ones have over 64,000 blocks each, more than a million together.
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
    case TALL_GEMMS:
      return run_tall_gemm(n, engine, name, hash);
    case NV_SECTION:
      return run_nv_gemm(n, engine, name, hash);
    default:
      return run_gemm(n + FIRST_GEMMS * CHOICES, engine, name, hash);
  }
}
