// SPDX-License-Identifier: Apache-2.0
// Tests mixed elements on the emulated GPU: the quantizer chooses the golden model's grid for each
// block, and every kernel of a GEMM decodes by that grid.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

// --- Quantizer ----------------------------------------------------------------------------------

// Counts the blocks on each grid.
typedef struct {
  int64_t of[2];
} grids_t;

static void check_blocks(const ufp4_operand_t *got, const ufp4_operand_t *want, const char *what,
                         grids_t *grids) {
  check_bits(0, (uint64_t)got->exponent, (uint64_t)want->exponent, "%s: tensor exponent", what);
  check_bits(0, ufp4_f32_bits(got->tensor_scale), ufp4_f32_bits(want->tensor_scale),
             "%s: tensor scale", what);
  check_bits(0, got->flags, want->flags, "%s: flags", what);
  for (int64_t i = 0; i < want->rows * want->blocks; i++) {
    uint64_t codes[2];
    memcpy(&codes[0], got->codes + 8 * i, 8);
    memcpy(&codes[1], want->codes + 8 * i, 8);
    grids->of[want->scales[i] >> 7]++;
    if (!check_bits(i, got->scales[i], want->scales[i], "%s: scale", what) ||
        !check_bits(i, codes[0], codes[1], "%s: codes under scale %02x", what, want->scales[i]))
      return;
  }
}

static void check_tensor(ufp4_device_t *device, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                         grids_t *grids) {
  ufp4_operand_t got = {0}, want = {0};
  char what[160];
  snprintf(what, sizeof what,
           "%lld x %lld scale %u layout %u rht %u round %u up %u axis %u exponent %d",
           (long long)in->rows, (long long)in->cols, how->scale, how->layout, how->rht, how->round,
           how->scale_round, how->axis, how->exponent);
  check_bits(0, ufp4_quantize(in, how, &want), UFP4_OK, "%s: golden", what);
  check_bits(0, ufp4_device_quantize(device, in, how, &got), UFP4_OK, "%s: %s", what,
             ufp4_device_message(device));
  if (got.codes != NULL && want.codes != NULL) check_blocks(&got, &want, what, grids);
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
}

// Returns options @p n of 96: scale, layout, transform, rounding, scale rounding and axis.
static ufp4_quantize_t way(int n) {
  return (ufp4_quantize_t){.elem = UFP4_ELEM_MIXED,
                           .axis = (ufp4_axis_t)(n % 2),
                           .scale = n / 2 % 2 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3,
                           .layout = (ufp4_layout_t)(n / 4 % 2),
                           .rht = (ufp4_rht_t)(n / 8 % 3),
                           .round = (ufp4_round_t)(n / 24 % 2),
                           .scale_round = (ufp4_scale_round_t)(n / 48),
                           .rht_mask = n % 5 ? UFP4_RHT_DEFAULT_MASK : 0x1234,
                           .seed = 99,
                           .tensor_id = (uint64_t)n};
}
#define WAYS 96

// Covers what the table gives this backend, with each distribution, in shapes that are whole tiles
// of 64 x 64 and others.
SLOW_TEST(quantize_equals_the_golden_model) {
  static const int shapes[][2] = {{1, 1}, {16, 16}, {64, 64}, {65, 130}, {190, 2}, {100, 140}};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  grids_t grids[2] = {{{0}}};
  int64_t index = 0;
  for (int n = 0; n < WAYS; n++) {
    const ufp4_quantize_t how = way(n);
    if (ufp4_combination_quantize(&how, 0, "cuda", NULL) != UFP4_OK) continue;
    for (int i = 0; i < 6; i++, index++) {
      fixture_tensor_t tensor =
          fixture_tensor(&random, shapes[i][0], shapes[i][1],
                         (fixture_distribution_t)(index % FIXTURE_DISTRIBUTIONS),
                         index % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, how.axis);
      check_tensor(device, &tensor.view, &how, &grids[how.scale == UFP4_SCALE_NVFP4]);
      fixture_tensor_free(&tensor);
    }
  }
  // E4M3 by blocks and by tiles, and NVFP4 by blocks and by tiles.
  check_bits(0, (uint64_t)index, 6 * (24 + 8 + 8 + 4), "tensors");
  for (int s = 0; s < 2; s++) {
    check_that(s, grids[s].of[0] > 500 && grids[s].of[1] > 500, "scale %d: %lld and %lld blocks", s,
               (long long)grids[s].of[0], (long long)grids[s].of[1]);
  }
  ufp4_device_close(device);
}

