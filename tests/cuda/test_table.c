// SPDX-License-Identifier: Apache-2.0
// Tests calls of the backend cuda's table that no device makes: kernels that are chosen by hand
// have the same bits, and operands get the layout of NVIDIA's GEMMs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ufp4/format.h"

static void check_tiles_and_products(const emulated_weather_t *weather) {
  check_random_t random = check_random();
  ufp4_message_t message;
  ufp4_cuda_t *cuda;
  set_weather(weather);
  check_bits(0, table()->open(&message, &cuda), UFP4_OK, "open");
  for (int i = 0; i < 18; i++) {
    static const ufp4_cuda_choice_t choices[] = {{128, UFP4_CUDA_PRODUCT_BF16},
                                                 {64, UFP4_CUDA_PRODUCT_BF16},
                                                 {128, UFP4_CUDA_PRODUCT_INT8},
                                                 {192, UFP4_CUDA_PRODUCT_BF16}};
    const int rows = i % 2 ? 200 : 70;
    pair_t p = pair_random(&random, 36 * (i / 9) + i % 9, (const int[3]){rows, 133, 90},
                           (fixture_scales_t)(i % 4));
    const size_t size = (size_t)rows * 133 * sizeof(float);
    float *d[4];
    for (int v = 0; v < 4; v++) {
      d[v] = malloc(size);
      const ufp4_cuda_operand_t a = operand_of(&p.a), b = operand_of(&p.b);
      const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
      const size_t bytes = table()->gemm_workspace(cuda, &choices[v], &a, &b, &how);
      const ufp4_cuda_call_t call = {.workspace = malloc(bytes), .workspace_bytes = bytes};
      check_bits(v, table()->gemm(cuda, &choices[v], &a, &b, &how, d[v], 133, &call), UFP4_OK,
                 "gemm");
      free(call.workspace);
    }
    check_that(i, memcmp(d[0], d[1], size) == 0, "tiles of 64 and of 128 differ");
    check_that(i, memcmp(d[0], d[2], size) == 0, "products in BF16 and in INT8 differ");
    check_that(i, memcmp(d[0], d[3], size) == 0, "tiles of 128 and of 192 rows differ");
    for (int v = 0; v < 4; v++) free(d[v]);
    pair_free(&p);
  }
  table()->close(cuda);
}

// The bits are equal for tiles of 64, which always are of warps, and of 128 and 192, which are of
// warpgroups on a GPU that has them, and for products in BF16 and in INT8.
SLOW_TEST(gemm_does_not_depend_on_tiles_or_products) {
  check_tiles_and_products(&weathers[1]);
  check_tiles_and_products(&weathers[4]);
}

// NVIDIA's GEMMs take values times their scales as FP8; or codes, and scales in tiles of 128 rows
// by 4 blocks.
TEST(narrow_operands_are_laid_out_as_documented) {
  check_random_t random = check_random();
  ufp4_message_t message;
  ufp4_cuda_t *cuda;
  check_bits(0, table()->open(&message, &cuda), UFP4_OK, "open");
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    ufp4_operand_t x = fixture_operand(&random, (ufp4_elem_t)elem, 256, 128, FIXTURE_SCALES_ANY);
    for (int i = 0; i < 256 * 8; i++) x.scales[i] = (uint8_t)((3 + i % 9) << 3);
    const ufp4_cuda_operand_t in = operand_of(&x);
    uint8_t *fp8 = calloc(256, 128), *fp4 = calloc(256, 64), *scales = calloc(256, 8);
    check_bits(0, table()->narrow(cuda, &in, 128, UFP4_CUDA_NARROW_FP8, fp8, NULL), UFP4_OK, "FP8");
    check_bits(0, table()->narrow(cuda, &in, 128, UFP4_CUDA_NARROW_FP4, fp4, scales), UFP4_OK,
               "FP4");
    for (int i = 0; i < 256 * 128; i++) {
      const uint8_t code = fixture_code(&x, i / 128, i % 128);
      const float value = ldexpf(ufp4_elem_value((ufp4_elem_t)elem, code), i / 16 % 9 - 4);
      check_bits(i, fp8[i], value == 0 ? 0 : ufp4_e4m3_cast(value), "FP8 of code %u", code);
      check_bits(i, fp4[i / 2] >> 4 * (i % 2) & 15, code, "FP4");
    }
    for (int row = 0; row < 256; row++) {
      for (int b = 0; b < 8; b++) {
        const int at = (row / 128 * 2 + b / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + b % 4;
        check_bits(at, scales[at], x.scales[row * 8 + b] & 0x7F, "scale of row %d, block %d", row,
                   b);
      }
    }
    free(fp8), free(fp4), free(scales);
    ufp4_operand_free(&x);
  }
  table()->close(cuda);
}
