// SPDX-License-Identifier: Apache-2.0
// Tests GEMMs with mixed elements (numerics.md 5), each contract by each kernel: bit 7 of a block's
// scale byte selects the grid of its quanta.
#include <stdlib.h>

#include "pair.h"
#include "ufp4/format.h"

static const ufp4_kernel_t kernels[] = {UFP4_KERNEL_PORTABLE, UFP4_KERNEL_AVX2, UFP4_KERNEL_AVX512};
#define KERNELS ((int)(sizeof kernels / sizeof kernels[0]))

/** Returns pair @p n of 7 in which one or both operands are mixed. */
static pair_t pair_of(check_random_t *random, int n, ufp4_scale_t scale, const int shape[3],
                      fixture_scales_t scales) {
  const ufp4_elem_t other = (ufp4_elem_t)(n % 4);
  pair_t p = {.what = {UFP4_ELEM_MIXED, other, scale, UFP4_CONTRACT_EXACT}};
  if (n > 3) p.what.a = other, p.what.b = UFP4_ELEM_MIXED;
  p.a = fixture_operand_scaled(random, p.what.a, scale, shape[0], shape[2], scales);
  p.b = fixture_operand_scaled(random, p.what.b, scale, shape[1], shape[2], scales);
  return p;
}

static void check_kernels(int64_t index, pair_t *p, ufp4_contract_t contract, ufp4_dtype_t dtype) {
  ufp4_gemm_t how = {.contract = contract, .d_dtype = dtype, .alpha = 1};
  const int int4 = p->what.a == UFP4_ELEM_INT4 || p->what.b == UFP4_ELEM_INT4;
  if (contract == UFP4_CONTRACT_NV && int4) return;
  for (int k = 0; k < KERNELS; k++) {
    how.kernel = kernels[k];
    if (ufp4_kernel_available(how.kernel)) pair_check(index, p, &how);
  }
}

static void sweep(ufp4_contract_t contract) {
  static const int shapes[][3] = {{1, 1, 1}, {3, 5, 17}, {17, 19, 33}, {9, 34, 130}, {2, 3, 1040}};
  check_random_t random = check_random();
  for (int i = 0; i < 7 * 5 * FIXTURE_SCALES_COUNT; i++) {
    pair_t p = pair_of(&random, i % 7, i % 2 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3,
                       shapes[i / 7 % 5], (fixture_scales_t)(i / 35));
    pair_set_level(&p, (int)check_below(&random, 40) - 20, (int)check_below(&random, 40) - 20);
    check_kernels(i, &p, contract, check_below(&random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    if (contract == UFP4_CONTRACT_EXACT) check_kernels(i, &p, contract, UFP4_DTYPE_I64);
    pair_free(&p);
  }
}

TEST(exact) {
  sweep(UFP4_CONTRACT_EXACT);
}
TEST(fp32) {
  sweep(UFP4_CONTRACT_FP32);
}
TEST(nv) {
  sweep(UFP4_CONTRACT_NV);
}

// Each sum is one code under one scale byte times 1; B is zero elsewhere.
TEST(every_code_with_every_scale_byte) {
  enum { BYTES = 256, CODES = 16 };
  ufp4_operand_t a, ones;
  if (ufp4_operand_create(UFP4_ELEM_MIXED, BYTES, CODES, &a) != UFP4_OK ||
      ufp4_operand_create(UFP4_ELEM_MIXED, CODES, CODES, &ones) != UFP4_OK)
    abort();
  for (int i = 0; i < BYTES * CODES / 2; i++) {
    a.scales[i / 8] = (uint8_t)(i / 8);
    a.codes[i] = (uint8_t)(0x10 + 0x22 * (i % 8));
  }
  for (int i = 0; i < CODES; i++) {
    ones.scales[i] = (uint8_t)(0x38 + 0x80 * (i % 2));  // 1, and code 2 is 1 on both grids
    ones.codes[8 * i + i / 2] = i % 2 ? 0x20 : 0x02;
  }
  for (int k = 0; k < KERNELS; k++) {
    static int64_t sums[2][BYTES * CODES];
    const ufp4_gemm_t how = {.d_dtype = UFP4_DTYPE_I64, .alpha = 1, .kernel = kernels[k]};
    if (!ufp4_kernel_available(how.kernel)) continue;
    check_bits(k, ufp4_gemm(&a, &ones, &how, sums[0], CODES), UFP4_OK, "status");
    check_bits(k, ufp4_gemm(&ones, &a, &how, sums[1], BYTES), UFP4_OK, "status");
    for (int i = 0; i < BYTES * CODES; i++) {
      static const int e2m1[8] = {0, 1, 2, 3, 4, 6, 8, 12};
      const int byte = i / CODES, code = i % CODES, units = reference_e4m3_units((uint8_t)byte);
      const int quanta = (byte & 0x80 ? code & 7 : e2m1[code & 7]) * (code & 8 ? -1 : 1);
      const int64_t want = units < 0 ? INT64_MIN : (int64_t)quanta * units * 2 * 512;
      check_bits(i, (uint64_t)sums[0][i], (uint64_t)want, "kernel %d, as A", k);
      check_bits(i, (uint64_t)sums[1][code * BYTES + byte], (uint64_t)want, "kernel %d, as B", k);
    }
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&ones);
}