// Scales saturate or are the smallest, and shifts exceed every limit.
TEST(quantize_with_given_exponents) {
  static const int exponents[] = {0, 6, -7, 40, -40, 162, -121, 300, -300, 32767, -32768};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  grids_t grids = {{0}};
  for (int i = 0; i < 11 * 12; i++) {
    ufp4_quantize_t how = way(i / 11 * 8 % WAYS);
    how.axis = (ufp4_axis_t)(i % 2);
    how.exponent_given = 1;
    how.exponent = exponents[i % 11];
    fixture_tensor_t tensor =
        fixture_tensor(&random, 20, 40, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS),
                       UFP4_DTYPE_F32, how.axis);
    check_tensor(device, &tensor.view, &how, &grids);
    fixture_tensor_free(&tensor);
  }
  ufp4_device_close(device);
}

// --- GEMM ---------------------------------------------------------------------------------------

// Returns pair @p n of 7 in which one or both operands are mixed.
static pair_t pair_of(check_random_t *random, int n, ufp4_scale_t scale, ufp4_contract_t contract,
                      const int shape[3], fixture_scales_t scales) {
  const ufp4_elem_t other = (ufp4_elem_t)(n % 4);
  pair_t p = {.what = {UFP4_ELEM_MIXED, other, scale, contract}};
  if (n > 3) p.what.a = other, p.what.b = UFP4_ELEM_MIXED;
  p.a = fixture_operand_scaled(random, p.what.a, scale, shape[0], shape[2], scales);
  p.b = fixture_operand_scaled(random, p.what.b, scale, shape[1], shape[2], scales);
  return p;
}

