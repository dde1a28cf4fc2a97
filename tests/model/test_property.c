// SPDX-License-Identifier: Apache-2.0
// Tests the claims of numerics.md about the arithmetic as a whole, for every scale format and
// contract: the probability of stochastic rounding, and that a GEMM may be cut into tiles.
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// --- Stochastic rounding ------------------------------------------------------------------------

#define ROWS 64
// Groups of 16 per row; there are 8192 in all, so that each byte comes about 32 times for each
// element of a group.
#define GROUPS 128
#define DRAWS 256

// Counts, for one number and each random byte r, how often r was drawn and how often the number was
// then rounded up.
typedef struct {
  int seen[DRAWS], up[DRAWS];
} count_t;

static uint8_t byte_of(const ufp4_quantize_t *how, int64_t group, int element) {
  uint8_t bytes[16];
  ufp4_random_block(how->seed, how->tensor_id, (uint64_t)group, bytes);
  return bytes[element];
}

// The quotient |x| / scale as the quantizer defines it.
typedef struct {
  reference_real_t x, scale;
} quotient_t;

static quotient_t quotient(const ufp4_operand_t *operand, int64_t row, int64_t k, float x) {
  quotient_t out = {reference_f32_real(ufp4_f32_bits(x)), {0, 1, 0}};
  const uint32_t bits = fixture_scale(operand, row * operand->scale_blocks + k / operand->block);
  if (operand->scale == UFP4_SCALE_NVFP4) {  // the FP32 product with the reciprocal of the scales
    const float reciprocal = 1.0f / (ufp4_e4m3_value((uint8_t)bits) * operand->tensor_scale);
    out.x = reference_f32_real(ufp4_f32_bits(x * (reciprocal < FLT_MAX ? reciprocal : FLT_MAX)));
    return out;
  }
  reference_scale_real((reference_scale_t)operand->scale, bits, &out.scale);
  out.scale.exponent -= operand->exponent;
  return out;
}

// Returns whether |x| / scale > low + cell * part / 512, in quanta.
static int is_over(const quotient_t *q, int frac, int low, int cell, int part) {
  const uint64_t right = q->scale.magnitude * (unsigned)(512 * low + cell * part);
  return reference_compare(q->x.magnitude, q->x.exponent, right, q->scale.exponent - frac - 9) > 0;
}

// Returns the index of the largest magnitude that |x| / scale is not under, at most the last but
// one.
static int cell_of(const quotient_t *q, reference_elem_t elem) {
  int k = 6;
  for (; k > 0; k--) {
    const uint64_t low = q->scale.magnitude * (unsigned)reference_elem_magnitude(elem, k);
    const int exponent = q->scale.exponent - reference_elem_frac(elem);
    if (reference_compare(q->x.magnitude, q->x.exponent, low, exponent) >= 0) break;
  }
  return k;
}

// Checks that the code of one element is the one that its random byte demands, and counts it.
static void check_element(int64_t index, const ufp4_operand_t *operand, const ufp4_quantize_t *how,
                          int64_t group, int element, float x, count_t *count) {
  const reference_elem_t elem = fixture_slow_options(how).elem;
  const int64_t row = group / GROUPS, k = group % GROUPS * 16 + element;
  const quotient_t q = quotient(operand, row, k, x < 0 ? -x : x);
  const int cell = cell_of(&q, elem), low = reference_elem_magnitude(elem, cell);
  const int size = reference_elem_magnitude(elem, cell + 1) - low, r = byte_of(how, group, element);
  const int up = is_over(&q, reference_elem_frac(elem), low, size, 2 * r + 1);
  check_bits(index, fixture_code(operand, row, k), reference_elem_encode(elem, x < 0, cell + up),
             "elem %u, scale %u: code of group %lld, element %d, x %a, byte %d", how->elem,
             how->scale, (long long)group, element, (double)x, r);
  count->seen[r]++;
  count->up[r] += up;
}

// Checks that over all 256 bytes a number is rounded up as often as its fraction demands, to within
// half a time.
static void check_probability(int64_t index, const ufp4_operand_t *operand,
                              const ufp4_quantize_t *how, int element, float x,
                              const count_t *count) {
  const reference_elem_t elem = fixture_slow_options(how).elem;
  const quotient_t q = quotient(operand, 0, element, x < 0 ? -x : x);
  const int cell = cell_of(&q, elem), low = reference_elem_magnitude(elem, cell);
  const int size = reference_elem_magnitude(elem, cell + 1) - low;
  int ups = 0;
  for (int r = 0; r < DRAWS; r++) {
    check_that(index, count->seen[r] > 0, "byte %d never came: too few numbers", r);
    check_that(index, count->up[r] == 0 || count->up[r] == count->seen[r], "byte %d: up and down",
               r);
    ups += count->up[r] > 0;
  }
  const int frac = reference_elem_frac(elem);
  check_that(index, ups == 0 || is_over(&q, frac, low, size, 2 * ups - 1),
             "%d of 256 up is too often, x %a", ups, (double)x);
  check_that(index, ups == DRAWS || !is_over(&q, frac, low, size, 2 * ups + 1),
             "%d of 256 up is too seldom, x %a", ups, (double)x);
}

