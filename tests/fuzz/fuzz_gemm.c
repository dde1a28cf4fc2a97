// SPDX-License-Identifier: Apache-2.0
// Compares GEMMs with the reference model: every legal choice of formats and contract, any kernel
// that this processor has and up to 4 threads, and K cut in two between blocks. The input: choices,
// shape, codes and scales, levels.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pair.h"
#include "ufp4/format.h"

static float finite(fuzz_input_t *input) {
  const uint32_t bits = fuzz_u32(input);
  return ufp4_f32_value((bits & 0x7F800000) == 0x7F800000 ? bits ^ 0x40000000 : bits);
}

// An FP32 scale is never negative or infinite.
static uint32_t legal_scale(ufp4_scale_t scale, uint32_t bits) {
  if (scale != UFP4_SCALE_FP32 || (bits & 0x7F800000) != 0x7F800000)
    return bits & (scale == UFP4_SCALE_FP32 ? ~0u >> 1 : 0xFF);
  return UFP4_F32_NAN;
}

static void fill(fuzz_input_t *input, ufp4_operand_t *operand) {
  const size_t scale_bytes = operand->scale == UFP4_SCALE_FP32 ? 4 : 1;
  for (int64_t i = 0; i < operand->rows * operand->scale_blocks; i++) {
    uint32_t bits = 0;
    fuzz_bytes(input, &bits, scale_bytes);
    fixture_set_scale(operand, i, legal_scale(operand->scale, bits));
  }
  fuzz_bytes(input, operand->codes, (size_t)(operand->rows * operand->blocks * 8));
}

// Copies columns first .. first + count of an operand; first is a multiple of 16.
static ufp4_operand_t part_of(const ufp4_operand_t *whole, int64_t first, int64_t count) {
  ufp4_operand_t part;
  fuzz_demand(
      ufp4_operand_create_scaled(whole->elem, whole->scale, whole->rows, count, &part) == UFP4_OK,
      "create");
  part.exponent = whole->exponent;
  part.tensor_scale = whole->tensor_scale;
  for (int64_t r = 0; r < whole->rows; r++) {
    memcpy(part.codes + r * part.blocks * 8, whole->codes + (r * whole->blocks + first / 16) * 8,
           (size_t)part.blocks * 8);
    memcpy(part.scales + r * part.blocks, whole->scales + r * whole->blocks + first / 16,
           (size_t)part.blocks);
  }
  return part;
}

// Checks that D of K in two parts, the first as unrounded sums, equals D in one part.
static void check_split(const pair_t *p, const ufp4_gemm_t *plain, int64_t first) {
  const int64_t m = p->a.rows, n = p->b.rows, k = p->a.cols;
  int64_t *sums = malloc((size_t)(m * n) * sizeof *sums);
  float *whole = malloc((size_t)(m * n) * sizeof *whole),
        *split = malloc((size_t)(m * n) * sizeof *split);
  fuzz_demand(sums != NULL && whole != NULL && split != NULL, "there is memory");
  for (int part = 0; part < 2; part++) {
    ufp4_operand_t a = part_of(&p->a, part ? first : 0, part ? k - first : first);
    ufp4_operand_t b = part_of(&p->b, part ? first : 0, part ? k - first : first);
    ufp4_gemm_t how = *plain;
    how.d_dtype = part ? UFP4_DTYPE_F32 : UFP4_DTYPE_I64;
    how.accumulate = part ? sums : NULL;
    how.accumulate_ld = n;
    fuzz_demand(ufp4_gemm(&a, &b, &how, part ? (void *)split : sums, n) == UFP4_OK,
                "a part is multiplied");
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
  fuzz_demand(ufp4_gemm(&p->a, &p->b, plain, whole, n) == UFP4_OK, "the whole is multiplied");
  fuzz_demand(memcmp(whole, split, (size_t)(m * n) * sizeof *whole) == 0,
              "the parts give the whole");
  free(sums);
  free(whole);
  free(split);
}

static void check_pair(fuzz_input_t *input, pair_t *p) {
  ufp4_gemm_t how = pair_plain(p, fuzz_below(input, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
  const int nv = how.contract == UFP4_CONTRACT_NV;
  const uint32_t extras = fuzz_below(input, 4);
  const int64_t m = p->a.rows, n = p->b.rows, cut = 16 * (int64_t)fuzz_below(input, 9);
  float *c = calloc((size_t)(m * n), sizeof *c);
  fuzz_demand(c != NULL, "there is memory");
  if (extras & 1 && !nv) how.alpha = finite(input);
  for (int64_t i = 0; i < m * n && extras & 2 && !nv; i++) c[i] = ufp4_f32_value(fuzz_u32(input));
  if (extras & 2 && !nv) how.c = c, how.c_ld = n;
  how.threads = (int)fuzz_below(input, 5);
  how.kernel = (ufp4_kernel_t)fuzz_below(input, UFP4_KERNEL_COUNT);
  if (!ufp4_kernel_available(how.kernel)) how.kernel = UFP4_KERNEL_PORTABLE;
  pair_check(how.kernel, p, &how);
  const ufp4_gemm_t plain = {.contract = how.contract, .alpha = 1, .kernel = how.kernel};
  if (how.contract == UFP4_CONTRACT_EXACT && cut > 0 && cut < p->a.cols)
    check_split(p, &plain, cut);
  free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  check_random_t unused = {0};
  const int n = (int)fuzz_below(&input, LEGAL_GEMM_COUNT);
  const legal_gemm_t what = legal_gemm_combination(n);
  if (!legal_gemm(&what)) return 0;
  const int shape[3] = {1 + (int)fuzz_below(&input, 34), 1 + (int)fuzz_below(&input, 34),
                        1 + (int)fuzz_below(&input, 130)};
  pair_t pair = pair_random(&unused, n, shape, FIXTURE_SCALES_ANY);
  fill(&input, &pair.a);
  fill(&input, &pair.b);
  pair_set_level(&pair, (int)fuzz_below(&input, 64) - 32, (int)fuzz_below(&input, 64) - 32);
  check_pair(&input, &pair);
  pair_free(&pair);
  return 0;
}