// Weathers, shapes and scales together select all kernels: by warps and by warpgroups, in large and
// in small tiles, split over K, by digits and by blocks.
SLOW_TEST(gemm_equals_the_golden_model) {
  static const int shapes[][3] = {{17, 9, 40}, {130, 40, 70}, {9, 12, 1300}};
  check_random_t random = check_random();
  int64_t index = 0;
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    for (int n = 0; n < 14; n++, index++) {
      const int nvfp4 = index % 3 == 2 && n % 4 != UFP4_ELEM_E1M2 && n % 4 != UFP4_ELEM_INT4;
      pair_t p = pair_of(&random, n % 7, nvfp4 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3,
                         n < 7 ? UFP4_CONTRACT_EXACT : UFP4_CONTRACT_FP32, shapes[(n + w) % 3],
                         (fixture_scales_t)(index % FIXTURE_SCALES_COUNT));
      if (ufp4_combination_gemm(p.what.a, p.what.b, p.what.scale, p.what.contract, "cuda", NULL) ==
          UFP4_OK) {
        pair_set_level(&p, (int)check_below(&random, 40) - 20, (int)check_below(&random, 40) - 20);
        const ufp4_gemm_t how = pair_plain(&p, index % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
        check_pair(index, device, &p, &how);
      }
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// Products are in BF16 and INT8, in tiles of 64 and of 128, on GPUs with and without warpgroups.
TEST(gemm_does_not_depend_on_tiles_or_products) {
  enum { M = 70, N = 133, K = 90 };
  static const int which[] = {1, 4};
  check_random_t random = check_random();
  ufp4_message_t message;
  ufp4_cuda_t *cuda;
  for (int w = 0; w < 2; w++) {
    set_weather(&weathers[which[w]]);
    check_bits(0, table()->open(&message, &cuda), UFP4_OK, "open");
    for (int v = 0; v < 8; v++) {
      pair_t p = pair_of(&random, v % 7, UFP4_SCALE_E4M3, (ufp4_contract_t)(v % 2),
                         (const int[3]){M, N, K}, FIXTURE_SCALES_NEAR);
      float *got = calloc(M * N, sizeof *got), *want = calloc(M * N, sizeof *want);
      const ufp4_cuda_choice_t choice = {v & 2 ? 64 : 128,
                                         v & 4 ? UFP4_CUDA_PRODUCT_INT8 : UFP4_CUDA_PRODUCT_BF16};
      const ufp4_cuda_operand_t a = operand_of(&p.a), b = operand_of(&p.b);
      const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
      const size_t bytes = table()->gemm_workspace(cuda, &choice, &a, &b, &how);
      const ufp4_cuda_call_t call = {.workspace = malloc(bytes), .workspace_bytes = bytes};
      check_bits(v, ufp4_gemm(&p.a, &p.b, &how, want, N), UFP4_OK, "golden");
      check_bits(v, table()->gemm(cuda, &choice, &a, &b, &how, got, N, &call), UFP4_OK, "gemm");
      check_that(v, memcmp(got, want, M * N * sizeof *got) == 0, "choice %d, GPU %d", v, which[w]);
      free(call.workspace);
      free(got), free(want);
      pair_free(&p);
    }
    table()->close(cuda);
  }
}

// bench multiplies values as FP8; every code on either grid is compared.
TEST(values_in_fp8_are_those_of_the_grid) {
  check_random_t random = check_random();
  ufp4_message_t message;
  ufp4_cuda_t *cuda;
  check_bits(0, table()->open(&message, &cuda), UFP4_OK, "open");
  ufp4_operand_t x = fixture_operand(&random, UFP4_ELEM_MIXED, 128, 128, FIXTURE_SCALES_NEAR);
  for (int i = 0; i < 128 * 8; i++) x.scales[i] = (uint8_t)(i % 2 << 7 | 7 << 3);
  const ufp4_cuda_operand_t in = operand_of(&x);
  uint8_t *fp8 = calloc(128, 128);
  check_bits(0, table()->narrow(cuda, &in, 128, UFP4_CUDA_NARROW_FP8, fp8, NULL), UFP4_OK, "FP8");
  for (int i = 0; i < 128 * 128; i++) {
    const unsigned code = x.codes[i / 2] >> 4 * (i % 2) & 15;
    const float value = ufp4_elem_block_value(UFP4_ELEM_MIXED, x.scales[i / 16], code);
    check_bits(i, fp8[i], value == 0 ? 0 : ufp4_e4m3_cast(value), "code %u", code);
  }
  free(fp8);
  ufp4_operand_free(&x);
  table()->close(cuda);
}

// --- Refusals -----------------------------------------------------------------------------------

// A GPU accepts and refuses the same options for mixed as for E2M1.
TEST(rejects_what_a_gpu_does_not_have) {
  static const float x[16 * 32];
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 16, 32, 32, x};
  ufp4_device_t *device = open_device(&weathers[0]);
  for (int n = 0; n < WAYS; n++) {
    ufp4_quantize_t how = way(n), e2m1 = how;
    ufp4_operand_t out = {0};
    e2m1.elem = UFP4_ELEM_E2M1;
    const ufp4_status_t want = ufp4_combination_quantize(&e2m1, 0, "cuda", NULL);
    check_bits(n, ufp4_device_quantize(device, &in, &how, &out), want, "way %d: %s", n,
               ufp4_device_message(device));
    ufp4_operand_free(&out);
  }
  ufp4_device_close(device);
}
