// SPDX-License-Identifier: Apache-2.0
// Tests contract nv on the emulated GPU of compute capability 12.0. Its FP4 product is the golden
// model's step, so these tests check the operands and order of the products, padding, and what
// follows the sums. They do not show that a tensor core rounds as the contract says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ufp4/format.h"

// Large tiles, small tiles, and both again with another order of threads; the bits must not depend
// on them.
static const emulated_weather_t blackwell[] = {
    {.capability = 120},
    {.capability = 120, .early_copies = 1, .backwards = 1, .multiprocessors = 1000},
    {.capability = 121, .early_copies = 1, .backwards = 1, .apart = 1},
    {.capability = 120, .apart = 1, .multiprocessors = 1000},
};
#define BLACKWELLS 4

// The combinations of E2M1 by E2M1 with contract nv: scales E4M3 and NVFP4.
static const int numbers[] = {72, 72 + 9};

// Sizes at and beside multiples of blocks, steps, stages and tiles.
static const int shapes[][3] = {{1, 1, 1},      {17, 9, 40},  {130, 70, 65},  {64, 64, 128},
                                {65, 129, 260}, {5, 150, 16}, {20, 24, 1003}, {129, 31, 193}};
#define SHAPES 8

TEST(gemm_equals_the_golden_model) {
  check_random_t random = check_random();
  int64_t index = 0;
  for (int w = 0; w < BLACKWELLS; w++) {
    ufp4_device_t *device = open_device(&blackwell[w]);
    for (int i = 0; i < SHAPES; i++) {
      for (int s = 0; s < 2; s++, index++) {
        pair_t p = pair_random(&random, numbers[s], shapes[i],
                               (fixture_scales_t)((i + w) % FIXTURE_SCALES_COUNT));
        pair_set_level(&p, (int)check_below(&random, 60) - 30, (int)check_below(&random, 60) - 30);
        ufp4_gemm_t how = pair_plain(&p, index % 3 == 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
        if (index % 5 == 1) how.alpha = -0.3f;
        check_pair(index, device, &p, &how);
        pair_free(&p);
      }
    }
    ufp4_device_close(device);
  }
}

// Some results overflow, others are subnormal; some powers of two are not normal numbers.
TEST(gemm_with_extreme_exponents) {
  static const int levels[] = {-140, -86, -64, 60, 85, 150, 32767, -32768};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&blackwell[1]);
  for (int i = 0; i < 16; i++) {
    pair_t p = pair_random(&random, numbers[0], (const int[3]){7, 9 + i % 2, 70},
                           (fixture_scales_t)(i % FIXTURE_SCALES_COUNT));
    pair_set_level(&p, levels[i / 2], levels[i / 2] / 2);
    const ufp4_gemm_t how = pair_plain(&p, i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    check_pair(i, device, &p, &how);
    pair_free(&p);
  }
  ufp4_device_close(device);
}

// C is the initial accumulator, NaN and Inf included, and is not added afterwards.
TEST(sums_begin_with_c) {
  enum { M = 70, N = 37 };
  static float c[M * N];
  check_random_t random = check_random();
  for (int w = 0; w < BLACKWELLS; w++) {
    ufp4_device_t *device = open_device(&blackwell[w]);
    for (int i = 0; i < 6; i++) {
      static const fixture_distribution_t kinds[] = {FIXTURE_WILD, FIXTURE_SPECIAL,
                                                     FIXTURE_GAUSSIAN};
      pair_t p = pair_random(&random, numbers[i % 2], (const int[3]){M, N, 100 + w},
                             i < 2 ? FIXTURE_SCALES_NAN : FIXTURE_SCALES_NEAR);
      ufp4_gemm_t how = pair_plain(&p, i % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
      for (int at = 0; at < M * N; at++)
        c[at] = ufp4_f32_value(fixture_number(&random, kinds[i / 2]));
      if (i % 2 == 0) pair_set_level(&p, 5, -5);
      how.c = c;
      how.c_ld = N;
      check_pair(i, device, &p, &how);
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// --- The library's call -------------------------------------------------------------------------

// Panels whose groups are further apart than they are long; the bytes between must not be read.
typedef struct {
  uint8_t *codes, *scales;
  ufp4_cuda_operand_t x;
} panels_t;

static panels_t panels_of(const ufp4_operand_t *in) {
  const int64_t stride = in->blocks + 3, entries = (in->rows + 15) / 16 * stride * 16;
  panels_t out = {aligned_alloc(64, (size_t)entries * 64), aligned_alloc(64, (size_t)entries * 64),
                  operand_of(in)};
  memset(out.codes, 0x77, (size_t)entries * 8);
  memset(out.scales, 0x7F, (size_t)entries);
  for (int64_t i = 0; i < in->rows * in->blocks; i++) {
    const int64_t row = i / in->blocks, block = i % in->blocks;
    const int64_t to = (row / 16 * stride + block) * 16 + row % 16;
    memcpy(out.codes + 8 * to, in->codes + 8 * i, 8);
    out.scales[to] = in->scales[i];
  }
  out.x.codes = out.codes;
  out.x.scales = out.scales;
  out.x.panel_stride = stride;
  return out;
}

// Requests either tile; D is C.
TEST(gemm_of_panels_equals_that_of_rows) {
  enum { M = 70, N = 133, K = 90 };
  check_random_t random = check_random();
  ufp4_message_t message;
  ufp4_cuda_t *cuda;
  set_weather(&blackwell[0]);
  check_bits(0, table()->open(&message, &cuda), UFP4_OK, "open");
  for (int i = 0; i < 4; i++) {
    static float one = 1;
    pair_t p = pair_random(&random, numbers[i / 2], (const int[3]){M, N, K}, FIXTURE_SCALES_NAN);
    panels_t a = panels_of(&p.a), b = panels_of(&p.b);
    a.x.tensor_scale = b.x.tensor_scale = &one;
    const ufp4_cuda_choice_t choice = {i % 2 ? 64 : 128, UFP4_CUDA_PRODUCT_AUTO};
    float *got = malloc(M * N * sizeof *got), *want = malloc(M * N * sizeof *want);
    for (int at = 0; at < M * N; at++)
      got[at] = want[at] = ufp4_f32_value(fixture_number(&random, FIXTURE_GAUSSIAN));
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    how.c = want;
    how.c_ld = N;
    check_bits(i, ufp4_gemm(&p.a, &p.b, &how, want, N), UFP4_OK, "golden");
    how.c = got;
    const size_t bytes = table()->gemm_workspace(cuda, &choice, &a.x, &b.x, &how);
    const ufp4_cuda_call_t call = {.workspace = malloc(bytes), .workspace_bytes = bytes};
    check_bits(i, table()->gemm(cuda, &choice, &a.x, &b.x, &how, got, N, &call), UFP4_OK, "gemm");
    check_that(i, memcmp(got, want, M * N * sizeof *got) == 0, "case %d: D differs", i);
    free(call.workspace);
    free(got), free(want);
    free(a.codes), free(a.scales), free(b.codes), free(b.scales);
    pair_free(&p);
  }
  table()->close(cuda);
}

// A product is a step, and k is padded to a multiple of two steps. A tile of 64 x 64 takes 32
// products per step.
TEST(steps_are_products) {
  static const int k[][2] = {{1, 2}, {64, 2}, {65, 2}, {128, 2}, {129, 4}, {300, 6}};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&blackwell[1]);
  for (int i = 0; i < 6; i++) {
    pair_t p =
        pair_random(&random, numbers[i % 2], (const int[3]){64, 64, k[i][0]}, FIXTURE_SCALES_NEAR);
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    (void)products_taken();
    check_pair(i, device, &p, &how);
    check_bits(i, products_taken(), 32u * (unsigned)k[i][1], "products over %d", k[i][0]);
    pair_free(&p);
  }
  ufp4_device_close(device);
}

// --- Refusals -----------------------------------------------------------------------------------

static void check_refused(int64_t index, const emulated_weather_t *weather, ufp4_elem_t a,
                          ufp4_elem_t b, ufp4_scale_t scale, const char *text) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(weather);
  ufp4_operand_t left = fixture_operand_scaled(&random, a, scale, 3, 64, FIXTURE_SCALES_NEAR),
                 right = fixture_operand_scaled(&random, b, scale, 5, 64, FIXTURE_SCALES_NEAR);
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_NV, .alpha = 1};
  float d[15];
  check_bits(index, ufp4_device_gemm(device, &left, &right, &how, d, 5, NULL),
             UFP4_ERROR_UNSUPPORTED, "%s", text);
  check_that(index, strstr(ufp4_device_message(device), text) != NULL, "'%s', want '%s'",
             ufp4_device_message(device), text);
  ufp4_operand_free(&left);
  ufp4_operand_free(&right);
  ufp4_device_close(device);
}

// The message names the GPU's compute capability. GPUs of 10.0 have FP4 products too, but not by
// warps.
TEST(rejects_gpus_below_12_0) {
  static const struct {
    int capability;
    const char *name;
  } gpus[] = {{80, "8.0"}, {89, "8.9"}, {90, "9.0"}, {100, "10.0"}, {110, "11.0"}};
  for (int i = 0; i < 5; i++) {
    const emulated_weather_t weather = {.capability = gpus[i].capability};
    char text[96];
    snprintf(text, sizeof text,
             "contract nv: it needs compute capability 12.0 or 12.1, and this GPU has %s",
             gpus[i].name);
    check_refused(2 * i, &weather, UFP4_ELEM_E2M1, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, text);
    check_refused(2 * i + 1, &weather, UFP4_ELEM_E2M1, UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, text);
  }
}

TEST(rejects_what_the_product_does_not_have) {
  const emulated_weather_t *gpu = &blackwell[0];
  check_refused(0, gpu, UFP4_ELEM_E1M2, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, "element of A e1m2");
  check_refused(1, gpu, UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, "element of B e1m2");
  check_refused(2, gpu, UFP4_ELEM_MIXED, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, "element of A mixed");
  check_refused(3, gpu, UFP4_ELEM_E2M1, UFP4_ELEM_MIXED, UFP4_SCALE_NVFP4, "element of B mixed");
  check_refused(4, gpu, UFP4_ELEM_E2M1, UFP4_ELEM_E2M1, UFP4_SCALE_E8M0,
                "does not support contract nv with scale e8m0");
}

// --- A test of the tests ------------------------------------------------------------------------

TEST(rejects_wrong_layouts) {
  check_random_t random = check_random();
  for (int fault = EMULATED_FAULT_NV_A; fault < EMULATED_NV_FAULTS; fault++) {
    const emulated_weather_t weather = {.capability = 120, .fault = fault};
    ufp4_device_t *device = open_device(&weather);
    pair_t p = pair_random(&random, numbers[0], (const int[3]){33, 20, 100}, FIXTURE_SCALES_NEAR);
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    const int64_t differ = differences(device, &p, &how);
    check_that(fault, differ > 100, "fault %d changed %lld outputs only", fault, (long long)differ);
    pair_free(&p);
    ufp4_device_close(device);
  }
}
