// SPDX-License-Identifier: Apache-2.0
// The inputs of dpi_tb.sv, drawn with the seed of the run, and the results of the reference model
// where dpi_tb.sv cannot import its functions as they are.
#include <string.h>
#include <svdpi.h>

#include "pair.h"

_Static_assert(LEGAL_QUANTIZE_COUNT == 576 && LEGAL_GEMM_COUNT == 108,
               "Combinations and Products of dpi_tb.sv");

static check_random_t *stream(void) {
  static check_random_t random;
  static int begun;
  if (!begun) random = check_random();
  begun = 1;
  return &random;
}

unsigned long long drawn_bits(void) {
  return check_next(stream());
}

unsigned drawn_number(int distribution) {
  return fixture_number(stream(), (fixture_distribution_t)distribution);
}

unsigned long long seed_of_run(void) {
  return check_seed_of(NULL);
}

// --- Blocks and matrices ------------------------------------------------------------------------

// *t is near the exponent that the block alone would have.
int expected_block(const svBitVecVal *words, int elem, int rht, unsigned short mask, int round,
                   int scale_round, const svBitVecVal *random, int *t, svBitVecVal *codes,
                   unsigned char *scale) {
  const ufp4_quantize_t options = {.elem = (ufp4_elem_t)elem,
                                   .rht = (ufp4_rht_t)rht,
                                   .rht_mask = mask,
                                   .round = (ufp4_round_t)round,
                                   .scale_round = (ufp4_scale_round_t)scale_round};
  const reference_quantize_t how = fixture_slow_options(&options);
  uint8_t bytes[16], unpacked[16];
  uint32_t bits;
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(random[i / 4] >> 8 * (i % 4));
  *t = reference_tensor_exponent(words, 1, 16, &how) + (int)check_below(stream(), 20) - 16;
  const unsigned flags = reference_quantize_block(words, &how, *t, bytes, unpacked, &bits);
  memset(codes, 0, 8);
  for (int i = 0; i < 16; i++) codes[i / 8] |= (uint32_t)unpacked[i] << 4 * (i % 8);
  *scale = (uint8_t)bits;
  return (int)flags;
}

// Combination n of settings. Returns whether it is legal.
int drawn_how(int n, int *elem, int *scale, int *layout, int *rht, int *mask, int *round,
              int *scale_round, unsigned long long *seed, unsigned long long *tensor_id) {
  const ufp4_quantize_t how = legal_quantize_combination(n);
  *elem = (int)how.elem;
  *scale = (int)how.scale;
  *layout = (int)how.layout;
  *rht = (int)how.rht;
  *mask = (int)how.rht_mask;
  *round = (int)how.round;
  *scale_round = (int)how.scale_round;
  *seed = how.seed;
  *tensor_id = how.tensor_id;
  return legal_quantize(&how);
}

// Quantizes with combination n: codes [rows][16 groups] of 4 bits, scales of 32. Returns flags.
int expected_matrix(int n, int rows, int cols, int given, int exponent, const svBitVecVal *x,
                    svBitVecVal *codes, svBitVecVal *scales, int *t, unsigned *tensor_scale) {
  const ufp4_quantize_t options = legal_quantize_combination(n);
  const reference_quantize_t how = fixture_slow_options(&options);
  const int own = given ? exponent : reference_tensor_exponent(x, rows, cols, &how);
  reference_operand_t out = reference_quantize(x, rows, cols, &how, own);
  for (int64_t i = 0; i < rows * out.groups * 16; i++) {
    if (i % 8 == 0) codes[i / 8] = 0;
    codes[i / 8] |= (uint32_t)out.codes[i] << 4 * (i % 8);
  }
  memcpy(scales, out.scales, (size_t)(rows * out.scale_blocks) * sizeof *scales);
  *t = out.t;
  *tensor_scale = out.tensor_scale;
  const int flags = (int)out.flags;
  reference_operand_free(&out);
  return flags;
}

// --- Products -----------------------------------------------------------------------------------

static pair_t pair;

// The operands of combination n, which replace the last ones. Returns whether it is legal.
int drawn_pair(int n, int kind, int rows_a, int rows_b, int k, int *contract, int *scale,
               int *a_elem, int *b_elem) {
  const int shape[3] = {rows_a, rows_b, k};
  pair_free(&pair);
  reference_operand_free(&pair.reference_a);
  reference_operand_free(&pair.reference_b);
  pair = pair_random(stream(), n, shape, (fixture_scales_t)kind);
  pair_set_level(&pair, (int)check_below(stream(), 40) - 20, (int)check_below(stream(), 40) - 20);
  pair.reference_a = fixture_slow_operand(&pair.a);
  pair.reference_b = fixture_slow_operand(&pair.b);
  *contract = (int)pair.what.contract;
  *scale = (int)pair.what.scale;
  *a_elem = (int)pair.what.a;
  *b_elem = (int)pair.what.b;
  return legal_gemm(&pair.what);
}

static const reference_operand_t *side(int b) {
  return b ? &pair.reference_b : &pair.reference_a;
}

unsigned char drawn_code(int b, int i) {
  return side(b)->codes[i];
}

unsigned drawn_scale(int b, int i) {
  return side(b)->scales[i];
}

int drawn_exponent(int b) {
  return side(b)->t;
}

unsigned drawn_tensor_scale(int b) {
  return side(b)->tensor_scale;
}

// c [rows of A][rows of B], FP32 numbers or sums, is added if add is set.
unsigned expected_product(int i, int j, unsigned alpha, int add, const svBitVecVal *c) {
  ufp4_gemm_t how = pair_plain(&pair, UFP4_DTYPE_F32);
  memcpy(&how.alpha, &alpha, sizeof alpha);
  how.c = add ? (const float *)(const void *)c : NULL;
  how.c_ld = pair.b.rows;
  return (unsigned)pair_expected(&pair, &how, i, j);
}

long long expected_sum(int i, int j, int add, const svBitVecVal *c) {
  const svBitVecVal *words = c + 2 * (i * pair.b.rows + j);
  const int64_t start = add ? (int64_t)((uint64_t)words[1] << 32 | words[0]) : 0;
  return reference_gemm_sum(&pair.reference_a, i, &pair.reference_b, j, start);
}