// Quantizes a tensor that repeats one group; the first number is the largest, so that all groups
// have the same scale.
static void check_group(int64_t index, const ufp4_quantize_t *how, const float x[16]) {
  static float values[ROWS * GROUPS * 16];
  static count_t counts[16];
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, GROUPS * 16, GROUPS * 16, values};
  ufp4_operand_t operand;
  memset(counts, 0, sizeof counts);
  for (int i = 0; i < ROWS * GROUPS * 16; i++) values[i] = x[i % 16];
  if (!check_bits(index, (uint64_t)ufp4_quantize(&in, how, &operand), UFP4_OK, "quantize")) return;
  for (int64_t group = 0; group < ROWS * GROUPS; group++) {
    for (int e = 1; e < 16; e++) check_element(index, &operand, how, group, e, x[e], &counts[e]);
  }
  for (int e = 1; e < 16; e++) check_probability(index, &operand, how, e, x[e], &counts[e]);
  ufp4_operand_free(&operand);
}

TEST(stochastic_rounding_is_unbiased) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    // Rounding 46 chooses the scale by the rounded values, so that the byte of one number does not
    // decide its code alone.
    if (how.round != UFP4_ROUND_SR || how.rht != UFP4_RHT_NONE ||
        how.scale_round == UFP4_SCALE_ROUND_46 || !legal_quantize(&how))
      continue;
    float x[16];
    for (int e = 0; e < 16; e++)
      x[e] = ufp4_f32_value(0x3F800000 | (uint32_t)check_below(&random, 1 << 23)) - 1;
    for (int e = 1; e < 16; e += 2) x[e] = -x[e];
    x[0] = 1 + (float)check_below(&random, 1000) / 1000;
    check_group(n, &how, x);
  }
}

// --- Tiles --------------------------------------------------------------------------------------

// Returns rows first .. first + count of an operand as a view of its arrays.
static ufp4_operand_t rows_of(const ufp4_operand_t *whole, int64_t first, int64_t count) {
  ufp4_operand_t part = *whole;
  part.rows = count;
  part.codes += first * whole->blocks * 8;
  if (part.scales != NULL) part.scales += first * whole->scale_blocks;
  if (part.scales_f32 != NULL) part.scales_f32 += first * whole->scale_blocks;
  return part;
}

static void check_tiles(int64_t index, check_random_t *random, const pair_t *p) {
  enum { TILES = 12 };
  const int64_t m = p->a.rows, n = p->b.rows;
  float *whole = malloc((size_t)(m * n) * sizeof *whole),
        *tile = malloc((size_t)(m * n) * sizeof *tile);
  ufp4_gemm_t how = pair_plain(p, UFP4_DTYPE_F32);
  if (whole == NULL || tile == NULL) abort();
  check_bits(index, (uint64_t)ufp4_gemm(&p->a, &p->b, &how, whole, n), UFP4_OK, "whole");
  for (int t = 0; t < TILES; t++) {
    const int64_t i = check_below(random, (uint32_t)m), j = check_below(random, (uint32_t)n);
    const int64_t rows = 1 + check_below(random, (uint32_t)(m - i)),
                  cols = 1 + check_below(random, (uint32_t)(n - j));
    const ufp4_operand_t a = rows_of(&p->a, i, rows), b = rows_of(&p->b, j, cols);
    how.threads = (int)check_below(random, 4);
    how.kernel = (ufp4_kernel_t)check_below(random, UFP4_KERNEL_COUNT);
    if (!ufp4_kernel_available(how.kernel) || how.contract != UFP4_CONTRACT_EXACT)
      how.kernel = UFP4_KERNEL_FASTEST;
    check_bits(index, (uint64_t)ufp4_gemm(&a, &b, &how, tile, cols), UFP4_OK, "tile");
    for (int64_t at = 0; at < rows * cols; at++) {
      const int64_t r = i + at / cols, c = j + at % cols;
      check_bits(index, ufp4_f32_bits(tile[at]), ufp4_f32_bits(whole[r * n + c]),
                 "contract %u, scale %u, D[%lld][%lld] in a tile of %lld x %lld", how.contract,
                 p->a.scale, (long long)r, (long long)c, (long long)rows, (long long)cols);
    }
  }
  free(whole);
  free(tile);
}

TEST(any_tile_of_any_contract_gives_the_same_bits) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t what = legal_gemm_combination(n);
    const int shape[3] = {1 + (int)check_below(&random, 80), 1 + (int)check_below(&random, 80),
                          1 + (int)check_below(&random, 300)};
    if (!legal_gemm(&what)) continue;
    pair_t p = pair_random(&random, n, shape, n % 2 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_NAN);
    check_tiles(n, &random, &p);
    pair_free(&p);
  }
}
